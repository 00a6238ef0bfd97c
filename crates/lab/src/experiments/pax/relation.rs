//! R, the relation of sections 6 and 7.5: numeric attributes of 8 bytes, with the values that l_partkey has, in NSM, DSM and
//! PAX pages; and queries on ranges of them.

use super::scan::{self, Range, RangeQuery, ScanAnswer};
use crate::experiment::{Bench, Error, Laps, Levels, Mode, Subject, Variant};
use crate::random::Random;
use crate::words::thousands;
use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use gingham::storage::io::MemoryBudget;
use gingham::storage::lab::DirectPages;
use gingham::storage::model::{HeapLayout, HeapOptions};
use gingham::storage::store::Store;
use gingham::storage::{ColumnDefinition, DEFAULT_SCHEMA, LogicalType, TableDefinition, TableId, TableName};
use std::rc::Rc;
use std::sync::Arc;

/// Attributes of R unless an experiment varies them.
pub const DEGREE: usize = 8;
/// Queries of a unit of execution (section 5.1): the same selectivity, other bounds.
pub const UNIT: usize = 10;
/// Records by batch of a load.
const BATCH: usize = 8192;
/// Records of a TPC-H scale of 1 in lineitem, and the keys that l_partkey has then, evenly.
const RECORDS_PER_KEY: usize = 30;

/// R in some layouts, and its values.
#[derive(Debug)]
pub struct Relation {
    columns: Rc<Vec<Vec<u64>>>,
    tables: Vec<(HeapLayout, Rc<DirectPages>)>,
}

/// An error of the storage as the lab's.
pub fn failed(error: gingham::storage::Error) -> Error {
    Error::Data(error.to_string())
}

/// Records of R: the paper's 1.2 million, in quick runs fewer.
pub fn records(bench: &Bench) -> usize {
    match bench.settings.mode {
        Mode::Tiny => 1_500,
        Mode::Quick => 100_000,
        Mode::Default | Mode::Full => PAPER_RECORDS,
    }
}

/// Records of the paper's R.
const PAPER_RECORDS: usize = 1_200_000;

/// What a reader must know when R is not the paper's.
pub fn told_records(bench: &Bench) -> Option<String> {
    let records = records(bench);
    let last = bench.machine.caches.last;
    let bytes = records * DEGREE * 8;
    let fits = if bytes < last { ", which all fit the last cache here" } else { "" };
    let [own, paper] = [records, PAPER_RECORDS].map(|count| thousands(count as u64));
    (bytes < last || records < PAPER_RECORDS)
        .then(|| format!("R has {own} records, {} MB in all{fits}; the paper's has {paper}", bytes / 1_000_000))
}

/// A definition of a table with attributes of these names and types, none of them NULL.
pub fn definition<'n>(table: &str, columns: impl Iterator<Item = (&'n str, LogicalType)>) -> TableDefinition {
    let columns: Vec<ColumnDefinition> = (1..)
        .zip(columns)
        .map(|(id, (name, logical_type))| ColumnDefinition {
            nullable: false,
            ..ColumnDefinition::new(id, name, logical_type)
        })
        .collect();
    TableDefinition::new(TableName { schema: DEFAULT_SCHEMA.to_owned(), table: table.to_owned() }, columns)
}

/// A database that is not synced, with memory for what experiments load.
pub fn scratch() -> Result<Arc<Store>, Error> {
    Store::scratch(MemoryBudget::new(4 << 30)).map_err(failed)
}

/// Creates a table and loads batches into it.
pub fn load(
    store: &Arc<Store>,
    definition: TableDefinition,
    options: HeapOptions,
    batches: &[RecordBatch],
) -> Result<TableId, Error> {
    let loaded = store.write(|transaction| {
        let table = transaction.create_heap_table(definition, options)?;
        transaction.heap(table, |heap| batches.iter().try_for_each(|batch| heap.load(batch)))?;
        Ok(table)
    });
    loaded.map_err(failed)
}

/// A table at its latest commit, as the paper's operators read it.
pub fn open(store: &Arc<Store>, table: TableId) -> Result<DirectPages, Error> {
    store.heap(table).and_then(|reader| DirectPages::open(Arc::new(reader))).map_err(failed)
}

/// The largest value that attributes of so many records have: as many keys of parts as a TPC-H scale with so many
/// line items has.
fn largest(records: usize) -> u64 {
    (records / RECORDS_PER_KEY).max(1) as u64
}

