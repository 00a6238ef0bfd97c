//! Random joins: Gingham, which orders them by its own estimates and runs them in pipelines, against DataFusion over the
//! same rows in memory.
//!
//! Each seed makes a few small tables with NULLs and duplicates, and asks for joins of up to six of them: chains, stars,
//! cycles and products, joins by inequalities, keys that are expressions, conditions on one, two or three tables, outer joins,
//! subqueries behind EXISTS and IN, groups and unions as relations. `GINGHAM_NIGHTLY=1` runs thousands. A failure names its seed and query.

#[path = "random/generator.rs"]
mod generator;
#[path = "random/joins.rs"]
mod joins;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::datasource::MemTable;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::prelude::{SessionConfig, SessionContext};
use generator::Generator;
use gingham::{Connection, Database};
use joins::{TABLES, batch, query, schema};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// Queries asked of each set of tables.
const QUERIES: usize = 40;

fn seeds() -> std::ops::Range<u64> {
    if std::env::var_os("GINGHAM_NIGHTLY").is_some() { 0..250 } else { 0..5 }
}

/// What an experiment might fix of the stages: none of it may change an answer.
const STAGES: &[&str] = &[
    "",
    "",
    "boundaries=0, predicate=loop, keys=off",
    "boundaries=1, vector=5, prefetch=group:3",
    "boundaries=every, table=hash, hash=murmur3, prefetch=amac:7",
    "table=hash, hash=crc32, prefetch=pipelined:2, predicate=loop; 1: boundaries=0, vector=300",
    "planner=estimates",
    "planner=two_paths, table=hash",
];

/// Plain DataFusion over batches in memory.
struct Oracle {
    context: SessionContext,
    runtime: Runtime,
}

impl Oracle {
    fn new(tables: &[RecordBatch]) -> Self {
        let mut config = SessionConfig::new().with_target_partitions(1);
        config.options_mut().sql_parser.parse_float_as_decimal = true;
        // DataFusion hands filters of physical plans down by the names of their columns, and may take a column for another
        // one of its name.
        let mut rules = PhysicalOptimizer::new().rules;
        rules.retain(|rule| !rule.name().starts_with("FilterPushdown"));
        let state = SessionStateBuilder::new_with_default_features()
            .with_config(config)
            .with_physical_optimizer_rules(rules)
            .build();
        let context = SessionContext::new_with_state(state);
        for (name, batch) in TABLES.iter().zip(tables) {
            let table = MemTable::try_new(schema(), vec![vec![batch.clone()]]).expect("the batch has the schema");
            context.register_table(*name, Arc::new(table)).expect("the table is new");
        }
        Self { context, runtime: Runtime::new().expect("threads can be started") }
    }

    fn query(&self, sql: &str) -> Result<Vec<RecordBatch>, String> {
        let run = async { self.context.sql(sql).await?.collect().await };
        self.runtime.block_on(run).map_err(|error| error.to_string())
    }
}

/// The tables in Gingham, some with keys, some merged, some in the delta.
fn load(connection: &Connection, generator: &mut Generator, tables: &[RecordBatch]) {
    for (name, batch) in TABLES.iter().zip(tables) {
        let key = *generator.pick(&["", " PRIMARY KEY", " UNIQUE"]);
        let columns = format!("id BIGINT{key}, a INTEGER, b INTEGER, s VARCHAR, f DOUBLE, w BIGINT");
        let layout = *generator.pick(&["column", "super_tuple", "dense_column", "nsm", "dsm", "pax"]);
        let sql = format!("CREATE TABLE {name} ({columns}) WITH (layout = '{layout}')");
        connection.execute(&sql).expect("a new table");
        let mut appender = connection.appender(name).expect("the table exists");
        appender.append_batch(batch.clone()).expect("the batch has the table's columns");
        appender.finish().expect("the rows are appended");
        if generator.chance(50) {
            connection.execute(&format!("OPTIMIZE {name}")).expect("the delta is merged");
        }
    }
}

