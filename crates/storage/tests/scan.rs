//! Random tables on disk, random predicates: a scan on codes gives what filtering the values gives, over several
//! segments with dictionaries of their own, delta images and a column added later, under every instruction set.

use arrow::array::*;
use arrow::datatypes::*;
use gingham_kernels::Isa;
use gingham_storage::encoding::Encoding;
use gingham_storage::io::MemoryBudget;
use gingham_storage::model::DictionaryVersion;
use gingham_storage::scan::TableScan;
use gingham_storage::segment::{BlockCache, Segment, write_segment_file, write_segment_image};
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::{
    ColumnDefinition, ColumnTest, Datum, FloatBits, IntegerSet, LogicalType, Predicate, Result, TableDefinition,
    TableName, Unit, ValueClass,
};
use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

/// A fixed sequence of well-mixed numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// The columns, of every type; the last one is added after the first segment.
fn columns() -> Vec<ColumnDefinition> {
    use LogicalType::*;
    let types = [
        Boolean,
        Int(8),
        Int(16),
        Int(32),
        Int(64),
        UInt(8),
        UInt(16),
        UInt(32),
        UInt(64),
        Decimal { precision: 12, scale: 2 },
        Decimal { precision: 38, scale: 10 },
        Float32,
        Float64,
        Float64,
        Date,
        Time(Unit::Second),
        Time(Unit::Nanosecond),
        Timestamp(Unit::Microsecond, None),
        Timestamp(Unit::Millisecond, Some("+01:00".into())),
        Char(12),
        Varchar(None),
        Binary,
        Varchar(Some(9)),
    ];
    let count = types.len();
    let column = |(id, logical_type)| ColumnDefinition {
        id: id as u32,
        name: format!("c{id}"),
        logical_type,
        nullable: true,
        default: None,
        initial: if id + 1 == count { bytes("none yet") } else { Datum::Null },
        generation: None,
    };
    types.into_iter().enumerate().map(column).collect()
}

fn bytes(text: &str) -> Datum {
    Datum::Bytes(text.as_bytes().into())
}

/// A value of column `column`, in segment `segment`: each has another range.
fn value(numbers: &mut Numbers, column: &ColumnDefinition, segment: usize) -> Datum {
    if numbers.below(10) == 0 {
        return Datum::Null;
    }
    let shift = segment as i128 * 3;
    let small = numbers.below(20) as i128;
    let word = numbers.next();
    let text = || ["", "a", "steel", "anvil of twenty-one", "mesh", "zinc and more than that"][word as usize % 6];
    match &column.logical_type {
        LogicalType::Boolean => Datum::Integer(i128::from(word % 2)),
        LogicalType::Int(64) if segment == 1 => Datum::Integer((word as i64).into()),
        LogicalType::UInt(64) if segment == 2 => Datum::Integer(word.into()),
        LogicalType::Int(_) => Datum::Integer(small - 10 - shift),
        LogicalType::Decimal { precision: 38, .. } if segment == 1 => {
            Datum::Integer(i128::from(word as i64) * 1_000_000_000_000)
        }
        LogicalType::Float32 => Datum::Float(FloatBits::new(f64::from(small as f32 / 8.0))),
        LogicalType::Float64 if column.id == 12 => Datum::Float(FloatBits::new((small - 5 + shift) as f64 / 100.0)),
        LogicalType::Float64 => {
            Datum::Float(FloatBits::new([f64::NAN, -0.0, 0.0, f64::INFINITY, word as f64 / 3.0][word as usize % 5]))
        }
        LogicalType::Char(_) => bytes(&format!("{}{}", ["red", "blue", "green"][word as usize % 3], segment)),
        LogicalType::Varchar(None) => bytes(&format!("{} {word}", text())),
        LogicalType::Varchar(_) => bytes(&text()[..text().len().min(9)]),
        LogicalType::Binary => Datum::Bytes(word.to_le_bytes()[..word as usize % 4].into()),
        _ => Datum::Integer(small + shift),
    }
}

