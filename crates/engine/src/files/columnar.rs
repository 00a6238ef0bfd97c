//! Files of columns as a table of a query: Parquet and Arrow IPC by DataFusion's readers, which read the columns that are asked for and
//! leave out row groups and pages by their statistics.

use crate::files::float_statistics::{FloatlessReaders, without_floats};
use crate::files::folders::FolderColumns;
use crate::files::options::{FileFormat, ReadOptions};
use crate::files::source::io_error;
use crate::type_name::type_name;
use crate::{Error, Result};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Statistics;
use datafusion::datasource::file_format::FileFormat as FormatReader;
use datafusion::datasource::file_format::arrow::ArrowFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::CachedParquetFileReaderFactory;
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, FileSource, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::SessionState;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::object_store::path::Path as StorePath;
use datafusion::object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use datafusion::physical_plan::ExecutionPlan;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use gingham_storage::SqlState;
use parquet::basic::{ConvertedType, LogicalType};
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor};
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files whose beginnings and ends are looked at at the same time.
const LOOKED_AT: usize = 16;

/// Files of columns that a query reads in place.
#[derive(Debug)]
pub(crate) struct ColumnarFiles {
    format: FileFormat,
    /// Columns of the files, matched by their names, then those of folders.
    schema: TableSchema,
    files: Vec<PartitionedFile>,
    folders: FolderColumns,
}

impl ColumnarFiles {
    /// Looks at the files.
    ///
    /// # Errors
    ///
    /// One can't be read, or has another type for a column than one before it.
    pub(crate) async fn open(
        paths: &[PathBuf],
        format: FileFormat,
        options: &ReadOptions,
        state: &SessionState,
    ) -> Result<Self> {
        let reader = reader_of(format, state);
        let store = state.runtime_env().object_store(ObjectStoreUrl::local_filesystem())?;
        let all = stream::iter(paths.to_vec());
        let looked = all.map(|path| look(path, format, &reader, &store, state).boxed());
        let looked: Vec<_> = looked.buffered(LOOKED_AT).try_collect().await?;
        let schemas: Vec<SchemaRef> = looked.iter().map(|(_, schema)| Arc::clone(schema)).collect();
        let own = Arc::new(merged(paths, &schemas)?);
        let names: Vec<&str> = own.fields().iter().map(|field| field.name().as_str()).collect();
        let folders = FolderColumns::beside(&names, paths, options)?;
        let fields: Vec<_> = folders.fields().into_iter().map(Arc::new).collect();
        let schema = TableSchema::builder(Arc::clone(&own)).with_table_partition_cols(fields).build();
        let mut files = Vec::with_capacity(looked.len());
        for (number, (found, _)) in looked.into_iter().enumerate() {
            // What the footers say was read above, and is kept.
            let statistics = reader.infer_stats(state, &store, Arc::clone(&own), &found).await?;
            let statistics = without_floats(statistics, &own);
            let file = PartitionedFile::new_from_meta(found).with_partition_values(folders.values_of(number)?);
            files.push(file.with_statistics(Arc::new(statistics)));
        }
        Ok(Self { format, schema, files, folders })
    }
}

#[async_trait::async_trait]
impl TableProvider for ColumnarFiles {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.schema.table_schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> DataFusionResult<Vec<TableProviderFilterPushDown>> {
        // Conditions on the files' own columns reach their reader as physical expressions.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let wanted = self.folders.wanted_files(state, filters, self.files.len())?;
        let files: Vec<PartitionedFile> = wanted.into_iter().map(|file| self.files[file].clone()).collect();
        let schema = self.schema.table_schema();
        let statistics = match files.is_empty() {
            true => Statistics::new_unknown(schema),
            false => Statistics::try_merge_iter(files.iter().filter_map(|file| file.statistics.as_deref()), schema)?,
        };
        let groups = match files.is_empty() {
            true => vec![FileGroup::new(Vec::new())],
            false => FileGroup::new(files).split_files(state.config().target_partitions().max(1)),
        };
        let source = self.source(state)?;
        let scan = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), source)
            .with_file_groups(groups)
            .with_statistics(statistics)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        match self.format {
            FileFormat::Arrow => reader_of(self.format, state).create_physical_plan(state, scan).await,
            _ => Ok(DataSourceExec::from_data_source(scan)),
        }
    }
}

impl ColumnarFiles {
    /// The reader of single files.
    fn source(&self, state: &dyn Session) -> DataFusionResult<Arc<dyn FileSource>> {
        if self.format == FileFormat::Arrow {
            return Ok(reader_of(self.format, state).file_source(self.schema.clone()));
        }
        let mut options = state.default_table_options().parquet;
        // Of equal floats 0.0 and -0.0 the filters know one.
        let has_floats = self.schema.file_schema().fields().iter().any(|field| field.data_type().is_floating());
        options.global.bloom_filter_on_read &= !has_floats;
        let environment = state.runtime_env();
        let store = environment.object_store(ObjectStoreUrl::local_filesystem())?;
        let readers = CachedParquetFileReaderFactory::new(store, environment.cache_manager.get_file_metadata_cache());
        let source = ParquetSource::new(self.schema.clone()).with_table_parquet_options(options);
        Ok(Arc::new(source.with_parquet_file_reader_factory(Arc::new(FloatlessReaders(Arc::new(readers))))))
    }
}

