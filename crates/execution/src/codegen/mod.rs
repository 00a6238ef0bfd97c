//! Generated code: the steps of a program as one loop of machine code over a vector (relaxed operator fusion paper,
//! section 4.1: a stage is a loop in which operators are fused).
//!
//! | file | what |
//! |---|---|
//! | `frame` | how a vector is handed to a loop: the words of its argument |
//! | `stage` | the loop of a stage |
//! | `steps` | steps as instructions |
//! | `floats` | those of floats |
//! | `fused`, `fused_loop` | the loop of a pipeline without boundaries, or of what is left of it |
//! | `table` | the search for a key within such a loop |
//! | `cache` | the code of a pipeline, kept for the runs that come |
//! | `code` | memory with machine code, and the call into it |
//!
//! Widths of codes, where they lie, what may be NULL and all constants are compiled in; bases and addresses are read once
//! before the loop. A loop exists per way in which a vector's columns lie ([`Access`]), and is made when the first such
//! vector comes. Cranelift neither vectorises nor turns branches into selections, so selections are written as such, the
//! loop's test is at its end, and what wants wide registers (scans, probes) is a kernel before the loop.

pub(crate) mod cache;
mod code;
mod floats;
mod frame;
mod fused;
mod fused_loop;
mod stage;
mod steps;
mod table;
pub(crate) mod trial;

use crate::codegen::trial::Trial;
use crate::data::source::Vector;
use crate::operators::aggregate::{Plan, States};
use crate::operators::keys::interleave;
use crate::program::stage::Stage;
use crate::{Error, Mode, Result};
use code::{Code, LoopEntry};
use frame::Frame;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

pub(crate) use fused::{Chain, Out};

/// Where the integers of a column lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Access {
    /// Codes of so many bytes, one per row of the input; a base is added.
    Codes(u8),
    /// 64-bit integers, one per record of the vector: gathered, since the layout has no such run.
    Gathered,
}

/// Which records have a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Validity {
    All,
    /// A bit per row of the input.
    Bits,
    None,
}

/// What a loop is compiled for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Variant {
    /// Inputs that have a row for each record of the vector; probes within the loop give those of the others.
    own: usize,
    /// By input: rows come as a list, else as a run.
    inputs: Vec<bool>,
    /// By column: where it lies when its integers are read, and which values are when that is.
    columns: Vec<(Option<Access>, Option<Validity>)>,
}

/// The loops of one variant of a stage.
#[derive(Debug)]
pub(crate) struct Loops {
    variant: Variant,
    code: Code,
    /// Filter, group number, update; or filter and outputs.
    first: LoopEntry,
    /// The update, behind a hash table of groups.
    second: Option<LoopEntry>,
}

/// What the loops of a stage end in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LoopEnd<'p> {
    /// Staging vectors.
    Emit,
    /// States in an array.
    Array(&'p Plan),
    /// States that a hash table finds.
    Table(&'p Plan),
}

/// The code of one stage, made as it is needed, shared by the threads.
#[derive(Debug, Default)]
pub(crate) struct Generator {
    loops: Mutex<HashMap<Variant, Arc<Loops>>>,
    spent: Mutex<Spent>,
    /// The text of code is kept.
    keeps_text: AtomicBool,
    /// Whether the code is faster than the stage's interpretation.
    trial: Trial,
}

/// The loops that were made, for who may add some.
type Known<'g> = MutexGuard<'g, HashMap<Variant, Arc<Loops>>>;

/// What making code took.
#[derive(Debug, Default, Clone)]
pub(crate) struct Spent {
    pub(crate) time: Duration,
    pub(crate) bytes: usize,
    pub(crate) loops: usize,
    /// The code in Cranelift's words and in the machine's, where these are kept.
    pub(crate) text: String,
}

/// One thread's memory for vectors.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    gathered: Vec<Vec<i64>>,
    /// The words of the records' keys, by word and by record, and the places of their groups.
    keys: Vec<Vec<i64>>,
    words: Vec<u64>,
    places: Vec<u64>,
    passed: Vec<u32>,
}

impl Generator {
    /// Does the work of a vector of so many records, by code when `work` is given true. In mode `auto` that is when it is
    /// faster ([`Trial`]).
    pub(crate) fn choose(&self, mode: Mode, records: usize, work: impl FnOnce(bool) -> Result<()>) -> Result<()> {
        if mode == Mode::Auto { self.trial.run(records, work) } else { work(true) }
    }

    /// The loops for vectors like this one, made unless they are known. `None` in mode `auto` while another thread makes
    /// code: an interpreter does not wait for it.
    pub(crate) fn loops(
        &self,
        stage: &Stage,
        end: LoopEnd<'_>,
        vector: &Vector<'_>,
        mode: Mode,
    ) -> Result<Option<Arc<Loops>>> {
        let variant = frame::variant(&stage.fields, &stage.columns, vector, vector.inputs.len())?;
        let known = if mode == Mode::Auto { self.unless_at_work() } else { Some(self.lock()) };
        let make = |variant, text| Loops::new(stage, end, variant, text);
        known.map(|known| self.made(known, variant, make)).transpose()
    }

