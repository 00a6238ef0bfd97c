//! Random tables and random filters: Gingham's scans on codes against DataFusion over the same batches in memory.
//!
//! Each seed makes a table of every kind of column in a random design, loads it in a few pieces (some merged into
//! segments, some left in the delta), and asks it random conditions; later in another design, into which it is rewritten. `GINGHAM_NIGHTLY=1` runs many more seeds. A failure names its seed and
//! condition.

mod random;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};
use gingham::{Connection, Database};
use random::condition::condition;
use random::data::schema;
use random::generator::Generator;
use random::table::{load, rewrite, rows};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// Conditions asked of each table.
const CONDITIONS: usize = 25;

fn seeds() -> std::ops::Range<u64> {
    if std::env::var_os("GINGHAM_NIGHTLY").is_some() { 0..400 } else { 0..6 }
}

/// Plain DataFusion over batches in memory.
struct Oracle {
    context: SessionContext,
    runtime: Runtime,
}

impl Oracle {
    fn new(batches: Vec<RecordBatch>) -> Self {
        let mut config = SessionConfig::new().with_target_partitions(1);
        config.options_mut().sql_parser.parse_float_as_decimal = true;
        let context = SessionContext::new_with_config(config);
        let table = MemTable::try_new(schema(), vec![batches]).expect("the batches have the schema");
        context.register_table("t", Arc::new(table)).expect("the table is new");
        Self { context, runtime: Runtime::new().expect("threads can be started") }
    }

    fn query(&self, sql: &str) -> Result<Vec<RecordBatch>, String> {
        let run = async { self.context.sql(sql).await?.collect().await };
        self.runtime.block_on(run).map_err(|error| error.to_string())
    }
}

fn gingham(connection: &Connection, sql: &str) -> Result<Vec<RecordBatch>, String> {
    connection.query(sql).and_then(|result| result.collect_batches()).map_err(|error| error.to_string())
}

fn ids(batches: &[RecordBatch]) -> Vec<i64> {
    batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
}

#[test]
fn random_conditions_select_what_datafusion_selects() {
    for seed in seeds() {
        let mut generator = Generator::new(seed);
        let connection = Database::in_memory().expect("a scratch database opens").connect();
        let (batches, mut design) = load(&connection, &mut generator);
        let oracle = Oracle::new(batches.clone());
        let mut answered = 0;
        for number in 0..CONDITIONS {
            if number == CONDITIONS / 2 {
                design = rewrite(&connection, &mut generator);
            }
            let condition = condition(&mut generator, &batches, 3);
            let sql = format!("SELECT id FROM t WHERE {condition} ORDER BY id");
            match (oracle.query(&sql), gingham(&connection, &sql)) {
                (Ok(expected), Ok(actual)) => {
                    assert_eq!(ids(&actual), ids(&expected), "seed {seed}, {design}: {sql}");
                    answered += 1;
                    let sql = format!("SELECT count(*) FROM t WHERE {condition}");
                    let counted = gingham(&connection, &sql).expect("a count of what was just selected");
                    assert_eq!(ids(&counted), [ids(&expected).len() as i64], "seed {seed}, {design}: {sql}");
                }
                (Err(_), Err(_)) => {}
                (Err(_), Ok(_)) => {} // Gingham may see from codes alone what DataFusion fails to cast.
                (Ok(_), Err(error)) => panic!("seed {seed}, {design}: {sql}: {error}"),
            }
        }
        assert!(answered * 10 >= CONDITIONS * 8, "seed {seed}: DataFusion answered only {answered} conditions");
    }
}

#[test]
fn whole_tables_and_groups_come_back() {
    for seed in seeds() {
        let mut generator = Generator::new(seed);
        let connection = Database::in_memory().expect("a scratch database opens").connect();
        let (batches, design) = load(&connection, &mut generator);
        let oracle = Oracle::new(batches.clone());
        for sql in [
            "SELECT * FROM t ORDER BY id",
            "SELECT few, count(*), min(i), max(i), min(dec), max(dec), count(wide), min(day), max(at) FROM t GROUP BY few ORDER BY few",
            "SELECT count(DISTINCT few), count(DISTINCT many), count(DISTINCT i), count(DISTINCT day) FROM t",
            "SELECT min(few), max(few), min(many), max(many), min(bytes), max(bytes), min(flag), max(flag) FROM t",
            "SELECT min(wide), max(wide), min(b), max(b), min(u), max(u), min(dec), max(dec), min(at), max(at) FROM t",
            "SELECT day, count(*) FROM t WHERE day IS NOT NULL GROUP BY day ORDER BY day LIMIT 20",
        ] {
            let expected = oracle.query(sql).unwrap_or_else(|error| panic!("seed {seed}, {design}: {sql}: {error}"));
            let actual =
                gingham(&connection, sql).unwrap_or_else(|error| panic!("seed {seed}, {design}: {sql}: {error}"));
            assert_eq!(rows(&actual), rows(&expected), "seed {seed}, {design}: {sql}");
        }
    }
}
