//! How large the minipages of a page are: as many records as fit with values of the sizes expected, and all of the page
//! given out (section 4.2, "bulk-loading and insertions").
//!
//! Minipages begin on cache lines of the map where that costs no records against an NSM page, else on half, a quarter or an
//! eighth of a line (docs/decisions/0027-heap-pages.md).

use crate::pages::attribute::{AttributeForm, PageSchema};
use crate::pages::bit;
use crate::pages::head::{BEFORE, HEAD};
use crate::pages::nsm::SLOT;

/// What minipages begin at multiples of, the best first.
const ALIGNMENTS: [usize; 4] = [64, 32, 16, 8];

/// What a page must hold at least.
#[derive(Debug, Clone)]
pub(super) struct Need {
    /// Places in each minipage.
    pub positions: usize,
    /// Bits in the bitmap of live records.
    pub ids: usize,
    /// Bytes of values, for each attribute; 0 for fixed ones.
    pub used: Vec<usize>,
}

/// Where the minipages of a page lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    /// Places in each minipage.
    pub capacity: usize,
    /// Bits in the bitmap of live records.
    pub ids: usize,
    /// The begin of each minipage, and the end of the page.
    pub starts: Vec<usize>,
}

/// Where the bitmap of live records begins: behind the begins, the checksums and the bits of nullable attributes.
pub(super) fn live_at(attributes: usize) -> usize {
    HEAD + 6 * attributes + bit::bytes(attributes)
}

/// Bytes before the first minipage.
pub(super) fn directory(attributes: usize, ids: usize) -> usize {
    (live_at(attributes) + bit::bytes(ids)).next_multiple_of(8)
}

/// Bytes of a minipage without the values of a variable attribute.
pub(super) fn least_bytes(schema: &PageSchema, attribute: usize, capacity: usize) -> usize {
    let own = &schema.attributes[attribute];
    let presence = if own.nullable { bit::bytes(capacity) } else { 0 };
    presence
        + capacity
            * match own.kind {
                AttributeForm::Fixed(width) => width,
                AttributeForm::Variable => 2,
            }
}

/// Where minipages of these sizes begin, each told to `visit`, and where the last one ends.
fn place(
    schema: &PageSchema,
    capacity: usize,
    ids: usize,
    alignment: usize,
    values: impl Fn(usize) -> usize,
    mut visit: impl FnMut(usize),
) -> usize {
    let mut at = directory(schema.attributes.len(), ids);
    for (attribute, own) in schema.attributes.iter().enumerate() {
        let alignment = if own.kind == AttributeForm::Fixed(16) { alignment.max(16) } else { alignment };
        // LMDB's header lies before the page.
        at = (at + BEFORE).next_multiple_of(alignment) - BEFORE;
        visit(at);
        at += least_bytes(schema, attribute, capacity) + values(attribute);
    }
    at
}

/// The bytes that a page takes which holds no more than it needs.
pub(super) fn least(schema: &PageSchema, need: &Need) -> usize {
    place(schema, need.positions, need.ids, 8, |attribute| need.used[attribute], |_| {})
}

/// Minipages for a page of `length` bytes whose values have `average` bytes, by attribute. `None` when what it needs does
/// not fit.
pub(super) fn plan(schema: &PageSchema, length: usize, need: &Need, average: &[f64]) -> Option<Frame> {
    if least(schema, need) > length {
        return None;
    }
    let values = |capacity: usize, attribute: usize| {
        need.used[attribute].max((average[attribute] * capacity as f64).ceil() as usize)
    };
    let end = |capacity: usize, alignment: usize| {
        place(schema, capacity, need.ids.max(capacity), alignment, |attribute| values(capacity, attribute), |_| {})
    };
    // A page has room for fewer records than this, wherever its minipages begin.
    let record =
        (0..average.len()).map(|attribute| least_bytes(schema, attribute, 8) as f64 / 8.0 + average[attribute]);
    let most = ((length as f64 / record.sum::<f64>()) as usize + 2).clamp(need.positions, length.max(need.positions));
    // The largest capacity at an alignment; `None` when there is not even room for what is needed.
    let largest = |alignment: usize| {
        let (mut fits, mut beyond) = (need.positions, most);
        if end(fits, alignment) > length {
            return None;
        }
        // Most pages have room for nearly as many.
        let mut step = 1;
        while fits + step < beyond {
            let near = beyond - step;
            if end(near, alignment) <= length {
                fits = near;
                break;
            }
            (beyond, step) = (near, 2 * step);
        }
        while beyond - fits > 1 {
            let middle = fits + (beyond - fits) / 2;
            if end(middle, alignment) <= length { fits = middle } else { beyond = middle }
        }
        Some(fits)
    };
    let Some(dense) = largest(8) else { return tight(schema, length, need, average) };
    let record = SLOT as f64 + (schema.fixed_bytes + 2 * schema.variables) as f64 + average.iter().sum::<f64>();
    let wanted = dense.min(((length - HEAD) as f64 / record) as usize).max(need.positions);
    let (alignment, capacity) = ALIGNMENTS
        .into_iter()
        .find_map(|alignment| Some((alignment, largest(alignment).filter(|found| *found >= wanted)?)))
        .unwrap_or((8, dense));
    let sizes: Vec<usize> = (0..average.len()).map(|attribute| values(capacity, attribute)).collect();
    Some(spread(schema, length, capacity, need.ids.max(capacity), alignment, &sizes, average))
}

/// Minipages that hold what is needed though values as long as expected would not fit.
fn tight(schema: &PageSchema, length: usize, need: &Need, average: &[f64]) -> Option<Frame> {
    let end = |alignment| place(schema, need.positions, need.ids, alignment, |attribute| need.used[attribute], |_| {});
    let alignment = ALIGNMENTS.into_iter().find(|alignment| end(*alignment) <= length)?;
    Some(spread(schema, length, need.positions, need.ids, alignment, &need.used, average))
}

/// Gives what is left of the page to the variable attributes, by their average sizes.
fn spread(
    schema: &PageSchema,
    length: usize,
    capacity: usize,
    ids: usize,
    alignment: usize,
    sizes: &[usize],
    average: &[f64],
) -> Frame {
    let left = length - place(schema, capacity, ids, alignment, |attribute| sizes[attribute], |_| {});
    let total: f64 = average.iter().sum();
    // Whole steps, so that the minipages behind move by what is added and stay aligned.
    let step = alignment.max(16);
    let values = |attribute: usize| {
        let share = if total > 0.0 { left as f64 * average[attribute] / total } else { 0.0 };
        sizes[attribute] + share as usize / step * step
    };
    let mut starts = Vec::with_capacity(sizes.len() + 1);
    place(schema, capacity, ids, alignment, values, |start| starts.push(start));
    starts.push(length);
    Frame { capacity, ids, starts }
}
