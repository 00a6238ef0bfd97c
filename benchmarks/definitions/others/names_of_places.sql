SELECT n_name, r_name, s_name, count(*), sum(l_quantity)
FROM lineitem JOIN supplier ON l_suppkey = s_suppkey JOIN nation ON s_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey
WHERE l_shipdate >= DATE '1995-01-01'
GROUP BY n_name, r_name, s_name
ORDER BY 5 DESC, 3
LIMIT 20