/// An Arrow array of values.
fn array(logical_type: &LogicalType, values: &[Datum]) -> ArrayRef {
    let integers = || -> Decimal128Array {
        values.iter().map(|value| if let Datum::Integer(value) = value { Some(*value) } else { None }).collect()
    };
    let floats = || values.iter().map(|value| if let Datum::Float(value) = value { Some(value.get()) } else { None });
    let strings = || values.iter().map(|value| if let Datum::Bytes(bytes) = value { Some(&**bytes) } else { None });
    let data_type = logical_type.to_arrow();
    match &data_type {
        DataType::Float32 => Arc::new(floats().map(|value| value.map(|value| value as f32)).collect::<Float32Array>()),
        DataType::Float64 => Arc::new(floats().collect::<Float64Array>()),
        DataType::BinaryView => Arc::new(strings().collect::<BinaryViewArray>()),
        DataType::Utf8View => {
            let text = |bytes| std::str::from_utf8(bytes).expect("text");
            Arc::new(strings().map(|bytes| bytes.map(text)).collect::<StringViewArray>())
        }
        DataType::Decimal128(precision, scale) => {
            Arc::new(integers().with_precision_and_scale(*precision, *scale).expect("fits"))
        }
        DataType::Boolean => {
            Arc::new(integers().iter().map(|value| value.map(|value| value == 1)).collect::<BooleanArray>())
        }
        DataType::UInt64 => {
            Arc::new(integers().iter().map(|value| value.map(|value| value as u64)).collect::<UInt64Array>())
        }
        DataType::Date32 | DataType::Time32(_) => {
            let days: Int32Array = integers().iter().map(|value| value.map(|value| value as i32)).collect();
            arrow::compute::cast(&days, &data_type).expect("casts")
        }
        _ => {
            let wide: Int64Array = integers().iter().map(|value| value.map(|value| value as i64)).collect();
            arrow::compute::cast(&wide, &data_type).expect("casts")
        }
    }
}

/// A test table: its snapshot, and its values by record and column.
struct Table {
    snapshot: Arc<TableSnapshot>,
    records: Vec<Vec<Datum>>,
}

/// Records of the segments. The last has more than a zone; only it is large, since the oracle is slow.
const SEGMENTS: [usize; 4] = [1000, 1, 777, 66_000];
/// Records of the delta images.
const DELTA: [usize; 2] = [3, 130];

fn definition(columns: Vec<ColumnDefinition>) -> TableDefinition {
    TableDefinition { id: 1, ..TableDefinition::new(TableName { schema: "public".into(), table: "t".into() }, columns) }
}

fn table(folder: &Path, seed: u64) -> Table {
    let mut numbers = Numbers(seed);
    let full = definition(columns());
    let mut first = full.clone();
    first.columns.pop();
    let cache = BlockCache::new(MemoryBudget::new(64 << 20));
    let mut snapshot = TableSnapshot::empty(full.clone());
    let mut records = Vec::new();
    for (segment, rows) in SEGMENTS.into_iter().chain(DELTA).enumerate() {
        let definition = if segment == 0 { &first } else { &full };
        let mut values: Vec<Vec<Datum>> = Vec::new();
        for row in 0..rows {
            // A long segment repeats itself, which makes the test fast.
            let record = match values.get(row % 1500).filter(|_| row >= 1500) {
                Some(record) => record.clone(),
                None => definition.columns.iter().map(|column| value(&mut numbers, column, segment)).collect(),
            };
            values.push(record);
        }
        let arrays = definition.columns.iter().enumerate().map(|(at, column)| {
            array(&column.logical_type, &values.iter().map(|record| record[at].clone()).collect::<Vec<_>>())
        });
        let batch = RecordBatch::try_new(definition.arrow_schema(), arrays.collect()).expect("a batch");
        let id = segment as u64 + 1;
        if segment < SEGMENTS.len() {
            let path = folder.join(format!("{seed}-{id}.seg"));
            let written = write_segment_file(&path, id, definition, vec![batch], false).expect("writes");
            let versions = written.dictionaries.into_iter().map(|(column, entries)| {
                let newest = (0..entries.len() as u32).collect();
                (column, Arc::new(DictionaryVersion { version: id as u32, entries, newest }))
            });
            let versions: BTreeMap<_, _> = versions.collect();
            let opened = Segment::open(&path, id, written.directory_checksum, versions, Arc::clone(&cache));
            snapshot.segments.push(Arc::new(opened.expect("opens")));
        } else {
            let (_, image) = write_segment_image(id, definition, vec![batch]).expect("writes");
            let opened = Segment::from_image(image.into(), id, "a delta block", Arc::clone(&cache));
            snapshot.delta.push(Arc::new(opened.expect("opens")));
        }
        for mut record in values {
            let missing = full.columns[record.len()..].iter().map(|column| column.initial.clone());
            record.extend(missing.collect::<Vec<_>>());
            records.push(record);
        }
    }
    Table { snapshot: Arc::new(snapshot), records }
}

