//! What is left out of DataFusion's planning changes no plan. The slow way is its own: tables with all of their columns, every rule
//! at every operator, and three passes but for TPC-H, of which a later pass makes projections part of joins.

use crate::datafusion::shortcuts::in_passes;
use crate::optimizer::JoinOrder;
use crate::optimizer::tests::{STAR, Tables, each_of_tpch};
use crate::session::wait;
use datafusion::optimizer::Optimizer;
use std::sync::Arc;

impl Tables {
    /// A query's optimised plan, as sessions make it.
    fn quick(&self, sql: &str) -> String {
        self.with_plan(sql, |plan, _| plan.display_indent_schema().to_string())
    }

    /// A plan that is made slowly, in so many passes.
    fn slow(&self, sql: &str, passes: usize) -> String {
        self.with_plan("SELECT 1", |_, context| {
            let mut state = (*context.state).clone();
            state.mark_start_execution();
            state.config_mut().options_mut().optimizer.max_passes = passes;
            let dialect = state.config_options().sql_parser.dialect;
            let statement = state.sql_to_statement(sql, &dialect).unwrap();
            let plan = wait(context.plan(statement, None)).unwrap();
            let plan = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {}).unwrap();
            let mut rules = Optimizer::new().rules;
            let folding = rules.iter().position(|rule| rule.name() == "simplify_expressions").unwrap();
            rules.insert(folding + 1, Arc::new(crate::temporal::CompareDays));
            rules.push(Arc::new(crate::datafusion::fixes::OneZero));
            let optimizer = Optimizer::with_rules(in_passes(rules, Arc::new(JoinOrder)));
            optimizer.optimize(plan, &state, |_, _| {}).unwrap().display_indent_schema().to_string()
        })
    }
}

#[test]
fn of_other_queries() {
    let tables = Tables::new(STAR);
    tables
        .connection
        .execute(
            "CREATE VIEW red AS SELECT good, price, 'red' AS colour FROM goods WHERE colour = 'red';
             CREATE VIEW whole AS SELECT * FROM sales",
        )
        .unwrap();
    for sql in [
        // Groups and orders that repeat themselves, or follow from a key.
        "SELECT town, count(*) FROM sales GROUP BY town, town ORDER BY town, town",
        "SELECT town, name FROM towns ORDER BY town, name, region",
        "SELECT name, count(*) FROM towns GROUP BY town, name",
        "SELECT good, max(amount) AS most FROM sales GROUP BY good ORDER BY most DESC, good LIMIT 3",
        // What can be computed before.
        "SELECT amount * (2 - 2), 1 + 1 FROM sales WHERE 1 = 1 AND amount > 2 + 3 AND NOT (tenth = 3 AND false)",
        "SELECT sum(amount + 1), sum(amount + 2) FROM sales",
        "SELECT s.amount FROM sales s JOIN goods g ON s.good = g.good AND 1 + 1 = 2 AND g.price > 3 * 2",
        "SELECT CASE WHEN 1 = 1 THEN amount END FROM sales ORDER BY amount + 0, -amount LIMIT 2 + 3",
        // Names in all places.
        "SELECT count(*) FROM sales",
        "SELECT count(*) FROM sales JOIN goods USING (good) WHERE colour = 'red'",
        "SELECT \"amount\", S.TENTH FROM sales S WHERE s.day = (SELECT max(d.day) FROM days d WHERE d.month = s.tenth)",
        "SELECT a.name FROM towns a WHERE EXISTS (SELECT * FROM sales s WHERE s.town = a.town AND s.amount > 39000)",
        "SELECT a.name FROM towns a WHERE NOT EXISTS (SELECT * FROM sales WHERE sales.town = a.town)",
        "SELECT x.t FROM (SELECT town AS t, amount FROM sales WHERE tenth < 4) x WHERE x.amount > 7 GROUP BY x.t HAVING count(*) > 2",
        "WITH w AS (SELECT day, sum(amount) AS s FROM sales GROUP BY day) SELECT d.month, w.s FROM w, days d WHERE w.day = d.day",
        "SELECT town, row_number() OVER (PARTITION BY region ORDER BY name) FROM towns",
        "SELECT town FROM sales UNION SELECT town FROM returns WHERE why = 'broken' ORDER BY 1",
        "SELECT DISTINCT tenth, also_tenth FROM sales WHERE remark LIKE '%special%'",
        "SELECT price FROM red WHERE colour = 'red' AND good < 30",
        "SELECT amount FROM whole WHERE day = 4",
        "SELECT r.why FROM returns r LEFT JOIN days d ON r.day = d.day WHERE d.month > 3 OR r.good = 5",
        // Shown whole.
        "SELECT * FROM towns NATURAL JOIN regions",
        "SELECT a, c FROM regions AS r (a, b), towns AS t (c, d, e) WHERE a = e",
        "SELECT t.*, title FROM towns t, regions r WHERE t.region = r.region",
        // Keys within other conditions, over several relations, or none at all.
        "SELECT count(*) FROM sales s, towns t, goods g WHERE s.town = t.town AND g.price = s.amount + t.region",
        "SELECT count(*) FROM towns t, goods g, sales s WHERE s.amount = t.region + g.price AND g.good < 4",
        "SELECT count(*) FROM sales s, goods g WHERE s.good = g.good AND s.amount > 5 OR g.good = s.good AND g.price > 7",
        "SELECT count(*) FROM sales s, goods g WHERE s.good = g.good OR g.good = s.good AND g.price > 7",
        "SELECT count(*) FROM sales s, goods g WHERE s.good = g.good OR s.amount = g.price",
        "SELECT count(*) FROM regions r, days d, goods g WHERE g.price > d.month AND r.region = 2 AND d.month = d.day",
        "SELECT s.amount FROM regions r, sales s, towns t WHERE s.town = t.town AND t.region = r.region AND s.good = 3 + 4",
        "SELECT * FROM days d, (regions r CROSS JOIN (towns t JOIN sales s ON t.town = s.town AND s.amount > t.region)) WHERE r.region = t.region AND s.day = d.day",
        "SELECT d.month, (SELECT count(*) FROM regions r, towns t WHERE r.region = t.region) FROM days d, returns b LEFT JOIN goods g ON b.good = g.good WHERE d.day = b.day",
        "SELECT x.n, y.town FROM (SELECT count(*) AS n, s.town FROM goods g, sales s WHERE g.good = s.good GROUP BY s.town) x, towns y WHERE x.town = y.town AND y.town IN (SELECT t.town FROM regions r, towns t WHERE t.region = r.region AND r.title = 'region 1')",
        "SELECT count(*) FROM sales s, returns r WHERE (s.good IS NOT DISTINCT FROM r.good) AND s.day = r.day",
        // Joins that only look for rows.
        "SELECT s.amount FROM sales s, towns t, regions r WHERE s.town = t.town AND t.region = r.region AND title = 'region 3'",
        "SELECT g.colour FROM goods g, sales s, days d WHERE g.good = s.good AND s.day = d.day AND d.month = 2 GROUP BY g.colour",
    ] {
        assert_eq!(tables.quick(sql), tables.slow(sql, 3), "{sql}");
    }
}

#[test]
fn of_tpch() {
    each_of_tpch(|tables, sql, name| assert_eq!(tables.quick(sql), tables.slow(sql, 1), "{name}"));
}
