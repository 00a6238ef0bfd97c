WITH m AS (SELECT o_custkey k, max(o_totalprice) p FROM orders GROUP BY o_custkey) SELECT count(*), sum(p) FROM m JOIN customer ON k = c_custkey WHERE c_acctbal > p / 100
