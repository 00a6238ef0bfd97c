//! The paper's tables in dense pages: loaded through SQL, opened page by page for the paper's operators.

use super::tables::{PaperTable, TableValues};
use crate::experiment::{Bench, Error};
use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use gingham::storage::lab::DenseFile;
use gingham::storage::model::PagePacking;
use gingham::storage::{ColumnId, DEFAULT_SCHEMA, TableName};
use gingham::{Connection, Database};
use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;

/// Records of a batch of a load.
const BATCH: usize = 1 << 16;

/// How the records of a table lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// Whole records, packed as Table 1 has it.
    Rows,
    /// Each column on its own, packed as Table 1 has it.
    Columns,
    /// Whole records, not packed: R-Uncomp.
    PlainRows,
    /// Whole records, with the packings that Table 1 prints for them.
    PrintedRows,
    /// Whole records, with the packings that take fewest bytes.
    SmallestRows,
    /// Each column on its own, with the packings that take fewest bytes.
    SmallestColumns,
    /// Groups of five columns: two materialised views.
    Fives,
    /// Groups of two columns: five materialised views.
    Twos,
    /// The engine's layout `column`: no dense pages, read through SQL alone.
    Engine,
}

impl Stored {
    /// The level of the factor `storage`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Columns => "columns",
            Self::PlainRows => "uncompressed rows",
            Self::PrintedRows => "rows as printed",
            Self::SmallestRows => "smallest rows",
            Self::SmallestColumns => "smallest columns",
            Self::Fives => "views of five",
            Self::Twos => "views of two",
            Self::Engine => "layout column",
        }
    }

    /// Name of the SQL table.
    pub fn table(self) -> String {
        self.name().replace(' ', "_")
    }

    /// The packing of a column that is named; `None` for the one that takes fewest bytes.
    fn packing(self, table: PaperTable, column: usize) -> Option<PagePacking> {
        match self {
            Self::Rows => Some(table.row_packing(column)),
            Self::Columns => Some(table.column_packing(column)),
            Self::PlainRows => Some(PagePacking::Plain),
            Self::PrintedRows => Some(table.printed_row_packing(column)),
            Self::SmallestRows | Self::SmallestColumns | Self::Fives | Self::Twos | Self::Engine => None,
        }
    }

    /// The options of CREATE TABLE.
    fn options(self, table: PaperTable) -> String {
        let groups = |size: usize| {
            let group = |group: usize| {
                let columns: Vec<String> = (group * size..(group + 1) * size).map(column_name).collect();
                format!("({}) super_tuple", columns.join(", "))
            };
            format!("groups({})", (0..table.columns() / size).map(group).collect::<Vec<_>>().join(", "))
        };
        let layout = match self {
            Self::Rows | Self::PlainRows | Self::PrintedRows | Self::SmallestRows => "super_tuple".to_owned(),
            Self::Columns | Self::SmallestColumns => "dense_column".to_owned(),
            Self::Fives => groups(5),
            Self::Twos => groups(2),
            Self::Engine => "column".to_owned(),
        };
        let packing = |column| Some(format!("{} {}", column_name(column), self.packing(table, column)?));
        let packings: Vec<String> = (0..table.columns()).filter_map(packing).collect();
        match packings.as_slice() {
            [] => format!("layout = '{layout}'"),
            packings => format!("layout = '{layout}', packing = '{}'", packings.join(", ")),
        }
    }
}

/// Name of a column, from 0 on.
pub fn column_name(column: usize) -> String {
    format!("c{}", column + 1)
}

/// An error of the engine as the lab's.
pub fn failed(error: gingham::Error) -> Error {
    Error::Data(error.to_string())
}

/// The dense pages of some columns of a table.
#[derive(Debug)]
pub struct StoredFile {
    /// The pages.
    pub pages: DenseFile,
    /// The columns, from 0 on, in the order of their fields.
    pub columns: Vec<usize>,
}

/// A table's values, and its pages in some ways to store them.
pub struct StoredTable {
    /// The table.
    pub table: PaperTable,
    /// The values.
    pub values: TableValues,
    database: Database,
    stored: Vec<(Stored, Rc<Vec<StoredFile>>)>,
}

