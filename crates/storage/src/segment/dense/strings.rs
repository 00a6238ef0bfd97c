//! Pages of one column of byte strings: the lengths, then all strings together, compressed where that pays.
//!
//! How many strings fit a page is known when they are compressed. So each page starts from what the one before took, and is tried
//! again when it came out too long, or much too short.

use crate::segment::dense::entries::ColumnEntries;
use crate::segment::dense::form::{COUNT_BITS, IS_COMPRESSED, PAGE_HEADER, PageForm, SIZE_BYTES};
use crate::segment::dense::write::{BitWriter, PageSink, null_bits, put_page};
use crate::{Error, Result};
use std::ops::Range;
use std::path::Path;

/// zstd's level, as in blocks.
const LEVEL: i32 = 1;
/// The most tries to compress a page.
const TRIES: usize = 4;
/// A page is taken once so many in a hundred of its bytes are used.
const FULL_PERCENT: usize = 92;
/// Bytes of strings before compression, by bytes of a page, at most.
const MOST_EXPANSION: f64 = 40.0;

/// Writes the pages of a column. Returns the bytes of the last.
pub(crate) fn write_strings(
    path: &Path,
    form: &PageForm,
    column: &ColumnEntries,
    compress: bool,
    sink: &mut PageSink<'_>,
) -> Result<usize> {
    let failed = Error::io("compressing", path);
    let compressor = if compress { Some(zstd::bulk::Compressor::new(LEVEL).map_err(failed)?) } else { None };
    let mut writer = StringPages { form, column, compressor, expansion: 2.0 };
    let (mut start, mut last) = (0, 0);
    while start < column.rows {
        let (end, page) = writer.page(start).map_err(Error::io("compressing", path))?;
        last = put_page(form.page_size, (start, end == column.rows), page, &[], sink)?;
        start = end;
    }
    Ok(last)
}

struct StringPages<'a> {
    form: &'a PageForm,
    column: &'a ColumnEntries,
    compressor: Option<zstd::bulk::Compressor<'static>>,
    /// Bytes before compression that a byte of a page took lately.
    expansion: f64,
}

impl StringPages<'_> {
    /// A page from record `start` on, and where it ends.
    fn page(&mut self, start: usize) -> std::io::Result<(usize, Vec<u8>)> {
        let size = self.form.page_size;
        let plain = self.end(start, size);
        let mut best = (plain, self.build(start..plain, None));
        let Some(mut compressor) = self.compressor.take() else { return Ok(best) };
        for _ in 0..TRIES {
            let end = self.end(start, (size as f64 * self.expansion) as usize).max(plain);
            let bytes = &self.column.bytes[self.column.starts[start]..self.column.starts[end]];
            let page = self.build(start..end, Some(&compressor.compress(bytes)?));
            let (length, whole) = (page.len(), end == self.column.rows);
            let fits = length <= size || end == start + 1;
            if fits && (end > best.0 || end == best.0 && length < best.1.len()) {
                best = (end, page);
            }
            if fits && (whole || length * 100 >= size * FULL_PERCENT) {
                break;
            }
            if end == plain && !fits {
                break;
            }
            // A little less than what would just fit.
            let factor = size as f64 / length.max(1) as f64 * 0.97;
            let next = (self.expansion * factor).clamp(1.0, MOST_EXPANSION);
            if (next - self.expansion).abs() < 0.01 {
                break;
            }
            self.expansion = next;
        }
        self.compressor = Some(compressor);
        Ok(best)
    }

    /// The record behind the last of a page of `most` bytes without compression; at least one is in it.
    fn end(&self, start: usize, most: usize) -> usize {
        let bits = self.form.fields[0].bits as usize;
        let longest = self.column.rows.min(start + (1 << COUNT_BITS) - 1);
        let mut nulls = false;
        for record in start..longest {
            nulls |= !self.column.is_valid(record);
            let count = record + 1 - start;
            let null_bytes = if nulls { self.form.mask_bytes() + count.div_ceil(8) } else { 0 };
            let strings = self.column.starts[record + 1] - self.column.starts[start];
            if count > 1 && PAGE_HEADER + null_bytes + (count * bits).div_ceil(8) + strings > most {
                return record;
            }
        }
        longest
    }

    fn build(&self, records: Range<usize>, compressed: Option<&[u8]>) -> Vec<u8> {
        let mut page = BitWriter::default();
        let flags = if compressed.is_some() { IS_COMPRESSED } else { 0 };
        page.begin(records.len(), flags, &null_bits(std::slice::from_ref(self.column), &records));
        let bits = self.form.fields[0].bits;
        self.column.codes[records.clone()].iter().for_each(|length| page.put(*length, bits));
        match compressed {
            Some(compressed) => {
                page.put_bytes(&(compressed.len() as u32).to_le_bytes()[..SIZE_BYTES]);
                page.put_bytes(compressed);
            }
            None => {
                page.put_bytes(&self.column.bytes[self.column.starts[records.start]..self.column.starts[records.end]])
            }
        }
        page.finish()
    }
}
