//! A statement: its text or its target, its parameters, and its run.

use crate::connection::Shared;
use crate::error::{not_offered, told, unknown_option, wrong_argument, wrong_state};
use crate::ingest::{self, IngestMode, Target};
use crate::options;
use crate::rows::{BoundValues, ResultRows, RowsOfEach, reader_of};
use adbc_core::error::Result;
use adbc_core::options::{OptionStatement, OptionValue};
use adbc_core::{CancelHandle, Optionable, PartitionedResult, Statement};
use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;
use gingham::{Prepared, QueryResult, RunningStatement, StatementHandle, plain_strings};
use std::sync::{Arc, Mutex, PoisonError};

/// The key of the option that gives strings as Utf8View and bytes as BinaryView, as the engine has them.
const VIEWS: &str = "gingham.string_views";

/// A statement, as `guarded` describes it.
pub struct PlainStatement {
    shared: Arc<Shared>,
    sql: Option<String>,
    prepared: Option<Prepared>,
    bound: Option<Box<dyn RecordBatchReader + Send>>,
    target: Target,
    views: bool,
    running: Arc<Running>,
}

/// The handle of what runs now.
#[derive(Default)]
struct Running(Mutex<Option<StatementHandle>>);

impl Running {
    fn note(&self, handle: &StatementHandle) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle.clone());
    }
}

/// Cancels one statement.
struct CancelsStatement(Arc<Running>);

impl CancelHandle for CancelsStatement {
    fn try_cancel(&self) -> Result<()> {
        match self.0.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some(handle) => handle.cancel(),
            None => return Err(wrong_state("the statement is not running")),
        }
        Ok(())
    }
}

impl std::fmt::Debug for PlainStatement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlainStatement").field("sql", &self.sql).field("target", &self.target).finish_non_exhaustive()
    }
}

impl PlainStatement {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let (target, running) = (Target::default(), Arc::default());
        Self { shared, sql: None, prepared: None, bound: None, target, views: false, running }
    }

    fn sql(&self) -> Result<&str> {
        self.sql.as_deref().ok_or_else(|| wrong_state("the statement has no text: set its query first"))
    }

    fn described(&self) -> Result<Prepared> {
        match &self.prepared {
            Some(prepared) => Ok(prepared.clone()),
            None => self.shared.connection.prepare(self.sql()?).map_err(told),
        }
    }

    fn wait(&self, started: gingham::Result<RunningStatement>) -> Result<QueryResult> {
        let started = started.map_err(told)?;
        self.running.note(&started.handle());
        started.wait().map_err(told)
    }

    /// Runs the statement without values.
    fn run(&self) -> Result<QueryResult> {
        self.shared.enter()?;
        let started = match &self.prepared {
            Some(prepared) => prepared.start(&[]),
            None => self.shared.connection.start(self.sql()?),
        };
        self.wait(started)
    }

    fn shape(&self) -> fn(QueryResult) -> QueryResult {
        if self.views { |result| result } else { QueryResult::with_plain_strings }
    }

    fn ingest(&mut self) -> Result<i64> {
        let bound = self.bound.take();
        let rows =
            bound.ok_or_else(|| wrong_state("nothing is bound that could be ingested: bind a batch or a stream"))?;
        self.shared.enter()?;
        ingest::run(&self.shared.connection, &self.target, rows, |handle| self.running.note(&handle))
    }
}

impl Optionable for PlainStatement {
    type Option = OptionStatement;

    fn set_option(&mut self, key: OptionStatement, value: OptionValue) -> Result<()> {
        let name = key.as_ref().to_owned();
        match key {
            OptionStatement::IngestMode => self.target.mode = IngestMode::of(&options::text(&name, &value)?)?,
            OptionStatement::TargetTable => {
                self.target.table = Some(options::text(&name, &value)?);
                (self.sql, self.prepared) = (None, None);
            }
            OptionStatement::TargetCatalog => {
                let wanted = options::text(&name, &value)?;
                if wanted != crate::connection::CATALOG {
                    return Err(wrong_argument(format!("there is one catalog, '{}'", crate::connection::CATALOG)));
                }
            }
            OptionStatement::TargetDbSchema => self.target.schema = Some(options::text(&name, &value)?),
            OptionStatement::Temporary => self.target.temporary = options::truth(&name, &value)?,
            OptionStatement::Other(own) if own == VIEWS => self.views = options::truth(&own, &value)?,
            _ => return Err(not_offered(format!("option '{name}' of a statement"))),
        }
        Ok(())
    }

