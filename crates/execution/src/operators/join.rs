//! Joins: the keys of a relation's rows as one number each, the key table over them, and the number that a probing record
//! has (relaxed operator fusion paper, section 4.3: what is probed is known before the code that probes is made).
//!
//! A key is the digits of a number in which each digit's range is that of the build side. A probing record whose keys lie
//! outside of these ranges, or are NULL, has no match and needs no probe. Keys that need several words have numbers all the
//! same: their places among the build side's different keys, for which a probing vector is looked up once more.

use crate::Result;
use crate::data::limits::Limits;
use crate::data::relation::{ColumnBounds, Relation};
use crate::data::source::{Field, Records, VECTOR, Vector, VectorInput};
use crate::operators::interpret::Interpreter;
use crate::operators::keys::{KeyWords, WordSizes, interleave};
use crate::operators::place_table::{NO_PLACE, PlaceTable};
use crate::program::expression::{Comparison, Expression};
use crate::program::stage::StageBuilder;
use crate::program::steps::{Builder, Nullable, StepId};
use crate::schedule::helpers::Helpers;
use gingham_kernels::hash::{HashFunction, Key};
use gingham_kernels::key_table::{Building, DenseTable, Duplicates, HashTable, Probing};
use gingham_kernels::{Code, Isa};
use gingham_storage::model::PhysicalLayout;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// Numbers for which an array costs next to nothing, however few keys there are.
pub(crate) const FEW_NUMBERS: usize = 1 << 16;

/// Slots of a hash table in use.
const LOAD: f64 = 0.5;

/// What a join does with a probing record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// It goes on once for each match, with the match's columns.
    Inner,
    /// An outer join: a record without any match goes on once, with NULLs.
    Left,
    /// As [`Left`](Self::Left), and the rows of the build side that have a match are marked. A pipeline has one at most.
    Full,
    /// It goes on, once, when it has a match.
    Semi,
    /// It goes on when it has none.
    Anti,
    /// It goes on when `NOT IN` holds: it has none, and neither its key nor one of the build side is NULL; or there are no
    /// rows to be in.
    NotIn,
    /// It goes on with a column that says whether it has one: 1 or 0.
    Mark,
}

impl fmt::Display for JoinKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inner => "probe",
            Self::Left => "left probe",
            Self::Full => "full probe",
            Self::Semi => "semi probe",
            Self::Anti => "anti probe",
            Self::NotIn => "not-in probe",
            Self::Mark => "mark probe",
        })
    }
}

/// The ranges of a table's keys: how they become one number, or several words.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct KeyRanges {
    limits: Vec<Limits>,
    sizes: WordSizes,
}

/// Memory for the keys of a vector.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    short: Vec<u32>,
    long: Vec<u64>,
    words: Vec<u64>,
}

/// The rows of a relation by their keys.
#[derive(Debug)]
pub(crate) struct JoinTable {
    pub(crate) ranges: KeyRanges,
    /// The numbers of keys of several words: their places.
    places: Option<PlaceTable>,
    table: KeyTable,
    /// Rows that have keys: those without NULLs.
    pub(crate) rows: usize,
    /// The values of the column that rows are sorted by, if they are, up to those that have none.
    pub(crate) sorted: Vec<i64>,
}

/// What a table is, and how its keys are hashed: what a loop that probes it is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableKind {
    /// An array of links.
    Dense,
    /// Entries with keys of 32 bits.
    Short(HashFunction),
    /// Entries with keys of 64 bits.
    Long(HashFunction),
}

/// What a key table is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TableChoice {
    /// An array where the keys are dense, else a hash table always.
    pub(crate) array: bool,
    /// How its keys are hashed.
    pub(crate) function: HashFunction,
}

impl Default for TableChoice {
    fn default() -> Self {
        Self { array: true, function: HashFunction::Multiply }
    }
}

#[derive(Debug)]
enum KeyTable {
    Dense(DenseTable),
    Short(HashTable<u32>),
    Long(HashTable<u64>),
}

