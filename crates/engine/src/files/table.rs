//! Files as a table of a query.

use crate::files::exec::{FileExec, FileScan};
use crate::files::find;
use crate::files::folders::FolderColumns;
use crate::files::options::{FileFormat, ReadOptions};
use crate::files::records::{FileColumn, FileOutput, FilePart};
use crate::files::rejects::Rejects;
use crate::files::set::FileSet;
use crate::{Error, Result};
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes that a task reads of a file before others have their turn.
const PART_BYTES: u64 = 4 << 20;

/// Files that are found at a name.
pub(crate) enum FoundFiles {
    /// Files of text.
    Text(FileTable),
    /// Files of columns.
    Columns(Vec<PathBuf>, FileFormat),
}

/// Files that a query reads in place.
#[derive(Debug)]
pub(crate) struct FileTable {
    schema: SchemaRef,
    files: FileSet,
    /// Columns of the files, which the schema has first.
    columns: Arc<[FileColumn]>,
    /// Those that the schema has next.
    folders: Arc<FolderColumns>,
    rejects: Option<Rejects>,
}

impl FileTable {
    /// Looks at files of text. Blocks: keep it off the threads that drive queries.
    fn open(paths: &[PathBuf], format: FileFormat, options: &ReadOptions, rejects: &Rejects) -> Result<Self> {
        let files = FileSet::open(paths, format, options, None)?;
        let columns: Arc<[FileColumn]> = files.columns()?.into();
        let field = |column: &FileColumn| Field::new(&column.name, column.logical_type().to_arrow(), true);
        let mut fields: Vec<Field> = columns.iter().map(field).collect();
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let folders = FolderColumns::beside(&names, paths, options)?;
        fields.extend(folders.fields());
        let rejects = options.ignore_errors.then(|| rejects.begun());
        Ok(Self { schema: Arc::new(Schema::new(fields)), files, columns, folders: Arc::new(folders), rejects })
    }

    /// Looks at the files at `patterns`.
    pub(crate) fn find(patterns: &[String], options: &ReadOptions, rejects: &Rejects) -> Result<FoundFiles> {
        let paths = find::matching(patterns)?;
        let (paths, format) = find::resolve(&paths, options.format)?;
        options.check(format)?;
        match format {
            FileFormat::Csv | FileFormat::Tbl | FileFormat::Json => {
                Self::open(&paths, format, options, rejects).map(FoundFiles::Text)
            }
            FileFormat::Parquet | FileFormat::Arrow => Ok(FoundFiles::Columns(paths, format)),
        }
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

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> DataFusionResult<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match self.folders.decide(filter) {
            true => TableProviderFilterPushDown::Inexact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let all: Vec<usize> = (0..self.schema.fields().len()).collect();
        let positions = projection.unwrap_or(&all);
        let tasks = state.config().target_partitions().max(1);
        let part_bytes = if tasks == 1 || limit.is_some() { u64::MAX } else { PART_BYTES };
        let files = self.files.clone();
        let wanted = self.folders.wanted_files(state, filters, self.files.files())?;
        // Where quotes may hide the ends of lines, all of the file is looked at.
        let parts = tokio::task::spawn_blocking(move || files.parts(&wanted, part_bytes));
        let parts: Vec<FilePart> = parts.await.unwrap_or_else(|error| Err(Error::of_task(error)))?;
        let scan = FileScan {
            files: self.files.clone(),
            columns: positions.iter().filter_map(|position| self.columns.get(*position).cloned()).collect(),
            outputs: self.outputs(positions),
            folders: Arc::clone(&self.folders),
            parts: parts.into(),
            filter: None,
            rejects: self.rejects.clone(),
        };
        let schema = Arc::new(self.schema.project(positions)?);
        Ok(Arc::new(FileExec::new(scan, schema, tasks, limit)))
    }
}

impl FileTable {
    /// What the columns at `positions` are.
    fn outputs(&self, positions: &[usize]) -> Arc<[FileOutput]> {
        let columns = self.columns.len();
        let mut parsed = 0;
        let output = |position: &usize| match *position {
            position if position < columns => {
                parsed += 1;
                FileOutput::Parsed(parsed - 1)
            }
            position => FileOutput::Folder(position - columns),
        };
        positions.iter().map(output).collect()
    }
}
