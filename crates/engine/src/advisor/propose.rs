//! Designs worth trying for a table under a workload: every kind of layout that the storage has, as far as the workload gives it
//! a reason. The model ranks them; which are measured is for whoever has the time.

use crate::advisor::candidate::Candidate;
use crate::advisor::co_access::groupings;
use crate::advisor::facts::TableFacts;
use crate::advisor::usage::{FilterKind, StatementUse, TableUse, WriteKind};
use gingham_storage::model::{Deletes, HeapLayout, HeapOptions};
use gingham_storage::{ColumnId, Design, EncodingChoice, Group, Layout, Packing, TableName};
use std::collections::BTreeMap;

/// Bytes of a chunk that fits a page.
const CHUNK_BYTES: f64 = 4096.0;
/// Records of a long chunk.
const LONG_CHUNK: u32 = 1 << 16;
/// Columns with conditions for which packings are tried, those that cost most first.
const PACKED_COLUMNS: usize = 4;
/// The share of weights from which writes and lookups by key make heap pages worth a try.
const WRITES_WEIGH: f64 = 0.05;
/// A condition that leaves less is one that an index serves.
const SELECTIVE: f64 = 0.01;
/// Codes of more values than this are no dictionary's.
const DICTIONARY_VALUES: f64 = 1e6;

/// The candidates for a table, the present design first; no two have the same design. `uses` are the workload's statements with
/// their weights.
///
/// ```
/// # use gingham::{Database, advisor::*};
/// # let connection = Database::in_memory()?.connect();
/// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
/// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
/// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
/// # let facts = TableFacts::of(&connection.table("t")?);
/// # let definition = facts.table.definition.clone();
/// assert!(propose(&facts, &uses).len() > 10);
/// # Ok::<(), gingham::Error>(())
/// ```
pub fn propose(facts: &TableFacts, uses: &[(f64, StatementUse)]) -> Vec<Candidate> {
    let definition = &facts.table.definition;
    let of_table = uses_of(&definition.name, uses);
    let mut found = Proposals { candidates: vec![Candidate::present(definition)], facts };
    found.whole_layouts();
    found.groups(&of_table);
    let conditions = conditions(&of_table);
    found.packings(&conditions);
    found.encodings(&conditions);
    if writes_weigh(&definition.name, uses, facts) {
        found.heap_pages(&of_table);
    }
    found.sorted(&of_table);
    found.candidates.retain(|candidate| {
        let with = candidate.definition(definition, definition.name.clone());
        candidate.design.validate(&with).is_ok()
    });
    found.candidates
}

/// The scans of one table, each with its statement's weight.
pub(super) fn uses_of<'u>(table: &TableName, uses: &'u [(f64, StatementUse)]) -> Vec<(f64, &'u TableUse)> {
    let scans = uses.iter().flat_map(|(weight, statement)| statement.tables.iter().map(move |scan| (*weight, scan)));
    scans.filter(|(_, scan)| scan.table == *table).collect()
}

struct Proposals<'f> {
    candidates: Vec<Candidate>,
    facts: &'f TableFacts,
}

