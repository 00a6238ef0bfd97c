//! What a query asks for more than once, as for a WITH that it names twice, is done once: of scans and pipelines that are
//! alike, the first is left.

use crate::compile::draft::{QueryBuilder, Scanned};
use crate::compile::functions::CompiledFunction;
use crate::compile::groups::OutputColumn;
use crate::compile::translate::same_entries;
use arrow::datatypes::{DataType, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use gingham_execution::{Numbers, Pipeline, Source};
use std::sync::Arc;

impl QueryBuilder {
    /// Leaves out what does the same as something before.
    pub(super) fn unite_alike(&mut self) {
        let scans = firsts(&self.scans, Scanned::is_like);
        let functions = firsts(&self.functions, CompiledFunction::is_like);
        let kept = self.kept(&scans, &functions);
        let is_needed = needed(&self.pipelines, &kept);
        let pipelines = places(&kept, &is_needed);
        let is_read = |scan: usize| {
            let readers = self.pipelines.iter().zip(&is_needed).filter(|(_, is_needed)| **is_needed);
            readers
                .map(|(pipeline, _)| pipeline.source)
                .any(|source| matches!(source, Source::Scan(read) if scans[read] == scan))
        };
        let is_read: Vec<bool> = (0..scans.len()).map(|scan| scans[scan] == scan && is_read(scan)).collect();
        let scans = places(&scans, &is_read);
        let numbers = Numbers {
            scan: &|number| scans[number],
            function: &|number| functions[number],
            pipeline: &|number| pipelines[number],
        };
        let left = self.pipelines.iter().zip(&is_needed).filter(|(_, is_needed)| **is_needed);
        let left: Vec<Pipeline> = left.map(|(pipeline, _)| pipeline.renumbered(&numbers)).collect();
        self.pipelines = left;
        let mut is_read = is_read.into_iter();
        self.scans.retain(|_| is_read.next().unwrap_or_default());
    }

    /// For each pipeline the one in its place: an earlier one that is like it, else itself.
    fn kept(&self, scans: &[usize], functions: &[usize]) -> Vec<usize> {
        let mut kept: Vec<usize> = Vec::new();
        let mut seen: Vec<Pipeline> = Vec::new();
        for (number, pipeline) in self.pipelines.iter().enumerate() {
            let numbers = Numbers {
                scan: &|number| scans[number],
                function: &|number| functions[number],
                pipeline: &|number| kept[number],
            };
            let own = pipeline.renumbered(&numbers);
            kept.push(seen.iter().position(|other| *other == own).unwrap_or(number));
            seen.push(own);
        }
        // Rows are in the order that one probe wants.
        let ranges = self.pipelines.iter().flat_map(Pipeline::probes).filter(|probe| probe.range.is_some());
        let mut alone: Vec<usize> = ranges.map(|probe| probe.build).collect();
        // Rows that come before another pipeline's are moved there.
        for number in (0..kept.len()).rev() {
            let is_kept = kept[number] == number || alone.contains(&number) || alone.contains(&kept[number]);
            alone.extend(self.pipelines[number].behind.filter(|_| is_kept));
        }
        for (number, first) in kept.iter_mut().enumerate() {
            if alone.contains(&number) || alone.contains(first) {
                *first = number;
            }
        }
        kept
    }
}

/// For each the first that is like it.
fn firsts<T>(all: &[T], is_like: impl Fn(&T, &T) -> bool) -> Vec<usize> {
    let first = |number: usize| all[..number].iter().position(|other| is_like(other, &all[number])).unwrap_or(number);
    (0..all.len()).map(first).collect()
}

/// The pipelines that the last one needs.
fn needed(pipelines: &[Pipeline], kept: &[usize]) -> Vec<bool> {
    let mut needed = vec![false; pipelines.len()];
    if let Some(last) = needed.last_mut() {
        *last = true;
    }
    for number in (0..pipelines.len()).rev().filter(|number| kept[*number] == *number) {
        if needed[number] {
            pipelines[number].reads().for_each(|read| needed[kept[read]] = true);
        }
    }
    needed
}

/// New numbers for those that are left, and of the others those of what is in their place.
fn places(kept: &[usize], is_left: &[bool]) -> Vec<usize> {
    let before = |number: usize| is_left[..number].iter().filter(|is_left| **is_left).count();
    kept.iter().map(|kept| before(*kept)).collect()
}

impl Scanned {
    fn is_like(&self, other: &Self) -> bool {
        let Self { facts, columns, predicate, numbers, .. } = self;
        let same =
            (facts, columns, predicate, numbers) == (&other.facts, &other.columns, &other.predicate, &other.numbers);
        let scans = (self.exec().ok(), other.exec().ok());
        same && matches!(scans, (Some(own), Some(other)) if own.reads_like(other))
    }
}

impl CompiledFunction {
    fn is_like(&self, other: &Self) -> bool {
        let columns = self.columns.len() == other.columns.len()
            && self.columns.iter().zip(&other.columns).all(|(own, other)| own.is_like(other));
        columns
            && self.constants == other.constants
            && nameless(&self.expression) == nameless(&other.expression)
            && types(&self.schema).eq(types(&other.schema))
    }
}

/// An expression in which columns are known by their places alone: what a statement names twice has other names there.
fn nameless(expression: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
    let nameless = Arc::clone(expression).transform(|part| {
        let Some(column) = part.downcast_ref::<Column>() else { return Ok(Transformed::no(part)) };
        let nameless: Arc<dyn PhysicalExpr> = Arc::new(Column::new("", column.index()));
        Ok(Transformed::yes(nameless))
    });
    nameless.ok().map(|nameless| nameless.data)
}

fn types(schema: &Schema) -> impl Iterator<Item = (&DataType, bool)> {
    schema.fields().iter().map(|field| (field.data_type(), field.is_nullable()))
}

impl OutputColumn {
    fn is_like(&self, other: &Self) -> bool {
        let trace = |shown: &Self| (shown.trace.records.clone(), shown.trace.numbered);
        same_entries(&self.entries, &other.entries)
            && trace(self) == trace(other)
            && (&self.data_type, self.how) == (&other.data_type, other.how)
    }
}
