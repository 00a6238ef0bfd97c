//! Databases of TPC-H's tables in heap pages, and queries through SQL.

use super::loads::LoadData;
use super::tpch::Question;
use crate::experiment::{Error, Laps, Subject};
use crate::tpch::answers::QueryAnswer;
use crate::tpch::{create_tables, queries};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use gingham::storage::model::HeapLayout;
use gingham::{Connection, Database};

/// An engine's error as the lab's.
pub fn failed(error: gingham::Error) -> Error {
    Error::Data(error.to_string())
}

/// Fills a database with the tables of a data set, in the layout that tables have by themselves.
pub fn fill(database: &Database, data: &LoadData) -> Result<Connection, Error> {
    let connection = database.connect();
    create_tables(&connection).map_err(failed)?;
    for (definition, batches) in &data.tables {
        let mut appender = connection.appender(&definition.name.table).map_err(failed)?;
        batches.iter().try_for_each(|batch| appender.append_batch(batch.clone())).map_err(failed)?;
        appender.finish().map_err(failed)?;
    }
    Ok(connection)
}

/// Moves the tables of a data set into pages of a layout.
pub fn move_to(connection: &Connection, data: &LoadData, layout: HeapLayout) -> Result<(), Error> {
    for (definition, _) in &data.tables {
        let sql = format!("ALTER TABLE {} SET (layout = '{layout}')", definition.name);
        connection.execute(&sql).map_err(failed)?;
    }
    Ok(())
}

/// lineitem, orders and part in heap pages, and the right answers of the questions.
#[derive(Debug)]
pub struct Queries {
    database: Database,
    scale: f64,
    answers: Vec<QueryAnswer>,
}

impl Queries {
    /// Loads the tables; asks DataFusion's operators while these are not in heap pages yet.
    pub fn new(data: &LoadData, layout: HeapLayout, scale: f64) -> Result<Self, Error> {
        let database = Database::in_memory().map_err(failed)?;
        let connection = fill(&database, data)?;
        connection.execute("SET gingham.execution = 'datafusion'").map_err(failed)?;
        let answer = |question: Question| {
            let (schema, batches) = asked(&connection, &text(question, scale)).map_err(Error::Data)?;
            QueryAnswer::new(&schema, &batches).map_err(|error| Error::Data(error.to_string()))
        };
        let answers = Question::ALL.into_iter().map(answer).collect::<Result<_, _>>()?;
        move_to(&connection, data, layout)?;
        Ok(Self { database, scale, answers })
    }

    /// A question on a session of its own, of one thread.
    pub fn ask(&self, question: Question) -> Result<AskedSql, Error> {
        let connection = self.database.connect();
        connection.execute("SET gingham.threads = '1'").map_err(failed)?;
        let expected = self.answers[question as usize].clone();
        let found = Err("it has not run".to_owned());
        Ok(AskedSql { connection, sql: text(question, self.scale), number: number(question), expected, found })
    }
}

/// The number of a TPC-H query; of range selections none that has one.
fn number(question: Question) -> usize {
    match question {
        Question::Rs => 0,
        Question::Q1 => 1,
        Question::Q6 => 6,
        Question::Q12 => 12,
        Question::Q14 => 14,
    }
}

fn text(question: Question, scale: f64) -> String {
    match question {
        Question::Rs => "SELECT l_extendedprice, l_suppkey, l_partkey, l_tax FROM lineitem \
                         WHERE l_shipdate > DATE '1994-05-31' AND l_shipdate < DATE '1995-02-02' AND l_quantity >= 0"
            .to_owned(),
        other => queries::text(number(other), scale),
    }
}

fn asked(connection: &Connection, sql: &str) -> Result<(SchemaRef, Vec<RecordBatch>), String> {
    let result = connection.query(sql).map_err(|error| error.to_string())?;
    let schema = result.schema();
    Ok((schema, result.collect_batches().map_err(|error| error.to_string())?))
}

/// A question through SQL.
pub struct AskedSql {
    connection: Connection,
    sql: String,
    number: usize,
    expected: QueryAnswer,
    found: Result<(SchemaRef, Vec<RecordBatch>), String>,
}

impl Subject for AskedSql {
    fn prepare(&mut self) {
        self.found = Err("it has not run".to_owned());
    }

    fn run(&mut self, _: &mut Laps) {
        self.found = asked(&self.connection, &self.sql);
    }

    fn check(&mut self) -> Result<(), String> {
        let (schema, batches) = self.found.as_ref().map_err(String::clone)?;
        let found = QueryAnswer::new(schema, batches).map_err(|error| error.to_string())?;
        if self.number > 0 {
            return self.expected.check(self.number, &found);
        }
        // Selections come in any order.
        let (rows, expected) = (sorted(&found), sorted(&self.expected));
        if rows == expected {
            return Ok(());
        }
        let other = rows.iter().zip(&expected).find(|(row, expected)| row != expected);
        Err(format!("{} rows, {} expected; the first two that differ: {other:?}", rows.len(), expected.len()))
    }
}

/// The rows of an answer in an order that their texts determine.
fn sorted(answer: &QueryAnswer) -> Vec<&[Option<String>]> {
    let mut rows: Vec<_> = answer.rows().iter().map(Vec::as_slice).collect();
    rows.sort_unstable();
    rows
}
