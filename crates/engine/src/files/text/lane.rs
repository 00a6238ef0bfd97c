//! Records of parts of files as arrays: a buffer at a time, column by column, and those that can't be read beside them.

use crate::Result;
use crate::files::filter::RecordFilter;
use crate::files::records::{FileColumn, FilePart, FileRecords, ValueTypes};
use crate::files::text::chunks::{ChunkRecords, Chunks};
use crate::files::text::columns::BufferColumns;
use crate::files::text::delimited::DelimitedText;
use crate::files::text::parse::{BufferFields, FieldText};
use gingham_storage::{Problem, SqlState};
use std::collections::VecDeque;
use std::sync::Arc;

/// Reads parts of files one after the other.
pub(crate) struct TextLane {
    text: Arc<DelimitedText>,
    columns: Arc<[FileColumn]>,
    types: ValueTypes,
    filter: Option<RecordFilter>,
    parts: VecDeque<FilePart>,
    /// The part that is read.
    current: Option<(usize, Chunks)>,
    records: ChunkRecords,
    /// How far the current part was read, of the bytes that its file has on disk.
    position: u64,
}

impl TextLane {
    pub(crate) fn new(
        text: Arc<DelimitedText>,
        columns: Arc<[FileColumn]>,
        types: ValueTypes,
        parts: impl IntoIterator<Item = FilePart>,
    ) -> Self {
        let parts = parts.into_iter().collect();
        let (filter, records) = (None, ChunkRecords::default());
        Self { text, columns, types, filter, parts, current: None, records, position: 0 }
    }

    /// This one, which leaves out records that `filter` does not want. Its columns have their own types.
    pub(crate) fn filtered(self, filter: Option<RecordFilter>) -> Self {
        Self { filter, ..self }
    }

    /// The next records; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<FileRecords>> {
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
    fn parsed(&mut self) -> Result<FileRecords> {
        let Some((file, chunks)) = &self.current else {
            return Err(crate::Error::Internal("there is no buffer of records".to_owned()));
        };
        let (text, own) = (&*self.text, &self.text.files[*file]);
        let fields = BufferFields {
            buffer: chunks.buffer(),
            fields: &self.records.fields,
            width: own.width,
            text: FieldText { dialect: &text.shape.dialect, format: &text.shape.format },
            rows: None,
        };
        let mut starts = std::mem::take(&mut self.records.starts);
        let columns = BufferColumns { fields, places: &own.fields, columns: &self.columns, rows: starts.len() };
        let parsed = match &self.filter {
            None => columns.all(self.types)?,
            Some(filter) => {
                let (parsed, rows) = columns.wanted(filter)?;
                starts = rows.into_iter().map(|row| starts[row]).collect();
                parsed
            }
        };
        let problem = |(start, why)| (start, Problem::new(SqlState::BadCopyFileFormat, why));
        let unreadable = std::mem::take(&mut self.records.bad).into_iter().map(problem).collect();
        let position = if own.source.length().is_some() { chunks.position() } else { chunks.consumed() };
        let bytes = position - std::mem::replace(&mut self.position, position);
        Ok(parsed.records(*file, starts, unreadable, bytes))
    }
}