impl KeyRanges {
    /// Key ranges of columns with these facts. Fails for keys of more than 64 bits.
    pub(crate) fn new(facts: impl Iterator<Item = ColumnBounds>) -> Result<Self> {
        let limits: Vec<Limits> = facts.map(|(limits, _)| limits).collect();
        let mut sizes = WordSizes::default();
        limits.iter().try_for_each(|limits| sizes.add(*limits))?;
        Ok(Self { limits, sizes })
    }

    /// Different numbers; `None` where keys are several words, or a word of which each value may be a key, so that none is
    /// left for records without a match.
    pub(crate) fn numbers(&self) -> Option<u64> {
        match (self.sizes.words(), self.limits.as_slice()) {
            ([], _) => Some(1),
            ([Some(size)], _) => Some(*size),
            ([None], [limits]) => u64::try_from(limits.max - limits.min + 1).ok(),
            _ => None,
        }
    }

    /// Words of a key.
    pub(crate) fn words(&self) -> usize {
        self.sizes.words().len().max(1)
    }

    /// A number that no key has, where keys have [`numbers`](Self::numbers).
    pub(crate) fn none(&self) -> i64 {
        match (self.sizes.words(), self.limits.as_slice()) {
            // The number is the key itself.
            ([None], [limits]) if limits.max < i64::MAX.into() => i64::MAX,
            ([None], _) => i64::MIN,
            _ => -1,
        }
    }

    /// The truth that all keys lie in their ranges, none NULL, and their words where it holds.
    pub(crate) fn lower(&self, builder: &mut Builder, keys: &[Expression]) -> Result<(StepId, Vec<StepId>)> {
        let mut inside = builder.constant(1);
        let mut all = KeyWords::default();
        for (key, range) in keys.iter().zip(&self.limits) {
            let key = builder.lower(key)?;
            if let Some(valid) = key.valid {
                inside = builder.and(inside, valid);
            }
            let (low, high) = (builder.constant(range.min), builder.constant(range.max));
            for (operator, end) in [(Comparison::GreaterOrEqual, low), (Comparison::LessOrEqual, high)] {
                let within = builder.compare(operator, key.value, end);
                inside = builder.and(inside, within);
            }
            let value = builder.assumed(key.value, *range);
            all.add_within(builder, Nullable { value, valid: None }, *range)?;
        }
        if all.words.is_empty() {
            all.words.push(builder.constant(0));
        }
        Ok((inside, all.words))
    }
}

impl JoinTable {
    /// The rows of a relation by some of its columns. Rows of which a key is NULL are left out: they equal nothing.
    pub(crate) fn build(
        relation: &Relation,
        keys: &[usize],
        making: (TableChoice, Isa),
        helpers: &Helpers<'_>,
    ) -> Result<Self> {
        let ranges = KeyRanges::new(keys.iter().map(|key| relation.facts[*key]))?;
        if let ([key], false, [Some(_)]) = (keys, keys.iter().any(|key| relation.facts[*key].1), ranges.sizes.words()) {
            // Codes count from the smallest value: they are the numbers already.
            let positions: Vec<u32> = (0..relation.rows as u32).collect();
            if let PhysicalLayout::Contiguous { codes, width } = &relation.views[*key].shape {
                let table = match width {
                    1 => KeyTable::of(&ranges, &codes.typed_data::<u8>()[..relation.rows], positions, making, helpers),
                    2 => KeyTable::of(&ranges, &codes.typed_data::<u16>()[..relation.rows], positions, making, helpers),
                    4 => KeyTable::of(&ranges, &codes.typed_data::<u32>()[..relation.rows], positions, making, helpers),
                    _ => KeyTable::of(&ranges, &codes.typed_data::<u64>()[..relation.rows], positions, making, helpers),
                };
                return Ok(Self { ranges, places: None, table: table?, rows: relation.rows, sorted: Vec::new() });
            }
        }
        let (words, positions) = words(relation, keys, &ranges, making.1)?;
        let rows = positions.len();
        if ranges.numbers().is_some() {
            let table = KeyTable::of(&ranges, &words, positions, making, helpers)?;
            return Ok(Self { ranges, places: None, table, rows, sorted: Vec::new() });
        }
        let mut places = PlaceTable::new(ranges.words(), RandomState::new().hash_one(0u8));
        let mut numbers = gingham_storage::huge_vec(rows);
        places.reserve(rows);
        places.find_or_add(&words, &mut numbers);
        places.shrink();
        let table = DenseTable::build(0, places.len(), &numbers, &positions, Vec::new());
        Ok(Self { ranges, places: Some(places), table: KeyTable::Dense(table), rows, sorted: Vec::new() })
    }

