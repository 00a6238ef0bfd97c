//! Values copied straight from the bytes of pages all of whose heads and wanted minipages were checked before: base and stride
//! of a PAX minipage, slot and offset of an NSM record (section 3.2). A view of many pages is put together from hundreds of
//! short runs, so that opening each page anew had taken ten times as long as the copy. Bytes may have changed on the disk since
//! they were checked: what leads out of a page or minipage then is an error, found at no more than a comparison or two for a
//! value.

use super::Gather;
use crate::heap::attribute::{Kind, PageSchema};
use crate::heap::bit;
use crate::heap::head::{CAPACITY, HEAD, RECORDS, SLOTS, is_deferred, u16_at};
use crate::heap::nsm::{ELSEWHERE, SLOT, field_of};
use crate::io::lmdb::PinnedRun;
use crate::{Error, Result};
use std::ops::Range;

/// Where the minipages of a run of PAX pages lie: what their heads say, so that these are not touched for each view.
#[derive(Debug, Default)]
pub(crate) struct Minipages {
    attributes: usize,
    /// For each page its records, or [`GAPS`]; the places in a minipage; the begin of each minipage and the page's end.
    words: Vec<u16>,
}

/// In the place of a page's records: there are gaps between them.
const GAPS: u16 = u16::MAX;
/// Pages between what is copied and what memory is asked for, and bytes of a minipage that it is asked for: behind those the
/// processor itself fetches ahead.
const AHEAD: usize = 6;
const AHEAD_BYTES: usize = 512;

/// How the values of a minipage can be had.
enum Copied {
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

impl Minipages {
    /// Those of pages that were checked, each of so many attributes.
    pub(crate) fn of<'p>(attributes: usize, pages: impl Iterator<Item = &'p [u8]>) -> Self {
        let mut words = Vec::new();
        for page in pages {
            // One that is too short to be a page is left to who opens it.
            if page.len() < HEAD + 2 * attributes {
                words.extend([GAPS, 0]);
                words.extend((0..=attributes).map(|_| 0));
                continue;
            }
            let gaps = is_deferred(page) && u16_at(page, RECORDS) < u16_at(page, SLOTS);
            words.extend([if gaps { GAPS } else { u16_at(page, RECORDS) }, u16_at(page, CAPACITY)]);
            // In their lowest bits the begins have the kinds of their attributes.
            words.extend((0..attributes).map(|at| u16_at(page, HEAD + 2 * at) & !7));
            words.push(page.len() as u16);
        }
        Self { attributes, words }
    }

    /// The minipage of an attribute in the page at `place`; `None` when there are gaps in it.
    pub(super) fn get(&self, place: usize, at: usize) -> Option<Minipage> {
        let words = self.words.get(place * (self.attributes + 3)..)?.get(..self.attributes + 3)?;
        let (records, capacity) = (usize::from(words[0]), usize::from(words[1]));
        let bytes = usize::from(words[2 + at])..usize::from(words[3 + at]);
        (words[0] != GAPS).then_some(Minipage { records, capacity, bytes })
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
        let mut ahead = pages.iter().enumerate();
        let mut ask = || {
            let next = ahead.next().and_then(|(place, (_, page))| page.get(minipages.get(place, at)?.bytes));
            next.inspect(|minipage| gingham_kernels::fetch_ahead(&minipage[..minipage.len().min(AHEAD_BYTES)]));
        };
        (0..AHEAD).for_each(|_| ask());
        for (place, (number, page)) in pages.iter().enumerate() {
            ask();
            let copied = match minipages.get(place, at) {
                Some(minipage) => self.extend_minipage(&minipage, page)?,
                None => Copied::Elsewhere,
            };
            match copied {
                Copied::Done => {}
                Copied::Elsewhere => open(number, true, self)?,
                Copied::Misfit => open(number, false, self)?,
            }
        }
        Ok(())
    }

    /// Adds the values of a minipage, or nothing when that takes more than copying.
    fn extend_minipage(&mut self, minipage: &Minipage, page: &[u8]) -> Result<Copied> {
        let &Minipage { records, capacity, .. } = minipage;
        let presence_bytes = if self.own.nullable { bit::bytes(capacity) } else { 0 };
        let parts = page.get(minipage.bytes.clone()).and_then(|bytes| {
            let (values, presence) = bytes.split_at_checked(bytes.len().checked_sub(presence_bytes)?)?;
            (records <= capacity).then_some((values, presence))
        });
        let Some((values, presence)) = parts else { return Ok(Copied::Misfit) };
        match self.own.kind {
            Kind::Fixed(width) => match values.get(..width * records) {
                Some(codes) => self.bytes.extend_from_slice(codes),
                None => return Ok(Copied::Misfit),
            },
            Kind::Variable => {
                let heap = values.len().checked_sub(2 * capacity).and_then(|heap| values.split_at_checked(heap));
                let Some((heap, ends)) = heap else { return Ok(Copied::Misfit) };
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
                    return Ok(if fits { Copied::Elsewhere } else { Copied::Misfit });
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
        Ok(Copied::Done)
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
            Kind::Fixed(width) if schema.presence[at].is_none() => width,
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
