//! Scans: which morsels can match, which records of a morsel do, and their values as Arrow arrays.
//!
//! | file | what |
//! |---|---|
//! | `condition` | a predicate's leaf in normal form |
//! | `translate`, `code` | the same on one segment's codes |
//! | `prune` | what zone maps already decide |
//! | `keyed` | what filters of keys already decide |
//! | `estimate` | the share of records that metadata lets expect to qualify |
//! | `source` | what is read zone by zone: segments, or the pages of a heap table |
//! | `sample` | the share that qualifies in a few zones, for whoever plans |
//! | `rank`, `costs` | the order and way in which the parts of an AND or OR are evaluated |
//! | `observe` | the share that really does, and the order when the estimate was wrong |
//! | `explain` | both, as EXPLAIN shows them |
//! | `evaluate` | codes of a zone -> bit vector |
//! | `morsel` | codes -> integers, for executors |
//! | `heap` | the same over heap pages |
//! | `rows` | whole tables as Arrow batches |
//! | `coded_delta` | delta blocks with codes for their strings |
//! | `reads`, `ahead`, `far` | reads that are under way for later morsels: past the cache, and from elsewhere |
//! | `records` | row ids, and values at them |

pub(crate) mod ahead;
pub(crate) mod code;
pub(crate) mod coded_delta;
pub(crate) mod condition;
pub(crate) mod costs;
pub(crate) mod estimate;
pub(crate) mod evaluate;
pub(crate) mod explain;
pub(crate) mod far;
pub(crate) mod heap;
pub(crate) mod keyed;
pub(crate) mod morsel;
pub(crate) mod observe;
pub(crate) mod prune;
pub(crate) mod rank;
pub(crate) mod reads;
pub(crate) mod records;
pub(crate) mod rows;
pub(crate) mod sample;
pub(crate) mod source;
#[cfg(test)]
mod tests;
pub(crate) mod translate;

use crate::SqlState;
use crate::decode::arrays::{Selection, values};
use crate::io::ahead::ReadOptions;
use crate::model::view::ColumnView;
use crate::scan::code::CodePredicate;
pub use crate::scan::code::PartOnCodes;
pub use crate::scan::costs::scan_cost;
use crate::scan::estimate::Metadata;
use crate::scan::evaluate::EvaluatedZone;
use crate::scan::far::FarReads;
use crate::scan::keyed::Asked;
pub use crate::scan::morsel::{OpenMorsel, base, integer_bounds, integers};
use crate::scan::observe::{Arranged, Observed};
use crate::scan::prune::{Verdict, judge};
use crate::scan::reads::{MorselMemory, ScanReads};
pub use crate::scan::records::{fetch, fetch_all};
pub use crate::scan::rows::batch_bytes;
use crate::scan::source::MorselSource;
pub use crate::scan::translate::of_entries;
use crate::scan::translate::{Prepared, translate};
use crate::segment::memo::ZoneMemo;
use crate::snapshot::delete_vector::DeleteVectorZone;
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::{ColumnDefinition, ColumnId, Error, Predicate, Result, TableDefinition};
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema, SchemaRef};
use gingham_kernels::{Isa, bits};
use std::ops::Range;
use std::sync::Arc;

/// A prepared scan of one table snapshot; shared by the threads that read its morsels.
#[derive(Debug)]
pub struct TableScan {
    table: Arc<TableSnapshot>,
    projection: Vec<ColumnDefinition>,
    schema: SchemaRef,
    /// What the table consists of, and the predicate on its codes.
    segments: Vec<(MorselSource, Arranged)>,
    morsels: Vec<Morsel>,
    /// The next free number of a part of the predicate.
    nodes: usize,
    observed: Observed,
    skipped: usize,
    batch_rows: usize,
    isa: Isa,
    /// Unit and depth of runs' reads past the caches, when they don't use these.
    read_options: Option<ReadOptions>,
    /// Where segments' bytes come from in a run that does.
    reads: Option<Arc<ScanReads>>,
    /// How far it has read ahead, of a run over segments that lie elsewhere.
    far: Option<Arc<FarReads>>,
}