    /// A link for each key of which `outputs` have the words, in place of what `links` had. Behind the words may stand which
    /// keys lie in the ranges; numbers that do not are [`KeyRanges::none`].
    pub(crate) fn locate(
        &self,
        (isa, probing): (Isa, Probing),
        outputs: &[Vec<i64>],
        keys: &mut Keys,
        links: &mut Vec<u32>,
    ) {
        links.clear();
        let Keys { short, long, words } = keys;
        let numbers = &outputs[0];
        if let (Some(places), KeyTable::Dense(table)) = (&self.places, &self.table) {
            let (own, inside) = outputs.split_at(places.width());
            interleave(own.iter().map(Vec::as_slice), numbers.len(), words);
            places.find(words, long);
            for (place, inside) in long.iter_mut().zip(inside.first().into_iter().flatten()) {
                *place = if *inside == 0 { NO_PLACE } else { *place };
            }
            return table.locate(isa, long, links);
        }
        if let KeyTable::Short(table) = &self.table {
            short.clear();
            // A number without a match is -1, which is none of the table's.
            short.extend(numbers.iter().map(|number| *number as u32));
            return table.locate(isa, probing, short, links);
        }
        long.clear();
        long.extend(numbers.iter().map(|number| *number as u64));
        match &self.table {
            KeyTable::Dense(table) => table.locate(isa, long, links),
            KeyTable::Long(table) => table.locate(isa, probing, long, links),
            KeyTable::Short(_) => {}
        }
    }

    /// The rows that share a key.
    pub(crate) fn duplicates(&self) -> &Duplicates {
        match &self.table {
            KeyTable::Dense(table) => table.duplicates(),
            KeyTable::Short(table) => table.duplicates(),
            KeyTable::Long(table) => table.duplicates(),
        }
    }

    /// Matches that a record has at most.
    pub(crate) fn most_matches(&self) -> u64 {
        if self.duplicates().is_empty() { 1 } else { self.rows as u64 }
    }

    /// What it is.
    pub(crate) fn kind(&self) -> TableKind {
        match &self.table {
            KeyTable::Dense(_) => TableKind::Dense,
            KeyTable::Short(table) => TableKind::Short(table.function()),
            KeyTable::Long(table) => TableKind::Long(table.function()),
        }
    }

    /// How a loop finds it: the address of its links or entries, the last of them, the shift of its hashes, the address of
    /// its lists.
    pub(crate) fn words(&self) -> [u64; 4] {
        let lists = self.duplicates().words().as_ptr() as u64;
        let of = |place: u64, length: usize, shift: u32| [place, length as u64 - 1, shift.into(), lists];
        match &self.table {
            KeyTable::Dense(table) => of(table.links().as_ptr() as u64, table.links().len(), 0),
            KeyTable::Short(table) => of(table.entries().as_ptr() as u64, table.entries().len(), table.shift()),
            KeyTable::Long(table) => of(table.entries().as_ptr() as u64, table.entries().len(), table.shift()),
        }
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        let table = match &self.table {
            KeyTable::Dense(table) => table.bytes(),
            KeyTable::Short(table) => table.bytes(),
            KeyTable::Long(table) => table.bytes(),
        };
        let places = self.places.as_ref().map_or(0, PlaceTable::bytes);
        table + places + size_of_val(self.sorted.as_slice())
    }

