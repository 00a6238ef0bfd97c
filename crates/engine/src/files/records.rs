//! What readers of files give: columns, and records as arrays with those beside them that can't be read.

use crate::files::options::ReadOptions;
use crate::files::values::classify::FieldType;
use crate::files::values::typed::{UnparsedField, typed};
use crate::sql::column_types::type_of_text;
use crate::suggest::did_you_mean;
use crate::{Error, Result};
use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use gingham_storage::{LogicalType, Problem, SqlState};
use std::ops::Range;

/// A column of files.
#[derive(Debug, Clone)]
pub(crate) struct FileColumn {
    /// Its number among the columns of the files.
    pub(super) index: usize,
    pub(crate) name: String,
    pub(super) field_type: FieldType,
    /// An option says its type.
    is_given: bool,
}

impl FileColumn {
    pub(super) fn new(index: usize, name: &str, field_type: FieldType) -> Self {
        Self { index, name: name.to_owned(), field_type, is_given: false }
    }

    /// Gives it the type of that name.
    pub(super) fn set_type(&mut self, type_name: &str) -> Result<()> {
        self.field_type.logical_type = type_of_text(&self.name, type_name)?;
        self.is_given = true;
        Ok(())
    }

    /// Its type.
    pub(crate) fn logical_type(&self) -> &LogicalType {
        &self.field_type.logical_type
    }

    /// Whether an option says its type, which was not found by a sample then.
    pub(crate) fn is_given(&self) -> bool {
        self.is_given
    }
}

/// A column of the rows.
#[derive(Debug, Clone, Copy)]
pub(super) enum FileOutput {
    /// The parsed column of that number.
    Parsed(usize),
    /// The column of that number among those that are the same for all records of a file.
    Folder(usize),
}

/// What becomes of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueTypes {
    /// Arrays near to the columns' types, which a table converts on.
    Near,
    /// Arrays of the columns' types.
    Own,
}

/// A buffer's records.
pub(crate) struct FileRecords {
    /// The number of their file.
    pub(crate) file: usize,
    /// A column each.
    pub(crate) arrays: Vec<ArrayRef>,
    /// Where each record begins, in bytes of the file's text.
    pub(crate) starts: Vec<u64>,
    /// Those that can't be read, which the arrays do not have: where they begin, and why.
    pub(crate) unreadable: Vec<(u64, Problem)>,
    /// Values that are none of their column's type, NULL in the arrays: the record's number, the column's, and why.
    pub(crate) misfits: Vec<(usize, usize, Problem)>,
    /// Bytes of the file that were read for them.
    pub(crate) bytes: u64,
}

impl FileRecords {
    /// The number of records in the arrays.
    pub(crate) fn rows(&self) -> usize {
        self.starts.len()
    }

    /// Records with a value that is none of its column's type, each once, in order.
    pub(crate) fn misfit_rows(&self) -> Vec<usize> {
        let mut rows: Vec<usize> = self.misfits.iter().map(|(row, ..)| *row).collect();
        rows.dedup();
        rows
    }
}

/// The arrays of a buffer's records, column by column, and the values that are none of their column's type.
pub(super) struct ParsedColumns {
    types: ValueTypes,
    arrays: Vec<ArrayRef>,
    misfits: Vec<(usize, usize, Problem)>,
}

impl ParsedColumns {
    pub(super) fn new(types: ValueTypes) -> Self {
        Self { types, arrays: Vec::new(), misfits: Vec::new() }
    }

    /// Adds the array of the next column, whose values are none of its type where `unparsed` says so.
    pub(super) fn push(
        &mut self,
        array: ArrayRef,
        column: &FileColumn,
        mut unparsed: Vec<UnparsedField>,
    ) -> Result<()> {
        let array = match self.types {
            ValueTypes::Near => array,
            ValueTypes::Own => typed(array, column.logical_type(), &mut unparsed)?,
        };
        self.push_typed(array, unparsed);
        Ok(())
    }

    /// Adds the array of the next column, which has its type.
    pub(super) fn push_typed(&mut self, array: ArrayRef, unparsed: Vec<UnparsedField>) {
        let number = self.arrays.len();
        self.arrays.push(array);
        let problem = |UnparsedField { row, state, problem }| (row, number, Problem::new(state, problem));
        self.misfits.extend(unparsed.into_iter().map(problem));
    }

    /// The records, with what else is known of them.
    pub(super) fn records(
        mut self,
        file: usize,
        starts: Vec<u64>,
        unreadable: Vec<(u64, Problem)>,
        bytes: u64,
    ) -> FileRecords {
        self.misfits.sort_by_key(|(row, column, _)| (*row, *column));
        FileRecords { file, arrays: self.arrays, starts, unreadable, misfits: self.misfits, bytes }
    }
}

/// A batch without some of its rows.
pub(crate) fn without(batch: &RecordBatch, rows: &[usize]) -> Result<RecordBatch> {
    let mut keep = vec![true; batch.num_rows()];
    for row in rows {
        keep[*row] = false;
    }
    Ok(filter_record_batch(batch, &BooleanArray::from(keep))?)
}

/// A part of a file, in bytes of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePart {
    /// The file's number.
    pub(crate) file: usize,
    /// From the beginning of a record to that of another, or to the file's end.
    pub(crate) range: Range<u64>,
}

/// Columns with the types that were found, or that the options say.
///
/// # Errors
///
/// An option names a column or a type that does not exist.
pub(super) fn columns_of(
    names: &[String],
    found: impl Iterator<Item = FieldType>,
    options: &ReadOptions,
) -> Result<Vec<FileColumn>> {
    if options.types.len() > names.len() && options.types.iter().all(|(name, _)| name.is_empty()) {
        let text = format!("types gives {} types, but there are {} columns", options.types.len(), names.len());
        return Err(Error::invalid(SqlState::InvalidParameterValue, text));
    }
    let numbered = names.iter().zip(found).enumerate();
    let mut columns: Vec<FileColumn> =
        numbered.map(|(index, (name, found))| FileColumn::new(index, name, found)).collect();
    for (column, (_, type_name)) in columns.iter_mut().zip(&options.columns) {
        column.set_type(type_name)?;
    }
    for (index, (name, type_name)) in options.types.iter().enumerate() {
        let all = || names.iter().map(String::as_str);
        let same = |own: &str| own == name || own.eq_ignore_ascii_case(name);
        let at = if name.is_empty() { Some(index) } else { all().position(same) };
        let at = at.ok_or_else(|| {
            let text = format!("types: there is no column '{name}'{}", did_you_mean(name, all()));
            Error::invalid(SqlState::UndefinedColumn, text)
        })?;
        columns[at].set_type(type_name)?;
    }
    Ok(columns)
}
