//! The model prices a design under a workload in nanoseconds and bytes, about. It ranks candidates, so that the most promising are
//! measured; what it says of their times is told to nobody as a fact.
//!
//! Comparing codes is priced by what the storage has measured on this machine. The other prices are of an AMD EPYC with
//! AVX-512, rounded: they differ between machines by less than designs do.

use crate::Result;
use crate::advisor::candidate::Candidate;
use crate::advisor::facts::{ColumnFacts, TableFacts};
use crate::advisor::propose::uses_of;
use crate::advisor::usage::{FilterKind, FilterUse, StatementUse, TableUse, WriteKind, WriteUse};
use gingham_kernels::Isa;
use gingham_storage::model::{Format, HeapLayout};
use gingham_storage::{ColumnId, Design, Layout, Packing};

/// The price of a design by the model.
///
/// ```
/// # use gingham::{Database, advisor::*};
/// # let connection = Database::in_memory()?.connect();
/// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
/// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
/// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
/// # let facts = TableFacts::of(&connection.table("t")?);
/// # let definition = facts.table.definition.clone();
/// let modelled = model(&facts, &Candidate::present(&definition), &uses, gingham_kernels::Isa::best())?;
/// assert!(modelled.nanoseconds > 0.0 && modelled.bytes > 1000.0);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Modelled {
    /// Nanoseconds of the workload's part that concerns the table, weighed.
    pub nanoseconds: f64,
    /// Bytes of its records.
    pub bytes: f64,
}

/// Reading a byte from memory, and a line of 64 that was not expected.
const BYTE: f64 = 0.1;
const LINE: f64 = 4.0;
/// Decoding a value of a column on its own, of rows, of codes in slices, of vertical bits, of other bit packings.
const DECODE: f64 = 0.3;
const DECODE_ROWS: f64 = 0.9;
const DECODE_SLICES: f64 = 0.9;
const DECODE_VERTICAL: f64 = 4.0;
const DECODE_BITS: f64 = 0.7;
/// Unpacking a value from a dense page.
const UNPACK: f64 = 0.6;
/// A record of a heap page, slotted or in minipages, for each column that is read.
const SLOTTED: f64 = 4.0;
const MINIPAGE: f64 = 1.0;
/// A string that is compared as it is.
const STRING: f64 = 6.0;
/// Bringing codes of a condition together from rows.
const GATHER_ROWS: f64 = 0.45;
/// A record that an index finds; a statement that plans and scans nothing much.
const LOOK_UP: f64 = 4_000.0;
const PLANNED: f64 = 400_000.0;
/// Writing with a statement: of segments, of heap pages; and for each record.
const WRITE_SEGMENTS: f64 = 1_500_000.0;
const WRITE_PAGES: f64 = 30_000.0;
const WRITE_RECORD: f64 = 500.0;
/// Records of a zone.
const ZONE: f64 = 65_536.0;
/// Records that are left out together when none qualifies.
const RUN: i32 = 64;

/// Prices a candidate under the statements `uses` with their weights.
///
/// ```
/// # use gingham::{Database, advisor::*};
/// # let connection = Database::in_memory()?.connect();
/// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
/// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
/// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
/// # let facts = TableFacts::of(&connection.table("t")?);
/// # let definition = facts.table.definition.clone();
/// let modelled = model(&facts, &Candidate::present(&definition), &uses, gingham_kernels::Isa::best())?;
/// assert!(modelled.nanoseconds.is_finite());
/// # Ok::<(), gingham::Error>(())
/// ```
///
/// # Errors
/// When the table has lost a column that they name.
pub fn model(facts: &TableFacts, candidate: &Candidate, uses: &[(f64, StatementUse)], isa: Isa) -> Result<Modelled> {
    let priced = Priced { facts, candidate, isa };
    let mut nanoseconds = 0.0;
    for (weight, scan) in uses_of(&facts.table.definition.name, uses) {
        nanoseconds += weight * priced.scan(scan)?;
    }
    let writes = uses.iter().filter_map(|(weight, statement)| Some((weight, statement.write.as_ref()?)));
    for (weight, write) in writes.filter(|(_, write)| write.table == facts.table.definition.name) {
        nanoseconds += weight * priced.write(write)?;
    }
    let mut bytes = 0.0;
    for own in &facts.columns {
        bytes += priced.bytes(own) * facts.rows();
    }
    Ok(Modelled { nanoseconds, bytes })
}