    /// What it is, for EXPLAIN ANALYZE.
    pub(crate) fn name(&self) -> &'static str {
        match self.kind() {
            TableKind::Dense if self.places.is_some() => "hash_words",
            TableKind::Dense => "array",
            TableKind::Short(_) => "hash32",
            TableKind::Long(_) => "hash64",
        }
    }
}

impl KeyTable {
    fn of<C: Code>(
        ranges: &KeyRanges,
        numbers: &[C],
        positions: Vec<u32>,
        (choice, isa): (TableChoice, Isa),
        helpers: &Helpers<'_>,
    ) -> Result<Self> {
        let all = ranges.numbers().unwrap_or(u64::MAX);
        if choice.array && all < 1 << 31 && all as usize <= (numbers.len() * 4).max(FEW_NUMBERS) {
            return Ok(Self::Dense(DenseTable::build(0, all as usize, numbers, &positions, Vec::new())));
        }
        let making = (isa, choice.function);
        if all < u32::MAX.into() {
            let keys: Vec<u32> = numbers.iter().map(|number| number.to_u64() as u32).collect();
            return hash_table(making, keys, positions, helpers).map(Self::Short);
        }
        let keys: Vec<u64> = numbers.iter().map(|number| number.to_u64()).collect();
        hash_table(making, keys, positions, helpers).map(Self::Long)
    }
}

/// A hash table, of which several threads build a part each where it is large.
fn hash_table<K: Key + Send + Sync + 'static>(
    (isa, function): (Isa, HashFunction),
    keys: Vec<K>,
    positions: Vec<u32>,
    helpers: &Helpers<'_>,
) -> Result<HashTable<K>> {
    let entries = gingham_storage::huge_vec(HashTable::<K>::slots(keys.len(), LOAD));
    let threads = helpers.threads(keys.len());
    if threads == 1 {
        return Ok(HashTable::build(isa, function, LOAD, &keys, &positions, entries));
    }
    let parts = threads.next_power_of_two();
    let building = Arc::new(Building::new((isa, function, LOAD), (keys, positions), entries, parts));
    let own = Arc::clone(&building);
    helpers.each(parts, threads, move |part| own.part(part))?;
    Ok(building.finish())
}

/// The words of the rows whose keys are not NULL, a key behind the other, and the rows.
fn words(relation: &Relation, keys: &[usize], ranges: &KeyRanges, isa: Isa) -> Result<(Vec<u64>, Vec<u32>)> {
    let fields: Vec<Field> = keys.iter().map(|key| Field { input: 0, column: *key }).collect();
    let mut draft = StageBuilder::new(Builder::new(keys.iter().map(|key| relation.facts[*key])), fields, None)?;
    let expressions: Vec<Expression> = (0..keys.len()).map(Expression::Column).collect();
    let (inside, outputs) = ranges.lower(&mut draft.builder, &expressions)?;
    draft.also(inside);
    let width = outputs.len();
    let stage = draft.finish(outputs, std::iter::empty()).checked()?;
    let mut interpreter = Interpreter::new(&stage);
    let (mut passed, mut out, mut vector) = (Vec::new(), vec![Vec::new(); width], Vec::new());
    let mut words = gingham_storage::huge_vec(relation.rows * width);
    let mut positions = Vec::with_capacity(relation.rows);
    for first in (0..relation.rows).step_by(VECTOR) {
        let records = Records::Run { first, length: VECTOR.min(relation.rows - first) };
        let inputs = [VectorInput { views: &relation.views, records }];
        interpreter.emit(&stage, &Vector { inputs: &inputs, isa }, &mut passed, &mut out)?;
        positions.extend(passed.iter().map(|position| first as u32 + position));
        interleave(out.iter().map(Vec::as_slice), passed.len(), &mut vector);
        words.extend_from_slice(&vector);
    }
    Ok((words, positions))
}
