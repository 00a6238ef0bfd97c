//! Predicate -> condition on one segment's codes.
//!
//! Each leaf is brought into normal form once ([`Prepared`]), then translated per segment ([`translate`]): constants
//! become codes of the segment's own base or dictionary version, constants outside its domain become "all" or "none".
//! For a dictionary the translation depends on the version only and is kept for the other segments that name it; a test
//! is run once per entry.

use crate::SqlState;
use crate::model::dictionary::DictionaryVersion;
use crate::model::view::{CodeMeaning, float_from_order, float_order, real_from_order};
use crate::scan::code::{BITMAP_WORDS, CodePredicate, CodeTest, FEW, Leaf, Reach};
use crate::scan::condition::{Condition, is_true, run_test};
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::{ColumnDefinition, ColumnId, Datum, Error, IntegerSet, LogicalType, Predicate, Result, TableDefinition};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::BooleanBuffer;
use std::collections::HashMap;
use std::ops::{Bound, RangeInclusive};
use std::sync::Arc;

/// A predicate whose leaves are in normal form.
#[derive(Debug)]
pub(super) enum Prepared {
    Constant(bool),
    Leaf(PreparedLeaf),
    And(Vec<Prepared>, usize),
    Or(Vec<Prepared>, usize),
}

/// A leaf in normal form, and what it translated to for the dictionary versions met so far.
#[derive(Debug)]
pub(super) struct PreparedLeaf {
    column: Arc<ColumnDefinition>,
    condition: Arc<Condition>,
    by_version: HashMap<u32, CodeTest>,
    node: usize,
}

impl Prepared {
    /// Brings the leaves of `predicate` into normal form and numbers leaves and junctions, from `nodes` on, which
    /// becomes the next free number. Fails for a column that the table does not have and for constants of another class
    /// than the column's.
    pub(super) fn new(predicate: &Predicate, table: &TableDefinition, nodes: &mut usize) -> Result<Self> {
        let node = *nodes;
        *nodes += 1;
        let leaf = |column: ColumnId, condition: &dyn Fn(&ColumnDefinition) -> Result<Condition>| {
            let column = table.column_by_id(column).ok_or_else(|| {
                Error::invalid(
                    SqlState::UndefinedColumn,
                    format!("table {} has no column of number {column}", table.name),
                )
            })?;
            let condition = Arc::new(condition(column)?);
            let (column, by_version) = (Arc::new(column.clone()), HashMap::new());
            Ok(Self::Leaf(PreparedLeaf { column, condition, by_version, node }))
        };
        let mut each = |parts: &[Predicate]| -> Result<Vec<Self>> {
            parts.iter().map(|part| Self::new(part, table, nodes)).collect()
        };
        match predicate {
            Predicate::Constant(value) => Ok(Self::Constant(*value)),
            Predicate::Range { column, low, high } => leaf(*column, &|column| Condition::range(column, low, high)),
            Predicate::In { column, values, negated } => {
                leaf(*column, &|column| Condition::list(column, values, *negated))
            }
            Predicate::Among { column, set } => leaf(*column, &|column| Condition::among(column, set)),
            Predicate::IsNull { column, negated } => leaf(*column, &|_| Ok(Condition::Null { negated: *negated })),
            Predicate::Test { column, test } => leaf(*column, &|column| Condition::test(column, test)),
            Predicate::And(parts) => Ok(Self::And(each(parts)?, node)),
            Predicate::Or(parts) => Ok(Self::Or(each(parts)?, node)),
        }
    }
}

/// What a segment says of one column before any block is read.
#[derive(Debug, Clone)]
pub(super) enum Facts {
    /// The segment was written before the column was added: every record has this value.
    Absent(Datum),
    /// Codes up to `max_code`, which lie as `reach` says.
    Coded { meaning: CodeMeaning, max_code: u64, reach: Reach },
    /// Values as they are, within these bounds (NULL when there are none).
    Values { min: Datum, max: Datum },
}

/// Translates `predicate` for a segment of so many records, of which `facts` tells per column.
pub(super) fn translate(
    predicate: &mut Prepared,
    rows: usize,
    facts: &dyn Fn(&ColumnDefinition) -> Result<Facts>,
) -> Result<CodePredicate> {
    Ok(match predicate {
        Prepared::Constant(value) => CodePredicate::Constant(*value),
        Prepared::Leaf(leaf) => {
            let facts = facts(&leaf.column)?;
            translate_leaf(leaf, rows, facts)?
        }
        Prepared::And(parts, node) => {
            let mut translated = Vec::with_capacity(parts.len());
            for part in parts {
                match translate(part, rows, facts)? {
                    CodePredicate::Constant(false) => return Ok(CodePredicate::Constant(false)),
                    part => translated.push(part),
                }
            }
            CodePredicate::all(translated, *node)
        }
        Prepared::Or(parts, node) => {
            let mut translated = Vec::with_capacity(parts.len());
            for part in parts {
                match translate(part, rows, facts)? {
                    CodePredicate::Constant(true) => return Ok(CodePredicate::Constant(true)),
                    part => translated.push(part),
                }
            }
            CodePredicate::any(translated, *node)
        }
    })
}