/// Rows as text; sorted where their order is nobody's promise.
fn answer(sql: &str, batches: &[RecordBatch]) -> Vec<String> {
    let mut rows = rows(batches);
    if !sql.contains("ORDER BY") {
        rows.sort();
    }
    rows
}

fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let text = |column: &ArrayRef, row: usize| {
        ArrayFormatter::try_new(column, &options).expect("every type can be shown").value(row).to_string()
    };
    let mut rows = Vec::new();
    for batch in batches {
        rows.extend(
            (0..batch.num_rows())
                .map(|row| batch.columns().iter().map(|column| text(column, row)).collect::<Vec<_>>().join("|")),
        );
    }
    rows
}

/// What pipelines do, as EXPLAIN says it: each comes in the queries of a few seeds.
const KINDS: [&str; 14] = [
    " probe ",
    " left probe ",
    " full probe ",
    " semi probe ",
    " anti probe ",
    " not-in probe ",
    " mark ",
    " probe all of ",
    " probe a range of ",
    " left probe a range of ",
    " behind ",
    " sorted by ",
    ", first ",
    " a hash table of keys of 2 words",
];

/// Operators of compiled joins that a query's plan has.
fn compiled(connection: &Connection, sql: &str) -> Vec<&'static str> {
    let plan = connection.query(&format!("EXPLAIN FORMAT indent {sql}")).and_then(|result| result.collect_batches());
    let plan = rows(&plan.expect("a query that ran has a plan")).join("\n");
    KINDS.into_iter().filter(|kind| plan.contains("CompiledExec") && plan.contains(kind)).collect()
}

#[test]
fn random_joins_give_what_datafusion_gives() {
    let (mut answered, mut found, mut taken) = (0, 0, 0);
    let mut kinds = BTreeSet::new();
    for seed in seeds() {
        let (mut generator, mut choices) = (Generator::new(seed), Generator::new(!seed));
        let tables: Vec<_> = TABLES.iter().map(|_| batch(&mut generator)).collect();
        let database = Database::in_memory().expect("a scratch database opens");
        gingham::lab::register(&database);
        let connection = database.connect();
        load(&connection, &mut generator, &tables);
        let oracle = Oracle::new(&tables);
        for _ in 0..QUERIES {
            let sql = query(&mut generator);
            let execution = *generator.pick(&["auto", "fused", "staged", "vectorized", "interpreted", "datafusion"]);
            let (threads, stages) = (generator.between(1, 3), *choices.pick(STAGES));
            connection
                .execute(&format!("SET gingham.threads = {threads}; SET gingham.execution = '{execution}'"))
                .and_then(|_| connection.execute(&format!("SET gingham.lab_stages = '{stages}'")))
                .expect("settings");
            // What DataFusion can't plan is no oracle.
            let Ok(expected) = oracle.query(&sql) else { continue };
            let actual = connection.query(&sql).and_then(|result| result.collect_batches());
            let actual = actual.unwrap_or_else(|error| panic!("seed {seed}: {sql}: {error}"));
            let (expected, actual) = (answer(&sql, &expected), answer(&sql, &actual));
            assert_eq!(actual, expected, "seed {seed}, {execution}, {stages}, {threads} threads: {sql}");
            answered += 1;
            let compiled = compiled(&connection, &sql);
            taken += usize::from(!compiled.is_empty());
            kinds.extend(compiled);
            found += usize::from(!expected.is_empty());
        }
    }
    let asked = QUERIES * seeds().count();
    assert!(answered * 10 >= asked * 7, "DataFusion answered only {answered} of {asked} queries");
    assert!(taken * 4 >= answered, "only {taken} of {answered} queries have joins in pipelines");
    for kind in KINDS {
        assert!(kinds.contains(kind), "no query has a{kind}in a pipeline");
    }
    assert!(found * 3 >= answered, "only {found} of {answered} answers have rows");
}
