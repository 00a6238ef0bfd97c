//! How a vector is handed to a loop: one array of 64-bit words, read before the loop starts.
//!
//! Safety rests here: a frame is made from slices whose lengths are checked against the vector's records and the plan,
//! and it borrows them for as long as it lives.

use super::{Access, Validity, Variant};
use crate::aggregate::{ColumnUse, Plan, States};
use crate::source::{Records, Vector};
use crate::{Error, Result};
use gingham_storage::scan::{OpenMorsel, base};
use gingham_storage::view::{ColumnView, Meaning, Shape};
use std::marker::PhantomData;

/// Words of a frame before those of the columns.
pub(super) const ROWS: usize = 0;
pub(super) const FIRST: usize = 1;
pub(super) const TIDS: usize = 2;
pub(super) const WORDS: usize = 3;
/// The largest place in the words: what lies past it gets it.
pub(super) const SPARE: usize = 4;
pub(super) const PLACES: usize = 5;
pub(super) const PASSED: usize = 6;
const COLUMNS: usize = 7;
/// Words of a column: address of its integers, base, address of its validity bits, first bit.
const COLUMN_WORDS: usize = 4;

/// First word of a column.
pub(super) fn column_word(column: usize) -> usize {
    COLUMNS + column * COLUMN_WORDS
}

/// The variant that the vectors of a morsel need.
pub(super) fn variant(plan: &Plan, morsel: &OpenMorsel) -> Result<Variant> {
    let column = |(column, wanted): (usize, &ColumnUse)| {
        let view = morsel.views.get(column);
        let view = view.ok_or_else(|| Error::Internal(format!("a morsel without column {column}")))?;
        Ok((wanted.integers.then(|| access(view)), wanted.validity.then(|| validity(view))))
    };
    let columns = plan.columns.iter().enumerate().map(column).collect::<Result<_>>()?;
    Ok(Variant { tids: morsel.tids.is_some(), columns })
}

fn access(view: &ColumnView) -> Access {
    let direct = match &view.meaning {
        Meaning::FrameOfReference { .. } => true,
        // Codes of the newest dictionary are its own.
        Meaning::Dictionary(version) => version.is_newest(),
        _ => false,
    };
    match view.shape {
        Shape::Contiguous { width, .. } if direct => Access::Codes(width),
        _ => Access::Gathered,
    }
}

fn validity(view: &ColumnView) -> Validity {
    match &view.validity {
        _ if view.is_null() => Validity::None,
        None => Validity::All,
        Some(_) => Validity::Bits,
    }
}

/// The argument of one call.
pub(super) struct Frame<'v> {
    words: Vec<u64>,
    /// Words of the states, and records, that the frame was made for.
    _borrowed: PhantomData<&'v mut [u64]>,
}

impl<'v> Frame<'v> {
    /// A frame without states or staging vectors. Fails when a view does not hold its zone's records.
    pub(super) fn new(
        variant: &Variant,
        vector: Vector<'v>,
        gathered: &'v [Vec<i64>],
        states: &States,
    ) -> Result<Self> {
        let mut words = vec![0; column_word(variant.columns.len())];
        words[ROWS] = vector.records.len() as u64;
        words[SPARE] = states.spare();
        let end = match vector.records {
            Records::Run { first, length } => {
                words[FIRST] = first as u64;
                first + length
            }
            Records::Tids(tids) => {
                words[TIDS] = tids.as_ptr() as u64;
                tids.last().map_or(0, |tid| *tid as usize + 1)
            }
        };
        for (column, (access, validity)) in variant.columns.iter().enumerate() {
            let (view, place) = (&vector.views[column], column_word(column));
            match (access, &view.shape) {
                (Some(Access::Codes(width)), Shape::Contiguous { codes, .. }) => {
                    check(codes.len() >= end * usize::from(*width), "codes")?;
                    words[place] = codes.as_ptr() as u64;
                    words[place + 1] = base(view)? as u64;
                }
                (Some(Access::Gathered), _) => {
                    check(gathered[column].len() >= vector.records.len(), "integers")?;
                    words[place] = gathered[column].as_ptr() as u64;
                }
                (Some(access), _) => return Err(Error::Internal(format!("{access:?} of another shape"))),
                (None, _) => {}
            }
            if let (Some(Validity::Bits), Some(bits)) = (validity, &view.validity) {
                check(bits.len() >= end, "validity bits")?;
                words[place + 2] = bits.values().as_ptr() as u64;
                words[place + 3] = bits.offset() as u64;
            }
        }
        Ok(Self { words, _borrowed: PhantomData })
    }

    /// Lets the loop update these states.
    pub(super) fn words(&mut self, states: &mut States) {
        self.words[WORDS] = states.words_mut().as_mut_ptr() as u64;
    }

    /// Lets the loop write a number, and its position in the vector, for each record that passes.
    pub(super) fn stage(&mut self, numbers: &mut Vec<u64>, passed: &mut Vec<u32>) {
        let rows = self.words[ROWS] as usize;
        numbers.clear();
        numbers.resize(rows, 0);
        passed.clear();
        passed.resize(rows, 0);
        self.words[PLACES] = numbers.as_mut_ptr() as u64;
        self.words[PASSED] = passed.as_mut_ptr() as u64;
    }

    /// Lets the loop go on with the records that passed, whose places are known now.
    pub(super) fn resume(&mut self, rows: usize, places: &[u64]) {
        self.words[ROWS] = rows as u64;
        self.words[PLACES] = places.as_ptr() as u64;
    }

    /// True when there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.words[ROWS] == 0
    }

    /// What the loop is given.
    pub(super) fn as_ptr(&self) -> *const u64 {
        self.words.as_ptr()
    }
}

fn check(fits: bool, what: &str) -> Result<()> {
    if fits { Ok(()) } else { Err(Error::Internal(format!("a column view with too few {what}"))) }
}
