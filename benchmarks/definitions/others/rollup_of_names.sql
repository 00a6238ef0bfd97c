SELECT n_name, s_name, l_shipmode, sum(l_extendedprice)
FROM lineitem JOIN supplier ON l_suppkey = s_suppkey JOIN nation ON s_nationkey = n_nationkey
WHERE l_returnflag = 'R'
GROUP BY ROLLUP (n_name, s_name, l_shipmode)
ORDER BY 4 DESC, 1, 2, 3
LIMIT 50
