//! Plain DataFusion: the oracle of every answer, and what Gingham's times stand beside.
//!
//! A crate of its own, without any other crate of Gingham, because whoever awaits DataFusion's planning makes the
//! compiler build its planner once more: here it is built beside the other crates, and optimised as DataFusion is.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::datasource::MemTable;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

pub use datafusion::error::{DataFusionError as Error, Result};

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
    pub fn query(&self, sql: &str) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        self.runtime.block_on(self.run(sql))
    }

    async fn run(&self, sql: &str) -> Result<(SchemaRef, Vec<RecordBatch>)> {
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
