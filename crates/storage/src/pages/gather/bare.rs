//! Values copied straight from the bytes of pages all of whose heads and wanted minipages were checked before: base and stride
//! of a PAX minipage, slot and offset of an NSM record (section 3.2). A view of many pages is put together from hundreds of
//! short runs, so that opening each page anew had taken ten times as long as the copy. Bytes may have changed on the disk since
//! they were checked: what leads out of a page or minipage then is an error, found at no more than a comparison or two for a
//! value.

use crate::io::lmdb::PinnedRun;
use crate::pages::attribute::{AttributeForm, PageSchema};
use crate::pages::bit;
use crate::pages::gather::Gather;
use crate::pages::head::{CAPACITY, HEAD, RECORDS, SLOTS, is_deferred, u16_at};
use crate::pages::nsm::{ELSEWHERE, SLOT, field_of};
use crate::{Error, Result};
use gingham_kernels::fetch_ahead;
use std::ops::Range;

/// Where the minipages of a run of PAX pages lie: what their heads say, so that these are not touched for each view.
#[derive(Debug, Default)]
pub(crate) struct Minipages {
    pages: usize,
    attributes: usize,
    /// For each page its records, or [`GAPS`]; then for each the places in a minipage; the begins of the first attribute's minipages, of
    /// the second's, and so on; the pages' ends. So a view reads four runs of them from one end to the other.
    words: Vec<u16>,
}

/// In the place of a page's records: there are gaps between them.
const GAPS: u16 = u16::MAX;
/// Pages between what is copied and what memory is asked for, and bytes of a minipage that it is asked for: behind those the
/// processor itself fetches ahead.
const AHEAD: usize = 6;
const AHEAD_BYTES: usize = 512;

/// How the values of a minipage can be had.
enum CopyOutcome {
    /// They were copied.
    Done,
    /// Some lie elsewhere.
    Elsewhere,
    /// They don't lie in the minipage, as they did when it was checked.
    Misfit,
}

/// A minipage.
pub(super) struct Minipage {
    pub(super) records: usize,
    capacity: usize,
    pub(super) bytes: Range<usize>,
}

/// What is gathered of one attribute: for each page its records, the places in its minipage, and where that begins and ends.
pub(super) struct OfAttribute<'m> {
    records: &'m [u16],
    capacities: &'m [u16],
    begins: &'m [u16],
    ends: &'m [u16],
}

impl Minipages {
    /// Those of pages that were checked, each of so many attributes. In the place of a page that was made for other columns stands `None`:
    /// it is left to who opens it.
    pub(crate) fn of<'p>(attributes: usize, pages: impl Iterator<Item = Option<&'p [u8]>>) -> Self {
        let mut rows = vec![Vec::new(); attributes + 3];
        for page in pages {
            // So is one that is too short to be a page.
            let Some(page) = page.filter(|page| page.len() >= HEAD + 2 * attributes) else {
                rows[0].push(GAPS);
                rows[1..].iter_mut().for_each(|row| row.push(0));
                continue;
            };
            let gaps = is_deferred(page) && u16_at(page, RECORDS) < u16_at(page, SLOTS);
            rows[0].push(if gaps { GAPS } else { u16_at(page, RECORDS) });
            rows[1].push(u16_at(page, CAPACITY));
            // In their lowest bits the begins have the kinds of their attributes.
            (0..attributes).for_each(|at| rows[2 + at].push(u16_at(page, HEAD + 2 * at) & !7));
            rows[2 + attributes].push(page.len() as u16);
        }
        Self { pages: rows[0].len(), attributes, words: rows.concat() }
    }

    /// Those of an attribute.
    pub(super) fn of_attribute(&self, at: usize) -> Option<OfAttribute<'_>> {
        let row = |row: usize| self.words.get(row * self.pages..(row + 1) * self.pages);
        let at = Some(at).filter(|at| *at < self.attributes)?;
        Some(OfAttribute { records: row(0)?, capacities: row(1)?, begins: row(2 + at)?, ends: row(3 + at)? })
    }

    /// The minipage of an attribute in the page at `place`; `None` when there are gaps in it.
    pub(super) fn get(&self, place: usize, at: usize) -> Option<Minipage> {
        let all = self.of_attribute(at)?;
        let [records, capacity, begin, end] =
            [all.records, all.capacities, all.begins, all.ends].map(|words| words.get(place).copied().map(usize::from));
        let records = records.filter(|records| *records != usize::from(GAPS))?;
        Some(Minipage { records, capacity: capacity?, bytes: begin?..end? })
    }
}

