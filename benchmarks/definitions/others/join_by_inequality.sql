SELECT count(*)
FROM supplier a JOIN supplier b ON a.s_acctbal < b.s_acctbal
