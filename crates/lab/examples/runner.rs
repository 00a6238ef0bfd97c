//! A child process of benchmarks/run.py: one engine of this build, driven over standard input and output.
//!
//! `runner ENGINE FILES DATABASE THREADS`, where ENGINE is `gingham`, `gingham-cold` (which keeps no plans),
//! `datafusion-memory`, `datafusion-parquet` or `kernels`, FILES is the folder of Parquet files and DATABASE a folder for
//! Gingham's database. Each line of input is one JSON request, answered by one JSON line:
//!
//! | request | answer |
//! |---|---|
//! | `{"do": "load"}` | `{"seconds": …}`: creates the tables and loads the files |
//! | `{"do": "open"}` | `{"seconds": …}`: opens what an earlier process loaded |
//! | `{"do": "query", "sql": …}` | `{"seconds": …, "rows": …}`: from text to last row |
//! | `{"do": "answer", "sql": …}` | `{"columns": […], "rows": [[…]]}`: the result as text |
//! | `{"do": "execute", "sql": …}` | `{"seconds": …}`: runs statements, such as settings (`gingham` only) |
//!
//! The engine `kernels` takes `query` and `answer` with `"conditions"` beside the text (see `runner/kernels.rs`).
//!
//! `runner generate FILES SCALE THREADS` writes the Parquet files and ends.

#[path = "runner/kernels.rs"]
mod kernels;

use gingham::load::LoadOptions;
use gingham::{Connection, DatabaseOptions, StatementHandle};
use gingham_lab::tpch::answers::QueryAnswer;
use gingham_lab::tpch::{self, TpchTable};
use gingham_reference::Reference;
use kernels::Kernels;
use serde_json::{Value, json};
use std::error::Error;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [engine, files, third, threads] = arguments.as_slice() else {
        return Err("usage: runner ENGINE FILES DATABASE THREADS, or runner generate FILES SCALE THREADS".into());
    };
    let (files, threads) = (PathBuf::from(files), threads.parse()?);
    match engine.as_str() {
        "generate" => generate(&files, third.parse()?, threads),
        "gingham" | "gingham-cold" => {
            let (database, cache_plans) = (PathBuf::from(third), engine == "gingham");
            serve(Gingham { files, database, threads, cache_plans, connection: None })
        }
        "datafusion-memory" => serve(DataFusion { files, memory: true, reference: Reference::new(threads)? }),
        "datafusion-parquet" => serve(DataFusion { files, memory: false, reference: Reference::new(threads)? }),
        "kernels" => serve(Kernels::new(files, threads)),
        other => Err(format!("no engine '{other}'").into()),
    }
}

fn generate(files: &Path, scale: f64, threads: usize) -> Result<()> {
    std::fs::create_dir_all(files)?;
    for table in TpchTable::ALL {
        let bytes = tpch::write_parquet(table, scale, threads, files)?;
        println!("{}: {bytes} bytes", table.name());
    }
    Ok(())
}

/// What a request asks of an engine.
trait Engine {
    fn load(&mut self) -> Result<()>;
    fn open(&mut self) -> Result<()>;
    /// Runs to the last row and returns the number of rows.
    fn query(&mut self, sql: &str) -> Result<usize>;
    fn answer(&mut self, sql: &str) -> Result<QueryAnswer>;
    /// Runs statements without a result.
    fn execute(&mut self, _sql: &str) -> Result<()> {
        Err("this engine takes no statements".into())
    }
}

/// What answers a request.
trait Responder {
    fn respond(&mut self, request: &Value) -> Result<Value>;
}

fn serve(mut engine: impl Responder) -> Result<()> {
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let reply = engine.respond(&request).unwrap_or_else(|error| json!({ "error": error.to_string() }));
        let mut out = std::io::stdout().lock();
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    Ok(())
}

