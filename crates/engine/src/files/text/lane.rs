//! Records of parts of files as arrays: a buffer at a time, column by column, and those that can't be read beside them.

use crate::Result;
use crate::files::text::chunks::{ChunkRecords, Chunks};
use crate::files::text::classify::FoundType;
use crate::files::text::parse::{self, BufferFields, FieldText, FieldType, UnparsedField};
use crate::files::text::{FilePart, Text};
use crate::sql::column_types::type_of_text;
use arrow::array::{ArrayRef, new_null_array};
use arrow::datatypes::DataType;
use gingham_storage::{LogicalType, Problem, SqlState};
use std::collections::VecDeque;
use std::sync::Arc;

/// A column of delimited files.
#[derive(Debug, Clone)]
pub(crate) struct TextColumn {
    /// Its number among the columns of the files.
    index: usize,
    pub(crate) name: String,
    field_type: FieldType,
    /// An option says its type.
    is_given: bool,
}

impl TextColumn {
    pub(super) fn new(index: usize, name: &str, found: FoundType) -> Self {
        let field_type = FieldType { logical_type: found.logical_type, order: found.order };
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

/// What becomes of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueTypes {
    /// Arrays near to the columns' types, which a table converts on.
    Near,
    /// Arrays of the columns' types.
    Own,
}

/// Reads parts of files one after the other.
pub(crate) struct TextLane {
    text: Arc<Text>,
    columns: Arc<[TextColumn]>,
    types: ValueTypes,
    parts: VecDeque<FilePart>,
    /// The part that is read.
    current: Option<(usize, Chunks)>,
    records: ChunkRecords,
    /// How far the current part was read, of the bytes that its file has on disk.
    position: u64,
}

/// A buffer's records.
pub(crate) struct TextRecords {
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

impl TextLane {
    pub(crate) fn new(
        text: Arc<Text>,
        columns: Arc<[TextColumn]>,
        types: ValueTypes,
        parts: impl IntoIterator<Item = FilePart>,
    ) -> Self {
        let parts = parts.into_iter().collect();
        Self { text, columns, types, parts, current: None, records: ChunkRecords::default(), position: 0 }
    }

    /// The next records; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<TextRecords>> {
        loop {
            if self.current.is_none() {
                let Some(part) = self.parts.pop_front() else { return Ok(None) };
                let file = &self.text.files[part.file];
                self.position = if file.source.length().is_some() { part.range.start } else { 0 };
                let chunks = Chunks::open(&file.source, part.range, self.text.shape.dialect)?;
                self.current = Some((part.file, chunks));
            }
            let Some((file, chunks)) = &mut self.current else { continue };
            let width = self.text.width_of(&self.text.files[*file]);
            if chunks.next(width, &mut self.records)? {
                return self.parsed().map(Some);
            }
            self.current = None;
        }
    }

    /// The columns of the records in the buffer.
    fn parsed(&mut self) -> Result<TextRecords> {
        let Some((file, chunks)) = &self.current else {
            return Err(crate::Error::Internal("there is no buffer of records".to_owned()));
        };
        let (text, own) = (&*self.text, &self.text.files[*file]);
        let records = BufferFields {
            buffer: chunks.buffer(),
            fields: &self.records.fields,
            width: own.width,
            text: FieldText { dialect: &text.shape.dialect, format: &text.shape.format },
        };
        let rows = self.records.starts.len();
        let (mut arrays, mut misfits) = (Vec::with_capacity(self.columns.len()), Vec::new());
        for (number, column) in self.columns.iter().enumerate() {
            let mut bad = Vec::new();
            let array = match own.fields[column.index] {
                Some(field) => parse::column(&records, field, &column.field_type, &mut bad)?,
                None => new_null_array(&DataType::Utf8View, rows),
            };
            arrays.push(match self.types {
                ValueTypes::Near => array,
                ValueTypes::Own => parse::typed(array, column.logical_type(), &mut bad)?,
            });
            misfits.extend(
                bad.into_iter()
                    .map(|UnparsedField { row, state, problem }| (row, number, Problem::new(state, problem))),
            );
        }
        misfits.sort_by_key(|(row, column, _)| (*row, *column));
        let unreadable = std::mem::take(&mut self.records.bad);
        let unreadable =
            unreadable.into_iter().map(|(start, why)| (start, Problem::new(SqlState::BadCopyFileFormat, why)));
        let position = if own.source.length().is_some() { chunks.position() } else { chunks.consumed() };
        let bytes = position - std::mem::replace(&mut self.position, position);
        Ok(TextRecords {
            file: *file,
            arrays,
            starts: std::mem::take(&mut self.records.starts),
            unreadable: unreadable.collect(),
            misfits,
            bytes,
        })
    }
}

impl TextRecords {
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
