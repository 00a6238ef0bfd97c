SELECT DISTINCT l_shipmode, l_shipinstruct, l_returnflag
FROM lineitem
ORDER BY 1,2,3
