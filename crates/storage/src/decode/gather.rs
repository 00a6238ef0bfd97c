//! Codes, values and strings that don't lie contiguously, brought together for the kernels and arrays that want them
//! so: chunked ones by a copy, packed ones by their packing's own lookups.

use crate::Result;
use crate::decode::access::misfit;
use crate::decode::arrays::Selection;
use crate::model::view::{AttributeAddress, ColumnView, Format};
use arrow::buffer::Buffer;
use gingham_kernels::packing::{self, Packed};
use gingham_kernels::{Code, Isa, Value, chunks};
use std::ops::Range;

/// Refuses chunks that don't hold the view's records.
pub(crate) fn check_chunks<T: Value>(view: &ColumnView, bytes: &Buffer, place: AttributeAddress) -> Result<()> {
    let width = size_of::<T>();
    let (end, inside) = (place.end(view.rows, width), place.offset() + place.records() * width);
    if end > bytes.len() || (place.records() > 1 && inside > place.chunk()) {
        return Err(misfit(view, &format!("{} bytes for {width} bytes a record at {place:?}", bytes.len())));
    }
    Ok(())
}

/// The selected codes or values of chunks.
pub(crate) fn from_chunks<T: Value>(
    view: &ColumnView,
    bytes: &Buffer,
    place: AttributeAddress,
    selection: &Selection<'_>,
    isa: Isa,
) -> Result<Vec<T>> {
    check_chunks::<T>(view, bytes, place)?;
    let mut out = Vec::new();
    match selection {
        Selection::Run(run) => {
            out.resize(run.len(), T::default());
            chunks::run(isa, bytes, place, run.clone(), &mut out);
        }
        Selection::Tids(tids) => chunks::lookup(isa, bytes, place, tids, &mut out),
    }
    Ok(out)
}

/// The packed codes of a view.
pub(crate) fn packed<'a>(view: &ColumnView, bytes: &'a Buffer, format: Format) -> Result<Packed<'a>> {
    Packed::new(format, view.rows, bytes).map_err(|error| misfit(view, &error.to_string()))
}

/// The selected codes of a packing.
pub(crate) fn from_packed<C: Code>(packed: Packed<'_>, selection: &Selection<'_>, isa: Isa) -> Vec<C> {
    let mut out = Vec::with_capacity(selection.len());
    match selection {
        Selection::Run(run) => packing::unpack(isa, packed, run.clone(), &mut out),
        Selection::Tids(tids) => packing::lookup(isa, packed, tids, &mut out),
    }
    out
}

/// Where the selected strings of chunks lie in the zone's bytes.
pub(crate) fn spans(
    view: &ColumnView,
    slots: &Buffer,
    place: AttributeAddress,
    bytes: &Buffer,
    selection: &Selection<'_>,
    isa: Isa,
) -> Result<Vec<Range<usize>>> {
    let slots: Vec<u64> = from_chunks(view, slots, place, selection, isa)?;
    let spans = slots.iter().map(|slot| {
        let (offset, length) = (*slot as u32 as usize, (*slot >> 32) as usize);
        let span = offset..offset + length;
        if span.end > bytes.len() {
            return Err(misfit(view, &format!("a string at {span:?} of {} bytes", bytes.len())));
        }
        Ok(span)
    });
    spans.collect()
}
