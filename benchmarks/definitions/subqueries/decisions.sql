-- Sixty questions in the manner of decision support, over TPC-H's tables: subqueries of every kind, WITH, windows, sets.

-- above_average_order
SELECT o_orderpriority, count(*) FROM orders WHERE o_totalprice > (SELECT avg(o_totalprice) FROM orders) GROUP BY o_orderpriority ORDER BY 1;
-- above_own_average
SELECT count(*) FROM orders o WHERE o_totalprice > (SELECT avg(i.o_totalprice) FROM orders i WHERE i.o_custkey = o.o_custkey);
-- never_ordered
SELECT c_mktsegment, count(*) FROM customer WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey) GROUP BY c_mktsegment ORDER BY 1;
-- never_ordered_in
SELECT count(*) FROM customer WHERE c_custkey NOT IN (SELECT o_custkey FROM orders);
-- orders_with_returns
SELECT o_orderpriority, count(*) FROM orders WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem WHERE l_returnflag = 'R') GROUP BY o_orderpriority ORDER BY 1;
-- all_lines_late
SELECT count(*) FROM orders WHERE o_orderdate < DATE '1993-01-01' AND NOT EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND l_receiptdate <= l_commitdate);
-- largest_line
SELECT count(*), sum(l_extendedprice) FROM lineitem l WHERE l_shipdate >= DATE '1998-09-01' AND l_quantity = (SELECT max(i.l_quantity) FROM lineitem i WHERE i.l_orderkey = l.l_orderkey);
-- lines_per_order
SELECT lines, count(*) FROM (SELECT (SELECT count(*) FROM lineitem WHERE l_orderkey = o_orderkey) AS lines FROM orders WHERE o_orderdate >= DATE '1998-01-01') x GROUP BY lines ORDER BY lines;
-- last_order
SELECT c_nationkey, max(last), count(last) FROM (SELECT c_nationkey, (SELECT max(o_orderdate) FROM orders WHERE o_custkey = c_custkey) AS last FROM customer) x GROUP BY c_nationkey ORDER BY 1;
-- two_values
SELECT count(*) FROM customer WHERE (SELECT count(*) FROM orders WHERE o_custkey = c_custkey) > 2 * (SELECT count(*) FROM orders WHERE o_custkey = c_custkey AND o_orderstatus = 'F');
-- flag_exists
SELECT has_open, count(*) FROM (SELECT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey AND o_orderstatus = 'O') AS has_open FROM customer) x GROUP BY has_open ORDER BY 1;
-- flag_in
SELECT is_bought, count(*) FROM (SELECT p_partkey IN (SELECT l_partkey FROM lineitem WHERE l_shipdate >= DATE '1998-10-01') AS is_bought FROM part) x GROUP BY is_bought ORDER BY 1;
-- exists_or_value
SELECT count(*) FROM customer WHERE c_acctbal > 9000 OR EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey AND o_totalprice > 400000);
-- in_or_in
SELECT count(*) FROM part WHERE p_partkey IN (SELECT l_partkey FROM lineitem WHERE l_quantity = 50 AND l_discount = 0.10) OR p_partkey IN (SELECT ps_partkey FROM partsupp WHERE ps_supplycost < 2);
-- cheapest_supplier
SELECT count(*), sum(ps_supplycost) FROM partsupp p WHERE ps_supplycost = (SELECT min(i.ps_supplycost) FROM partsupp i WHERE i.ps_partkey = p.ps_partkey);
-- all_cheaper
SELECT count(*) FROM partsupp p WHERE p.ps_partkey <= 20000 AND ps_supplycost <= ALL (SELECT i.ps_supplycost FROM partsupp i WHERE i.ps_partkey = p.ps_partkey);
-- any_larger
SELECT count(*) FROM orders WHERE o_orderdate >= DATE '1998-06-01' AND o_totalprice < ANY (SELECT l_extendedprice * 3 FROM lineitem WHERE l_orderkey = o_orderkey);
-- pair_in
SELECT count(*) FROM lineitem WHERE l_shipdate >= DATE '1998-08-01' AND (l_partkey, l_suppkey) IN (SELECT ps_partkey, ps_suppkey FROM partsupp WHERE ps_availqty > 9000);
-- pair_not_in
SELECT count(*) FROM partsupp WHERE (ps_partkey, ps_suppkey) NOT IN (SELECT l_partkey, l_suppkey FROM lineitem WHERE l_shipdate < DATE '1996-01-01');
-- nested_in
SELECT count(*) FROM customer WHERE c_custkey IN (SELECT o_custkey FROM orders WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem WHERE l_partkey IN (SELECT p_partkey FROM part WHERE p_brand = 'Brand#13' AND p_size = 5)));
-- nested_exists
SELECT s_nationkey, count(*) FROM supplier WHERE EXISTS (SELECT 1 FROM partsupp WHERE ps_suppkey = s_suppkey AND EXISTS (SELECT 1 FROM part WHERE p_partkey = ps_partkey AND p_name LIKE 'forest%')) GROUP BY s_nationkey ORDER BY 1;
-- two_levels_up
SELECT count(*) FROM nation n WHERE EXISTS (SELECT 1 FROM supplier s WHERE s.s_nationkey = n.n_nationkey AND s.s_acctbal > (SELECT avg(c.c_acctbal) FROM customer c WHERE c.c_nationkey = n.n_nationkey));
-- only_supplier
SELECT count(*) FROM lineitem l WHERE l.l_shipdate >= DATE '1998-10-01' AND NOT EXISTS (SELECT 1 FROM lineitem i WHERE i.l_orderkey = l.l_orderkey AND i.l_suppkey <> l.l_suppkey);
-- lateral_first
SELECT count(*), sum(x.o_totalprice) FROM customer, LATERAL (SELECT o_totalprice FROM orders WHERE o_custkey = c_custkey ORDER BY o_orderdate DESC, o_orderkey LIMIT 1) x WHERE c_mktsegment = 'BUILDING';
-- lateral_three
SELECT count(*), sum(x.l_extendedprice) FROM orders, LATERAL (SELECT l_extendedprice FROM lineitem WHERE l_orderkey = o_orderkey ORDER BY l_extendedprice DESC, l_linenumber LIMIT 3) x WHERE o_orderdate >= DATE '1998-05-01';
-- lateral_group
SELECT c_mktsegment, sum(x.n), max(x.m) FROM customer LEFT JOIN LATERAL (SELECT count(*) AS n, max(o_totalprice) AS m FROM orders WHERE o_custkey = c_custkey) x ON true GROUP BY c_mktsegment ORDER BY 1;
-- scalar_limit
SELECT count(x), min(x), max(x) FROM (SELECT (SELECT o_orderdate FROM orders WHERE o_custkey = c_custkey ORDER BY o_totalprice DESC, o_orderkey LIMIT 1) AS x FROM customer) y;
-- running_share
SELECT n_name, round(100 * total / sum(total) OVER (), 4) FROM (SELECT n_name, sum(o_totalprice) AS total FROM nation JOIN customer ON c_nationkey = n_nationkey JOIN orders ON o_custkey = c_custkey GROUP BY n_name) x ORDER BY 1;
-- rank_in_nation
SELECT n_name, s_name FROM (SELECT n_name, s_name, rank() OVER (PARTITION BY n_name ORDER BY s_acctbal DESC, s_suppkey) AS place FROM supplier JOIN nation ON s_nationkey = n_nationkey) x WHERE place = 1 ORDER BY 1;
-- top_per_month
SELECT CAST(m AS DATE), o_orderkey FROM (SELECT date_trunc('month', o_orderdate) AS m, o_orderkey, row_number() OVER (PARTITION BY date_trunc('month', o_orderdate) ORDER BY o_totalprice DESC, o_orderkey) AS place FROM orders) x WHERE place = 1 ORDER BY m;
-- with_twice
WITH spent AS (SELECT o_custkey AS k, sum(o_totalprice) AS total FROM orders GROUP BY o_custkey) SELECT count(*) FROM spent WHERE total > (SELECT avg(total) FROM spent);
-- with_years
WITH sold AS (SELECT l_suppkey AS s, extract(year FROM l_shipdate) AS y, sum(l_extendedprice) AS total FROM lineitem GROUP BY l_suppkey, extract(year FROM l_shipdate)) SELECT count(*) FROM sold a JOIN sold b ON a.s = b.s AND b.y = a.y + 1 WHERE a.y = 1995 AND b.total > a.total;
-- with_window_twice
WITH ranked AS (SELECT c_nationkey AS n, c_custkey AS k, c_acctbal AS b, row_number() OVER (PARTITION BY c_nationkey ORDER BY c_acctbal DESC, c_custkey) AS place FROM customer) SELECT count(*), sum(a.b - z.b) FROM ranked a JOIN ranked z ON a.n = z.n AND z.place = a.place + 1 WHERE a.place <= 100;
-- with_three
WITH a AS (SELECT o_custkey AS k, count(*) AS n FROM orders GROUP BY o_custkey), b AS (SELECT n, count(*) AS customers FROM a GROUP BY n), c AS (SELECT max(customers) AS most FROM b) SELECT n, customers FROM b, c WHERE customers = most ORDER BY n;
-- returned_more_than_average
WITH returned AS (SELECT l_suppkey AS s, l_returnflag AS f, sum(l_extendedprice) AS total FROM lineitem GROUP BY l_suppkey, l_returnflag) SELECT count(*) FROM returned r WHERE r.f = 'R' AND r.total > (SELECT 1.2 * avg(i.total) FROM returned i WHERE i.f = r.f);
-- union_channels
SELECT kind, count(*), sum(v) FROM (SELECT 'order' AS kind, o_totalprice AS v FROM orders WHERE o_orderdate >= DATE '1998-01-01' UNION ALL SELECT 'line', l_extendedprice FROM lineitem WHERE l_shipdate >= DATE '1998-01-01') x GROUP BY kind ORDER BY 1;
-- union_keys
SELECT count(*) FROM (SELECT o_custkey FROM orders WHERE o_orderdate < DATE '1992-03-01' UNION SELECT c_custkey FROM customer WHERE c_acctbal < 0) x;
-- except_keys
SELECT count(*) FROM (SELECT c_custkey FROM customer EXCEPT SELECT o_custkey FROM orders) x;
-- intersect_keys
SELECT count(*) FROM (SELECT l_partkey FROM lineitem WHERE l_shipdate >= DATE '1998-11-01' INTERSECT SELECT ps_partkey FROM partsupp WHERE ps_availqty < 100) x;
-- exists_union
SELECT count(*) FROM part WHERE EXISTS (SELECT 1 FROM partsupp WHERE ps_partkey = p_partkey AND ps_availqty > 9990 UNION ALL SELECT 1 FROM lineitem WHERE l_partkey = p_partkey AND l_quantity = 1 AND l_discount = 0.05);
-- in_union
SELECT count(*) FROM orders WHERE o_custkey IN (SELECT c_custkey FROM customer WHERE c_nationkey = 3 UNION SELECT c_custkey FROM customer WHERE c_acctbal > 9900);
-- case_of_subqueries
SELECT CASE WHEN (SELECT count(*) FROM lineitem WHERE l_quantity BETWEEN 1 AND 20) > 1000000 THEN (SELECT avg(l_discount) FROM lineitem WHERE l_quantity BETWEEN 1 AND 20) ELSE (SELECT avg(l_tax) FROM lineitem WHERE l_quantity BETWEEN 1 AND 20) END AS bucket;
-- many_scalars
SELECT (SELECT count(*) FROM lineitem WHERE l_shipmode = 'AIR'), (SELECT count(*) FROM lineitem WHERE l_shipmode = 'RAIL'), (SELECT sum(l_tax) FROM lineitem WHERE l_shipmode = 'SHIP'), (SELECT max(l_extendedprice) FROM lineitem WHERE l_shipmode = 'TRUCK');
-- having_average
SELECT o_clerk, count(*) FROM orders GROUP BY o_clerk HAVING count(*) > (SELECT 1.1 * count(*) / count(DISTINCT o_clerk) FROM orders) ORDER BY 2 DESC, 1 LIMIT 10;
-- having_exists
SELECT c_nationkey, count(*) FROM customer GROUP BY c_nationkey HAVING EXISTS (SELECT 1 FROM supplier WHERE s_nationkey = c_nationkey AND s_acctbal > 9990) ORDER BY 1;
-- order_by_subquery
SELECT n_name FROM nation ORDER BY (SELECT count(*) FROM customer WHERE c_nationkey = n_nationkey) DESC, n_name LIMIT 5;
-- join_on_exists
SELECT count(*), count(l_orderkey) FROM orders LEFT JOIN lineitem ON l_orderkey = o_orderkey AND l_linenumber = 1 AND EXISTS (SELECT 1 FROM supplier WHERE s_suppkey = l_suppkey AND s_nationkey < 5) WHERE o_orderdate >= DATE '1998-03-01';
-- share_of_group
SELECT count(*) FROM (SELECT p_brand, p_size, count(*) AS n FROM part GROUP BY p_brand, p_size) g WHERE n > (SELECT avg(m) FROM (SELECT i.p_type, count(*) AS m FROM part i WHERE i.p_brand = g.p_brand GROUP BY i.p_type) h);
-- distinct_inside
SELECT sum(kinds) FROM (SELECT (SELECT count(DISTINCT l_shipmode) FROM lineitem WHERE l_orderkey = o_orderkey) AS kinds FROM orders WHERE o_orderdate >= DATE '1998-06-01') x;
-- window_inside
SELECT count(*), sum(x) FROM (SELECT (SELECT max(d) FROM (SELECT l_extendedprice - lag(l_extendedprice) OVER (ORDER BY l_linenumber) AS d FROM lineitem WHERE l_orderkey = o_orderkey) y) AS x FROM orders WHERE o_orderdate >= DATE '1998-07-01') z;
-- not_in_correlated
SELECT count(*) FROM orders WHERE o_orderdate >= DATE '1998-06-01' AND 'AIR' NOT IN (SELECT l_shipmode FROM lineitem WHERE l_orderkey = o_orderkey);
-- average_of_others
SELECT count(*) FROM supplier s WHERE s.s_acctbal > (SELECT avg(o.s_acctbal) FROM supplier o WHERE o.s_nationkey = s.s_nationkey AND o.s_suppkey <> s.s_suppkey);
-- earlier_orders
SELECT max(n), sum(n) FROM (SELECT (SELECT count(*) FROM orders i WHERE i.o_custkey = o.o_custkey AND i.o_orderdate < o.o_orderdate) AS n FROM orders o WHERE o.o_orderdate >= DATE '1998-06-01') x;
-- nearest_cheaper
SELECT count(x), sum(x) FROM (SELECT (SELECT max(i.ps_supplycost) FROM partsupp i WHERE i.ps_partkey = p.ps_partkey AND i.ps_supplycost < p.ps_supplycost) AS x FROM partsupp p) y;
-- richer_suppliers
SELECT count(*), sum(n) FROM (SELECT (SELECT count(*) FROM supplier i WHERE i.s_acctbal > s.s_acctbal) AS n FROM supplier s) x;
-- exists_range
SELECT count(*) FROM supplier s WHERE EXISTS (SELECT 1 FROM customer c WHERE c.c_nationkey = s.s_nationkey AND c.c_acctbal BETWEEN s.s_acctbal - 0.01 AND s.s_acctbal + 0.01);
-- grouping_inside
SELECT count(*), sum(x) FROM (SELECT (SELECT max(n) FROM (SELECT count(*) AS n FROM lineitem WHERE l_orderkey = o_orderkey GROUP BY l_returnflag, l_linestatus) y) AS x FROM orders WHERE o_orderdate >= DATE '1998-05-01') z;
-- rollup_above
SELECT n_regionkey, n_name, count(*) FROM nation JOIN customer ON c_nationkey = n_nationkey WHERE EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey AND o_totalprice > 300000) GROUP BY ROLLUP (n_regionkey, n_name) ORDER BY 1 NULLS LAST, 2 NULLS LAST;
-- coalesce_subquery
SELECT sum(coalesce((SELECT sum(o_totalprice) FROM orders WHERE o_custkey = c_custkey AND o_orderpriority = '1-URGENT'), 0)) FROM customer;
-- derived_outer
SELECT sum(n) FROM (SELECT (SELECT count(q.o_orderkey) FROM nation LEFT JOIN (SELECT * FROM orders WHERE o_custkey = c_custkey) q ON q.o_orderkey % 25 = n_nationkey) AS n FROM customer WHERE c_custkey <= 2000) x;
