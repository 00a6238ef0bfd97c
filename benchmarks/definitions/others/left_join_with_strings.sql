SELECT count(o_orderkey), count(*)
FROM customer LEFT JOIN orders ON c_custkey = o_custkey AND o_comment < c_comment
