//! A child process of benchmarks/run.py: one engine of this build, driven over standard input and output.
//!
//! `runner ENGINE FILES DATABASE THREADS`, where ENGINE is `gingham`, `datafusion-memory` or `datafusion-parquet`, FILES
//! is the folder of Parquet files and DATABASE a folder for Gingham's database. Each line of input is one JSON request,
//! answered by one JSON line:
//!
//! | request | answer |
//! |---|---|
//! | `{"do": "load"}` | `{"seconds": …}`: creates the tables and loads the files |
//! | `{"do": "open"}` | `{"seconds": …}`: opens what an earlier process loaded |
//! | `{"do": "query", "sql": …}` | `{"seconds": …, "rows": …}`: from text to last row |
//! | `{"do": "answer", "sql": …}` | `{"columns": […], "rows": [[…]]}`: the result as text |
//!
//! `runner generate FILES SCALE THREADS` writes the Parquet files and ends.

use gingham::load::LoadOptions;
use gingham::{Connection, Database, DatabaseOptions};
use gingham_lab::tpch::answers::Answer;
use gingham_lab::tpch::{self, Table};
use gingham_reference::Reference;
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
        "gingham" => serve(Gingham { files, database: PathBuf::from(third), threads, connection: None }),
        "datafusion-memory" => serve(DataFusion { files, memory: true, reference: Reference::new(threads)? }),
        "datafusion-parquet" => serve(DataFusion { files, memory: false, reference: Reference::new(threads)? }),
        other => Err(format!("no engine '{other}'").into()),
    }
}

fn generate(files: &Path, scale: f64, threads: usize) -> Result<()> {
    std::fs::create_dir_all(files)?;
    for table in Table::ALL {
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
    fn answer(&mut self, sql: &str) -> Result<Answer>;
}

fn serve(mut engine: impl Engine) -> Result<()> {
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let reply = respond(&mut engine, &request).unwrap_or_else(|error| json!({ "error": error.to_string() }));
        let mut out = std::io::stdout().lock();
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    Ok(())
}

fn respond(engine: &mut impl Engine, request: &Value) -> Result<Value> {
    let sql = request["sql"].as_str().unwrap_or_default();
    let start = Instant::now();
    let seconds = || start.elapsed().as_secs_f64();
    match request["do"].as_str() {
        Some("load") => engine.load().map(|()| json!({ "seconds": seconds() })),
        Some("open") => engine.open().map(|()| json!({ "seconds": seconds() })),
        Some("query") => engine.query(sql).map(|rows| json!({ "seconds": seconds(), "rows": rows })),
        Some("answer") => {
            engine.answer(sql).map(|answer| json!({ "columns": answer.columns(), "rows": answer.rows() }))
        }
        _ => Err(format!("no such request: {request}").into()),
    }
}

fn file(folder: &Path, table: Table) -> PathBuf {
    folder.join(format!("{}.parquet", table.name()))
}

struct Gingham {
    files: PathBuf,
    database: PathBuf,
    threads: usize,
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
        for table in Table::ALL {
            let options = LoadOptions { table: table.name().to_string(), ..LoadOptions::default() };
            connection.load(&[file(&self.files, table)], &options, &())?;
        }
        Ok(())
    }

    fn open(&mut self) -> Result<()> {
        let options = DatabaseOptions { threads: Some(self.threads), ..DatabaseOptions::default() };
        self.connection = Some(Database::open_with(&self.database, &options)?.connect());
        Ok(())
    }

    fn query(&mut self, sql: &str) -> Result<usize> {
        let batches = self.connection()?.query(sql)?.collect_batches()?;
        Ok(batches.iter().map(|batch| batch.num_rows()).sum())
    }

    fn answer(&mut self, sql: &str) -> Result<Answer> {
        let result = self.connection()?.query(sql)?;
        let schema = result.schema();
        Ok(Answer::new(&schema, &result.collect_batches()?)?)
    }
}

struct DataFusion {
    files: PathBuf,
    memory: bool,
    reference: Reference,
}

impl Engine for DataFusion {
    fn load(&mut self) -> Result<()> {
        for table in Table::ALL {
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

    fn answer(&mut self, sql: &str) -> Result<Answer> {
        Ok(Answer::of_datafusion(&self.reference, sql)?)
    }
}