impl Proposals<'_> {
    fn add(&mut self, design: Design, sort_by: Vec<ColumnId>, index: Option<ColumnId>, reason: String) {
        let new = Candidate { design, sort_by, index, reason };
        let known =
            |other: &Candidate| (&other.design, &other.sort_by, other.index) == (&new.design, &new.sort_by, new.index);
        if !self.candidates.iter().any(known) {
            self.candidates.push(new);
        }
    }

    /// Adds a design that keeps the table's order.
    fn add_design(&mut self, design: Design, reason: impl Into<String>) {
        let sort_by = if design.heap.is_some() { Vec::new() } else { self.facts.table.definition.sort_by.clone() };
        self.add(design, sort_by, None, reason.into());
    }

    /// The name of a column.
    fn name(&self, column: ColumnId) -> &str {
        self.facts.table.definition.column_by_id(column).map_or("", |column| &column.name)
    }

    fn whole_layouts(&mut self) {
        let record: f64 = self.facts.columns.iter().map(|own| own.native_bytes()).sum();
        let fits = ((CHUNK_BYTES / record.max(1.0)) as u32).max(2);
        // A power of two, so that zones are of the usual length.
        let k = 1_u32 << fits.ilog2();
        self.add_design(Design::default(), "scans of few columns read no others");
        if self.facts.columns.len() < 2 {
            return;
        }
        self.add_design(Design::of_layout(Layout::Row), "records that are read whole lie together");
        self.add_design(Design::of_layout(Layout::MemPax(k)), "chunks of 4 KiB: columns within a page");
        self.add_design(Design::of_layout(Layout::MemPax(LONG_CHUNK)), "long chunks, between rows and columns");
        self.add_design(Design::of_layout(Layout::SuperTuple), "fewest bytes, records together in dense pages");
        self.add_design(Design::of_layout(Layout::DenseColumn), "fewest bytes, columns apart in dense pages");
    }

    fn groups(&mut self, uses: &[(f64, &TableUse)]) {
        for grouping in groupings(self.facts, uses) {
            let names: Vec<String> = grouping
                .iter()
                .map(|group| group.iter().map(|id| self.name(*id)).collect::<Vec<_>>().join(", "))
                .collect();
            let reason = format!("used together: {}", names.join("; "));
            let group = |columns: Vec<ColumnId>| Group { columns, layout: Layout::Row };
            let groups = grouping.into_iter().map(group).collect();
            self.add_design(Design { groups, ..Design::default() }, reason);
        }
    }

    /// Packings for columns with conditions: all of these, and the one that is asked for most.
    fn packings(&mut self, conditions: &[(ColumnId, f64)]) {
        let coded =
            |column: &ColumnId| self.facts.columns.iter().any(|own| own.column == *column && own.code_bits.is_some());
        let columns: Vec<ColumnId> =
            conditions.iter().map(|(column, _)| *column).filter(coded).take(PACKED_COLUMNS).collect();
        let packings = [Packing::ByteSlice, Packing::ByteSlice16, Packing::Vbp, Packing::Hbp, Packing::BitPacked];
        for some in [&columns[..], &columns[..columns.len().min(1)]] {
            for packing in packings.into_iter().filter(|_| !some.is_empty()) {
                let mut design = Design::default();
                for column in some {
                    design.column_mut(*column).packing = Some(packing);
                }
                let names: Vec<&str> = some.iter().map(|column| self.name(*column)).collect();
                let reason = format!("conditions on {} are evaluated on {packing} codes", names.join(", "));
                self.add_design(design, reason);
            }
        }
        if !conditions.is_empty() {
            self.add_design(
                Design::of_packing(Packing::BitPacked),
                "codes of all columns in no more bits than they need",
            );
        }
    }

    /// Dictionaries for columns with conditions that have none, and plain values for those that have few records a value.
    fn encodings(&mut self, conditions: &[(ColumnId, f64)]) {
        for (column, _) in conditions.iter().take(PACKED_COLUMNS) {
            let Ok(facts) = self.facts.column(*column).copied() else { continue };
            if facts.distinct <= DICTIONARY_VALUES && facts.distinct * 4.0 < self.facts.rows() {
                let mut design = Design::default();
                design.column_mut(*column).encoding = EncodingChoice::Dictionary;
                let reason = format!("{} has about {:.0} distinct values", self.name(*column), facts.distinct);
                self.add_design(design, reason);
            }
        }
    }

    fn heap_pages(&mut self, uses: &[(f64, &TableUse)]) {
        let mut indexed: Vec<Option<ColumnId>> = vec![None];
        let filters = uses.iter().flat_map(|(_, scan)| &scan.filters);
        let lookup = filters.filter(|filter| filter.kind == FilterKind::Equal && filter.share < SELECTIVE);
        let keys = &self.facts.table.definition.keys;
        let lookup = lookup.map(|filter| filter.column).find(|column| !keys.iter().any(|key| key.columns == [*column]));
        indexed.extend(lookup.map(Some));
        for layout in [HeapLayout::Nsm, HeapLayout::Pax] {
            for index in &indexed {
                let options = HeapOptions::new(layout);
                let with = index.map_or(String::new(), |column| format!(", an index finds {}", self.name(column)));
                let reason = format!("records are changed and found by key in {layout} pages{with}");
                self.add(Design::of_pages(options), Vec::new(), *index, reason);
            }
        }
        let deferred = HeapOptions { deletes: Deletes::Defer, ..HeapOptions::new(HeapLayout::Pax) };
        self.add_design(Design::of_pages(deferred), "deletions in pax pages leave their places for later records");
    }

    /// The order that lets conditions rule out most zones, for the layouts of segments that are the most promising.
    fn sorted(&mut self, uses: &[(f64, &TableUse)]) {
        let mut gains: BTreeMap<ColumnId, f64> = BTreeMap::new();
        for (weight, scan) in uses {
            let ranges = scan.filters.iter().filter(|filter| filter.kind != FilterKind::Other);
            for filter in ranges {
                let Ok(facts) = self.facts.column(filter.column) else { continue };
                let (now, then) = ((filter.share + facts.spread).min(1.0), filter.share);
                *gains.entry(filter.column).or_default() += weight * (now - then).max(0.0);
            }
        }
        let best = gains.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((column, _)) = best.filter(|(_, gain)| *gain > 0.0) else { return };
        let reason = format!("in the order of {}, conditions on it rule out most zones", self.name(column));
        let segments = self.candidates.iter().filter(|candidate| candidate.design.heap.is_none());
        let designs: Vec<Design> = segments.map(|candidate| candidate.design.clone()).collect();
        for design in designs {
            self.add(design, vec![column], None, reason.clone());
        }
    }
}

/// Columns with conditions, those that are asked for most first, each with the sum of the weights.
fn conditions(uses: &[(f64, &TableUse)]) -> Vec<(ColumnId, f64)> {
    let mut weights: BTreeMap<ColumnId, f64> = BTreeMap::new();
    for (weight, scan) in uses {
        for filter in &scan.filters {
            *weights.entry(filter.column).or_default() += weight;
        }
    }
    let mut sorted: Vec<_> = weights.into_iter().collect();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
    sorted
}

/// Whether enough of the workload writes records, or looks single ones up.
fn writes_weigh(table: &TableName, uses: &[(f64, StatementUse)], facts: &TableFacts) -> bool {
    let (mut writes, mut all) = (0.0, 0.0);
    for (weight, statement) in uses {
        let scans = statement.tables.iter().filter(|scan| scan.table == *table);
        let looks_up =
            scans.clone().any(|scan| !scan.filters.is_empty() && scan.rows <= 16.0_f64.min(facts.rows() * SELECTIVE));
        let written = statement.write.as_ref().filter(|write| write.table == *table);
        let bulk = written.is_some_and(|write| write.kind == WriteKind::Insert && write.rows > 10_000.0);
        if scans.count() > 0 || written.is_some() {
            all += weight;
            writes += if looks_up || written.is_some() && !bulk { *weight } else { 0.0 };
        }
    }
    facts.table.heap.is_some() || writes > all * WRITES_WEIGH
}
