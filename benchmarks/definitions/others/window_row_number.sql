SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY l_suppkey ORDER BY l_shipdate, l_orderkey, l_linenumber) rn FROM lineitem) t WHERE rn <= 3