/// The value of an array.
fn datum(array: &ArrayRef, at: usize) -> Datum {
    if array.is_null(at) {
        return Datum::Null;
    }
    match array.data_type() {
        DataType::Boolean => Datum::Integer(array.as_boolean().value(at).into()),
        DataType::Float32 => Datum::Float(FloatBits::new(array.as_primitive::<Float32Type>().value(at).into())),
        DataType::Float64 => Datum::Float(FloatBits::new(array.as_primitive::<Float64Type>().value(at))),
        DataType::Utf8View => bytes(array.as_string_view().value(at)),
        DataType::BinaryView => Datum::Bytes(array.as_binary_view().value(at).into()),
        DataType::Decimal128(_, _) => Datum::Integer(array.as_primitive::<Decimal128Type>().value(at)),
        DataType::UInt64 => Datum::Integer(array.as_primitive::<UInt64Type>().value(at).into()),
        DataType::Int64 => Datum::Integer(array.as_primitive::<Int64Type>().value(at).into()),
        _ => datum(&simple(array), at),
    }
}

/// Integers, dates and times as 64-bit integers; the rest as it is.
fn simple(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::UInt64 | DataType::Float32 | DataType::Float64 | DataType::Boolean => Arc::clone(array),
        DataType::Decimal128(_, _) | DataType::Utf8View | DataType::BinaryView => Arc::clone(array),
        _ => arrow::compute::cast(array, &DataType::Int64).expect("an integer"),
    }
}

/// An arbitrary but fixed condition on values; of NULL it says `nulls`.
#[derive(Debug)]
struct Arbitrary {
    salt: u64,
    nulls: Option<bool>,
}

impl Arbitrary {
    fn holds(&self, value: &Datum) -> Option<bool> {
        let number = match value {
            Datum::Null => return self.nulls,
            Datum::Integer(value) => *value as u64,
            Datum::Float(value) => value.0,
            Datum::Bytes(bytes) => bytes.iter().fold(7u64, |sum, byte| sum.wrapping_mul(31) ^ u64::from(*byte)),
        };
        let mixed = Numbers(number ^ self.salt).next() % 3;
        (mixed > 0).then_some(mixed > 1)
    }
}

impl ColumnTest for Arbitrary {
    fn test(&self, values: &ArrayRef) -> Result<BooleanArray> {
        let values = simple(values);
        Ok((0..values.len()).map(|at| self.holds(&datum(&values, at))).collect())
    }
}

/// A predicate and what SQL makes of it, straight from a record's values.
type Oracle = Box<dyn Fn(&[Datum]) -> bool>;

/// A random predicate; its constants are values of the table or near them.
fn predicate(numbers: &mut Numbers, table: &Table, depth: usize) -> (Predicate, Oracle) {
    let columns = &table.snapshot.definition.columns;
    let column = &columns[numbers.below(columns.len())];
    let constant = |numbers: &mut Numbers| {
        let record = &table.records[numbers.below(table.records.len())];
        match (&record[column.id as usize], column.logical_type.class()) {
            (Datum::Integer(value), _) => Datum::Integer(value + numbers.below(3) as i128 - 1),
            (Datum::Null, ValueClass::Integer) => Datum::Integer(1 << 70),
            (Datum::Null, ValueClass::Float) => Datum::Float(FloatBits::new(0.071)),
            (Datum::Null, ValueClass::Bytes) => bytes("c"),
            (value, _) => value.clone(),
        }
    };
    let (column, at) = (column.id, column.id as usize);
    let integers = table.snapshot.definition.columns[at].logical_type.class() == ValueClass::Integer;
    match numbers.below(if depth == 0 { 6 } else { 9 }) {
        0 | 1 => {
            let mut bound = || match numbers.below(3) {
                0 => Bound::Included(constant(numbers)),
                1 => Bound::Excluded(constant(numbers)),
                _ => Bound::Unbounded,
            };
            let (low, high) = (bound(), bound());
            let (from, to) = (low.clone(), high.clone());
            let oracle = move |record: &[Datum]| {
                let order = |other: &Datum| record[at].compare(other);
                let above = match &from {
                    Bound::Included(low) => order(low).is_some_and(|order| order.is_ge()),
                    Bound::Excluded(low) => order(low).is_some_and(|order| order.is_gt()),
                    Bound::Unbounded => true,
                };
                let below = match &to {
                    Bound::Included(high) => order(high).is_some_and(|order| order.is_le()),
                    Bound::Excluded(high) => order(high).is_some_and(|order| order.is_lt()),
                    Bound::Unbounded => true,
                };
                above && below && !record[at].is_null()
            };
            (Predicate::Range { column, low, high }, Box::new(oracle))
        }
        2 => {
            let count = [1, 3, 30][numbers.below(3)];
            let values: Vec<Datum> = (0..count).map(|_| constant(numbers)).collect();
            let (list, negated) = (values.clone(), numbers.below(2) == 0);
            let equal = |a: &Datum, b: &Datum| a.compare(b).is_some_and(|order| order.is_eq());
            let oracle = move |record: &[Datum]| {
                !record[at].is_null() && list.iter().any(|other| equal(&record[at], other)) != negated
            };
            (Predicate::In { column, values, negated }, Box::new(oracle))
        }
        3 if integers => {
            // Values next to each other, and some apart.
            let count = [2, 20, 200][numbers.below(3)];
            let mut values: Vec<i64> = Vec::new();
            for step in 0..count {
                let Datum::Integer(value) = constant(numbers) else { continue };
                values.extend(i64::try_from(value + step % 5));
                values.truncate(if IntegerSet::new(&values).is_some() { values.len() } else { values.len() - 1 });
            }
            let set = Arc::new(IntegerSet::new(&values).expect("integers that are near"));
            let oracle = move |record: &[Datum]| matches!(record[at], Datum::Integer(value) if values.iter().any(|other| i128::from(*other) == value));
            (Predicate::Among { column, set }, Box::new(oracle))
        }
        3 | 4 => {
            let negated = numbers.below(2) == 0;
            let oracle = move |record: &[Datum]| record[at].is_null() != negated;
            (Predicate::IsNull { column, negated }, Box::new(oracle))
        }
        5 => {
            let nulls = [None, Some(true), Some(false)][numbers.below(3)];
            let test = Arc::new(Arbitrary { salt: numbers.next(), nulls });
            let same = Arc::clone(&test);
            let oracle = move |record: &[Datum]| same.holds(&record[at]) == Some(true);
            (Predicate::Test { column, test }, Box::new(oracle))
        }
        choice => {
            let count = 1 + numbers.below(3);
            let (parts, oracles): (Vec<_>, Vec<_>) = (0..count).map(|_| predicate(numbers, table, depth - 1)).unzip();
            if choice == 8 {
                (Predicate::Or(parts), Box::new(move |record| oracles.iter().any(|oracle| oracle(record))))
            } else {
                (Predicate::And(parts), Box::new(move |record| oracles.iter().all(|oracle| oracle(record))))
            }
        }
    }
}

