SELECT count(*)
FROM orders JOIN customer ON o_custkey = c_custkey
WHERE o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1995-01-31' AND o_totalprice > c_acctbal * 10
