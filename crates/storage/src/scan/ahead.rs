//! Reads of a scan past the system's cache: the spans of its morsels, and those whose turn has come.

use crate::io::ahead::{AheadFile, FileSpan, ReadAhead, ReadOptions, ReadTimes};
use crate::io::memory::MemoryBudget;
use crate::scan::code::CodePredicate;
use crate::scan::far::{FarRanges, FarReads};
use crate::scan::prune::{Verdict, judge_leaf};
use crate::scan::reads::{MorselMemory, ScanReads};
use crate::scan::source::MorselSource;
use crate::scan::{Morsel, TableScan};
use crate::segment::memo::{ZoneMemo, ZoneReads};
use crate::{ColumnId, Result};
use hashbrown::HashMap;
use std::sync::Arc;

impl TableScan {
    /// This scan, whose runs read past the system's cache and ours when there are options.
    pub fn with_reads(self, options: Option<ReadOptions>) -> Self {
        Self { read_options: options, ..self }
    }

    /// Unit and depth of its runs' reads past the caches; `None` when they use the caches.
    pub fn read_options(&self) -> Option<ReadOptions> {
        self.read_options
    }

    /// This scan for one run. Segments that lie elsewhere come by requests that are under way for later morsels, too. When the scan reads
    /// past the caches, segments' bytes come by reads that are under way while earlier morsels are worked on; else, and for a table without
    /// segments, it is the scan itself. Fails when a file can't be opened again.
    pub fn for_run(self: &Arc<Self>) -> Result<Arc<Self>> {
        if self.is_far() {
            let columns = self.projection.iter().map(|column| column.id).collect();
            let far = Some(Arc::default());
            return Ok(Arc::new(Self { far, schema: Arc::clone(&self.schema), ..self.projected(columns)? }));
        }
        let Some(options) = self.read_options else { return Ok(Arc::clone(self)) };
        let mut spans = Vec::with_capacity(self.morsels.len());
        let mut plan = ReadPlan::default();
        for morsel in &self.morsels {
            spans.push(plan.spans(self, morsel)?);
        }
        let Some(budget) = plan.budget else { return Ok(Arc::clone(self)) };
        let ahead = Arc::new(ReadAhead::new(plan.ahead, &spans, options, Arc::clone(&budget)));
        let reads = Some(Arc::new(ScanReads { ahead, files: plan.files, budget }));
        let columns = self.projection.iter().map(|column| column.id).collect();
        Ok(Arc::new(Self { reads, schema: Arc::clone(&self.schema), ..self.projected(columns)? }))
    }

    /// Reads past the caches so far; `None` of a scan that uses the caches.
    pub fn read_times(&self) -> Option<ReadTimes> {
        Some(self.reads.as_ref()?.ahead.times())
    }

    /// A memo for a reader of a morsel, and where its bytes come from.
    pub(super) fn memo(&self, morsel: usize) -> ZoneMemo<'_> {
        if let Some(far) = &self.far {
            self.read_far_ahead(far, morsel);
        }
        let Some(reads) = &self.reads else { return ZoneMemo::default() };
        let morsel = reads.ahead.begin(morsel);
        ZoneMemo::reading(ZoneReads { morsel, files: &reads.files })
    }

    /// Whether some of it lies elsewhere.
    fn is_far(&self) -> bool {
        self.segments
            .iter()
            .any(|(source, _)| matches!(source, MorselSource::Segment(part) if part.segment().is_remote()))
    }

    /// A morsel begins: asks for what some behind it need.
    fn read_far_ahead(&self, far: &FarReads, morsel: usize) {
        let mut ranges = FarRanges::default();
        for morsel in &self.morsels[far.begin(morsel, self.morsels.len())] {
            let MorselSource::Segment(part) = &self.segments[morsel.segment].0 else { continue };
            let columns = needed(self, morsel).into_iter();
            let unread = columns.filter_map(|column| part.segment().unread(column, morsel.zone));
            unread.for_each(|(file, offset, length)| ranges.add(file, offset, length));
        }
        ranges.read_ahead();
    }

    /// Accounts for the columns of a morsel that are decoded past the cache.
    pub(super) fn charge(&self, morsel: &Morsel) -> Option<MorselMemory> {
        let reads = self.reads.as_ref()?;
        let source = &self.segments[morsel.segment].0;
        let bytes = self.projection.iter().map(|column| source.native_bytes(column.id, morsel.zone)).sum();
        Some(MorselMemory::new(&reads.budget, bytes))
    }
}

/// A plan that is being made.
#[derive(Default)]
struct ReadPlan {
    ahead: Vec<AheadFile>,
    files: HashMap<u64, usize>,
    /// The last segment whose files are there, by its place: morsels come in the order of segments.
    last: Option<usize>,
    budget: Option<Arc<MemoryBudget>>,
}

impl ReadPlan {
    /// The spans that a morsel needs.
    fn spans(&mut self, scan: &TableScan, morsel: &Morsel) -> Result<Vec<FileSpan>> {
        let MorselSource::Segment(part) = &scan.segments[morsel.segment].0 else { return Ok(Vec::new()) };
        let segment = part.segment();
        if self.last != Some(morsel.segment) {
            self.last = Some(morsel.segment);
            for (number, file) in segment.direct_files()? {
                self.files.insert(number, self.ahead.len());
                self.ahead.push(file);
                self.budget = Some(Arc::clone(segment.cache().budget()));
            }
        }
        let mut spans: Vec<FileSpan> = needed(scan, morsel)
            .into_iter()
            .filter_map(|column| segment.span(column, morsel.zone))
            .filter_map(|(file, offset, length)| Some(FileSpan { file: *self.files.get(&file)?, offset, length }))
            .collect();
        spans.sort_unstable();
        spans.dedup();
        Ok(spans)
    }
}

/// The columns that a morsel needs: those that are projected, and those whose values its predicate has to see.
fn needed(scan: &TableScan, morsel: &Morsel) -> Vec<ColumnId> {
    let (source, arranged) = &scan.segments[morsel.segment];
    let mut columns: Vec<ColumnId> = scan.projection.iter().map(|column| column.id).collect();
    if morsel.verdict == Verdict::Some {
        undecided(&arranged.last(), source, morsel, &mut columns);
    }
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Adds the columns of leaves that zone maps don't decide for a morsel.
fn undecided(predicate: &CodePredicate, source: &MorselSource, morsel: &Morsel, columns: &mut Vec<ColumnId>) {
    match predicate {
        CodePredicate::Constant(_) => {}
        CodePredicate::Leaf(leaf) => {
            let map = source.zone_map(leaf.column.id, morsel.zone);
            if judge_leaf(leaf, morsel.rows, map) == Verdict::Some {
                columns.push(leaf.column.id);
            }
        }
        CodePredicate::Junction(junction) => {
            junction.parts.iter().for_each(|part| undecided(part, source, morsel, columns));
        }
    }
}