/// One zone of a source.
#[derive(Debug, Clone)]
struct Morsel {
    segment: usize,
    zone: usize,
    /// Records, deleted ones too.
    rows: usize,
    /// What the zone maps say of those that are there: never `None` in a scan as it was prepared.
    verdict: Verdict,
}

impl TableScan {
    /// Prepares a scan: translates `predicate` once per segment (to code ranges) and per dictionary version, and drops
    /// the morsels whose zone maps rule them out. `projection` gives the output columns, in order; batches have at most
    /// `batch_rows` records. Fails for a column that the table does not have, for a constant of another class than the
    /// column's, when a test fails, and for a heap table
    /// whose snapshot has no pin.
    pub fn new(
        table: Arc<TableSnapshot>,
        projection: Vec<ColumnId>,
        predicate: Predicate,
        batch_rows: usize,
        isa: Isa,
    ) -> Result<Self> {
        let definition = &table.definition;
        let (projection, schema) = projected(definition, projection)?;
        let mut nodes = 0;
        let mut prepared = Prepared::new(&predicate, definition, &mut nodes)?;
        let mut scan = Self {
            table: Arc::clone(&table),
            projection,
            schema,
            segments: Vec::new(),
            morsels: Vec::new(),
            nodes,
            observed: Observed::new(nodes),
            skipped: 0,
            batch_rows: batch_rows.max(1),
            isa,
            read_options: None,
            reads: None,
            far: None,
        };
        let asked = Asked::of(&predicate);
        for source in MorselSource::all(&table)? {
            let candidates = source.candidates(&predicate)?;
            let predicate = translate(&mut prepared, source.rows(), &|column| source.facts(column))?;
            scan.add(source, predicate, candidates.as_deref(), &asked)?;
        }
        Ok(scan)
    }

    /// Adds the zones of a segment that zone maps, and an index or the filter of a key where there is one, leave.
    fn add(
        &mut self,
        segment: MorselSource,
        mut predicate: CodePredicate,
        candidates: Option<&[bool]>,
        asked: &Asked<'_>,
    ) -> Result<()> {
        let before = self.morsels.len();
        estimate(&self.table, &segment, &mut predicate);
        for zone in 0..segment.zones() {
            let rows = segment.zone_rows(zone).len();
            if candidates.is_some_and(|candidates| !candidates[zone]) {
                self.skipped += 1;
                continue;
            }
            let deleted = segment.deleted(zone).map_or(0, DeleteVectorZone::rows);
            match judge(&predicate, rows, &|column| segment.zone_map(column, zone)) {
                _ if deleted == rows => self.skipped += 1,
                Verdict::None => self.skipped += 1,
                verdict => self.morsels.push(Morsel { segment: self.segments.len(), zone, rows, verdict }),
            }
        }
        if self.morsels.len() > before && segment.lacks(asked)? {
            self.skipped += self.morsels.len() - before;
            self.morsels.truncate(before);
        }
        self.segments.push((segment, Arranged::new(predicate)));
        Ok(())
    }

    /// This scan, its morsels under the same numbers, of the records that fulfil `predicate` too: for a condition that becomes
    /// stricter while the scan is under way. Fails as [`TableScan::new`] does.
    pub fn with_filter(&self, predicate: &Predicate) -> Result<Self> {
        let mut nodes = self.nodes;
        let mut prepared = Prepared::new(predicate, &self.table.definition, &mut nodes)?;
        let all = nodes;
        nodes += 1;
        let mut morsels = self.morsels.clone();
        let mut undecided = morsels.as_mut_slice();
        let mut segments = Vec::with_capacity(self.segments.len());
        for (number, (segment, known)) in self.segments.iter().enumerate() {
            let added = translate(&mut prepared, segment.rows(), &|column| segment.facts(column))?;
            let mut predicate = CodePredicate::all(vec![CodePredicate::clone(&known.last()), added], all);
            estimate(&self.table, segment, &mut predicate);
            let own = undecided.partition_point(|morsel| morsel.segment == number);
            let (own, rest) = undecided.split_at_mut(own);
            for morsel in own {
                morsel.verdict = judge(&predicate, morsel.rows, &|column| segment.zone_map(column, morsel.zone));
            }
            undecided = rest;
            segments.push((segment.clone(), Arranged::new(predicate)));
        }
        Ok(Self {
            table: Arc::clone(&self.table),
            projection: self.projection.clone(),
            schema: Arc::clone(&self.schema),
            segments,
            morsels,
            nodes,
            observed: self.observed.extended(nodes),
            skipped: self.skipped,
            batch_rows: self.batch_rows,
            isa: self.isa,
            read_options: self.read_options,
            reads: self.reads.clone(),
            far: self.far.clone(),
        })
    }

