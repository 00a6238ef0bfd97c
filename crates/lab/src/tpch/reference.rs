//! Plain DataFusion over the same data: the oracle of every answer, and what Gingham's times stand beside.

use super::answers::Answer;
use arrow::array::RecordBatch;
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

/// Bytes of stack of a worker thread: planning recurses, and debug builds have large frames.
const STACK_BYTES: usize = 8 << 20;

/// A DataFusion session with threads of its own.
pub struct Reference {
    runtime: Runtime,
    context: SessionContext,
    threads: usize,
}

impl Reference {
    /// A session whose queries use `threads` partitions on as many threads. Literals such as 0.05 are decimals, as in
    /// Gingham; every other setting is DataFusion's default.
    pub fn new(threads: usize) -> Result<Self> {
        let runtime =
            Builder::new_multi_thread().worker_threads(threads).thread_stack_size(STACK_BYTES).enable_all().build()?;
        let config = SessionConfig::new()
            .with_target_partitions(threads)
            .set_bool("datafusion.sql_parser.parse_float_as_decimal", true);
        Ok(Self { runtime, context: SessionContext::new_with_config(config), threads })
    }

    /// Registers batches in memory as a table, in as many contiguous partitions as the session has threads.
    pub fn register_memory(&self, name: &str, batches: &[RecordBatch]) -> Result<()> {
        let Some(first) = batches.first() else {
            return datafusion::common::exec_err!("table '{name}' has no batches");
        };
        let share = batches.len().div_ceil(self.threads);
        let partitions = batches.chunks(share).map(<[RecordBatch]>::to_vec).collect();
        self.context.register_table(name, Arc::new(MemTable::try_new(first.schema(), partitions)?))?;
        Ok(())
    }

    /// Registers a Parquet file as a table, read anew by every query.
    pub fn register_parquet(&self, name: &str, file: &Path) -> Result<()> {
        let options = ParquetReadOptions::default();
        self.runtime.block_on(self.context.register_parquet(name, file.to_string_lossy(), options))
    }

    /// Reads a registered table into memory.
    pub fn read(&self, name: &str) -> Result<Vec<RecordBatch>> {
        self.runtime.block_on(async { self.context.table(name).await?.collect().await })
    }

    /// Runs a query to its last row.
    pub fn query(&self, sql: &str) -> Result<Vec<RecordBatch>> {
        self.runtime.block_on(self.run(sql)).map(|(_, batches)| batches)
    }

    /// Runs a query and gives its result as comparable rows.
    pub fn answer(&self, sql: &str) -> Result<Answer> {
        let (schema, batches) = self.runtime.block_on(self.run(sql))?;
        Ok(Answer::new(&schema, &batches)?)
    }

    async fn run(&self, sql: &str) -> Result<(arrow::datatypes::SchemaRef, Vec<RecordBatch>)> {
        let task_sql = sql.to_string();
        let context = self.context.clone();
        // On a worker, so that planning has its stack and execution does not cross threads needlessly.
        let task = tokio::spawn(async move {
            let frame = context.sql(&task_sql).await?;
            let schema = Arc::clone(frame.schema().inner());
            Ok((schema, frame.collect().await?))
        });
        match task.await {
            Ok(result) => result,
            Err(error) => datafusion::common::exec_err!("the query's task ended: {error}"),
        }
    }
}