fn translate_leaf(leaf: &mut PreparedLeaf, rows: usize, facts: Facts) -> Result<CodePredicate> {
    let nulls = leaf.condition.nulls();
    let reach = if let Facts::Coded { reach, .. } = facts { reach } else { Reach::Values };
    let (codes, max_code) = match (&*leaf.condition, facts) {
        (_, Facts::Absent(value)) => {
            return Ok(CodePredicate::Constant(leaf.condition.holds_for(&leaf.column, &value)?));
        }
        (Condition::Null { negated: true }, _) => (CodeTest::All, u64::MAX),
        (Condition::Null { negated: false } | Condition::Never, _) => (CodeTest::None, u64::MAX),
        (_, Facts::Coded { meaning: CodeMeaning::Dictionary(version), .. }) => {
            let max_code = (version.entries.len() as u64).saturating_sub(1);
            let codes = match leaf.by_version.get(&version.version) {
                Some(codes) => codes.clone(),
                None => {
                    let codes = on_dictionary(&leaf.column, &leaf.condition, &version)?;
                    leaf.by_version.insert(version.version, codes.clone());
                    codes
                }
            };
            (codes, max_code)
        }
        (condition, Facts::Coded { meaning, max_code, .. }) => {
            let domain = Domain::new(&meaning, &leaf.column.logical_type, max_code)?;
            (on_keys(condition, &domain, rows), max_code)
        }
        (condition, Facts::Values { min, max }) => (on_bounds(condition, &min, &max), u64::MAX),
    };
    if matches!(codes, CodeTest::None) && !nulls {
        return Ok(CodePredicate::Constant(false));
    }
    Ok(CodePredicate::Leaf(Leaf {
        column: Arc::clone(&leaf.column),
        condition: Arc::clone(&leaf.condition),
        codes,
        nulls,
        max_code,
        reach,
        node: leaf.node,
        expected: 0.5,
    }))
}

/// The codes of a segment and the keys that they stand for; the keys never descend.
struct Domain {
    key: KeyOfCode,
    max_code: u64,
}

/// How a code becomes a key.
enum KeyOfCode {
    Integer { base: i128 },
    Float(Box<dyn Fn(u64) -> i128>),
}

impl Domain {
    fn new(meaning: &CodeMeaning, logical_type: &LogicalType, max_code: u64) -> Result<Self> {
        let real = *logical_type == LogicalType::Float32;
        let (key, last): (KeyOfCode, u64) = match *meaning {
            CodeMeaning::FrameOfReference { base } => (KeyOfCode::Integer { base }, u64::MAX),
            CodeMeaning::ScaledFloat { base, digits } => {
                let value =
                    move |code: u64| crate::decode::arrays::scaled_value(base.wrapping_add(code as i64), digits, real);
                let last = (i128::from(i64::MAX) - i128::from(base)) as u64;
                (KeyOfCode::Float(Box::new(move |code| float_order(value(code)).into())), last)
            }
            CodeMeaning::FloatOrder { base } if real => {
                let value = move |code: u64| widened(real_from_order((base + code) as u32));
                let last = u64::from(u32::MAX).saturating_sub(base);
                (KeyOfCode::Float(Box::new(move |code| float_order(value(code)).into())), last)
            }
            CodeMeaning::FloatOrder { base } => {
                let value = move |code: u64| float_from_order(base + code);
                (KeyOfCode::Float(Box::new(move |code| float_order(value(code)).into())), u64::MAX - base)
            }
            CodeMeaning::Value | CodeMeaning::Dictionary(_) => {
                return Err(Error::corrupt("a column view", format!("{logical_type} codes that mean {meaning:?}")));
            }
        };
        // A width rounded up to whole bits may promise codes that stand for no value.
        Ok(Self { key, max_code: max_code.min(last) })
    }

    /// The codes whose keys lie in `low..=high`.
    fn codes(&self, low: i128, high: i128) -> Option<RangeInclusive<u64>> {
        match &self.key {
            KeyOfCode::Integer { base } => {
                let first = low.saturating_sub(*base).max(0);
                let last = high.saturating_sub(*base).min(self.max_code.into());
                (first <= last).then_some(first as u64..=last as u64)
            }
            KeyOfCode::Float(key) => {
                let first = self.first(|code| key(code) >= low)?;
                let after = self.first(|code| key(code) > high);
                let last = match after {
                    Some(after) => after.checked_sub(1)?,
                    None => self.max_code,
                };
                (first <= last).then_some(first..=last)
            }
        }
    }