    /// This scan, not yet run, of other columns. Fails for a column that the table does not have.
    pub fn projected(&self, projection: Vec<ColumnId>) -> Result<Self> {
        let (projection, schema) = projected(&self.table.definition, projection)?;
        let segments = self.segments.iter();
        Ok(Self {
            table: Arc::clone(&self.table),
            projection,
            schema,
            segments: segments.map(|(segment, known)| (segment.clone(), known.fresh())).collect(),
            morsels: self.morsels.clone(),
            nodes: self.nodes,
            observed: Observed::new(self.nodes),
            skipped: self.skipped,
            batch_rows: self.batch_rows,
            isa: self.isa,
            read_options: self.read_options,
            reads: None,
            far: None,
        })
    }

    /// This scan, whose columns go by the names of `schema`, one for each.
    pub fn named(self, schema: SchemaRef) -> Self {
        Self { schema, ..self }
    }

    /// Schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Morsels to read: one zone of a segment or delta block each.
    pub fn morsels(&self) -> usize {
        self.morsels.len()
    }

    /// Bytes of memory that the prepared scan takes, about.
    pub fn bytes(&self) -> usize {
        let predicates = self.segments.iter().map(|(_, arranged)| arranged.last().bytes());
        predicates.sum::<usize>() + self.morsels.len() * size_of::<Morsel>()
    }

    /// Zones ruled out by zone maps, for EXPLAIN ANALYZE.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// True when the zone maps rule a morsel out: one of a scan that was narrowed. What was read ahead for it is given up.
    pub fn rules_out(&self, number: usize) -> bool {
        let is_out = self.morsels.get(number).is_some_and(|morsel| morsel.verdict == Verdict::None);
        if is_out {
            drop(self.memo(number));
        }
        is_out
    }

    /// Number of records that qualify in a morsel, without their values.
    pub fn count(&self, number: usize) -> Result<usize> {
        let (morsel, memo) = (self.morsel(number)?, self.memo(number));
        match morsel.verdict {
            Verdict::None => Ok(0),
            Verdict::All => Ok(self.live(morsel)),
            Verdict::Some => {
                let qualifying = self.qualifying(morsel, &memo)?;
                self.segments[morsel.segment].0.end_zone(morsel.zone);
                Ok(bits::count(self.isa, &qualifying))
            }
        }
    }

    /// The qualifying records of a morsel, in record order, in batches of at most `batch_rows`; decoded one batch at a
    /// time as the iterator is advanced.
    pub fn read(self: &Arc<Self>, morsel: usize) -> Result<MorselBatches> {
        let (views, tids, rest, memory) = match self.open(morsel)? {
            None => (Vec::new(), None, 0..0, None),
            Some(open) => {
                let rest = 0..open.qualifying();
                (open.views, open.tids, rest, open.memory)
            }
        };
        Ok(MorselBatches { scan: Arc::clone(self), views, tids, rest, _memory: memory })
    }

    fn morsel(&self, number: usize) -> Result<&Morsel> {
        let missing = || Error::Internal(format!("morsel {number} of {}", self.morsels.len()));
        self.morsels.get(number).ok_or_else(missing)
    }