    /// The loops for vectors like this one, if they were made.
    pub(crate) fn known(&self, stage: &Stage, vector: &Vector<'_>) -> Result<Option<Arc<Loops>>> {
        let Some(known) = self.unless_at_work().filter(|known| !known.is_empty()) else { return Ok(None) };
        Ok(known.get(&frame::variant(&stage.fields, &stage.columns, vector, vector.inputs.len())?).cloned())
    }

    fn lock(&self) -> Known<'_> {
        self.loops.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was made, unless a thread is at it.
    fn unless_at_work(&self) -> Option<Known<'_>> {
        match self.loops.try_lock() {
            Ok(known) => Some(known),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn made(
        &self,
        mut known: Known<'_>,
        variant: Variant,
        make: impl FnOnce(Variant, bool) -> Result<Loops>,
    ) -> Result<Arc<Loops>> {
        if let Some(loops) = known.get(&variant) {
            return Ok(Arc::clone(loops));
        }
        let start = Instant::now();
        let loops = Arc::new(make(variant.clone(), self.keeps_text.load(Ordering::Relaxed))?);
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.time += start.elapsed();
        spent.bytes += loops.code.bytes();
        spent.loops += 1 + usize::from(loops.second.is_some());
        spent.text += loops.code.text();
        known.insert(variant, Arc::clone(&loops));
        Ok(loops)
    }

    /// What making code took so far.
    pub(crate) fn spent(&self) -> Spent {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on the text of what is made is kept.
    pub(crate) fn keep_text(&self) {
        self.keeps_text.store(true, Ordering::Relaxed);
    }
}

impl Spent {
    /// Both together.
    pub(crate) fn with(self, other: &Self) -> Self {
        Self {
            time: self.time + other.time,
            bytes: self.bytes + other.bytes,
            loops: self.loops + other.loops,
            text: self.text + &other.text,
        }
    }
}

impl Loops {
    fn new(stage: &Stage, end: LoopEnd<'_>, variant: Variant, keeps_text: bool) -> Result<Self> {
        let mut code = Code::new(stage.program.cells(), keeps_text)?;
        let first = code.add(|builder, pointer| match end {
            LoopEnd::Array(plan) => stage::whole(builder, pointer, plan, &variant),
            LoopEnd::Emit | LoopEnd::Table(_) => stage::emit(builder, pointer, stage, &variant),
        })?;
        let second = match end {
            LoopEnd::Table(plan) => Some(code.add(|builder, pointer| stage::update(builder, pointer, plan, &variant))?),
            LoopEnd::Emit | LoopEnd::Array(_) => None,
        };
        code.finish()?;
        Ok(Self { variant, code, first, second })
    }

    /// Puts the outputs of the records that pass into `outputs`, and their positions into `passed`, in place of what they
    /// had.
    pub(crate) fn emit(
        &self,
        stage: &Stage,
        vector: &Vector<'_>,
        scratch: &mut Scratch,
        passed: &mut Vec<u32>,
        outputs: &mut [Vec<i64>],
    ) -> Result<()> {
        self.gather(stage, vector, &mut scratch.gathered)?;
        let mut frame = Frame::of_stage(stage, &self.variant, vector, &scratch.gathered)?;
        frame.stage(outputs, passed)?;
        // SAFETY: the staging vectors are borrowed here and were not touched since.
        let rows = unsafe { self.code.call(self.first, &frame)? };
        passed.truncate(rows);
        outputs.iter_mut().for_each(|output| output.truncate(rows));
        Ok(())
    }

    /// Adds the records of a vector to the states of their groups.
    pub(crate) fn aggregate(
        &self,
        plan: &Plan,
        vector: &Vector<'_>,
        states: &mut States,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Scratch { gathered, keys, words, places, passed } = scratch;
        self.gather(&plan.stage, vector, gathered)?;
        let mut frame = Frame::of_stage(&plan.stage, &self.variant, vector, gathered)?;
        let Some(second) = self.second else {
            frame.words(states);
            // SAFETY: the states are borrowed here and were not touched since.
            unsafe { self.code.call(self.first, &frame)? };
            return Ok(());
        };
        keys.resize_with(plan.width(), Vec::new);
        frame.stage(keys, passed)?;
        // SAFETY: the staging vectors are borrowed here and were not touched since.
        let rows = unsafe { self.code.call(self.first, &frame)? };
        interleave(keys.iter().map(|word| &word[..rows]), rows, words);
        states.find(words, places)?;
        frame.resume(rows, places);
        frame.words(states);
        // SAFETY: neither the states, which have grown before, nor the staging vectors were touched since.
        unsafe { self.code.call(second, &frame)? };
        Ok(())
    }

    /// The integers of columns that have no run of codes.
    fn gather(&self, stage: &Stage, vector: &Vector<'_>, gathered: &mut Vec<Vec<i64>>) -> Result<()> {
        gathered.resize_with(self.variant.columns.len(), Vec::new);
        for (column, integers) in gathered.iter_mut().enumerate() {
            if self.variant.columns[column].0 == Some(Access::Gathered) {
                vector.integers(stage.fields[column], integers)?;
            }
        }
        Ok(())
    }
}

/// An error of Cranelift, which no input should bring about.
fn defect(error: impl std::fmt::Display) -> Error {
    Error::Internal(format!("generating code: {error}"))
}
