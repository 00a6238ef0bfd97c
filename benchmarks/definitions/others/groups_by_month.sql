SELECT extract(year
FROM o_orderdate) y, extract(month
FROM o_orderdate) m, sum(o_totalprice)
FROM orders
GROUP BY y, m
ORDER BY y, m