    /// Records of a morsel that are not deleted.
    fn live(&self, morsel: &Morsel) -> usize {
        morsel.rows - self.deleted(morsel).map_or(0, DeleteVectorZone::rows)
    }

    /// The deleted records of a morsel.
    fn deleted(&self, morsel: &Morsel) -> Option<&DeleteVectorZone> {
        self.segments[morsel.segment].0.deleted(morsel.zone)
    }

    /// Evaluates the predicate on a morsel: the records that fulfil it and are not deleted.
    fn qualifying<'a>(&'a self, morsel: &Morsel, memo: &ZoneMemo<'a>) -> Result<Vec<u64>> {
        let (segment, arranged) = &self.segments[morsel.segment];
        let predicate = self.observed.arranged(self.isa, arranged);
        let tally = self.observed.look();
        let zone = EvaluatedZone {
            rows: morsel.rows,
            isa: self.isa,
            view: &|column| segment.view_with(column, morsel.zone, memo),
            zone_map: &|column| segment.zone_map(column, morsel.zone),
            tally,
        };
        let mut qualifying = zone.evaluate(&predicate, None)?;
        if tally.is_some() {
            zone.count(&predicate, None, &qualifying);
            self.observed.recheck(self.isa, &predicate);
        }
        if let Some(deleted) = self.deleted(morsel) {
            deleted.take_from(&mut qualifying);
        }
        Ok(qualifying)
    }
}

/// The columns that a scan gives, and the schema of its batches.
fn projected(definition: &TableDefinition, projection: Vec<ColumnId>) -> Result<(Vec<ColumnDefinition>, SchemaRef)> {
    let column = |id: ColumnId| {
        let column = definition.column_by_id(id).cloned();
        column.ok_or_else(|| {
            Error::invalid(SqlState::UndefinedColumn, format!("table {} has no column of number {id}", definition.name))
        })
    };
    let projection = projection.into_iter().map(column).collect::<Result<Vec<_>>>()?;
    let field = |column: &ColumnDefinition| Field::new(&column.name, column.logical_type.to_arrow(), column.nullable);
    let schema = Arc::new(Schema::new(projection.iter().map(field).collect::<Vec<_>>()));
    Ok((projection, schema))
}

/// Writes into a predicate what the metadata lets expect of a segment.
fn estimate(table: &TableSnapshot, segment: &MorselSource, predicate: &mut CodePredicate) {
    let zones: Vec<usize> = (0..segment.zones()).map(|zone| segment.zone_rows(zone).len()).collect();
    let zone_map = |column, zone| segment.zone_map(column, zone);
    let distinct = |column| table.summary(column).map(|summary| summary.distinct);
    Metadata { zones: &zones, zone_map: &zone_map, distinct: &distinct }.estimate(predicate);
}

/// Batches of one morsel.
#[derive(Debug)]
pub struct MorselBatches {
    scan: Arc<TableScan>,
    /// Views of the projected columns.
    views: Vec<ColumnView>,
    /// The qualifying records, when they are not all of the zone's.
    tids: Option<Vec<u32>>,
    /// What is still to deliver, of `tids` or else of the records.
    rest: Range<usize>,
    _memory: Option<MorselMemory>,
}

impl MorselBatches {
    fn batch(&self, part: Range<usize>) -> Result<RecordBatch> {
        let rows = part.len();
        let selection = match &self.tids {
            None => Selection::Run(part),
            Some(tids) => match &tids[part] {
                // Records next to each other are decoded as a run.
                tids @ [first, .., last] if (last - first) as usize == tids.len() - 1 => {
                    Selection::Run(*first as usize..*last as usize + 1)
                }
                tids => Selection::Tids(tids),
            },
        };
        let value = |view: &ColumnView| values(view, &selection, self.scan.isa);
        let columns = self.views.iter().map(value).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.scan.schema), columns, &options)?)
    }
}

impl Iterator for MorselBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.end.min(self.rest.start + self.scan.batch_rows);
        let part = self.rest.start..end;
        self.rest.start = end;
        Some(self.batch(part))
    }
}
