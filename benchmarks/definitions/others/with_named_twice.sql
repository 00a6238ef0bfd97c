WITH spent AS (
    SELECT o_custkey AS customer, extract(year FROM o_orderdate) AS y, sum(o_totalprice) AS total
    FROM orders
    GROUP BY o_custkey, extract(year FROM o_orderdate)
)
SELECT a.y, count(*), sum(b.total - a.total)
FROM spent a JOIN spent b ON a.customer = b.customer AND b.y = a.y + 1
GROUP BY a.y
ORDER BY a.y
