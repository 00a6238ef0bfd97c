//! The operator that reads files: tasks each read parts of them, and parse the columns that are asked for.

use crate::files::filter::RecordFilter;
use crate::files::folders::FolderColumns;
use crate::files::records::{FileColumn, FileOutput, FilePart, FileRecords, ValueTypes, without};
use crate::files::rejects::{Reject, Rejects};
use crate::files::set::FileSet;
use crate::files::source::FileSource;
use crate::files::text::lines;
use crate::inputs::rows_of_tasks;
use crate::{Error, Result};
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion::common::Statistics;
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::filter_pushdown::{ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use gingham_storage::Problem;
use std::fmt;
use std::sync::Arc;

/// Batches that a task may be ahead of its reader.
const WAITING_BATCHES: usize = 2;

/// A reading of files: which columns of which parts.
#[derive(Debug, Clone)]
pub(super) struct FileScan {
    pub(super) files: FileSet,
    /// The columns to parse.
    pub(super) columns: Arc<[FileColumn]>,
    /// For each column of the rows where it comes from.
    pub(super) outputs: Arc<[FileOutput]>,
    pub(super) folders: Arc<FolderColumns>,
    pub(super) parts: Arc<[FilePart]>,
    /// Conditions that records may be left out by.
    pub(super) filter: Option<RecordFilter>,
    /// Where records go that can't be read, when they are passed over.
    pub(super) rejects: Option<Rejects>,
}

/// Reads files.
#[derive(Debug, Clone)]
pub(crate) struct FileExec {
    scan: FileScan,
    schema: SchemaRef,
    /// Task `n` reads each part whose number, divided by `tasks`, leaves `n`.
    tasks: usize,
    /// Most rows that a task gives.
    limit: Option<usize>,
    properties: Arc<PlanProperties>,
}

impl FileExec {
    pub(super) fn new(scan: FileScan, schema: SchemaRef, tasks: usize, limit: Option<usize>) -> Self {
        let tasks = tasks.clamp(1, scan.parts.len().max(1));
        let properties = rows_of_tasks(&schema, tasks);
        Self { scan, schema, tasks, limit, properties }
    }

    /// The records that it reads, in words.
    pub(crate) fn in_words(&self) -> String {
        let files = &self.scan.files;
        let first = files.source(0).path().display();
        let more = if files.files() > 1 { format!(" and {} more", files.files() - 1) } else { String::new() };
        let filter = self.scan.filter.as_ref();
        let filter = filter.map_or_else(String::new, |filter| format!(" where {}", filter.in_words()));
        let limit = self.limit.map_or_else(String::new, |rows| format!(", {rows} rows of a part at most"));
        format!("read file '{first}'{more}{filter}{limit}")
    }

    /// This one with a task for each part: read one after the other, they give the rows in the order of the files.
    pub(crate) fn by_portions(&self) -> Self {
        let tasks = self.scan.parts.len().max(1);
        Self { tasks, properties: rows_of_tasks(&self.schema, tasks), ..self.clone() }
    }
}

impl DisplayAs for FileExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        let first = self.scan.files.source(0).path().display();
        write!(
            f,
            "FileExec: file={first}, columns=[{}], parts={}, tasks={}",
            names.join(", "),
            self.scan.parts.len(),
            self.tasks
        )?;
        if let Some(filter) = &self.scan.filter {
            write!(f, ", filter={filter}")?;
        }
        self.limit.map_or(Ok(()), |limit| write!(f, ", limit={limit}"))
    }
}

impl ExecutionPlan for FileExec {
    fn name(&self) -> &str {
        "FileExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    crate::inputs::reads_nothing!();

    /// Keeps conditions by which records are left out before all of their columns are parsed. The filter above stays.
    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> DataFusionResult<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let conditions: Vec<_> = result.parent_filters.iter().map(|parent| Arc::clone(&parent.filter)).collect();
        let mut propagation = FilterPushdownPropagation::all_unsupported(result);
        // Rows that a limit counts are those of before the conditions.
        if phase == FilterPushdownPhase::Pre && self.limit.is_none() {
            let filter = RecordFilter::of(conditions, &self.scan.outputs, &self.schema)?;
            if filter.is_some() {
                let scan = FileScan { filter, ..self.scan.clone() };
                propagation.updated_node = Some(Arc::new(Self { scan, ..self.clone() }) as _);
            }
        }
        Ok(propagation)
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(Self { limit, ..self.clone() }))
    }

    fn partition_statistics(&self, partition: Option<usize>) -> DataFusionResult<Arc<Statistics>> {
        let parts = if partition.is_some() { self.tasks } else { 1 };
        let rows = self.scan.files.about_records() / parts;
        let statistics = Statistics::new_unknown(&self.schema);
        Ok(Arc::new(statistics.with_num_rows(Precision::Inexact(self.limit.map_or(rows, |limit| limit.min(rows))))))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> DataFusionResult<SendableRecordBatchStream> {
        let batch_rows = context.session_config().batch_size().max(1);
        let parts: Vec<FilePart> = self.scan.parts.iter().skip(partition).step_by(self.tasks).cloned().collect();
        let (scan, schema) = (self.scan.clone(), Arc::clone(&self.schema));
        let mut left = self.limit.unwrap_or(usize::MAX);
        let mut receiver = RecordBatchReceiverStream::builder(Arc::clone(&schema), WAITING_BATCHES);
        let sender = receiver.tx();
        receiver.spawn_blocking(move || {
            let lane = scan.files.lane(&scan.columns, ValueTypes::Own, false, parts);
            let mut lane = lane.filtered(scan.filter.clone());
            let mut read = || -> Result<()> {
                while let Some(records) = lane.next()? {
                    let batch = scan.good(records, &schema)?;
                    for at in (0..batch.num_rows()).step_by(batch_rows) {
                        let rows = batch_rows.min(batch.num_rows() - at).min(left);
                        left -= rows;
                        if rows > 0 && sender.blocking_send(Ok(batch.slice(at, rows))).is_err() || left == 0 {
                            return Ok(());
                        }
                    }
                }
                Ok(())
            };
            read().map_err(|error| DataFusionError::External(Box::new(error)))
        });
        Ok(make_cooperative(receiver.build()))
    }
}

