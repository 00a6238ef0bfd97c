//! Sorts over whatever is neither an aggregation nor a join: scans with their filters, unions, expressions of groups. Rows are
//! put in order by their integers, codes of dictionaries among them, and nothing else is carried: what is only handed
//! through is looked up by the records' numbers, of the rows that are given and in their order.
//!
//! Expressions that the order does not need are computed behind it, of the rows that are given.

use crate::compile::draft::{PipelineBuilder, QueryBuilder};
use crate::compile::groups::{OutputColumn, OutputSource};
use crate::compile::not_compiled::{Compiled, NotCompiled};
use crate::compile::translate::Typed;
use crate::compile::wanted::OutputOrder;
use crate::table::ScanExec;
use arrow::datatypes::Schema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::sorts::sort::SortExec;
use gingham_execution::Expression;
use gingham_storage::ColumnId;
use std::collections::BTreeSet;
use std::sync::Arc;

impl QueryBuilder {
    /// Ends the query in the rows below a sort. Gives what its columns and the sort's keys are of them, and the order.
    pub(super) fn sorted(&mut self, sort: &SortExec) -> Compiled<(Vec<OutputColumn>, OutputOrder)> {
        let input = sort.input();
        let schema = input.schema();
        self.late = handed_through(sort);
        let mut open = self.open(input)?;
        if let Some(why) = &self.foreign {
            return Err(why.clone());
        }
        let keys: Vec<_> = sort.expr().iter().map(|by| Arc::clone(&by.expr)).collect();
        self.evaluate(&mut open, &keys, &schema);
        let keys = open.scope.translate_all(&keys, &schema)?;
        let columns: Vec<_> = open.scope.columns().iter().cloned().chain(keys.into_iter().map(Some)).collect();
        open.scope.set_columns(columns);
        let shown = self.end_shown(open, &schema)?;
        let first = schema.fields().len();
        // Such strings are looked up before they are put in order: of all rows that is too much.
        let is_text = |key: &OutputColumn| key.trace.is_unordered();
        if shown.get(first).is_none_or(is_text) || (sort.fetch().is_none() && shown[first..].iter().any(is_text)) {
            return Err(NotCompiled::new("an order of strings that have no codes"));
        }
        let keys = sort.expr().iter().enumerate().map(|(number, by)| (first + number, by.options));
        let wanted = OutputOrder::ordered(&keys.collect::<Vec<_>>(), sort.expr().clone(), sort.fetch(), &shown);
        let wanted = wanted.ok_or_else(|| NotCompiled::new("an order of values that integers do not have"))?;
        Ok((shown, wanted))
    }
}

impl QueryBuilder {
    /// Ends the query in the rows of an open pipeline. Gives what its columns are of them.
    pub(super) fn end_shown(&mut self, open: PipelineBuilder, schema: &Schema) -> Compiled<Vec<OutputColumn>> {
        let (_, columns) = self.end_in_rows(open)?;
        let shown = columns.into_iter().enumerate().map(|(place, column)| {
            let Some(typed) = column else {
                let field = schema.fields().get(place);
                let unknown = || NotCompiled::new("pipelines do not carry a column");
                return Err(field.map_or_else(unknown, |field| NotCompiled::column(field.name(), field.data_type())));
            };
            let Typed { expression: Expression::Column(number), data_type, entries, trace } = typed else {
                return Err(NotCompiled::new("a column that is the same in all rows"));
            };
            Ok(OutputColumn { data_type, how: OutputSource::Column(number), entries, trace })
        });
        shown.collect()
    }
}

/// The columns of a scan whose values nobody looks at between it and a sort's output.
fn handed_through(sort: &SortExec) -> Vec<ColumnId> {
    let mut plan = sort.input();
    let mut used: BTreeSet<usize> = sort.expr().iter().flat_map(|by| numbers(&by.expr)).collect();
    loop {
        if let Some(scan) = plan.downcast_ref::<ScanExec>() {
            let used: Vec<ColumnId> = used.iter().filter_map(|number| scan.columns().get(*number)).copied().collect();
            return scan.columns().iter().filter(|column| !used.contains(column)).copied().collect();
        }
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let own = projection.expr().iter().enumerate();
            let looked_at = own.filter(|(number, column)| used.contains(number) || !column.expr.is::<Column>());
            used = looked_at.flat_map(|(_, column)| numbers(&column.expr)).collect();
        } else if let Some(filter) = plan.downcast_ref::<FilterExec>() {
            if let Some(projection) = filter.projection() {
                used = used.iter().filter_map(|number| projection.get(*number)).copied().collect();
            }
            used.extend(numbers(filter.predicate()));
        } else if !plan.is::<CoalescePartitionsExec>() && !plan.is::<CooperativeExec>() {
            return Vec::new();
        }
        let Some(input) = plan.children().into_iter().next() else { return Vec::new() };
        plan = input;
    }
}

