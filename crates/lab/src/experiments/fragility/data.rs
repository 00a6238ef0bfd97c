//! Values of the micro-benchmark and the files that programs map: one for each layout, as the paper lays its tables out in one array
//! (section 1).

use super::source::{MicroQuery, Schema};
use crate::experiment::Error;
use crate::machine::available_memory;
use crate::random::Random;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Where the system keeps files in memory.
const SHARED_MEMORY: &str = "/dev/shm";

/// The columns of a table, as bytes.
#[derive(Debug)]
pub struct ByteColumns {
    /// Records.
    pub records: usize,
    /// Bytes of a value, and the values, of each column.
    pub columns: Vec<(usize, Vec<u8>)>,
}

/// Even values of some columns of one type.
#[derive(Debug)]
pub struct Values {
    /// The type.
    pub schema: Schema,
    /// The values.
    pub table: ByteColumns,
}

/// A layout: chunks of so many records. Rows are chunks of one, columns one chunk of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Chunk {
    /// Rows and chunks.
    Of(usize),
    /// Columns.
    All,
}

impl Chunk {
    /// Records of a chunk of a table that has `all`.
    pub fn records(self, all: usize) -> usize {
        match self {
            Self::Of(k) => k,
            Self::All => all,
        }
    }

    /// The level of the factor `layout`.
    pub fn name(self) -> String {
        match self {
            Self::Of(1) => "row".to_owned(),
            Self::Of(k) => k.to_string(),
            Self::All => "column".to_owned(),
        }
    }
}

impl Values {
    /// Draws values: all of a char's range; of the others so that the sum of four fits their type.
    pub fn new(schema: Schema, columns: usize, records: usize, seed: u64) -> Self {
        let column = |column: usize| {
            let mut random = Random::named(seed, &format!("fragility {} {column}", schema.name()));
            let mut bytes = Vec::with_capacity(records * schema.bytes());
            for _ in 0..records {
                let bits = random.bits() as i64;
                match schema {
                    Schema::Char => bytes.push(bits as u8),
                    Schema::Int => bytes.extend_from_slice(&((bits >> 34) as i32).to_le_bytes()),
                    Schema::Long => bytes.extend_from_slice(&(bits >> 2).to_le_bytes()),
                }
            }
            bytes
        };
        let columns = (0..columns).map(|number| (schema.bytes(), column(number))).collect();
        Self { schema, table: ByteColumns { records, columns } }
    }

    fn value(&self, column: usize, record: usize) -> i64 {
        let (_, bytes) = &self.table.columns[column];
        match self.schema {
            Schema::Char => i64::from(bytes[record] as i8),
            Schema::Int => i64::from(i32::from_le_bytes(bytes.as_chunks().0[record])),
            Schema::Long => i64::from_le_bytes(bytes.as_chunks().0[record]),
        }
    }

    /// The right answer of a query: by plain loops over the columns.
    pub fn answer(&self, question: MicroQuery) -> i64 {
        let of_record = |record: usize| (0..self.table.columns.len()).map(move |column| self.value(column, record));
        match question {
            MicroQuery::Product => (0..self.table.records)
                .map(|record| of_record(record).fold(1, i64::wrapping_mul))
                .fold(0, i64::wrapping_add),
            MicroQuery::Min | MicroQuery::BranchFreeMin => {
                (0..self.table.records).map(|record| of_record(record).sum::<i64>()).min().unwrap_or(i64::MAX)
            }
        }
    }
}

impl ByteColumns {
    /// Bytes of a layout.
    pub fn bytes(&self) -> usize {
        self.records * self.columns.iter().map(|(width, _)| width).sum::<usize>()
    }

    /// The bytes of all columns, one after the other: layout column.
    pub fn concat(&self) -> Vec<u8> {
        self.columns.iter().flat_map(|(_, bytes)| bytes).copied().collect()
    }

    /// Writes a layout.
    pub fn write(&self, chunk: Chunk, out: &mut impl Write) -> std::io::Result<()> {
        let k = chunk.records(self.records).max(1);
        for start in (0..self.records).step_by(k) {
            let end = self.records.min(start + k);
            for (width, bytes) in &self.columns {
                out.write_all(&bytes[start * width..end * width])?;
            }
        }
        Ok(())
    }
}

/// A file that programs map: it has no name, and is gone with this.
#[derive(Debug)]
pub struct MappedFile {
    file: File,
    /// Bytes.
    pub bytes: usize,
    /// True when it lies in the folder that was asked for.
    pub is_where_asked: bool,
}

impl MappedFile {
    /// A layout of values, in a folder; in that of temporary files where the first has no room.
    pub fn new(table: &ByteColumns, chunk: Chunk, folder: &Path) -> Result<Self, Error> {
        let in_folder = |folder: &Path| {
            let file = tempfile::tempfile_in(folder)?;
            let mut out = BufWriter::with_capacity(1 << 20, &file);
            table.write(chunk, &mut out)?;
            out.flush()?;
            drop(out);
            Ok(file)
        };
        let temporary = std::env::temp_dir();
        let asked: std::io::Result<File> = in_folder(folder);
        let is_where_asked = asked.is_ok();
        // Containers often have little room in shared memory, whatever memory there is.
        let file = asked.or_else(|error| if folder == temporary { Err(error) } else { in_folder(&temporary) });
        let failed = |error: std::io::Error| {
            let bytes = table.bytes();
            Error::Data(format!("{bytes} bytes of layout {} in {}: {error}", chunk.name(), temporary.display()))
        };
        Ok(Self { file: file.map_err(failed)?, bytes: table.bytes(), is_where_asked })
    }

    /// The path at which other processes of this user open it.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }
}

/// The folder of the files, of so many bytes together: in memory where they fit there, otherwise that of temporary files.
pub fn folder(bytes: usize) -> PathBuf {
    let shared = Path::new(SHARED_MEMORY);
    let fits = available_memory().is_some_and(|free| bytes as u64 <= free / 4 * 3);
    if fits && tempfile::tempfile_in(shared).is_ok() { shared.to_owned() } else { std::env::temp_dir() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_have_the_values_where_they_belong() {
        let values = Values {
            schema: Schema::Char,
            table: ByteColumns { records: 5, columns: vec![(1, vec![1, 2, 3, 4, 5]), (1, vec![11, 12, 13, 14, 255])] },
        };
        let of = |chunk| {
            let mut bytes = Vec::new();
            values.table.write(chunk, &mut bytes).unwrap();
            bytes
        };
        assert_eq!(of(Chunk::Of(1)), [1, 11, 2, 12, 3, 13, 4, 14, 5, 255]);
        assert_eq!(of(Chunk::Of(2)), [1, 2, 11, 12, 3, 4, 13, 14, 5, 255]);
        assert_eq!(of(Chunk::All), [1, 2, 3, 4, 5, 11, 12, 13, 14, 255]);
        assert_eq!(values.answer(MicroQuery::Min), 4);
        assert_eq!(values.answer(MicroQuery::Product), 11 + 24 + 39 + 56 - 5);
    }

    #[test]
    fn sums_fit_their_type() {
        for schema in Schema::ALL {
            let values = Values::new(schema, 4, 1000, 1);
            let most = match schema {
                Schema::Char => 127,
                Schema::Int => i64::from(i32::MAX) / 4 + 1,
                Schema::Long => i64::MAX / 4 + 1,
            };
            assert!((0..1000).all(|record| values.value(0, record).abs() <= most + 1), "{schema:?}");
            assert_eq!(values.table.bytes(), 4000 * schema.bytes());
        }
    }
}
