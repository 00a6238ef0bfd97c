SELECT l_orderkey, l_linenumber, l_comment
FROM lineitem
WHERE l_shipdate = DATE '1995-03-15'
ORDER BY l_orderkey, l_linenumber
