SELECT o_comment, count(*) c
FROM orders
GROUP BY o_comment
ORDER BY c DESC, o_comment
LIMIT 10
