SELECT count(*) FROM customer WHERE c_custkey NOT IN (SELECT o_custkey FROM orders)