impl OfAttribute<'_> {
    /// The codes of the page at `place`, as they lie, after memory was asked for those of a page some way behind it. `None` when there are
    /// gaps between them, or they are not where they were when they were checked.
    #[inline]
    pub(super) fn codes<'p>(&self, width: usize, pages: &'p PinnedRun, place: usize) -> Option<&'p [u8]> {
        let records = *self.records.get(place)?;
        if let (Some((_, page)), Some(begin)) = (pages.get(place + AHEAD), self.begins.get(place + AHEAD)) {
            let (begin, bytes) = (usize::from(*begin), AHEAD_BYTES.min(width * usize::from(records)));
            page.get(begin..begin + bytes).inspect(|first| fetch_ahead(first));
        }
        let (begin, end) = (usize::from(*self.begins.get(place)?), usize::from(*self.ends.get(place)?));
        let codes = begin..begin + width * usize::from(records);
        if records == GAPS || codes.end > end {
            return None;
        }
        pages.get(place)?.1.get(codes)
    }
}

impl Gather<'_> {
    /// Adds what the records of PAX pages have of attribute `at`, or has `open` add it where that takes more than copying: where
    /// there are gaps between records, where values lie elsewhere, and where a page is no longer as it was when it was checked,
    /// which `open` is told by false.
    pub(crate) fn extend_minipages(
        &mut self,
        minipages: &Minipages,
        at: usize,
        pages: &PinnedRun,
        mut open: impl FnMut(u64, bool, &mut Self) -> Result<()>,
    ) -> Result<()> {
        (0..AHEAD).for_each(|place| ask(minipages, at, pages, place));
        let mut place = 0;
        while place < pages.len() {
            match (self.own.kind, &self.validity) {
                (AttributeForm::Fixed(width), None) => place = self.copy_codes(width, minipages, at, pages, place),
                _ => ask(minipages, at, pages, place + AHEAD),
            }
            let Some((number, page)) = pages.get(place) else { break };
            let copied = match minipages.get(place, at) {
                Some(minipage) => self.extend_minipage(&minipage, page)?,
                None => CopyOutcome::Elsewhere,
            };
            match copied {
                CopyOutcome::Done => {}
                CopyOutcome::Elsewhere => open(number, true, self)?,
                CopyOutcome::Misfit => open(number, false, self)?,
            }
            place += 1;
        }
        Ok(())
    }

    /// Adds the codes of minipages from the page at `start` on that can be copied as they lie. Gives the place of the first page that takes
    /// more than that. A page of lineitem has half a kilobyte of a column: what is done for each page has to be little.
    #[inline]
    fn copy_codes(&mut self, width: usize, minipages: &Minipages, at: usize, pages: &PinnedRun, start: usize) -> usize {
        let Some(all) = minipages.of_attribute(at) else { return start };
        for place in start..pages.len() {
            let Some(codes) = all.codes(width, pages, place) else { return place };
            self.bytes.extend_from_slice(codes);
            self.rows += codes.len() / width;
        }
        pages.len()
    }

    /// Adds the values of a minipage, or nothing when that takes more than copying.
    fn extend_minipage(&mut self, minipage: &Minipage, page: &[u8]) -> Result<CopyOutcome> {
        let &Minipage { records, capacity, .. } = minipage;
        let presence_bytes = if self.own.nullable { bit::bytes(capacity) } else { 0 };
        let parts = page.get(minipage.bytes.clone()).and_then(|bytes| {
            let (values, presence) = bytes.split_at_checked(bytes.len().checked_sub(presence_bytes)?)?;
            (records <= capacity).then_some((values, presence))
        });
        let Some((values, presence)) = parts else { return Ok(CopyOutcome::Misfit) };
        match self.own.kind {
            AttributeForm::Fixed(width) => match values.get(..width * records) {
                Some(codes) => self.bytes.extend_from_slice(codes),
                None => return Ok(CopyOutcome::Misfit),
            },
            AttributeForm::Variable => {
                let heap = values.len().checked_sub(2 * capacity).and_then(|heap| values.split_at_checked(heap));
                let Some((heap, ends)) = heap else { return Ok(CopyOutcome::Misfit) };
                let (ends, _) = ends[..2 * records].as_chunks::<2>();
                let word = |end: &[u8; 2]| u16::from_le_bytes(*end);
                let (used, after) = (ends.last().map_or(0, word).into(), ends.get(1..).unwrap_or_default());
                // One pass without a way out, so that it takes many ends at a time. The heap is shorter than what the mark of a
                // value that lies elsewhere makes of an end.
                let ascend = |mask: u16| {
                    ends.iter().zip(after).fold(true, |all, (end, next)| all & (word(end) & mask <= word(next) & mask))
                };
                if used > heap.len() || !ascend(u16::MAX) {
                    let fits = usize::from(used as u16 & !ELSEWHERE) <= heap.len() && ascend(!ELSEWHERE);
                    return Ok(if fits { CopyOutcome::Elsewhere } else { CopyOutcome::Misfit });
                }
                self.has_room(used)?;
                let before = self.bytes.len() as u32;
                self.bytes.extend_from_slice(&heap[..used]);
                self.offsets.extend(ends.iter().map(|end| before + u32::from(word(end))));
            }
        }
        if let Some(validity) = &mut self.validity {
            validity.append_packed_range(0..records, presence);
        }
        self.rows += records;
        Ok(CopyOutcome::Done)
    }

    /// Adds what the live records of an NSM page have of attribute `at`. `place` names the page in errors.
    pub(crate) fn extend_slots(
        &mut self,
        schema: &PageSchema,
        at: usize,
        page: &[u8],
        place: &dyn Fn() -> String,
    ) -> Result<()> {
        match records(page) {
            Some(records) => self.extend_records(schema, at, page, records, place),
            None => Err(misfit(place)),
        }
    }

    /// Adds the values of pairs of a record id and a value, for the ids that lie in `ids`; the page's pairs ascend. `place` names
    /// the page in errors.
    pub(crate) fn extend_pairs(
        &mut self,
        schema: &PageSchema,
        ids: &Range<u64>,
        page: &[u8],
        place: &dyn Fn() -> String,
    ) -> Result<()> {
        // A pair that leads out of the page is among those that are added, which fails.
        let id_of = |span: &Range<usize>| Some(u64::from_le_bytes(*value_at(page, span, schema.places[0])?));
        let before = |span: &Range<usize>| id_of(span).is_some_and(|id| id < ids.start);
        let within = |span: &Range<usize>| id_of(span).is_none_or(|id| id < ids.end);
        match records(page) {
            Some(pairs) => {
                let pairs = pairs.skip_while(before).take_while(within);
                self.extend_records(schema, 1, page, pairs, place)
            }
            None => Err(misfit(place)),
        }
    }

    #[inline]
    fn extend_records(
        &mut self,
        schema: &PageSchema,
        at: usize,
        page: &[u8],
        mut records: impl Iterator<Item = Range<usize>>,
        place: &dyn Fn() -> String,
    ) -> Result<()> {
        let fixed = match schema.attributes[at].kind {
            AttributeForm::Fixed(width) if schema.presence[at].is_none() || self.validity.is_none() => width,
            _ => 0,
        };
        let at_record = schema.places[at];
        let fits = match fixed {
            1 => self.extend_codes::<1>(page, at_record, records),
            2 => self.extend_codes::<2>(page, at_record, records),
            4 => self.extend_codes::<4>(page, at_record, records),
            8 => self.extend_codes::<8>(page, at_record, records),
            16 => self.extend_codes::<16>(page, at_record, records),
            _ => {
                return records.try_for_each(|record| {
                    let field = page.get(record).and_then(|record| field_of(schema, record, at));
                    self.push(field.ok_or_else(|| misfit(place))?)
                });
            }
        };
        if fits { Ok(()) } else { Err(misfit(place)) }
    }

    /// Adds the codes that lie at a place of records. False when one of them leads out of the page.
    #[inline]
    fn extend_codes<const WIDTH: usize>(
        &mut self,
        page: &[u8],
        place: usize,
        records: impl Iterator<Item = Range<usize>>,
    ) -> bool {
        let before = self.bytes.len();
        self.bytes.resize(before + usize::from(u16_at(page, SLOTS)) * WIDTH, 0);
        let (codes, _) = self.bytes.as_slice_mut()[before..].as_chunks_mut::<WIDTH>();
        let mut rows = 0;
        for (code, record) in codes.iter_mut().zip(records) {
            let Some(value) = value_at(page, &record, place) else { return false };
            *code = *value;
            rows += 1;
        }
        self.bytes.truncate(before + rows * WIDTH);
        self.rows += rows;
        if let Some(validity) = &mut self.validity {
            validity.append_n(rows, true);
        }
        true
    }
}

