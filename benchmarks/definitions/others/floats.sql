SELECT l_suppkey, avg(CAST(l_extendedprice AS DOUBLE)), stddev(CAST(l_discount AS DOUBLE))
FROM lineitem
GROUP BY l_suppkey
ORDER BY l_suppkey
LIMIT 5
