SELECT l_shipmode, count(DISTINCT l_partkey)
FROM lineitem
GROUP BY l_shipmode
ORDER BY 1
