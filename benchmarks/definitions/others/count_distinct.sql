SELECT count(DISTINCT l_partkey), count(DISTINCT l_suppkey), count(DISTINCT l_comment)
FROM lineitem