pub(super) fn numbers(expression: &Arc<dyn PhysicalExpr>) -> Vec<usize> {
    collect_columns(expression).iter().map(Column::index).collect()
}

/// A sort of no more than its keys and the columns of what is below, and what is computed of its rows; `None` where nothing
/// can be computed later.
pub(super) fn split(sort: &SortExec) -> Result<Option<(SortExec, Vec<ProjectionExpr>)>> {
    let Some(projection) = sort.input().downcast_ref::<ProjectionExec>() else { return Ok(None) };
    let keys: BTreeSet<usize> = sort.expr().iter().flat_map(|by| numbers(&by.expr)).collect();
    let is_later = |number: usize, column: &ProjectionExpr| !keys.contains(&number) && !column.expr.is::<Column>();
    if !projection.expr().iter().enumerate().any(|(number, column)| is_later(number, column)) {
        return Ok(None);
    }
    let below = projection.input().schema();
    let mut kept: Vec<ProjectionExpr> = Vec::new();
    let mut place = |column: ProjectionExpr| {
        let known = kept.iter().position(|known| known.expr.eq(&column.expr));
        known.unwrap_or_else(|| {
            kept.push(column);
            kept.len() - 1
        })
    };
    let mut places = Vec::new();
    for (number, column) in projection.expr().iter().enumerate() {
        let needed = match is_later(number, column) {
            false => vec![(number, column.clone())],
            true => numbers(&column.expr)
                .into_iter()
                .map(|own| {
                    let name = below.field(own).name().clone();
                    (own, ProjectionExpr { expr: Arc::new(Column::new(&name, own)), alias: name })
                })
                .collect(),
        };
        places.push(needed.into_iter().map(|(own, column)| (own, place(column))).collect::<Vec<_>>());
    }
    let sorted = Arc::new(ProjectionExec::try_new(kept.clone(), Arc::clone(projection.input()))?);
    let schema = sorted.schema();
    let named = |place: usize| -> Arc<dyn PhysicalExpr> { Arc::new(Column::new(schema.field(place).name(), place)) };
    let renumbered = |expression: &Arc<dyn PhysicalExpr>, places: &[(usize, usize)]| {
        let places = places.to_vec();
        replaced(expression, &|number| places.iter().find(|(own, _)| *own == number).map(|(_, place)| named(*place)))
    };
    let all: Vec<(usize, usize)> = keys.iter().filter_map(|key| places.get(*key)?.first().copied()).collect();
    let by = sort.expr().iter();
    let by = by.map(|by| Ok(PhysicalSortExpr::new(renumbered(&by.expr, &all)?, by.options)));
    let Some(by) = LexOrdering::new(by.collect::<Result<Vec<_>>>()?) else { return Ok(None) };
    let later = projection.expr().iter().zip(&places).enumerate().map(|(number, (column, places))| {
        let expr = match (is_later(number, column), places.first()) {
            (false, Some((_, place))) => named(*place),
            _ => renumbered(&column.expr, places)?,
        };
        Ok(ProjectionExpr { expr, alias: column.alias.clone() })
    });
    let later = later.collect::<Result<Vec<_>>>()?;
    Ok(Some((SortExec::new(by, sorted).with_fetch(sort.fetch()), later)))
}

/// An expression with others in the place of its columns.
fn replaced(
    expression: &Arc<dyn PhysicalExpr>,
    with: &dyn Fn(usize) -> Option<Arc<dyn PhysicalExpr>>,
) -> Result<Arc<dyn PhysicalExpr>> {
    let replaced = Arc::clone(expression).transform(|part| {
        let other = part.downcast_ref::<Column>().and_then(|column| with(column.index()));
        Ok(other.map_or_else(|| Transformed::no(part), Transformed::yes))
    });
    Ok(replaced?.data)
}
