//! The dense pages of a column group from first to last, read ahead past the caches: what the read-optimized paper calls a file,
//! and its I/O (section 5.3). For experiments; SQL reads zones.

use crate::encoding::meta::Encoding;
use crate::io::ahead::{AheadFile, FileSpan, MorselReads, ReadAhead, ReadOptions, ReadTimes};
use crate::model::page_packing::PagePacking;
use crate::segment::decode::Native;
use crate::segment::dense::cursor::{CursorPlace, DenseVisitor, FieldRead, PageView};
use crate::segment::dense::form::{DenseMeta, PageForm};
use crate::segment::dense::page::DensePage;
use crate::segment::group::Form;
use crate::segment::meta::ColumnMeta;
use crate::segment::reader::{Opened, Segment};
use crate::{ColumnId, Error, Result};
use arrow::buffer::Buffer;
use gingham_kernels::dense::SPARE;
use std::ops::Range;
use std::sync::Arc;

/// The dense pages of one group of columns through all segments of a table.
#[derive(Debug)]
pub struct DenseFile {
    parts: Vec<DensePart>,
    columns: Vec<ColumnId>,
    records: u64,
}

/// The file's pages in one segment.
#[derive(Debug)]
struct DensePart {
    opened: Arc<Opened>,
    group: usize,
    /// The smallest value of each column.
    bases: Vec<u64>,
    /// Number of its first record among the table's.
    first: u64,
}

impl DenseFile {
    /// The pages of the group that a column is in. Fails for columns that lie in no dense pages, may be NULL, or are neither integers of
    /// 64 bits at most nor byte strings of the packing `plain`.
    pub fn open(segments: &[Arc<Segment>], column: ColumnId) -> Result<Self> {
        let (mut parts, mut columns, mut records) = (Vec::with_capacity(segments.len()), Vec::new(), 0);
        for segment in segments {
            let (opened, group) = segment.dense_group(column).ok_or_else(|| {
                Error::Unsupported(format!("column {column} lies in no dense pages of segment {}", segment.id()))
            })?;
            let members: Vec<&ColumnMeta> =
                opened.directory.groups[group].columns.iter().map(|place| &opened.directory.columns[*place]).collect();
            let ids: Vec<ColumnId> = members.iter().map(|meta| meta.column).collect();
            if !columns.is_empty() && columns != ids {
                return Err(Error::Unsupported(format!(
                    "segment {} has other groups than the one before",
                    segment.id()
                )));
            }
            columns = ids;
            let bases = members.into_iter().map(base).collect::<Result<_>>()?;
            parts.push(DensePart { opened, group, bases, first: records });
            records += segment.rows() as u64;
        }
        Ok(Self { parts, columns, records })
    }

    /// The columns, in the order of the fields of an entry.
    pub fn columns(&self) -> &[ColumnId] {
        &self.columns
    }

    /// Records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Bytes of all pages.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.meta().map_or(0, DenseMeta::bytes)).sum()
    }

    /// The packing of each column, in each segment.
    pub fn packings(&self) -> Vec<Vec<PagePacking>> {
        let of = |part: &DensePart| part.meta().map(|meta| meta.fields.iter().map(|field| field.packing).collect());
        self.parts.iter().filter_map(of).collect()
    }

    /// Begins a pass over its pages.
    pub fn stream(&self, options: ReadOptions) -> Result<DenseStream<'_>> {
        let (mut files, mut pages, mut spans) = (Vec::with_capacity(self.parts.len()), Vec::new(), Vec::new());
        let Some(budget) = self.parts.first().map(|part| Arc::clone(part.opened.cache.budget())) else {
            return Err(Error::Unsupported("a table without segments has no dense pages".into()));
        };
        for part in &self.parts {
            let (meta, _) = part.form()?;
            let Some((file, path)) = part.opened.source.direct()? else {
                return Err(Error::Unsupported(format!("{} is no file", part.opened.place)));
            };
            files.push(AheadFile { file: Arc::new(file), place: path.display().to_string() });
            part.plan(meta, files.len() - 1, options.unit, &mut pages, &mut spans);
        }
        let ahead = Arc::new(ReadAhead::new(files, &spans, options, budget));
        Ok(DenseStream { file: self, ahead, pages, next: 0, reads: None })
    }
}

/// The value that codes of a column are added to.
fn base(meta: &ColumnMeta) -> Result<u64> {
    match &meta.encoding {
        _ if meta.statistics.nulls > 0 => {
            Err(Error::Unsupported(format!("column {} has NULLs, which are not read page by page", meta.column)))
        }
        Encoding::FrameOfReference { base } => Ok(*base as u64),
        Encoding::Plain if matches!(meta.native(), Native::Bytes { .. }) => Ok(0),
        other => Err(Error::Unsupported(format!(
            "column {} has the encoding {other:?}; only numbers less a base and plain byte strings are read page by page",
            meta.column
        ))),
    }
}

