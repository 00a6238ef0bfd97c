//! TPC-H in a database of its own, for experiments that run queries: made once and shared by all of them.

use super::answers::QueryAnswer;
use super::{TpchTable, create_tables, generate_in_order, published, queries};
use gingham::{Connection, Database};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The tables at one scale, and the right answers of the queries that were asked so far.
#[derive(Debug)]
pub struct TpchDatabase {
    database: Database,
    scale: f64,
    answers: RefCell<HashMap<usize, Rc<QueryAnswer>>>,
}

impl TpchDatabase {
    /// Generates the tables on so many threads and loads them.
    pub fn generate(scale: f64, threads: usize) -> gingham::Result<Self> {
        let database = Database::in_memory()?;
        gingham::lab::register(&database);
        let connection = database.connect();
        create_tables(&connection)?;
        for table in TpchTable::ALL {
            let mut appender = connection.appender(table.name())?;
            generate_in_order(table, scale, threads, |batch| appender.append_batch(batch))?;
            appender.finish()?;
        }
        Ok(Self { database, scale, answers: RefCell::default() })
    }

    /// The scale factor.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// A session of its own.
    pub fn connect(&self) -> Connection {
        self.database.connect()
    }

    /// The text of a query for this scale.
    pub fn text(&self, number: usize) -> String {
        queries::text(number, self.scale)
    }

    /// The right answer of a query: what DataFusion's operators give, which at scale 1 must be the published answer too.
    ///
    /// # Errors
    /// When the query fails or the answer is not the published one.
    pub fn answer(&self, number: usize) -> Result<Rc<QueryAnswer>, String> {
        if let Some(known) = self.answers.borrow().get(&number) {
            return Ok(Rc::clone(known));
        }
        let connection = self.connect();
        connection.execute("SET gingham.execution = 'datafusion'").map_err(|error| error.to_string())?;
        let answer = Rc::new(answer(&connection, &self.text(number))?);
        if self.scale == 1.0 {
            published::check(number, &answer)?;
        }
        self.answers.borrow_mut().insert(number, Rc::clone(&answer));
        Ok(answer)
    }
}

/// What a connection answers.
fn answer(connection: &Connection, sql: &str) -> Result<QueryAnswer, String> {
    let result = connection.query(sql).map_err(|error| error.to_string())?;
    let schema = result.schema();
    let batches = result.collect_batches().map_err(|error| error.to_string())?;
    QueryAnswer::new(&schema, &batches).map_err(|error| error.to_string())
}
