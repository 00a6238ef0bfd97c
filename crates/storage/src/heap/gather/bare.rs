//! Values copied straight from the bytes of pages all of whose heads and wanted minipages were checked before: base and stride
//! of a PAX minipage, slot and offset of an NSM record (section 3.2). A view of many pages is put together from hundreds of
//! short runs, so that opening each page anew had taken ten times as long as the copy.

use super::Gather;
use crate::Result;
use crate::heap::attribute::{Kind, PageSchema};
use crate::heap::bit;
use crate::heap::head::{CAPACITY, HEAD, RECORDS, SLOTS, is_deferred, u16_at};
use crate::heap::nsm::{ELSEWHERE, SLOT, field_of};
use crate::io::lmdb::PinnedRun;
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
/// Pages between what is copied and what memory is asked for.
const AHEAD: usize = 4;

/// A minipage.
struct Minipage {
    records: usize,
    capacity: usize,
    bytes: Range<usize>,
}

impl Minipages {
    /// Those of pages that were checked, each of so many attributes.
    pub(crate) fn of<'p>(attributes: usize, pages: impl Iterator<Item = &'p [u8]>) -> Self {
        let mut words = Vec::new();
        for page in pages {
            let gaps = is_deferred(page) && u16_at(page, RECORDS) < u16_at(page, SLOTS);
            words.extend([if gaps { GAPS } else { u16_at(page, RECORDS) }, u16_at(page, CAPACITY)]);
            // In their lowest bits the begins have the kinds of their attributes.
            words.extend((0..attributes).map(|at| u16_at(page, HEAD + 2 * at) & !7));
            words.push(page.len() as u16);
        }
        Self { attributes, words }
    }

    /// The minipage of an attribute in the page at `place`; `None` when there are gaps in it.
    fn get(&self, place: usize, at: usize) -> Option<Minipage> {
        let words = self.words.chunks_exact(self.attributes + 3).nth(place)?;
        let (records, capacity) = (usize::from(words[0]), usize::from(words[1]));
        let bytes = usize::from(words[2 + at])..usize::from(words[3 + at]);
        (words[0] != GAPS).then_some(Minipage { records, capacity, bytes })
    }
}

impl Gather<'_> {
    /// Adds what the records of PAX pages have of attribute `at`, or has `open` add it where that takes more than copying: where
    /// there are gaps between records, and where values lie elsewhere.
    pub(crate) fn extend_minipages(
        &mut self,
        minipages: &Minipages,
        at: usize,
        pages: &PinnedRun,
        mut open: impl FnMut(u64, &mut Self) -> Result<()>,
    ) -> Result<()> {
        let mut ahead = pages.iter().enumerate();
        let mut ask = || {
            let next = ahead.next().and_then(|(place, (_, page))| Some(&page[minipages.get(place, at)?.bytes]));
            next.inspect(|minipage| gingham_kernels::fetch_ahead(minipage));
        };
        (0..AHEAD).for_each(|_| ask());
        for (place, (number, page)) in pages.iter().enumerate() {
            ask();
            let copied = match minipages.get(place, at) {
                Some(minipage) => self.extend_minipage(&minipage, page)?,
                None => false,
            };
            if !copied {
                open(number, self)?;
            }
        }
        Ok(())
    }

    /// Adds the values of a minipage. False, and nothing is added, where some lie elsewhere.
    fn extend_minipage(&mut self, minipage: &Minipage, page: &[u8]) -> Result<bool> {
        let &Minipage { records, capacity, bytes: Range { start, end } } = minipage;
        let presence = end - if self.own.nullable { bit::bytes(capacity) } else { 0 };
        match self.own.kind {
            Kind::Fixed(width) => self.bytes.extend_from_slice(&page[start..start + width * records]),
            Kind::Variable => {
                let ends = presence - 2 * capacity;
                let (ends, _) = page[ends..ends + 2 * records].as_chunks::<2>();
                let ends = ends.iter().map(|end| u16::from_le_bytes(*end));
                if ends.clone().any(|end| end & ELSEWHERE != 0) {
                    return Ok(false);
                }
                let used = ends.clone().next_back().map_or(0, usize::from);
                self.has_room(used)?;
                let before = self.bytes.len() as u32;
                self.bytes.extend_from_slice(&page[start..start + used]);
                self.offsets.extend(ends.map(|end| before + u32::from(end)));
            }
        }
        if let Some(validity) = &mut self.validity {
            validity.append_packed_range(0..records, &page[presence..end]);
        }
        self.rows += records;
        Ok(true)
    }

    /// Adds what the live records of an NSM page have of attribute `at`.
    pub(crate) fn extend_slots(&mut self, schema: &PageSchema, at: usize, page: &[u8]) -> Result<()> {
        self.extend_records(schema, at, page, records(page))
    }

    /// Adds the values of pairs of a record id and a value, for the ids that lie in `ids`; the page's pairs ascend.
    pub(crate) fn extend_pairs(&mut self, schema: &PageSchema, ids: &Range<u64>, page: &[u8]) -> Result<()> {
        let place = schema.places[0];
        let id_of =
            |span: &Range<usize>| page[span.start + place..].first_chunk().map_or(0, |id| u64::from_le_bytes(*id));
        let pairs = records(page).skip_while(|span| id_of(span) < ids.start).take_while(|span| id_of(span) < ids.end);
        self.extend_records(schema, 1, page, pairs)
    }

    #[inline]
    fn extend_records(
        &mut self,
        schema: &PageSchema,
        at: usize,
        page: &[u8],
        mut records: impl Iterator<Item = Range<usize>>,
    ) -> Result<()> {
        let fixed = match schema.attributes[at].kind {
            Kind::Fixed(width) if schema.presence[at].is_none() => width,
            _ => 0,
        };
        let place = schema.places[at];
        let starts = records.by_ref().map(|record| record.start + place);
        match fixed {
            1 => self.extend_codes::<1>(page, starts),
            2 => self.extend_codes::<2>(page, starts),
            4 => self.extend_codes::<4>(page, starts),
            8 => self.extend_codes::<8>(page, starts),
            16 => self.extend_codes::<16>(page, starts),
            _ => return records.try_for_each(|record| self.push(field_of(schema, &page[record], at))),
        }
        Ok(())
    }

    #[inline]
    fn extend_codes<const WIDTH: usize>(&mut self, page: &[u8], starts: impl Iterator<Item = usize>) {
        let before = self.bytes.len();
        self.bytes.resize(before + usize::from(u16_at(page, SLOTS)) * WIDTH, 0);
        let (codes, _) = self.bytes.as_slice_mut()[before..].as_chunks_mut::<WIDTH>();
        let mut rows = 0;
        for (code, start) in codes.iter_mut().zip(starts) {
            if let Some(value) = page[start..].first_chunk() {
                *code = *value;
            }
            rows += 1;
        }
        self.bytes.truncate(before + rows * WIDTH);
        self.rows += rows;
        if let Some(validity) = &mut self.validity {
            validity.append_n(rows, true);
        }
    }
}

/// Where the live records of an NSM page lie.
#[inline]
fn records(page: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let (slots, _) = page[page.len() - SLOT * usize::from(u16_at(page, SLOTS))..].as_chunks::<SLOT>();
    let spans = slots.iter().rev().map(|slot| {
        let [start, length] =
            [[slot[0], slot[1]], [slot[2], slot[3]]].map(|word| usize::from(u16::from_le_bytes(word)));
        start..start + length
    });
    spans.filter(|span| span.start > 0)
}
