SELECT l_shipmode, median(l_extendedprice)
FROM lineitem
GROUP BY l_shipmode
ORDER BY 1