/// Scans and compares every value of every qualifying record with those of `expected`.
fn compare(
    table: &Table,
    predicate: &Predicate,
    expected: &[&Vec<Datum>],
    projection: &[u32],
    batch_rows: usize,
    isa: Isa,
) {
    let scan = TableScan::new(Arc::clone(&table.snapshot), projection.to_vec(), predicate.clone(), batch_rows, isa);
    let scan = Arc::new(scan.unwrap_or_else(|error| panic!("{predicate:?}: {error}")));
    let other = TableScan::new(Arc::clone(&table.snapshot), vec![0], predicate.clone(), batch_rows, isa);
    let projected = other.and_then(|other| other.projected(projection.to_vec())).expect("the table has the columns");
    assert_eq!(projected.schema(), scan.schema());
    let again: usize = (0..projected.morsels()).map(|morsel| projected.count(morsel).expect("counts")).sum();
    assert_eq!(again, expected.len(), "count under {isa:?} for {predicate:?}, of a scan made before");
    let all = TableScan::new(Arc::clone(&table.snapshot), vec![], Predicate::Constant(true), batch_rows, isa);
    let narrowed = all.and_then(|all| all.with_filter(predicate)).expect("narrows");
    let later: usize = (0..narrowed.morsels()).map(|morsel| narrowed.count(morsel).expect("counts")).sum();
    assert_eq!(later, expected.len(), "count under {isa:?} for {predicate:?}, narrowed");
    let ruled_out = (0..narrowed.morsels()).filter(|morsel| narrowed.rules_out(*morsel)).count();
    assert_eq!(ruled_out, scan.skipped(), "zones ruled out for {predicate:?}");
    let (mut found, mut counted) = (0, 0);
    for morsel in 0..scan.morsels() {
        counted += scan.count(morsel).expect("counts");
        for batch in scan.read(morsel).expect("reads") {
            let batch = batch.expect("decodes");
            assert_eq!(batch.schema(), *scan.schema());
            assert!(batch.num_rows() > 0 && batch.num_rows() <= batch_rows);
            assert!(found + batch.num_rows() <= expected.len(), "too many records under {isa:?} for {predicate:?}");
            for (array, column) in batch.columns().iter().map(simple).zip(projection) {
                for row in 0..batch.num_rows() {
                    let (value, expected) = (datum(&array, row), &expected[found + row][*column as usize]);
                    assert_eq!(&value, expected, "column {column} under {isa:?} for {predicate:?}");
                }
            }
            found += batch.num_rows();
        }
    }
    assert_eq!(found, expected.len(), "records under {isa:?} for {predicate:?}");
    assert_eq!(counted, expected.len(), "count under {isa:?} for {predicate:?}");
}