impl<E: Engine> Responder for E {
    fn respond(&mut self, request: &Value) -> Result<Value> {
        let sql = request["sql"].as_str().unwrap_or_default();
        let start = Instant::now();
        let seconds = || start.elapsed().as_secs_f64();
        match request["do"].as_str() {
            Some("load") => self.load().map(|()| json!({ "seconds": seconds() })),
            Some("open") => self.open().map(|()| json!({ "seconds": seconds() })),
            Some("query") => self.query(sql).map(|rows| json!({ "seconds": seconds(), "rows": rows })),
            Some("answer") => self.answer(sql).map(rows_of),
            Some("execute") => self.execute(sql).map(|()| json!({ "seconds": seconds() })),
            _ => Err(format!("no such request: {request}").into()),
        }
    }
}

impl Responder for Kernels {
    fn respond(&mut self, request: &Value) -> Result<Value> {
        let conditions = &request["conditions"];
        self.prepare(conditions)?;
        match request["do"].as_str() {
            Some("query") => self.count(conditions).map(|(_, seconds)| json!({ "seconds": seconds, "rows": 1 })),
            Some("answer") => self.answer(conditions).map(rows_of),
            _ => Err(format!("no such request: {request}").into()),
        }
    }
}

fn rows_of(answer: QueryAnswer) -> Value {
    json!({ "columns": answer.columns(), "rows": answer.rows() })
}

fn file(folder: &Path, table: TpchTable) -> PathBuf {
    folder.join(format!("{}.parquet", table.name()))
}

struct Gingham {
    files: PathBuf,
    database: PathBuf,
    threads: usize,
    cache_plans: bool,
    connection: Option<Connection>,
}

impl Gingham {
    fn connection(&self) -> Result<&Connection> {
        self.connection.as_ref().ok_or_else(|| "no database is open".into())
    }
}

impl Engine for Gingham {
    fn load(&mut self) -> Result<()> {
        self.open()?;
        let connection = self.connection()?;
        tpch::create_tables(connection)?;
        for table in TpchTable::ALL {
            let options = LoadOptions { table: table.name().to_string(), ..LoadOptions::default() };
            connection.load(&[file(&self.files, table)], &options, &StatementHandle::new())?;
        }
        Ok(())
    }

    fn open(&mut self) -> Result<()> {
        let options = DatabaseOptions::new().threads(self.threads);
        let connection = options.open(&self.database)?.connect();
        connection.execute(&format!("SET gingham.cache_plans = {}", self.cache_plans))?;
        self.connection = Some(connection);
        Ok(())
    }

    fn query(&mut self, sql: &str) -> Result<usize> {
        let batches = self.connection()?.query(sql)?.collect_batches()?;
        Ok(batches.iter().map(|batch| batch.num_rows()).sum())
    }

    fn execute(&mut self, sql: &str) -> Result<()> {
        Ok(self.connection()?.execute(sql).map(|_| ())?)
    }

    fn answer(&mut self, sql: &str) -> Result<QueryAnswer> {
        let result = self.connection()?.query(sql)?;
        let schema = result.schema();
        Ok(QueryAnswer::new(&schema, &result.collect_batches()?)?)
    }
}

struct DataFusion {
    files: PathBuf,
    memory: bool,
    reference: Reference,
}

impl Engine for DataFusion {
    fn load(&mut self) -> Result<()> {
        for table in TpchTable::ALL {
            let (name, path) = (table.name(), file(&self.files, table));
            if self.memory {
                let parquet = format!("{name}_parquet");
                self.reference.register_parquet(&parquet, &path)?;
                self.reference.register_memory(name, &self.reference.read(&parquet)?)?;
            } else {
                self.reference.register_parquet(name, &path)?;
            }
        }
        Ok(())
    }

    fn open(&mut self) -> Result<()> {
        self.load()
    }

    fn query(&mut self, sql: &str) -> Result<usize> {
        let (_, batches) = self.reference.query(sql)?;
        Ok(batches.iter().map(|batch| batch.num_rows()).sum())
    }

    fn answer(&mut self, sql: &str) -> Result<QueryAnswer> {
        Ok(QueryAnswer::of_datafusion(&self.reference, sql)?)
    }
}
