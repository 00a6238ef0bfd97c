SELECT l_returnflag, l_linestatus, l_shipmode, sum(l_quantity)
FROM lineitem
GROUP BY ROLLUP (l_returnflag, l_linestatus, l_shipmode)
ORDER BY 1,2,3