    /// The first code for which `reached`, which stays true once it is.
    fn first(&self, reached: impl Fn(u64) -> bool) -> Option<u64> {
        if !reached(self.max_code) {
            return None;
        }
        let (mut low, mut high) = (0, self.max_code);
        while low < high {
            let middle = low + (high - low) / 2;
            if reached(middle) { high = middle } else { low = middle + 1 }
        }
        Some(low)
    }
}

/// A REAL as a DOUBLE, in order also for the patterns of NaN: the processor's conversion would set the bit that makes
/// a signalling NaN quiet.
fn widened(real: f32) -> f64 {
    if real.is_nan() {
        let bits = u64::from(real.to_bits());
        f64::from_bits(bits >> 31 << 63 | 0x7ff << 52 | (bits & 0x7f_ffff) << 29)
    } else {
        real.into()
    }
}

fn on_keys(condition: &Condition, domain: &Domain, rows: usize) -> CodeTest {
    match condition {
        Condition::Keys { low, high } => match domain.codes(*low, *high) {
            Some(range) => CodeTest::span(range, false, domain.max_code),
            None => CodeTest::None,
        },
        Condition::KeySet { keys, negated } => {
            let codes: Vec<u64> = keys.iter().filter_map(|key| domain.codes(*key, *key)).flatten().collect();
            CodeTest::members(&codes, *negated, domain.max_code)
        }
        Condition::Among(set) => match &domain.key {
            KeyOfCode::Integer { base } => among(set, *base, domain.max_code, rows),
            KeyOfCode::Float(_) => CodeTest::Values,
        },
        _ => CodeTest::Values,
    }
}

/// The codes of a segment of so many records whose values are in `set`.
fn among(set: &Arc<IntegerSet>, base: i128, max_code: u64, rows: usize) -> CodeTest {
    let last = (set.high() - base).min(max_code.into());
    if last < 0 || set.is_empty() {
        return CodeTest::None;
    }
    let words = last / 64 + 1;
    // Records of a delta block have their keys from anywhere: bits for all of these would be most of the work.
    if words > rows as i128 {
        return CodeTest::Set { set: Arc::clone(set), base };
    }
    if words > BITMAP_WORDS.into() {
        let codes: Vec<u64> = set.iter().filter_map(|value| u64::try_from(value - base).ok()).collect();
        let within = codes.partition_point(|code| *code <= max_code);
        return CodeTest::members(&codes[..within], false, max_code);
    }
    let words = set.bits_from(base, words as usize);
    let (Some(first), Some(last)) =
        (words.iter().position(|word| *word != 0), words.iter().rposition(|word| *word != 0))
    else {
        return CodeTest::None;
    };
    let low = first as u64 * 64 + u64::from(words[first].trailing_zeros());
    let high = last as u64 * 64 + 63 - u64::from(words[last].leading_zeros());
    let found: u64 = words.iter().map(|word| u64::from(word.count_ones())).sum();
    if high - low == found - 1 {
        return CodeTest::span(low..=high, false, max_code);
    }
    CodeTest::Bitmap { words: words.into(), members: found, negated: false }
}

fn on_dictionary(column: &ColumnDefinition, condition: &Condition, version: &DictionaryVersion) -> Result<CodeTest> {
    let entries = DictionaryEntries::new(column, &version.entries)?;
    let max_code = (entries.len() as u64).saturating_sub(1);
    Ok(match condition {
        Condition::Bytes { low, high } => {
            let first = match low {
                Bound::Included(low) => entries.count_while(|entry| entry < &**low),
                Bound::Excluded(low) => entries.count_while(|entry| entry <= &**low),
                Bound::Unbounded => 0,
            };
            let after = match high {
                Bound::Included(high) => entries.count_while(|entry| entry <= &**high),
                Bound::Excluded(high) => entries.count_while(|entry| entry < &**high),
                Bound::Unbounded => entries.len(),
            };
            if first < after {
                CodeTest::span(first as u64..=after as u64 - 1, false, max_code)
            } else {
                CodeTest::None
            }
        }
        Condition::BytesSet { entries: wanted, negated } => {
            let code = |wanted: &[u8]| {
                let at = entries.count_while(|entry| entry < wanted);
                (at < entries.len() && entries.get(at) == wanted).then_some(at as u64)
            };
            let codes: Vec<u64> = wanted.iter().filter_map(|wanted| code(wanted)).collect();
            CodeTest::members(&codes, *negated, max_code)
        }
        Condition::Test { test, .. } => {
            let results = run_test(column, test.as_ref(), &version.entries)?;
            let codes: Vec<u64> = (0..results.len()).filter(|at| is_true(&results, *at)).map(|at| at as u64).collect();
            // The fewer of those that hold and those that don't.
            if codes.len() * 2 > results.len() {
                let others: Vec<u64> =
                    (0..results.len()).filter(|at| !is_true(&results, *at)).map(|at| at as u64).collect();
                if others.len() <= FEW {
                    return Ok(CodeTest::members(&others, true, max_code));
                }
            }
            CodeTest::members(&codes, false, max_code)
        }
        _ => CodeTest::None,
    })
}

