//! Generated code: the steps of a program as one loop of machine code over a vector (relaxed operator fusion paper,
//! section 4.1: a stage is a loop in which operators are fused).
//!
//! | file | what |
//! |---|---|
//! | `frame` | how a vector is handed to a loop: the words of its argument |
//! | `stage` | the loop of a stage |
//! | `steps` | steps as instructions |
//! | `code` | memory with machine code, and the call into it |
//!
//! Widths of codes, where they lie, what may be NULL and all constants are compiled in; bases and addresses are read once
//! before the loop. A loop exists per way in which a vector's columns lie ([`Access`]), and is made when the first such
//! vector comes. Cranelift neither vectorises nor turns branches into selections, so selections are written as such, the
//! loop's test is at its end, and what wants wide registers (scans, probes) is a kernel before the loop.

mod code;
mod frame;
mod stage;
mod steps;

use crate::aggregate::{Plan, States};
use crate::source::Vector;
use crate::{Error, Result};
use code::{Code, Entry};
use frame::Frame;
use gingham_storage::scan::OpenMorsel;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Where the integers of a column lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Access {
    /// Codes of so many bytes, one per record of the zone; a base is added.
    Codes(u8),
    /// 64-bit integers, one per record of the vector: gathered, since the layout has no such run.
    Gathered,
}

/// Which records have a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Validity {
    All,
    /// A bit per record of the zone.
    Bits,
    None,
}

/// What a loop is compiled for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Variant {
    /// Records come as a list of TIDs, else as a run.
    tids: bool,
    /// By column: where it lies when its integers are read, and which values are when that is.
    columns: Vec<(Option<Access>, Option<Validity>)>,
}

/// The loops of one variant.
#[derive(Debug)]
pub(crate) struct Loops {
    variant: Variant,
    code: Code,
    /// Filter, group number, update; or, where a hash table stands between the two, filter and number.
    first: Entry,
    /// The update, behind a hash table.
    second: Option<Entry>,
}

/// The code of one aggregation, made as it is needed, shared by its threads.
#[derive(Debug, Default)]
pub(crate) struct Generator {
    loops: Mutex<HashMap<Variant, Arc<Loops>>>,
    spent: Mutex<Spent>,
}

/// What making code took.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Spent {
    pub(crate) time: Duration,
    pub(crate) bytes: usize,
    pub(crate) loops: usize,
}

/// One thread's memory for vectors.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    gathered: Vec<Vec<i64>>,
    places: Vec<u64>,
    passed: Vec<u32>,
}

impl Generator {
    /// The loops for the vectors of a morsel, made unless they are known. They are for states in a hash table, or not.
    pub(crate) fn loops(&self, plan: &Plan, morsel: &OpenMorsel, table: bool) -> Result<Arc<Loops>> {
        let variant = frame::variant(plan, morsel)?;
        let mut known = self.loops.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loops) = known.get(&variant) {
            return Ok(Arc::clone(loops));
        }
        let start = Instant::now();
        let loops = Arc::new(Loops::new(plan, variant.clone(), table)?);
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.time += start.elapsed();
        spent.bytes += loops.code.bytes();
        spent.loops += 1 + usize::from(table);
        known.insert(variant, Arc::clone(&loops));
        Ok(loops)
    }

    /// What making code took so far.
    pub(crate) fn spent(&self) -> Spent {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Loops {
    fn new(plan: &Plan, variant: Variant, table: bool) -> Result<Self> {
        let mut code = Code::new(plan.program.cells())?;
        let (first, second) = if table {
            let first = code.add(|builder, pointer| stage::number(builder, pointer, plan, &variant))?;
            (first, Some(code.add(|builder, pointer| stage::update(builder, pointer, plan, &variant))?))
        } else {
            (code.add(|builder, pointer| stage::whole(builder, pointer, plan, &variant))?, None)
        };
        code.finish()?;
        Ok(Self { variant, code, first, second })
    }

    /// Adds the records of a vector, one of the morsel that the loops are for, to the states of their groups.
    pub(crate) fn aggregate(&self, vector: Vector<'_>, states: &mut States, scratch: &mut Scratch) -> Result<()> {
        let Scratch { gathered, places, passed } = scratch;
        gathered.resize_with(self.variant.columns.len(), Vec::new);
        for (column, integers) in gathered.iter_mut().enumerate() {
            if self.variant.columns[column].0 == Some(Access::Gathered) {
                vector.integers(column, integers)?;
            }
        }
        let mut frame = Frame::new(&self.variant, vector, gathered, states)?;
        let Some(second) = self.second else {
            frame.words(states);
            // SAFETY: the states are borrowed here and were not touched since.
            unsafe { self.code.call(self.first, &frame)? };
            return Ok(());
        };
        frame.stage(places, passed);
        // SAFETY: the staging vectors are borrowed here and were not touched since.
        let rows = unsafe { self.code.call(self.first, &frame)? };
        places.truncate(rows);
        states.places(places)?;
        frame.resume(rows, places);
        frame.words(states);
        // SAFETY: neither the states, which have grown before, nor the staging vectors were touched since.
        unsafe { self.code.call(second, &frame)? };
        Ok(())
    }
}

/// An error of Cranelift, which no input should bring about.
fn defect(error: impl std::fmt::Display) -> Error {
    Error::Internal(format!("generating code: {error}"))
}
