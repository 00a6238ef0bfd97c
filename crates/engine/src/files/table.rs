//! Files as a table of a query.

use crate::files::exec::{FileExec, FileScan};
use crate::files::find;
use crate::files::options::{FileFormat, ReadOptions};
use crate::files::rejects::Rejects;
use crate::files::text::{FilePart, Text, TextColumn};
use crate::{Error, Result};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use gingham_storage::SqlState;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes that a task reads of a file before others have their turn.
const PART_BYTES: u64 = 4 << 20;
/// The column that says which file a record is from.
const FILE_NAME: &str = "filename";

/// Files that a query reads in place.
#[derive(Debug)]
pub(crate) struct FileTable {
    schema: SchemaRef,
    text: Arc<Text>,
    /// Columns of the files, which the schema has first.
    columns: Arc<[TextColumn]>,
    rejects: Option<Rejects>,
}

impl FileTable {
    /// Looks at files. Blocks: keep it off the threads that drive queries.
    pub(crate) fn open(
        paths: &[PathBuf],
        format: FileFormat,
        options: &ReadOptions,
        rejects: &Rejects,
    ) -> Result<Self> {
        let text = Text::open(paths, options, format == FileFormat::Tbl, None)?;
        let columns: Arc<[TextColumn]> = text.columns()?.into();
        let field = |column: &TextColumn| Field::new(&column.name, column.logical_type().to_arrow(), true);
        let mut fields: Vec<Field> = columns.iter().map(field).collect();
        if options.filename {
            if columns.iter().any(|column| column.name == FILE_NAME) {
                let text =
                    format!("{} has a column '{FILE_NAME}' already, so that none can be added", paths[0].display());
                return Err(Error::invalid(SqlState::DuplicateColumn, text));
            }
            fields.push(Field::new(FILE_NAME, DataType::Utf8View, false));
        }
        let rejects = options.ignore_errors.then(|| rejects.begun());
        Ok(Self { schema: Arc::new(Schema::new(fields)), text: Arc::new(text), columns, rejects })
    }

    /// Looks at the files of a pattern, or of a path.
    pub(crate) fn find(patterns: &[String], options: &ReadOptions, rejects: &Rejects) -> Result<Self> {
        let paths = find::matching(patterns)?;
        let (paths, format) = find::resolve(&paths, options.format)?;
        options.check(format)?;
        Self::open(&paths, format, options, rejects)
    }
}

#[async_trait::async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let all: Vec<usize> = (0..self.schema.fields().len()).collect();
        let positions = projection.unwrap_or(&all);
        let tasks = state.config().target_partitions().max(1);
        let part_bytes = if tasks == 1 || limit.is_some() { u64::MAX } else { PART_BYTES };
        let text = Arc::clone(&self.text);
        // Where quotes may hide the ends of lines, all of the file is looked at.
        let parts = tokio::task::spawn_blocking(move || text.parts(part_bytes));
        let parts: Vec<FilePart> = parts.await.unwrap_or_else(|error| Err(Error::of_task(error)))?;
        let scan = FileScan {
            text: Arc::clone(&self.text),
            columns: positions.iter().filter_map(|position| self.columns.get(*position).cloned()).collect(),
            // The name of the file stands behind the columns, whatever a projection's order is.
            outputs: outputs(positions, self.columns.len()),
            parts: parts.into(),
            rejects: self.rejects.clone(),
        };
        let schema = Arc::new(self.schema.project(positions)?);
        Ok(Arc::new(FileExec::new(scan, schema, tasks, limit)))
    }
}

/// For each column of a scan its place among the parsed ones; `None` for the name of the file.
fn outputs(positions: &[usize], columns: usize) -> Arc<[Option<usize>]> {
    let mut parsed = 0;
    let output = |position: &usize| {
        (*position < columns).then(|| {
            parsed += 1;
            parsed - 1
        })
    };
    positions.iter().map(output).collect()
}