impl Relation {
    /// Makes R and loads it.
    pub fn new(bench: &Bench, records: usize, degree: usize, layouts: &[HeapLayout]) -> Result<Self, Error> {
        let mut random = Random::named(bench.settings.seed, &format!("R of {degree} attributes"));
        let mut column = || (0..records).map(|_| 1 + random.below(largest(records))).collect();
        let columns: Vec<Vec<u64>> = (0..degree).map(|_| column()).collect();
        let names: Vec<String> = (1..=degree).map(|number| format!("a{number}")).collect();
        let store = scratch()?;
        let mut tables = Vec::new();
        for layout in layouts {
            let own = names.iter().map(|name| (name.as_str(), LogicalType::UInt(64)));
            let definition = definition(layout.name(), own);
            let batches = (0..records).step_by(BATCH).map(|first| {
                let part = first..records.min(first + BATCH);
                let array = |column: &Vec<u64>| Arc::new(UInt64Array::from(column[part.clone()].to_vec())) as ArrayRef;
                let arrays = columns.iter().map(array);
                RecordBatch::try_new(definition.arrow_schema(), arrays.collect())
            });
            let batches: Vec<_> = batches.collect::<Result<_, _>>().map_err(|error| Error::Data(error.to_string()))?;
            let table = load(&store, definition, HeapOptions::new(*layout), &batches)?;
            tables.push((*layout, Rc::new(open(&store, table)?)));
        }
        Ok(Self { columns: Rc::new(columns), tables })
    }

    /// Records.
    pub fn records(&self) -> usize {
        self.columns[0].len()
    }

    /// The layouts, with their pages.
    pub fn tables(&self) -> impl Iterator<Item = (HeapLayout, Rc<DirectPages>)> {
        self.tables.iter().map(|(layout, pages)| (*layout, Rc::clone(pages)))
    }

    /// The values, attribute by attribute.
    pub fn columns(&self) -> &Rc<Vec<Vec<u64>>> {
        &self.columns
    }

    /// Queries that let through `percent` of the records by the first of `tested`, and all of these by the others.
    pub fn queries(&self, random: &mut Random, percent: f64, tested: &[usize], projected: &[usize]) -> Vec<RangeQuery> {
        let largest = largest(self.records());
        let width = ((largest as f64 * percent / 100.0).round() as u64).min(largest);
        let query = |_| {
            let low = random.below(largest - width + 1);
            let range = |(number, attribute): (usize, &usize)| match number {
                0 => Range { attribute: *attribute, low, high: low + width + 1 },
                _ => Range { attribute: *attribute, low: 0, high: largest + 1 },
            };
            RangeQuery { ranges: tested.iter().enumerate().map(range).collect(), projected: projected.to_vec() }
        };
        (0..UNIT).map(query).collect()
    }

    /// The right answer of a query.
    pub fn answer(&self, query: &RangeQuery) -> ScanAnswer {
        let mut answer = ScanAnswer::none(query);
        for record in 0..self.records() {
            if query.ranges.iter().all(|range| range.holds(self.columns[range.attribute][record])) {
                answer.count += 1;
                for (sum, attribute) in answer.sums.iter_mut().zip(&query.projected) {
                    *sum = sum.wrapping_add(self.columns[*attribute][record]);
                }
            }
        }
        answer
    }

    /// A variant for each layout that runs a unit of queries; `levels` are those of other factors.
    pub fn variants(&self, queries: &[RangeQuery], levels: &Levels) -> Vec<Variant> {
        let queries: Rc<[RangeQuery]> = queries.into();
        let expected: Rc<[ScanAnswer]> = queries.iter().map(|query| self.answer(query)).collect();
        let selected: u64 = expected.iter().map(|answer| answer.count).sum();
        let scanned = (self.records() * queries.len()) as f64;
        let variant = |(layout, pages): (HeapLayout, Rc<DirectPages>)| {
            let mut levels = levels.clone();
            levels.push(("layout", layout.name().to_owned()));
            let (queries, expected) = (Rc::clone(&queries), Rc::clone(&expected));
            Variant {
                levels,
                units: (scanned, "record"),
                facts: vec![("records", self.records() as f64), ("selectivity", selected as f64 / scanned)],
                subject: Box::new(Unit { pages, queries, expected, found: Vec::new() }),
            }
        };
        self.tables().map(variant).collect()
    }
}

/// A unit of queries on one table.
struct Unit {
    pages: Rc<DirectPages>,
    queries: Rc<[RangeQuery]>,
    expected: Rc<[ScanAnswer]>,
    found: Vec<gingham::storage::Result<ScanAnswer>>,
}

impl Subject for Unit {
    fn prepare(&mut self) {
        self.found.clear();
    }

    fn run(&mut self, _: &mut Laps) {
        self.found.clear();
        self.found.extend(self.queries.iter().map(|query| scan::run(&self.pages, query)));
    }

    fn check(&mut self) -> Result<(), String> {
        if self.found.len() != self.expected.len() {
            return Err(format!("{} answers to {} queries", self.found.len(), self.expected.len()));
        }
        for (found, expected) in self.found.iter().zip(self.expected.iter()) {
            match found {
                Ok(found) if found == expected => {}
                Ok(found) => return Err(format!("{found:?}, {expected:?} expected")),
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }
}
