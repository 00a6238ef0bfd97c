//! TPC-H's tables as batches, and loading them into heap pages (section 7.2).

use super::relation::{definition, failed};
use crate::experiment::{Bench, Error, Laps, Levels, Subject, Variant};
use crate::tpch::{TpchTable, generate_in_order};
use arrow::array::{Array, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::DataType;
use gingham::storage::io::MemoryBudget;
use gingham::storage::lab::HeapScan;
use gingham::storage::model::HeapOptions;
use gingham::storage::store::{OpenOptions, Store};
use gingham::storage::{LogicalType, Predicate, TableDefinition, TableId};
use gingham_kernels::Isa;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;

/// TPC-H at some scale, as what is loaded.
#[derive(Debug)]
pub struct LoadData {
    /// The tables, none of whose columns takes NULL.
    pub tables: Vec<(TableDefinition, Vec<RecordBatch>)>,
    /// Records of all.
    pub records: usize,
}

impl LoadData {
    /// A data set of so many megabytes by the paper's count: 1000 are a scale of 1.
    pub fn of_megabytes(bench: &Bench, megabytes: f64, tables: &[TpchTable]) -> Result<Self, Error> {
        let scale = megabytes / 1000.0;
        let table = |table: &TpchTable| {
            let mut batches = Vec::new();
            let Ok(()) = generate_in_order(*table, scale, bench.settings.threads, |batch| {
                batches.push(batch);
                Ok::<(), Infallible>(())
            });
            Ok((of_table(*table)?, batches))
        };
        let tables: Vec<_> = tables.iter().map(table).collect::<Result<_, Error>>()?;
        let records = tables.iter().flat_map(|(_, batches)| batches).map(RecordBatch::num_rows).sum();
        Ok(Self { tables, records })
    }
}

/// The definition of one of TPC-H's tables.
fn of_table(table: TpchTable) -> Result<TableDefinition, Error> {
    let schema = table.schema();
    let columns = schema.fields().iter().map(|field| {
        let logical_type = match field.data_type() {
            DataType::Int64 => LogicalType::Int(64),
            DataType::Int32 => LogicalType::Int(32),
            DataType::Date32 => LogicalType::Date,
            DataType::Decimal128(precision, scale) => LogicalType::Decimal { precision: *precision, scale: *scale },
            DataType::Utf8View => LogicalType::Varchar(None),
            other => return Err(Error::Data(format!("column '{}' of type {other}", field.name()))),
        };
        Ok((field.name().as_str(), logical_type))
    });
    Ok(definition(table.name(), columns.collect::<Result<Vec<_>, _>>()?.into_iter()))
}

/// Pages that a load has filled, and how often their minipages were sized anew.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filled {
    /// Pages.
    pub pages: u64,
    /// Reorganisations.
    pub reorganised: u64,
}

/// Loads a data set into a database that is synced, each run into a new one.
pub struct Load {
    data: Rc<LoadData>,
    options: HeapOptions,
    target: Option<Target>,
    /// Whether every value was compared once.
    compared: bool,
}

struct Target {
    store: Arc<Store>,
    tables: Vec<TableId>,
    loaded: Result<Filled, String>,
    // Behind the store, which is closed first.
    _folder: tempfile::TempDir,
}

impl Load {
    /// A variant that loads.
    pub fn variant(data: &Rc<LoadData>, options: HeapOptions, levels: Levels) -> Variant {
        Variant {
            levels,
            units: (data.records as f64, "record"),
            facts: vec![("records", data.records as f64)],
            subject: Box::new(Self { data: Rc::clone(data), options, target: None, compared: false }),
        }
    }

    fn target(&self) -> Result<Target, Error> {
        let folder = tempfile::tempdir().map_err(|error| Error::Data(format!("no folder to load into: {error}")))?;
        let options = OpenOptions { create: true, read_only: false };
        let store = Store::open(folder.path(), &options, MemoryBudget::new(1 << 30)).map_err(failed)?;
        let create = |(definition, _): &(TableDefinition, _)| {
            store.write(|transaction| transaction.create_heap_table(definition.clone(), self.options))
        };
        let tables = self.data.tables.iter().map(create).collect::<Result<_, _>>().map_err(failed)?;
        Ok(Target { store, tables, loaded: Err("it has not run".to_owned()), _folder: folder })
    }
}

impl Target {
    fn load(&self, data: &LoadData, laps: &mut Laps) -> gingham::storage::Result<Filled> {
        let mut filled = Filled::default();
        for (table, (_, batches)) in self.tables.iter().zip(&data.tables) {
            filled.reorganised += self.store.write(|transaction| {
                let reorganised = transaction.heap(*table, |heap| {
                    batches.iter().try_for_each(|batch| heap.load(batch))?;
                    Ok(heap.reorganised())
                });
                laps.lap("filling");
                reorganised
            })?;
            laps.lap("commit");
        }
        Ok(filled)
    }

    /// Compares what lies in the pages with the batches, and counts the pages.
    fn compare(&self, data: &LoadData, all: bool) -> Result<u64, String> {
        let told = |error: gingham::storage::Error| error.to_string();
        let mut pages = 0;
        for (table, (definition, batches)) in self.tables.iter().zip(&data.tables) {
            let reader = Arc::new(self.store.heap(*table).map_err(told)?);
            let records: usize = batches.iter().map(RecordBatch::num_rows).sum();
            if reader.rows() != records as u64 {
                return Err(format!("{} of {records} records of {}", reader.rows(), definition.name));
            }
            pages += reader.record().pages;
            if !all || batches.is_empty() {
                continue;
            }
            let whole = concat_batches(&batches[0].schema(), batches).map_err(|error| error.to_string())?;
            let columns = definition.columns.iter().map(|column| column.id).collect();
            let scan = HeapScan::new(reader, columns, &Predicate::Constant(true), Isa::best()).map_err(told)?;
            let mut first = 0;
            for zone in 0..scan.zones() {
                let found = scan.read(zone).map_err(told)?;
                for (column, expected) in found.columns().iter().zip(whole.columns()) {
                    if **column != *expected.slice(first, found.num_rows()) {
                        return Err(format!("other values from record {first} on of {}", definition.name));
                    }
                }
                first += found.num_rows();
            }
            if first != records {
                return Err(format!("{first} of {records} records of {} are found", definition.name));
            }
        }
        Ok(pages)
    }
}

impl Subject for Load {
    fn prepare(&mut self) {
        // The old one's folder goes before the new one is made.
        self.target = None;
        self.target = self.target().ok();
    }

    fn run(&mut self, laps: &mut Laps) {
        let Some(target) = &mut self.target else { return };
        target.loaded = target.load(&self.data, laps).map_err(|error| error.to_string());
    }

    fn check(&mut self) -> Result<(), String> {
        let target = self.target.as_mut().ok_or("there is no database to load into")?;
        let filled = target.loaded.clone()?;
        let pages = target.compare(&self.data, !self.compared)?;
        target.loaded = Ok(Filled { pages, ..filled });
        self.compared = true;
        Ok(())
    }

    fn values(&self) -> Vec<(&'static str, f64)> {
        let filled = self.target.as_ref().and_then(|target| target.loaded.as_ref().ok()).copied().unwrap_or_default();
        vec![
            ("reorganisations", filled.reorganised as f64 / filled.pages.max(1) as f64),
            ("pages", filled.pages as f64),
        ]
    }
}