    fn get_option_string(&self, key: OptionStatement) -> Result<String> {
        let given = match &key {
            OptionStatement::IngestMode => Some(self.target.mode.name().to_owned()),
            OptionStatement::TargetTable => self.target.table.clone(),
            OptionStatement::TargetDbSchema => self.target.schema.clone(),
            OptionStatement::Temporary => Some(self.target.temporary.to_string()),
            OptionStatement::Other(own) if own == VIEWS => Some(self.views.to_string()),
            _ => None,
        };
        given.ok_or_else(|| unknown_option(key.as_ref()))
    }

    options::only_texts!(OptionStatement);
}

impl Statement for PlainStatement {
    fn bind(&mut self, batch: RecordBatch) -> Result<()> {
        self.bound = Some(reader_of(batch));
        Ok(())
    }

    fn bind_stream(&mut self, reader: Box<dyn RecordBatchReader + Send>) -> Result<()> {
        self.bound = Some(reader);
        Ok(())
    }

    fn execute(&mut self) -> Result<Box<dyn RecordBatchReader + Send>> {
        if self.target.table.is_some() {
            self.ingest()?;
            return Ok(reader_of(RecordBatch::new_empty(Arc::new(Schema::empty()))));
        }
        let shape = self.shape();
        let Some(bound) = self.bound.take() else {
            return Ok(Box::new(ResultRows { result: shape(self.run()?) }));
        };
        let prepared = self.described()?;
        self.shared.enter()?;
        let mut values = BoundValues::new(bound);
        let Some(first) = values.next().transpose()? else {
            return Ok(reader_of(RecordBatch::new_empty(Arc::new(self.execute_schema()?))));
        };
        let current = shape(self.wait(prepared.start(&first))?);
        Ok(Box::new(RowsOfEach { prepared, values, current, shape }))
    }

    fn execute_update(&mut self) -> Result<Option<i64>> {
        if self.target.table.is_some() {
            return Ok(Some(self.ingest()?));
        }
        let rows = |result: QueryResult| -> Result<Option<i64>> {
            let affected = result.rows_affected();
            for batch in result {
                batch.map_err(told)?;
            }
            Ok(affected.and_then(|rows| i64::try_from(rows).ok()))
        };
        let Some(bound) = self.bound.take() else {
            return rows(self.run()?);
        };
        let prepared = self.described()?;
        self.shared.enter()?;
        let handle = StatementHandle::new();
        self.running.note(&handle);
        let failed = |error: ArrowError| gingham::Error::from(error);
        let changed = prepared.for_each(BoundValues::new(bound).map(|values| values.map_err(failed)), &handle);
        Ok(i64::try_from(changed.map_err(told)?).ok())
    }

    fn execute_schema(&mut self) -> Result<Schema> {
        let schema = self.described()?.schema();
        let schema = schema.ok_or_else(|| not_offered("the schema of this statement before it runs"))?;
        let schema = if self.views { schema } else { plain_strings(&schema) };
        Ok(schema.as_ref().clone())
    }

    fn execute_partitions(&mut self) -> Result<PartitionedResult> {
        Err(not_offered("a result in partitions"))
    }

    fn get_parameter_schema(&self) -> Result<Schema> {
        let prepared = self.described()?;
        let named = prepared.parameter_names().iter().zip(prepared.parameter_types()).enumerate();
        let field = |(number, (name, data_type)): (usize, (&Option<String>, &Option<DataType>))| {
            let name = name.clone().unwrap_or_else(|| number.to_string());
            Field::new(name, data_type.clone().unwrap_or(DataType::Null), true)
        };
        Ok(Schema::new(named.map(field).collect::<Vec<_>>()))
    }

    fn prepare(&mut self) -> Result<()> {
        self.prepared = Some(self.shared.connection.prepare(self.sql()?).map_err(told)?);
        Ok(())
    }

    fn set_sql_query(&mut self, query: impl AsRef<str>) -> Result<()> {
        self.sql = Some(query.as_ref().to_owned());
        self.prepared = None;
        self.target = Target::default();
        Ok(())
    }

    fn set_substrait_plan(&mut self, _plan: impl AsRef<[u8]>) -> Result<()> {
        Err(not_offered("a plan of Substrait"))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(CancelsStatement(Arc::clone(&self.running)))
    }
}