impl StoredTable {
    /// Draws the values of a table and loads them in these ways.
    pub fn new(bench: &Bench, table: PaperTable, ways: &[Stored]) -> Result<Self, Error> {
        let values = TableValues::new(table, table.records(bench), bench.settings.seed);
        let database = Database::in_memory().map_err(failed)?;
        let connection = database.connect();
        for stored in ways {
            load(&connection, table, &values, *stored).map_err(failed)?;
        }
        let mut loaded = Self { table, values, database, stored: Vec::new() };
        for stored in ways.iter().filter(|stored| **stored != Stored::Engine) {
            loaded.stored.push((*stored, Rc::new(loaded.open(*stored)?)));
        }
        Ok(loaded)
    }

    /// The files of a way to store it: for rows one, for columns one each.
    pub fn files(&self, stored: Stored) -> Result<Rc<Vec<StoredFile>>, Error> {
        let found = self.stored.iter().find(|(way, _)| *way == stored);
        found.map(|(_, files)| Rc::clone(files)).ok_or_else(|| Error::Data(format!("no {} were loaded", stored.name())))
    }

    /// A session of SQL over it, where each way to store it is a table.
    pub fn connect(&self) -> Connection {
        self.database.connect()
    }

    fn open(&self, stored: Stored) -> Result<Vec<StoredFile>, Error> {
        let failed = |error: gingham::storage::Error| Error::Data(error.to_string());
        let snapshot = gingham::lab::store(&self.database).snapshot().map_err(failed)?;
        let name = TableName { schema: DEFAULT_SCHEMA.to_owned(), table: stored.table() };
        let table = snapshot.tables.get(&name).ok_or_else(|| Error::Data(format!("table {name} is not there")))?;
        let mut files: Vec<StoredFile> = Vec::new();
        for (place, column) in table.definition.columns.iter().enumerate() {
            if files.iter().any(|file| file.columns.contains(&place)) {
                continue;
            }
            let pages = DenseFile::open(&table.segments, column.id).map_err(failed)?;
            if pages.records() != self.values.records as u64 {
                let (all, found) = (self.values.records, pages.records());
                return Err(Error::Data(format!("{found} of {all} records of {name} lie in dense pages")));
            }
            let place = |id: &ColumnId| table.definition.columns.iter().position(|column| column.id == *id);
            let columns = pages.columns().iter().filter_map(place).collect();
            files.push(StoredFile { pages, columns });
        }
        Ok(files)
    }
}

fn load(connection: &Connection, table: PaperTable, values: &TableValues, stored: Stored) -> gingham::Result<()> {
    let (name, is_text) = (stored.table(), table.words() > 1);
    let (of_type, data_type) = if is_text { ("VARCHAR", DataType::Utf8) } else { ("INTEGER", DataType::Int32) };
    let columns: Vec<String> =
        (0..table.columns()).map(|column| format!("{} {of_type} NOT NULL", column_name(column))).collect();
    connection.execute(&format!("CREATE TABLE {name} ({}) WITH ({})", columns.join(", "), stored.options(table)))?;
    if stored == Stored::PlainRows || is_text {
        let mut plain = format!("ALTER TABLE {name}");
        for column in 0..table.columns() {
            let comma = if column == 0 { "" } else { "," };
            // Writing to a string can't fail.
            let _ = write!(plain, "{comma} ALTER COLUMN {} SET (encoding = 'plain')", column_name(column));
        }
        connection.execute(&plain)?;
    }
    let fields = (0..table.columns()).map(|column| Field::new(column_name(column), data_type.clone(), false));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let mut appender = connection.appender(&name)?;
    for start in (0..values.records).step_by(BATCH) {
        let records = start..values.records.min(start + BATCH);
        let array = |column: &Vec<u32>| {
            let words = &column[records.start * values.words..records.end * values.words];
            if is_text { strings(words, values.words) } else { integers(words) }
        };
        let batch = RecordBatch::try_new(Arc::clone(&schema), values.columns.iter().map(array).collect());
        appender.append_batch(batch.map_err(gingham::Error::from)?)?;
    }
    appender.finish()?;
    // Few records would stay in the delta, which has no pages.
    connection.execute(&format!("OPTIMIZE {name}"))?;
    Ok(())
}

fn integers(words: &[u32]) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(words.iter().map(|word| *word as i32)))
}

fn strings(words: &[u32], of_value: usize) -> ArrayRef {
    let text = |value: &[u32]| value.iter().flat_map(|word| word.to_le_bytes()).map(char::from).collect::<String>();
    Arc::new(StringArray::from_iter_values(words.chunks_exact(of_value).map(text)))
}