#[test]
fn scans_on_codes_are_filters_on_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = table(folder.path(), 1);
    let mut encodings = HashSet::new();
    for segment in table.snapshot.segments.iter().chain(&table.snapshot.delta) {
        encodings.extend(segment.columns().iter().map(|column| std::mem::discriminant(&column.encoding)));
    }
    let all = [
        Encoding::FrameOfReference { base: 0 },
        Encoding::ScaledFloat { base: 0, digits: 0 },
        Encoding::FloatOrder { base: 0 },
        Encoding::Dictionary,
        Encoding::Plain,
    ];
    for encoding in all {
        assert!(encodings.contains(&std::mem::discriminant(&encoding)), "no column is stored as {encoding:?}");
    }
    let everything: Vec<u32> = (0..table.snapshot.definition.columns.len() as u32).collect();
    let records: Vec<_> = table.records.iter().collect();
    compare(&table, &Predicate::Constant(true), &records, &everything, 8192, Isa::best());

    let mut numbers = Numbers(2);
    let (mut some, mut skipped, mut off) = (0, 0, 0.0);
    for _ in 0..24 {
        let (predicate, oracle) = predicate(&mut numbers, &table, 2);
        let expected: Vec<_> = table.records.iter().filter(|record| oracle(record)).collect();
        some += usize::from(!expected.is_empty() && expected.len() < table.records.len());
        let projection: Vec<u32> = (0..numbers.below(3)).map(|_| numbers.below(everything.len()) as u32).collect();
        let batch_rows = [1, 100, 8192, 100_000][numbers.below(4)];
        for isa in Isa::available() {
            compare(&table, &predicate, &expected, &projection, batch_rows, isa);
        }
        let scan = TableScan::new(Arc::clone(&table.snapshot), vec![], predicate, 1, Isa::best()).expect("prepares");
        assert_eq!(scan.morsels() + scan.skipped(), SEGMENTS.len() + 1 + DELTA.len(), "one segment has two zones");
        skipped += scan.skipped();
        let sampled = scan.sampled_rows().expect("reads a few zones");
        assert!((0.0..=table.records.len() as f64).contains(&sampled), "{sampled} records");
        assert!(scan.morsels() > 0 || sampled == 0.0, "{sampled} records of no zone");
        off += (sampled - expected.len() as f64).abs() / table.records.len() as f64;
    }
    assert!(off < 24.0 * 0.05, "samples are off by {off} times the table in all");
    assert!(some > 8, "only {some} predicates select some but not all records");
    assert!(skipped > 12, "zone maps rule out only {skipped} zones");
}

/// Counts the values that it is asked about.
#[derive(Debug, Default)]
struct StartsWithRed(std::sync::atomic::AtomicUsize);

impl ColumnTest for StartsWithRed {
    fn test(&self, values: &ArrayRef) -> Result<BooleanArray> {
        self.0.fetch_add(values.len(), std::sync::atomic::Ordering::Relaxed);
        Ok(values.as_string_view().iter().map(|value| value.map(|value| value.starts_with("red"))).collect())
    }
}

#[test]
fn tests_run_once_per_dictionary_entry() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = table(folder.path(), 3);
    let column = 19;
    let test = Arc::new(StartsWithRed::default());
    let predicate = Predicate::Test { column, test: test.clone() };
    let (mut entries, mut plain) = (0, 0);
    for segment in table.snapshot.segments.iter().chain(&table.snapshot.delta) {
        match segment.dictionary(column) {
            Some(version) => entries += version.entries.len(),
            None => plain += segment.rows(),
        }
    }
    assert!(entries > 5 && plain < 1000, "CHAR(12) has dictionaries in the segments: {entries} entries, {plain} plain");
    let scan = TableScan::new(Arc::clone(&table.snapshot), vec![], predicate, 8192, Isa::best()).expect("prepares");
    let found: usize = (0..scan.morsels()).map(|morsel| scan.count(morsel).expect("counts")).sum();
    let red =
        |record: &&Vec<Datum>| matches!(&record[column as usize], Datum::Bytes(bytes) if bytes.starts_with(b"red"));
    assert_eq!(found, table.records.iter().filter(red).count());
    // Once per entry, once for NULL, and on the values where there is no dictionary.
    assert_eq!(test.0.load(std::sync::atomic::Ordering::Relaxed), entries + 1 + plain);
}
