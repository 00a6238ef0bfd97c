SELECT o_clerk, sum(o_totalprice) s
FROM orders
GROUP BY o_clerk
ORDER BY s DESC, o_clerk
LIMIT 10
