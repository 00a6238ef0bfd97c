SELECT max(d) FROM (SELECT o_orderdate - lag(o_orderdate) OVER (PARTITION BY o_custkey ORDER BY o_orderdate, o_orderkey) d FROM orders) t
