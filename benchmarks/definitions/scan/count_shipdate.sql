-- A selective predicate on one column and nothing else: one month of lineitem, 1.2 % of its records.
SELECT count(*) AS records
FROM lineitem
WHERE l_shipdate BETWEEN date '1994-01-01' AND date '1994-01-31';
