//! Values of an attribute brought together from records or pages, as one view: what kernels get where the values of a run of
//! records do not lie in one piece, and where deleted records lie between them.

pub(crate) mod bare;
pub(crate) mod pick;

use crate::io::pool;
use crate::model::view::{ColumnView, PhysicalLayout};
use crate::pages::attribute::{Attribute, AttributeForm, Field};
use crate::pages::columns::Fetch;
use crate::{Error, Result};
use arrow::array::BooleanBufferBuilder;
use arrow::buffer::{Buffer, MutableBuffer};

/// Bytes that every buffer may be read past its last value.
const PADDING: usize = 64;
/// Bytes of strings that a view can address.
const MOST_BYTES: usize = i32::MAX as usize;

/// A view in the making.
pub(crate) struct Gather<'a> {
    own: &'a Attribute,
    fetch: Fetch<'a>,
    rows: usize,
    /// Codes, or the bytes of strings.
    bytes: MutableBuffer,
    /// Ends of strings, behind a 0; empty for codes.
    offsets: MutableBuffer,
    validity: Option<BooleanBufferBuilder>,
}

impl<'a> Gather<'a> {
    /// An empty view with room for the codes of `rows` records; `nulls` says whether one of them may be NULL.
    pub(crate) fn new(own: &'a Attribute, nulls: bool, rows: usize, fetch: Fetch<'a>) -> Self {
        let (bytes, mut offsets) = match own.kind {
            AttributeForm::Fixed(width) => (pool::take(width * rows + PADDING), MutableBuffer::new(0)),
            AttributeForm::Variable => (MutableBuffer::new(0), MutableBuffer::with_capacity(4 * (rows + 1) + PADDING)),
        };
        if own.kind == AttributeForm::Variable {
            offsets.push(0u32);
        }
        let validity = nulls.then(|| BooleanBufferBuilder::new(rows));
        Self { own, fetch, rows: 0, bytes, offsets, validity }
    }

    /// Adds a value. Fails when a long one can't be read, and when the strings are too long for a view.
    pub(crate) fn push(&mut self, field: Field<'_>) -> Result<()> {
        match &mut self.validity {
            Some(validity) => validity.append(field != Field::Null),
            // A deleted slot has nothing.
            None if field == Field::Null && self.own.nullable => return Err(self.unexpected_null()),
            None => {}
        }
        self.rows += 1;
        match (self.own.kind, field) {
            (AttributeForm::Fixed(width), Field::Code(code)) => {
                self.bytes.extend_from_slice(&code.to_le_bytes()[..width])
            }
            (AttributeForm::Fixed(width), _) => self.bytes.extend_zeros(width),
            (AttributeForm::Variable, Field::Bytes(value)) => return self.push_bytes(value),
            (AttributeForm::Variable, Field::Overflow(reference)) => {
                let value = (self.fetch)(reference)?;
                return self.push_bytes(&value);
            }
            (AttributeForm::Variable, _) => return self.push_bytes(&[]),
        }
        Ok(())
    }

    fn push_bytes(&mut self, value: &[u8]) -> Result<()> {
        self.has_room(value.len())?;
        self.bytes.extend_from_slice(value);
        self.offsets.push(self.bytes.len() as u32);
        Ok(())
    }

    /// Fails when so many more bytes of strings are too many for a view.
    fn has_room(&self, more: usize) -> Result<()> {
        if self.bytes.len() + more <= MOST_BYTES {
            return Ok(());
        }
        Err(Error::Unsupported(format!(
            "column '{}': {} records that lie together have more than 2 GiB of values",
            self.own.name, self.rows
        )))
    }

    /// Adds the rows of a view of the same attribute that are set in `live`, or all of them.
    pub(crate) fn extend(&mut self, view: &ColumnView, live: Option<&[u64]>) -> Result<()> {
        let is_live = |row: usize| live.is_none_or(|live| live[row / 64] >> (row % 64) & 1 == 1);
        let before = self.rows;
        match (&view.shape, self.own.kind) {
            (
                PhysicalLayout::Contiguous { codes, .. } | PhysicalLayout::Wide { values: codes },
                AttributeForm::Fixed(width),
            ) => match live {
                None => {
                    self.bytes.extend_from_slice(&codes[..width * view.rows]);
                    self.rows += view.rows;
                }
                Some(_) => {
                    for row in (0..view.rows).filter(|row| is_live(*row)) {
                        self.bytes.extend_from_slice(&codes[width * row..][..width]);
                        self.rows += 1;
                    }
                }
            },
            (PhysicalLayout::Bytes { offsets, bytes }, AttributeForm::Variable) => {
                let offsets: &[u32] = offsets.typed_data();
                for row in (0..view.rows).filter(|row| is_live(*row)) {
                    let (start, end) = (offsets[row] as usize, offsets[row + 1] as usize);
                    let value = bytes.get(start..end).ok_or_else(|| {
                        let place = format!("column '{}'", self.own.name);
                        Error::corrupt(place, format!("value {row} of a page, from {start} to {end} of its minipage"))
                    })?;
                    self.push_bytes(value)?;
                    self.rows += 1;
                }
            }
            (shape, _) => {
                return Err(Error::corrupt(format!("column '{}'", self.own.name), format!("{shape:?} in a page")));
            }
        }
        if let (None, Some(own)) = (&self.validity, &view.validity)
            && (0..view.rows).any(|row| is_live(row) && !own.value(row))
        {
            return Err(self.unexpected_null());
        }
        if let Some(validity) = &mut self.validity {
            match &view.validity {
                None => validity.append_n(self.rows - before, true),
                Some(own) if live.is_none() => validity.append_buffer(own),
                Some(own) => (0..view.rows).filter(|row| is_live(*row)).for_each(|row| validity.append(own.value(row))),
            }
        }
        Ok(())
    }

    /// The error for a NULL where the table's bounds say that there is none.
    #[cold]
    fn unexpected_null(&self) -> Error {
        let place = format!("column '{}'", self.own.name);
        Error::corrupt(place, "a NULL, though the table's bounds say that no record has one")
    }

    /// Rows so far.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The view, whose codes lie in memory that is used again.
    pub(crate) fn finish(self) -> ColumnView {
        let Self { own, rows, bytes, offsets, validity, .. } = self;
        let shape = match own.kind {
            AttributeForm::Fixed(16) => PhysicalLayout::Wide { values: padded(bytes, pool::lend) },
            AttributeForm::Fixed(width) => {
                PhysicalLayout::Contiguous { codes: padded(bytes, pool::lend), width: width as u8 }
            }
            AttributeForm::Variable => {
                PhysicalLayout::Bytes { offsets: padded(offsets, Into::into), bytes: padded(bytes, Into::into) }
            }
        };
        let validity = validity.map(|mut validity| validity.finish());
        ColumnView { rows, logical_type: own.logical_type.clone(), validity, shape, meaning: own.meaning() }
    }
}

/// The bytes, with as many behind them as kernels may read.
fn padded(mut bytes: MutableBuffer, finish: impl Fn(MutableBuffer) -> Buffer) -> Buffer {
    let length = bytes.len();
    bytes.extend_zeros(PADDING);
    finish(bytes).slice_with_length(0, length)
}
