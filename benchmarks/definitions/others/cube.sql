SELECT l_returnflag, l_shipmode, count(*), sum(l_extendedprice * l_discount), avg(l_quantity)
FROM lineitem
GROUP BY CUBE (l_returnflag, l_shipmode)
ORDER BY 1, 2
