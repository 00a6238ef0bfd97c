//! Parquet files as if they had no statistics of floats. Writers leave NaN out of these, which is the largest number in SQL: row groups
//! with a NaN would be left out by `x > 1`, and a column of NaN and one other number would be that number.

use bytes::Bytes;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Statistics};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::ParquetFileReaderFactory;
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::FutureExt;
use futures::future::BoxFuture;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::basic::{LogicalType, Type};
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataBuilder, RowGroupMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::schema::types::ColumnDescriptor;
use std::ops::Range;
use std::sync::Arc;

/// A file's statistics without those of floats.
pub(super) fn without_floats(mut statistics: Statistics, schema: &arrow::datatypes::Schema) -> Statistics {
    for (field, known) in schema.fields().iter().zip(&mut statistics.column_statistics) {
        if field.data_type().is_floating() {
            let null_count = std::mem::replace(&mut known.null_count, Precision::Absent);
            *known = ColumnStatistics { null_count, ..ColumnStatistics::new_unknown() };
        }
    }
    statistics
}

/// Makes readers that say nothing of floats.
#[derive(Debug)]
pub(super) struct FloatlessReaders(pub(super) Arc<dyn ParquetFileReaderFactory>);

impl ParquetFileReaderFactory for FloatlessReaders {
    fn create_reader(
        &self,
        partition: usize,
        file: PartitionedFile,
        metadata_size: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> DataFusionResult<Box<dyn AsyncFileReader + Send>> {
        Ok(Box::new(FloatlessReader(self.0.create_reader(partition, file, metadata_size, metrics)?)))
    }
}

struct FloatlessReader(Box<dyn AsyncFileReader + Send>);

impl AsyncFileReader for FloatlessReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, Result<Bytes>> {
        self.0.get_bytes(range)
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        self.0.get_byte_ranges(ranges)
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, Result<Arc<ParquetMetaData>>> {
        async move { floatless(self.0.get_metadata(options).await?) }.boxed()
    }
}

fn is_float(column: &ColumnDescriptor) -> bool {
    matches!(column.physical_type(), Type::FLOAT | Type::DOUBLE)
        || matches!(column.logical_type_ref(), Some(LogicalType::Float16))
}

/// A footer without statistics of floats, by row groups and by pages.
fn floatless(footer: Arc<ParquetMetaData>) -> Result<Arc<ParquetMetaData>> {
    let columns = footer.file_metadata().schema_descr().columns();
    if !columns.iter().any(|column| is_float(column)) {
        return Ok(footer);
    }
    let mut footer = ParquetMetaDataBuilder::new_from_metadata(footer.as_ref().clone());
    let groups: Vec<RowGroupMetaData> =
        footer.take_row_groups().into_iter().map(floatless_group).collect::<Result<_>>()?;
    let index = footer.take_column_index().map(|mut index| {
        for (group, pages) in groups.iter().zip(&mut index) {
            for (column, pages) in group.columns().iter().zip(pages) {
                if is_float(column.column_descr()) {
                    *pages = ColumnIndexMetaData::NONE;
                }
            }
        }
        index
    });
    Ok(Arc::new(footer.set_row_groups(groups).set_column_index(index).build()))
}

fn floatless_group(group: RowGroupMetaData) -> Result<RowGroupMetaData> {
    let column = |column: ColumnChunkMetaData| match is_float(column.column_descr()) {
        true => column.into_builder().clear_statistics().build(),
        false => Ok(column),
    };
    let columns = group.columns().iter().cloned().map(column).collect::<Result<_>>()?;
    group.into_builder().set_column_metadata(columns).build()
}
