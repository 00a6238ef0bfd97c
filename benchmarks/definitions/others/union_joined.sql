SELECT n_name, kind, count(*)
FROM (
    SELECT l_suppkey AS supplier, 'sold' AS kind FROM lineitem
    UNION ALL
    SELECT ps_suppkey, 'held' FROM partsupp
) dealings JOIN supplier ON supplier = s_suppkey JOIN nation ON s_nationkey = n_nationkey
WHERE s_acctbal > 9000
GROUP BY n_name, kind
ORDER BY n_name, kind
