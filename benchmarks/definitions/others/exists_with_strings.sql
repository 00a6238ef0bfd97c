SELECT count(*) FROM customer WHERE EXISTS (SELECT 1 FROM orders WHERE c_custkey=o_custkey AND c_comment < o_comment)
