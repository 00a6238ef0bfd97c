SELECT l_partkey, l_suppkey, sum(l_quantity) s, count(*) c
FROM lineitem
GROUP BY l_partkey, l_suppkey
ORDER BY s DESC, l_partkey, l_suppkey
LIMIT 10
