SELECT l_partkey, l_orderkey, l_linenumber
FROM lineitem
ORDER BY l_partkey, l_orderkey, l_linenumber
OFFSET 6001205
