SELECT o_custkey, max(o_comment) m
FROM orders
GROUP BY o_custkey
ORDER BY m DESC, o_custkey
LIMIT 5
