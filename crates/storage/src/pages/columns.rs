//! The columns of a page as the views that scans, lookups and decoding read: a page is a short segment to them.
//!
//! An F-minipage is a contiguous run of codes and is not copied; of a V-minipage only the offsets are, as views have wider
//! ones. The attributes of NSM records are gathered into a run, which is what kernels would do with them first.

use crate::Result;
use crate::model::view::{ColumnView, PhysicalLayout};
use crate::pages::attribute::{Attribute, AttributeForm, Field, OverflowReference};
use crate::pages::bit;
use crate::pages::gather::Gather;
use crate::pages::nsm::NsmPage;
use crate::pages::page::Page;
use crate::pages::pax::PaxPage;
use arrow::buffer::{BooleanBuffer, Buffer, MutableBuffer};

/// How a page's reader gets at a value that lies elsewhere.
pub(crate) type Fetch<'f> = &'f dyn Fn(OverflowReference) -> Result<Vec<u8>>;

impl Page<Buffer> {
    /// Rows of the page's column views: the places of records, of deleted ones too where these have places.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Nsm(page) => page.slots(),
            Self::Pax(page) => page.positions(),
        }
    }

    /// A bit for each row that is a live record; `None` when all are.
    pub(crate) fn live_rows(&self) -> Option<Vec<u64>> {
        let rows = self.rows();
        (self.records() < rows).then(|| {
            let mut words = vec![0; rows.div_ceil(64)];
            for row in (0..rows).filter(|row| self.is_live(*row)) {
                words[row / 64] |= 1 << (row % 64);
            }
            words
        })
    }

    /// The slot of a row.
    pub(crate) fn slot_of_row(&self, row: usize) -> usize {
        match self {
            Self::Nsm(_) => row,
            Self::Pax(page) => page.slot_of(row),
        }
    }

    /// The view of an attribute of the table, `own`, whose minipage was checked.
    pub(crate) fn column_view(&self, own: &Attribute, attribute: usize, fetch: Fetch<'_>) -> Result<ColumnView> {
        match (self, self.schema().place_of(attribute)) {
            (Self::Nsm(page), Some(place)) => page.column_view(place, fetch),
            (Self::Pax(page), Some(place)) => page.column_view(place, fetch),
            (_, None) => {
                let (rows, field) = (self.rows(), self.schema().initial(attribute));
                gathered(own, rows, std::iter::repeat_n(field, rows), fetch)
            }
        }
    }
}

impl PaxPage<Buffer> {
    fn column_view(&self, attribute: usize, fetch: Fetch<'_>) -> Result<ColumnView> {
        let (own, rows) = (&self.schema.attributes[attribute], self.positions());
        let part = |start: usize, length: usize| self.bytes.slice_with_length(start, length);
        let validity = own.nullable.then(|| {
            let length = bit::bytes(self.capacity());
            BooleanBuffer::new(part(self.presence_at(attribute), length), 0, rows)
        });
        let shape = match own.kind {
            AttributeForm::Fixed(16) => {
                PhysicalLayout::Wide { values: part(self.codes(attribute, 16).start, 16 * rows) }
            }
            AttributeForm::Fixed(width) => {
                let codes = part(self.codes(attribute, width).start, width * rows);
                PhysicalLayout::Contiguous { codes, width: width as u8 }
            }
            AttributeForm::Variable
                if (0..rows).any(|row| self.raw_end(attribute, row) & crate::pages::nsm::ELSEWHERE != 0) =>
            {
                let field = |row: usize| {
                    let live = self.positions() == self.records() || self.is_live(row);
                    if live { self.field_at(row, attribute) } else { Field::Null }
                };
                return gathered(own, rows, (0..rows).map(field), fetch);
            }
            AttributeForm::Variable => {
                let mut offsets = MutableBuffer::with_capacity(4 * (rows + 1));
                offsets.push(0u32);
                (0..rows).for_each(|row| offsets.push(self.span(attribute, row).end as u32));
                let heap = self.heap(attribute);
                PhysicalLayout::Bytes { offsets: offsets.into(), bytes: part(heap.start, heap.len()) }
            }
        };
        Ok(view(own, rows, validity, shape))
    }
}

impl NsmPage<Buffer> {
    fn column_view(&self, attribute: usize, fetch: Fetch<'_>) -> Result<ColumnView> {
        let field = |slot: usize| if self.is_live(slot) { self.field(slot, attribute) } else { Field::Null };
        gathered(&self.schema.attributes[attribute], self.slots(), (0..self.slots()).map(field), fetch)
    }
}

/// The view of an attribute whose fields come one by one.
pub(crate) fn gathered<'p>(
    own: &Attribute,
    rows: usize,
    fields: impl Iterator<Item = Field<'p>>,
    fetch: Fetch<'_>,
) -> Result<ColumnView> {
    let mut gather = Gather::new(own, own.nullable, rows, fetch);
    fields.into_iter().try_for_each(|field| gather.push(field))?;
    Ok(gather.finish())
}

fn view(own: &Attribute, rows: usize, validity: Option<BooleanBuffer>, shape: PhysicalLayout) -> ColumnView {
    ColumnView { rows, logical_type: own.logical_type.clone(), validity, shape, meaning: own.meaning() }
}