impl DensePart {
    fn meta(&self) -> Option<&DenseMeta> {
        self.opened.directory.groups[self.group].dense.as_ref()
    }

    fn form(&self) -> Result<(&DenseMeta, &PageForm)> {
        match (self.meta(), &self.opened.forms[self.group]) {
            (Some(meta), Form::Dense(form)) => Ok((meta, form)),
            _ => Err(Error::Internal(format!("group {} has no dense pages", self.group))),
        }
    }

    /// Adds its pages, and for each unit of reads the span of the pages that begin in it.
    fn plan(
        &self,
        meta: &DenseMeta,
        file: usize,
        unit: usize,
        pages: &mut Vec<PlannedPage>,
        spans: &mut Vec<Vec<FileSpan>>,
    ) {
        let (mut number, mut unit_start) = (0, u64::MAX);
        while number < meta.table.len() {
            // Pages that an entry of the page before goes on in have the same first record.
            let first = meta.table[number].first;
            let next = meta.table.partition_point(|page| page.first <= first);
            let end = meta.table.get(next).map_or(self.opened.directory.rows, |page| page.first as usize);
            let bytes = meta.span(number..next);
            let span = FileSpan {
                file,
                offset: meta.offset + bytes.start,
                length: (bytes.end - bytes.start) as usize + SPARE,
            };
            if unit_start == u64::MAX || bytes.end - unit_start > unit as u64 {
                unit_start = bytes.start;
                spans.push(Vec::new());
            }
            if let Some(spans) = spans.last_mut() {
                spans.push(span);
            }
            pages.push(PlannedPage { part: file, number, records: first as usize..end, span, morsel: spans.len() - 1 });
            number = next;
        }
    }
}

/// A page that a pass comes to.
#[derive(Debug)]
struct PlannedPage {
    part: usize,
    number: usize,
    /// The page's records among the segment's.
    records: Range<usize>,
    span: FileSpan,
    morsel: usize,
}

/// A pass over the pages of a file.
#[derive(Debug)]
pub struct DenseStream<'f> {
    file: &'f DenseFile,
    ahead: Arc<ReadAhead>,
    pages: Vec<PlannedPage>,
    next: usize,
    reads: Option<(usize, MorselReads)>,
}

impl<'f> DenseStream<'f> {
    /// The next page, once it has come; `None` behind the last one.
    pub fn next_page(&mut self) -> Result<Option<FilePage<'f>>> {
        let Some(planned) = self.pages.get(self.next) else {
            self.reads = None;
            return Ok(None);
        };
        self.next += 1;
        if self.reads.as_ref().is_none_or(|(morsel, _)| *morsel != planned.morsel) {
            // The unit before goes first: the new one may take its memory.
            self.reads = None;
            self.reads = Some((planned.morsel, self.ahead.begin(planned.morsel)));
        }
        let part = &self.file.parts[planned.part];
        let (_, form) = part.form()?;
        let bytes = match &self.reads {
            Some((_, reads)) => reads.bytes(planned.span)?,
            None => None,
        };
        let bytes = bytes.ok_or_else(|| Error::Internal(format!("page {} was not planned", planned.number)))?;
        let failed = |detail: String| {
            Error::corrupt(
                &part.opened.place,
                format!("dense page {} (at byte {}): {detail}", planned.number, planned.span.offset),
            )
        };
        let place = 0..planned.span.length - SPARE;
        let page = DensePage::parse(form, planned.number, planned.records.clone(), (&bytes, place)).map_err(failed)?;
        if !page.nulls.is_empty() || page.is_compressed {
            return Err(Error::Unsupported(format!(
                "page {} has NULLs or compressed byte strings, which are not read value by value",
                planned.number
            )));
        }
        let fields = FieldRead::of_page(form, &page, &part.bases);
        let first = part.first + planned.records.start as u64;
        Ok(Some(FilePage { bytes, page, form, fields, first }))
    }

    /// The reads so far, and their times.
    pub fn times(&self) -> ReadTimes {
        self.ahead.times()
    }
}

/// A page that has come.
#[derive(Debug)]
pub struct FilePage<'f> {
    bytes: Buffer,
    page: DensePage,
    form: &'f PageForm,
    fields: Vec<FieldRead>,
    first: u64,
}

impl FilePage<'_> {
    /// Numbers of its records among the table's.
    pub fn records(&self) -> Range<u64> {
        self.first..self.first + self.page.records.len() as u64
    }

    /// Bytes of the page.
    pub fn length(&self) -> usize {
        self.page.bytes.len()
    }

    /// Lets `visitor` read from `place` on, and gives back where it stopped.
    pub fn visit(&self, place: CursorPlace, visitor: &mut impl DenseVisitor) -> CursorPlace {
        let view = PageView { form: self.form, page: &self.page, bytes: &self.bytes, fields: &self.fields };
        // A page has bytes to spare behind it, or it would not have been planned.
        view.visit(place, visitor).unwrap_or(place)
    }
}
