SELECT date_trunc('month', l_shipdate) m, sum(l_extendedprice * l_discount)
FROM lineitem
GROUP BY m
ORDER BY m
