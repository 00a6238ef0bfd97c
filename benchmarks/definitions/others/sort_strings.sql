SELECT o_comment, o_orderkey
FROM orders
ORDER BY o_comment, o_orderkey
OFFSET 1499990
