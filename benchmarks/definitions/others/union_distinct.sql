SELECT count(*) FROM (SELECT l_orderkey k FROM lineitem UNION SELECT o_orderkey FROM orders) t
