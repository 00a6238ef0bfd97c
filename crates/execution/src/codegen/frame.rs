//! How a vector is handed to a loop: one array of 64-bit words, read before the loop starts.
//!
//! Safety rests here: a frame is made from slices whose lengths are checked against the vector's records and the plan,
//! and it borrows them for as long as it lives.

use crate::codegen::{Access, Validity, Variant};
use crate::data::source::{Field, Records, Vector};
use crate::operators::aggregate::States;
use crate::program::stage::{ColumnUse, Stage};
use crate::{Error, Result};
use gingham_storage::LogicalType;
use gingham_storage::model::{CodeMeaning, ColumnView, PhysicalLayout};
use gingham_storage::scan::base;
use std::marker::PhantomData;

/// Words of a frame before those of the inputs.
pub(super) const ROWS: usize = 0;
pub(super) const WORDS: usize = 1;
/// The largest place in the words: what lies past it gets it.
pub(super) const SPARE: usize = 2;
/// The number of the group at the first place.
pub(super) const FIRST: usize = 3;
pub(super) const PLACES: usize = 4;
pub(super) const PASSED: usize = 5;
const INPUTS: usize = 6;
/// Words of a column: address of its integers, base, address of its validity bits, first bit.
const COLUMN_WORDS: usize = 4;

/// The word of an input: its first row, or the address of its rows.
pub(super) fn input_word(input: usize) -> usize {
    INPUTS + input
}

/// First word of a column; they follow the inputs.
pub(super) fn column_word(variant: &Variant, column: usize) -> usize {
    INPUTS + variant.inputs.len() + column * COLUMN_WORDS
}

/// The word with the address of an output's staging vector; they come last.
pub(super) fn output_word(variant: &Variant, output: usize) -> usize {
    column_word(variant, variant.columns.len()) + output
}

/// Words of a key table: address of its links or entries, the last of them, the shift of its hashes, address of its lists,
/// the row of NULLs, and the address of marks.
pub(super) const TABLE_WORDS: usize = 6;

/// First word of a key table; they follow the outputs.
pub(super) fn table_word(variant: &Variant, outputs: usize, table: usize) -> usize {
    output_word(variant, outputs) + table * TABLE_WORDS
}

/// The variant that a vector needs of a loop that reads these of the fields. Of the vector's inputs the first `own` have a
/// row for each record.
pub(super) fn variant(fields: &[Field], used: &[ColumnUse], vector: &Vector<'_>, own: usize) -> Result<Variant> {
    let mut columns = Vec::with_capacity(used.len());
    for (wanted, field) in used.iter().zip(fields) {
        // A column that this stage does not read may be one that no probe has added yet.
        if !wanted.integers && !wanted.validity {
            columns.push((None, None));
            continue;
        }
        let (view, _) = vector.column(*field)?;
        columns.push((wanted.integers.then(|| access(view)), wanted.validity.then(|| validity(view))));
    }
    let inputs = vector.inputs.iter().map(|input| matches!(input.records, Records::Tids(_))).collect();
    Ok(Variant { own, inputs, columns })
}

fn access(view: &ColumnView) -> Access {
    let direct = match &view.meaning {
        CodeMeaning::FrameOfReference { .. } => true,
        CodeMeaning::FloatOrder { .. } => view.logical_type == LogicalType::Float64,
        // Codes of the newest dictionary are its own.
        CodeMeaning::Dictionary(version) => version.is_newest(),
        _ => false,
    };
    match view.shape {
        PhysicalLayout::Contiguous { width, .. } if direct => Access::Codes(width),
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
    outputs: usize,
    /// Words of the states, and records, that the frame was made for.
    _borrowed: PhantomData<&'v mut [u64]>,
}

impl<'v> Frame<'v> {
    /// A frame without states or staging vectors, for the loop of a stage. Fails as [`Frame::new`] does.
    pub(super) fn of_stage(
        stage: &Stage,
        variant: &Variant,
        vector: &Vector<'v>,
        gathered: &'v [Vec<i64>],
    ) -> Result<Self> {
        Self::new((&stage.fields, stage.outputs.len()), variant, vector, gathered)
    }

    /// A frame without states or staging vectors, for a loop that reads these fields and has so many outputs. Of inputs that
    /// have no row for each record the loop may read any. Fails when a view does not hold the rows of the vector.
    pub(super) fn new(
        (fields, outputs): (&[Field], usize),
        variant: &Variant,
        vector: &Vector<'v>,
        gathered: &'v [Vec<i64>],
    ) -> Result<Self> {
        let mut words = vec![0; output_word(variant, outputs)];
        words[ROWS] = vector.len() as u64;
        let mut ends = Vec::with_capacity(vector.inputs.len());
        for (number, input) in vector.inputs.iter().enumerate() {
            check(number >= variant.own || input.records.len() == vector.len(), "rows of an input")?;
            let (word, end) = match input.records {
                Records::Run { first, length } => (first as u64, first + length),
                Records::Tids(tids) => {
                    let last = tids.iter().fold(0, |last, tid| last.max(*tid));
                    (tids.as_ptr() as u64, last as usize + 1)
                }
            };
            words[input_word(number)] = word;
            ends.push(end);
        }
        for (column, (access, validity)) in variant.columns.iter().enumerate() {
            if access.is_none() && validity.is_none() {
                continue;
            }
            let (field, place) = (fields[column], column_word(variant, column));
            let ((view, _), end) = (vector.column(field)?, ends[field.input]);
            match (access, &view.shape) {
                (Some(Access::Codes(width)), PhysicalLayout::Contiguous { codes, .. }) => {
                    check(codes.len() >= end * usize::from(*width), "codes")?;
                    words[place] = codes.as_ptr() as u64;
                    words[place + 1] = base(view)? as u64;
                }
                (Some(Access::Gathered), _) if field.input < variant.own => {
                    check(gathered[column].len() >= vector.len(), "integers")?;
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
        Ok(Self { words, outputs, _borrowed: PhantomData })
    }

    /// Lets the loop update these states.
    pub(super) fn words(&mut self, states: &mut States) {
        self.words[SPARE] = states.spare();
        self.words[FIRST] = states.first();
        self.words[WORDS] = states.words_mut().as_mut_ptr() as u64;
    }

    /// Lets the loop write the outputs, which are as long as they need be.
    pub(super) fn outputs(&mut self, outputs: &mut [Vec<i64>]) -> Result<()> {
        check(outputs.len() == self.outputs, "staging vectors")?;
        let first = self.words.len() - self.outputs;
        for (word, output) in self.words[first..].iter_mut().zip(outputs) {
            *word = output.as_mut_ptr() as u64;
        }
        Ok(())
    }

    /// Lets the loop probe one more key table, over so many rows, and set their marks if the probe does that.
    pub(super) fn table(&mut self, words: [u64; 4], rows: usize, marks: &mut [u64]) {
        self.words.extend(words);
        self.words.extend([rows as u64, marks.as_mut_ptr() as u64]);
    }

    /// Lets the loop write the outputs, and the position in the vector, of each record that passes.
    pub(super) fn stage(&mut self, outputs: &mut [Vec<i64>], passed: &mut Vec<u32>) -> Result<()> {
        check(outputs.len() == self.outputs, "staging vectors")?;
        let rows = self.words[ROWS] as usize;
        passed.resize(rows, 0);
        self.words[PASSED] = passed.as_mut_ptr() as u64;
        let first = self.words.len() - self.outputs;
        for (word, output) in self.words[first..].iter_mut().zip(outputs) {
            output.resize(rows, 0);
            *word = output.as_mut_ptr() as u64;
        }
        Ok(())
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