/// The reader that finds the columns of files.
fn reader_of(format: FileFormat, state: &dyn Session) -> Arc<dyn FormatReader> {
    match format {
        FileFormat::Arrow => Arc::new(ArrowFormat),
        _ => Arc::new(ParquetFormat::default().with_options(state.default_table_options().parquet)),
    }
}

/// A file's place and size, and its columns.
async fn look(
    path: PathBuf,
    format: FileFormat,
    reader: &Arc<dyn FormatReader>,
    store: &Arc<dyn ObjectStore>,
    state: &SessionState,
) -> Result<(ObjectMeta, SchemaRef)> {
    let absolute = std::path::absolute(&path).map_err(|error| io_error(&path, &error))?;
    let place = StorePath::from_absolute_path(absolute);
    let place = place.map_err(|error| Error::Io(format!("{}: {error}", path.display())))?;
    let found = store.head(&place).await.map_err(DataFusionError::from)?;
    if found.size == 0 {
        return Err(unreadable(&path, format, "it has no byte in it"));
    }
    let schema = reader.infer_schema(state, store, std::slice::from_ref(&found)).await;
    let mut schema = schema.map_err(|error| told(&path, format, error))?;
    if format == FileFormat::Parquet && schema.fields().iter().any(|field| field.data_type().is_binary()) {
        // The footer was read for the schema, and is kept.
        let kept = state.runtime_env().cache_manager.get_file_metadata_cache();
        let footer = DFParquetMetadata::new(store.as_ref(), &found).with_file_metadata_cache(Some(kept));
        let footer = footer.fetch_metadata().await.map_err(|error| told(&path, format, error))?;
        schema = Arc::new(with_words(&schema, footer.file_metadata().schema_descr()));
    }
    Ok((found, schema))
}

/// The columns of all files, in the order in which they are met.
fn merged(paths: &[PathBuf], schemas: &[SchemaRef]) -> Result<Schema> {
    let mut fields: Vec<(Arc<Field>, &Path)> = Vec::new();
    for (path, schema) in paths.iter().zip(schemas) {
        for field in schema.fields() {
            let Some((known, first)) = fields.iter().find(|(known, _)| known.name() == field.name()) else {
                fields.push((Arc::clone(field), path));
                continue;
            };
            if known.data_type() != field.data_type() && !known.data_type().is_null() {
                let text = format!(
                    "column '{}' is {} in {} and {} in {}; read the files one by one, and cast it",
                    field.name(),
                    type_name(known.data_type()),
                    first.display(),
                    type_name(field.data_type()),
                    path.display()
                );
                return Err(Error::invalid(SqlState::DatatypeMismatch, text));
            }
        }
    }
    Ok(Schema::new(fields.into_iter().map(|(field, _)| field.as_ref().clone().with_nullable(true)).collect::<Vec<_>>()))
}

/// The schema with text for bytes that a Parquet file says to be words of an enumeration.
fn with_words(schema: &Schema, columns: &SchemaDescriptor) -> Schema {
    let words = word_columns(columns);
    let field = |field: &Arc<Field>| match words.contains(field.name().as_str()) {
        true => field.as_ref().clone().with_data_type(DataType::Utf8View),
        false => field.as_ref().clone(),
    };
    Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>())
}

/// Names of a Parquet file's columns that hold words of an enumeration, which are texts.
pub(crate) fn word_columns(columns: &SchemaDescriptor) -> HashSet<&str> {
    let is_enum = |column: &&ColumnDescPtr| {
        matches!(column.logical_type_ref(), Some(LogicalType::Enum)) || column.converted_type() == ConvertedType::ENUM
    };
    let top = columns.columns().iter().filter(|column| column.path().parts().len() == 1);
    top.filter(is_enum).map(|column| column.name()).collect()
}

/// An error of a reader, as one of the file where it is about that.
fn told(path: &Path, format: FileFormat, error: DataFusionError) -> Error {
    match error {
        DataFusionError::ParquetError(error) => unreadable(path, format, error),
        DataFusionError::ArrowError(error, _) => unreadable(path, format, error),
        other => other.into(),
    }
}

/// The error of a file that is not what its format says.
pub(crate) fn unreadable(path: &Path, format: FileFormat, why: impl fmt::Display) -> Error {
    let format = if format == FileFormat::Arrow { "Arrow IPC" } else { "Parquet" };
    Error::invalid(SqlState::BadCopyFileFormat, format!("{} can't be read as {format}: {why}", path.display()))
}
