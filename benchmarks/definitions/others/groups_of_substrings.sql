SELECT substring(o_comment, 1, 3) p, count(*) c
FROM orders
GROUP BY p
ORDER BY c DESC, p
LIMIT 10