/// Asks for the memory of the first values of the page at `place`, if there is one.
fn ask(minipages: &Minipages, at: usize, pages: &PinnedRun, place: usize) {
    let minipage = minipages.get(place, at);
    let next = pages.get(place).zip(minipage).and_then(|((_, page), minipage)| page.get(minipage.bytes));
    next.inspect(|minipage| fetch_ahead(&minipage[..minipage.len().min(AHEAD_BYTES)]));
}

/// So many bytes at a place of a record; `None` when they don't lie in the page.
#[inline]
fn value_at<'p, const WIDTH: usize>(page: &'p [u8], record: &Range<usize>, place: usize) -> Option<&'p [u8; WIDTH]> {
    page.get(record.start + place..)?.first_chunk()
}

/// A page whose records are not where they were when it was checked.
#[cold]
fn misfit(place: &dyn Fn() -> String) -> Error {
    Error::corrupt(place(), "a record leads out of the page, which it did not when the page was checked")
}

/// Where the live records of an NSM page lie; `None` when it is too short for its slots.
#[inline]
fn records(page: &[u8]) -> Option<impl Iterator<Item = Range<usize>>> {
    let slots = u16::from_le_bytes(*page.get(SLOTS..)?.first_chunk()?);
    let (slots, _) = page[page.len().checked_sub(SLOT * usize::from(slots))?..].as_chunks::<SLOT>();
    let spans = slots.iter().rev().map(|slot| {
        let [start, length] =
            [[slot[0], slot[1]], [slot[2], slot[3]]].map(|word| usize::from(u16::from_le_bytes(word)));
        start..start + length
    });
    Some(spans.filter(|span| span.start > 0))
}