impl FileScan {
    /// The records that can be read, as a batch.
    ///
    /// # Errors
    ///
    /// There are others, which are not to be passed over.
    fn good(&self, mut records: FileRecords, schema: &SchemaRef) -> Result<RecordBatch> {
        let rows = records.rows();
        let source = self.files.source(records.file);
        let bad_rows = records.misfit_rows();
        if !records.unreadable.is_empty() || !bad_rows.is_empty() {
            match &self.rejects {
                None => return Err(self.first_problem(source, records)?),
                Some(rejects) => self.reject(source, &mut records, rejects)?,
            }
        }
        let column = |output: &FileOutput| -> Result<ArrayRef> {
            match output {
                FileOutput::Parsed(place) => Ok(Arc::clone(&records.arrays[*place])),
                FileOutput::Folder(column) => self.folders.repeated(*column, records.file, rows),
            }
        };
        let columns = self.outputs.iter().map(column).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?;
        if bad_rows.is_empty() { Ok(batch) } else { without(&batch, &bad_rows) }
    }

    /// The error of the first record that can't be read, by its line.
    fn first_problem(&self, source: &FileSource, records: FileRecords) -> Result<Error> {
        let misfit = |(row, column, problem)| (records.starts[row], Some(&self.columns[column]), problem);
        let misfits = records.misfits.into_iter().take(1).map(misfit);
        let unreadable = records.unreadable.into_iter().take(1).map(|(start, problem)| (start, None, problem));
        let first = unreadable.chain(misfits).min_by_key(|(start, ..)| *start);
        let Some((start, column, problem)) = first else { return Ok(Error::Internal("no record is bad".to_owned())) };
        let line = lines(source, &[start])?.first().copied().unwrap_or(0);
        let place = format!("{}:{line}", source.path().display());
        Ok(Error::InvalidInput(match column {
            None => problem.about(place),
            Some(column) => self.with_advice(column, problem).about(format_args!("{place}, column '{}'", column.name)),
        }))
    }

    /// A problem of a value, with what to do where its column's type was found by a sample.
    fn with_advice(&self, column: &FileColumn, problem: Problem) -> Problem {
        if column.is_given() || self.files.types_are_final() {
            return problem;
        }
        let text = format!(
            "{}; the type was found by the first {} records: let it be found by all (sample_size = -1), say it (types = \
             {{'{}': 'VARCHAR'}}), or load the file into a table, which finds it by all",
            problem.text,
            self.files.sampled_records(),
            column.name
        );
        Problem { text, ..problem }
    }

    /// Puts the records that can't be read on the list.
    fn reject(&self, source: &FileSource, records: &mut FileRecords, rejects: &Rejects) -> Result<()> {
        records.misfits.dedup_by_key(|(row, ..)| *row);
        rejects.passed_over((records.unreadable.len() + records.misfits.len()) as u64);
        if rejects.is_full() {
            return Ok(());
        }
        let unreadable = records.unreadable.drain(..).map(|(start, problem)| (start, None, problem.text));
        let misfits = records.misfits.drain(..);
        let misfits = misfits.map(|(row, column, problem)| (records.starts[row], Some(column), problem.text));
        let mut bad: Vec<(u64, Option<usize>, String)> = unreadable.chain(misfits).collect();
        bad.sort_by_key(|(start, ..)| *start);
        let starts: Vec<u64> = bad.iter().map(|(start, ..)| *start).collect();
        for ((_, column, error), line) in bad.into_iter().zip(lines(source, &starts)?) {
            let column = column.map(|column| self.columns[column].name.clone());
            rejects.add(Reject { file: source.path().display().to_string(), line, column, error });
        }
        Ok(())
    }
}
