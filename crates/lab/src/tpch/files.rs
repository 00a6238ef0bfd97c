//! The tables as Parquet files: what every engine of the benchmark loads.

use super::{TpchTable, generate_in_order};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::path::Path;

/// Rows of a row group: with about a million, an engine with several threads has as many pieces of lineitem to share.
const ROW_GROUP_ROWS: usize = 1 << 20;

/// Writes `table` at `scale` to `folder/NAME.parquet` (zstd level 1, row groups of a million rows, decimals as
/// DECIMAL(15,2), dates as DATE) and returns its bytes. The file appears under its name when it is whole.
pub fn write_parquet(table: TpchTable, scale: f64, threads: usize, folder: &Path) -> Result<u64> {
    let path = folder.join(format!("{}.parquet", table.name()));
    let unfinished = folder.join(format!("{}.parquet.unfinished", table.name()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .build();
    let mut writer = ArrowWriter::try_new(File::create(&unfinished)?, table.schema(), Some(properties))?;
    generate_in_order(table, scale, threads, |batch| writer.write(&batch))?;
    writer.close()?;
    std::fs::rename(&unfinished, &path)?;
    Ok(std::fs::metadata(&path)?.len())
}
