SELECT sum(CASE WHEN l_quantity > 25 THEN l_extendedprice ELSE 0 END), avg(CASE WHEN l_shipmode='AIR' THEN l_discount END)
FROM lineitem
