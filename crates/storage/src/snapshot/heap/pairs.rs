//! Pages of DSM's pairs, as readers and writers find records in them.

use crate::lmdb::heap_record::RecordId;
use crate::model::heap_options::HeapLayout;
use crate::pages::attribute::{Field, PageSchema};
use crate::pages::page::Page;
use std::ops::Deref;
use std::sync::Arc;

/// The schemas of the pages of a table's relations; none where records are not torn apart.
pub(crate) fn schemas_of_pairs(schema: &PageSchema, layout: HeapLayout) -> Vec<Arc<PageSchema>> {
    match layout {
        HeapLayout::Dsm => (0..schema.attributes().len()).map(|at| Arc::new(schema.of_pairs(at))).collect(),
        HeapLayout::Nsm | HeapLayout::Pax => Vec::new(),
    }
}

/// The slot of a record id in a page of pairs, or where it would be.
pub(crate) fn slot_of<B: Deref<Target = [u8]>>(page: &Page<B>, id: RecordId) -> Result<usize, usize> {
    let (mut low, mut high) = (0, page.slots());
    while low < high {
        let middle = low + (high - low) / 2;
        match page.field(middle, 0) {
            Field::Code(found) if found == u128::from(id) => return Ok(middle),
            Field::Code(found) if found < u128::from(id) => low = middle + 1,
            _ => high = middle,
        }
    }
    Err(low)
}