/// A candidate with what prices it.
struct Priced<'a> {
    facts: &'a TableFacts,
    candidate: &'a Candidate,
    isa: Isa,
}

impl Priced<'_> {
    fn design(&self) -> &Design {
        &self.candidate.design
    }

    /// Bytes of a value on disk, before compression.
    fn bytes(&self, own: &ColumnFacts) -> f64 {
        let layout = self.design().layout_of(own.column);
        match (own.code_bits, &self.design().heap) {
            (_, Some(_)) | (None, None) => own.plain_bytes,
            (Some(bits), None) if layout.is_dense() || self.packing(own.column) != Packing::Native => {
                f64::from(bits) / 8.0
            }
            (Some(_), None) => own.native_bytes(),
        }
    }

    fn packing(&self, column: ColumnId) -> Packing {
        self.design().choice(column).packing
    }

    fn scan(&self, scan: &TableUse) -> Result<f64> {
        let rows = self.facts.rows().max(1.0);
        if let Some(heap) = &self.design().heap {
            return Ok(self.scan_of_pages(scan, heap.layout, rows));
        }
        let touched = self.zones_left(scan)? * rows;
        let mut open = 1.0;
        let mut filters: Vec<&FilterUse> = scan.filters.iter().collect();
        filters.sort_by(|a, b| a.share.total_cmp(&b.share));
        let mut cost = PLANNED;
        for filter in filters {
            cost += touched * self.condition(filter)? * reached(open);
            open *= filter.share.max(1e-9);
        }
        let qualifying = (scan.rows / touched.max(1.0)).min(1.0);
        let mut lines_of: Vec<&[ColumnId]> = Vec::new();
        for column in &scan.columns {
            cost += touched * self.value(*column, qualifying, &mut lines_of)?;
        }
        Ok(cost)
    }

    /// The share of zones that conditions do not rule out.
    fn zones_left(&self, scan: &TableUse) -> Result<f64> {
        let edge = ZONE / self.facts.rows().max(1.0);
        let mut left: f64 = 1.0;
        for filter in scan.filters.iter().filter(|filter| filter.kind != FilterKind::Other) {
            let resorted = self.candidate.sort_by != self.facts.table.definition.sort_by;
            let spread = match self.candidate.sort_by.first() {
                Some(first) if *first == filter.column => 0.0,
                // Another order scatters what lay together.
                Some(_) if resorted => 1.0,
                _ => self.facts.column(filter.column)?.spread,
            };
            left = left.min(filter.share + spread + edge);
        }
        Ok(left.min(1.0))
    }

    /// Nanoseconds a record to evaluate a condition.
    fn condition(&self, filter: &FilterUse) -> Result<f64> {
        let own = self.facts.column(filter.column)?;
        let Some(bits) = own.code_bits else { return Ok(STRING + BYTE * own.plain_bytes) };
        let layout = self.design().layout_of(filter.column);
        let native = BYTE * own.native_bytes();
        Ok(match (layout, self.packing(filter.column)) {
            (Layout::SuperTuple, _) => UNPACK * 1.5 + native,
            (Layout::DenseColumn, _) => UNPACK + native,
            (Layout::Row | Layout::MemPax(_), _) if self.is_grouped(filter.column) => {
                GATHER_ROWS + BYTE * self.group_bytes(filter.column)
            }
            (_, packing) => {
                let format = Format::new(
                    packing,
                    if packing == Packing::Native { (own.native_bytes() * 8.0) as u8 } else { bits },
                );
                let compared =
                    format.map_or(native, |format| gingham_storage::scan::scan_cost(self.isa, format) / 1000.0);
                compared + BYTE * f64::from(bits) / 8.0
            }
        })
    }

    /// Nanoseconds a record to bring a column's values out, when a share of `qualifying` records is wanted. `counted` are the
    /// groups whose lines other columns have paid for.
    fn value<'p>(&'p self, column: ColumnId, qualifying: f64, counted: &mut Vec<&'p [ColumnId]>) -> Result<f64> {
        let own = self.facts.column(column)?;
        let layout = self.design().layout_of(column);
        if layout.is_dense() {
            let all = if layout == Layout::SuperTuple { 1.5 } else { 1.0 };
            return Ok(UNPACK * all * reached(qualifying));
        }
        if self.is_grouped(column) {
            let group = self.group(column);
            let lines = if counted.contains(&group) { 0.0 } else { LINE * qualifying.min(1.0) };
            counted.push(group);
            return Ok(qualifying * DECODE_ROWS + lines.min(BYTE * self.group_bytes(column)));
        }
        let decode = match self.packing(column) {
            Packing::Native => DECODE,
            Packing::ByteSlice | Packing::ByteSlice16 => DECODE_SLICES,
            Packing::Vbp => DECODE_VERTICAL,
            Packing::Hbp | Packing::BitPacked => DECODE_BITS,
        };
        let bytes = BYTE * own.native_bytes();
        Ok(qualifying * decode + (bytes * reached(qualifying)).min(LINE * qualifying))
    }

    /// Whether a column lies in chunks with others.
    fn is_grouped(&self, column: ColumnId) -> bool {
        matches!(self.design().layout_of(column), Layout::Row | Layout::MemPax(_)) && self.group(column).len() != 1
    }

    /// The columns of a named group; none for those that no group names.
    fn group(&self, column: ColumnId) -> &[ColumnId] {
        let group = self.design().groups.iter().find(|group| group.columns.contains(&column));
        group.map_or(&[], |group| &group.columns)
    }

    /// Bytes of a record of the column's group.
    fn group_bytes(&self, column: ColumnId) -> f64 {
        let group = self.group(column);
        let named = |own: &ColumnId| self.design().groups.iter().any(|group| group.columns.contains(own));
        let members = self
            .facts
            .columns
            .iter()
            .filter(|own| if group.is_empty() { !named(&own.column) } else { group.contains(&own.column) });
        let bytes: f64 = members.map(|own| own.native_bytes()).sum();
        match self.design().layout_of(column) {
            // Within a chunk only the column's own part is read.
            Layout::MemPax(k) if k >= 64 => self.facts.column(column).map_or(bytes, |own| own.native_bytes()),
            _ => bytes,
        }
    }

    /// A scan or lookup of heap pages.
    fn scan_of_pages(&self, scan: &TableUse, layout: HeapLayout, rows: f64) -> f64 {
        let definition = &self.facts.table.definition;
        let indexed = |column: ColumnId| {
            self.candidate.index == Some(column)
                || definition.keys.iter().any(|key| key.columns.first() == Some(&column))
                || definition.indexes.iter().any(|index| index.columns.first() == Some(&column))
        };
        let found = scan.filters.iter().filter(|filter| filter.kind == FilterKind::Equal && indexed(filter.column));
        if let Some(filter) =
            found.min_by(|a, b| a.share.total_cmp(&b.share)).filter(|filter| filter.share * rows < rows / 100.0)
        {
            return LOOK_UP * (filter.share * rows).max(1.0);
        }
        let columns = (scan.columns.len() + scan.filters.len()).max(1) as f64;
        let per_column = if layout == HeapLayout::Nsm { SLOTTED } else { MINIPAGE };
        PLANNED + rows * per_column * columns
    }

    fn write(&self, write: &WriteUse) -> Result<f64> {
        let columns = self.facts.columns.len().max(1) as f64;
        let records = write.rows * WRITE_RECORD;
        Ok(match (&self.design().heap, &write.kind) {
            (Some(_), _) => WRITE_PAGES + records * 4.0,
            (None, WriteKind::Update(changed)) => {
                // New files for the columns of each segment that is touched.
                let segment = self.facts.rows().min(f64::from(1 << 20));
                WRITE_SEGMENTS + segment * changed.len().max(1) as f64 * DECODE * 4.0 + records
            }
            (None, WriteKind::Insert | WriteKind::Delete) => WRITE_SEGMENTS + records * columns / 8.0,
        })
    }
}

/// The share of runs of records in which any is wanted, when a share of `open` is.
fn reached(open: f64) -> f64 {
    1.0 - (1.0 - open.clamp(0.0, 1.0)).powi(RUN)
}