/// For a condition on one column with a dictionary, whether each of the newest entries fulfils it, and whether NULL does. `None`
/// for anything else. Fails as a scan with this predicate would.
pub fn of_entries(table: &TableSnapshot, predicate: &Predicate) -> Result<Option<(BooleanBuffer, bool)>> {
    let Prepared::Leaf(leaf) = Prepared::new(predicate, &table.definition, &mut 0)? else { return Ok(None) };
    let Some(dictionary) = table.dictionaries.get(&leaf.column.id) else { return Ok(None) };
    let holds = match &*leaf.condition {
        Condition::Test { test, .. } => {
            let results = run_test(&leaf.column, test.as_ref(), &dictionary.newest)?;
            BooleanBuffer::collect_bool(results.len(), |at| is_true(&results, at))
        }
        condition => {
            let entries = DictionaryEntries::new(&leaf.column, &dictionary.newest)?;
            BooleanBuffer::collect_bool(entries.len(), |at| condition.holds_for_bytes(entries.get(at)))
        }
    };
    Ok(Some((holds, leaf.condition.nulls())))
}

/// What the bounds of a segment's plain values already decide.
fn on_bounds(condition: &Condition, min: &Datum, max: &Datum) -> CodeTest {
    let outcome = match (condition, min, max) {
        (Condition::Bytes { low, high }, Datum::Bytes(min), Datum::Bytes(max)) => {
            let reaches_min = match high {
                Bound::Included(high) => high >= min,
                Bound::Excluded(high) => high > min,
                Bound::Unbounded => true,
            };
            let reaches_max = match low {
                Bound::Included(low) => low <= max,
                Bound::Excluded(low) => low < max,
                Bound::Unbounded => true,
            };
            let holds = |bytes: &[u8]| crate::scan::condition::within(bytes, low, high);
            (reaches_min && reaches_max, holds(min) && holds(max))
        }
        (Condition::BytesSet { entries, negated: false }, Datum::Bytes(min), Datum::Bytes(max)) => {
            (entries.iter().any(|entry| min <= entry && entry <= max), false)
        }
        (Condition::Keys { low, high }, Datum::Integer(min), Datum::Integer(max)) => {
            (low <= max && high >= min, low <= min && high >= max)
        }
        (Condition::Among(set), Datum::Integer(min), Datum::Integer(max)) => {
            (set.low() <= *max && set.high() >= *min, false)
        }
        (Condition::KeySet { keys, negated: false }, Datum::Integer(min), Datum::Integer(max)) => {
            (keys.iter().any(|key| min <= key && key <= max), false)
        }
        _ => (true, false),
    };
    match outcome {
        (false, _) => CodeTest::None,
        (true, true) => CodeTest::All,
        (true, false) => CodeTest::Values,
    }
}

/// The byte strings of a dictionary version.
enum DictionaryEntries<'a> {
    Text(&'a arrow::array::StringViewArray),
    Binary(&'a arrow::array::BinaryViewArray),
}

impl<'a> DictionaryEntries<'a> {
    fn new(column: &ColumnDefinition, entries: &'a ArrayRef) -> Result<Self> {
        if let Some(text) = entries.as_string_view_opt() {
            Ok(Self::Text(text))
        } else if let Some(binary) = entries.as_binary_view_opt() {
            Ok(Self::Binary(binary))
        } else {
            let place = format!("the dictionary of column '{}'", column.name);
            Err(Error::corrupt(place, format!("entries of type {}", entries.data_type())))
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Text(entries) => entries.len(),
            Self::Binary(entries) => entries.len(),
        }
    }

    fn get(&self, at: usize) -> &'a [u8] {
        match self {
            Self::Text(entries) => entries.value(at).as_bytes(),
            Self::Binary(entries) => entries.value(at),
        }
    }

    /// Number of first entries for which `holds`.
    fn count_while(&self, holds: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(self.get(middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }
}
