//! Pipelines in the making: what each operator of a physical plan adds to the pipeline that its rows are in, and where one
//! pipeline ends and the next begins.

use crate::compile::functions::CompiledFunction;
use crate::compile::given::ExternalInput;
use crate::compile::joined::Joined;
use crate::compile::not_compiled::{Compiled, NotCompiled};
use crate::compile::predicate::TableRead;
use crate::compile::translate::{ColumnScope, Parameters, RecordColumn, Trace, Typed};
use crate::table::ScanExec;
use crate::{Error, Result};
use arrow::datatypes::Schema;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::split_conjunction;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use gingham_execution::{Computed, Expression, Field, Hint, Limits, Pipeline, Sink, Source, Step};
use gingham_storage::model::ColumnSummary;
use gingham_storage::scan::integer_bounds;
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::{ColumnDefinition, ColumnId, ValueClass};
use std::sync::Arc;

/// A query in the making.
#[derive(Debug, Default)]
pub(super) struct QueryBuilder {
    pub(super) pipelines: Vec<Pipeline>,
    /// For each pipeline, what is known of the columns that it leaves: where the integers lie and what is NULL, as far as that is
    /// known now.
    pub(super) left: Vec<Vec<(Limits, bool)>>,
    /// Rows that each leaves at most.
    pub(super) rows: Vec<u64>,
    pub(super) scans: Vec<Scanned>,
    /// Rows that DataFusion's operators give.
    pub(super) given: Vec<ExternalInput>,
    /// What DataFusion computes.
    pub(super) functions: Vec<CompiledFunction>,
    /// Why rows are given that are, where some are.
    pub(super) foreign: Option<NotCompiled>,
    pub(super) parameters: Parameters,
    /// Columns of the scan whose values nobody looks at but the client: records' numbers stand for them.
    pub(super) late: Vec<ColumnId>,
    /// Pipelines may evaluate their scans' predicates.
    pub(super) own_predicates: bool,
}

/// A scan that the query reads.
#[derive(Debug, Clone)]
pub(super) struct Scanned {
    /// A [`ScanExec`].
    pub(super) plan: Arc<dyn ExecutionPlan>,
    pub(super) facts: Vec<(Limits, bool)>,
    /// The columns that are read as integers.
    pub(super) columns: Vec<ColumnId>,
    /// The predicate over them, where a pipeline may evaluate it.
    pub(super) predicate: Option<Expression>,
    /// Behind these columns are the records' numbers, each but for those in which a column is NULL.
    pub(super) numbers: Vec<Option<ColumnId>>,
}

/// A pipeline that has no end yet.
#[derive(Debug, Clone)]
pub(super) struct PipelineBuilder {
    pub(super) source: Source,
    /// Columns that the source has by itself, and what is computed of them.
    pub(super) source_columns: usize,
    pub(super) computed: Vec<Computed>,
    pub(super) fields: Vec<Field>,
    pub(super) steps: Vec<Step>,
    /// What the rows' columns are over the fields.
    pub(super) scope: ColumnScope,
    /// Inputs so far: the source and a probe's each.
    pub(super) inputs: usize,
    /// Records at most: a join may give one more than once.
    pub(super) most: u64,
    pub(super) hints: Vec<Hint>,
}

impl PipelineBuilder {
    /// The records of a source, with nothing done to them. The scope's facts are those of its columns.
    pub(super) fn new(source: Source, scope: ColumnScope) -> Self {
        let source_columns = scope.facts().len();
        let fields = (0..source_columns).map(|column| Field { input: 0, column }).collect();
        let (most, computed) = (scope.rows(), Vec::new());
        Self { source, source_columns, computed, fields, steps: Vec::new(), scope, inputs: 1, most, hints: Vec::new() }
    }

    /// Some of the columns.
    pub(super) fn project(&mut self, projection: &[usize]) {
        let columns = projection.iter().map(|column| self.scope.column(*column)).collect();
        self.scope.set_columns(columns);
    }
}

impl QueryBuilder {
    /// The rows of `plan`, which DataFusion's operators give where pipelines can't.
    pub(super) fn open(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Compiled<PipelineBuilder> {
        self.attempt(|draft| draft.own(plan)).or_else(|why| self.given(plan, why))
    }

    /// What is added to the query, or nothing at all.
    pub(super) fn attempt(
        &mut self,
        add: impl FnOnce(&mut Self) -> Compiled<PipelineBuilder>,
    ) -> Compiled<PipelineBuilder> {
        let before = [self.pipelines.len(), self.scans.len(), self.functions.len(), self.given.len()];
        let open = add(self);
        if open.is_err() {
            let [pipelines, scans, functions, given] = before;
            self.pipelines.truncate(pipelines);
            self.left.truncate(pipelines);
            self.rows.truncate(pipelines);
            self.scans.truncate(scans);
            self.functions.truncate(functions);
            self.given.truncate(given);
        }
        open
    }

    /// The rows of `plan`, by pipelines.
    fn own(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Compiled<PipelineBuilder> {
        if let Some(scan) = plan.downcast_ref::<ScanExec>() {
            return match scan.is_plain() {
                true => Ok(self.scan(scan, plan)),
                false => Err(NotCompiled::new("a scan that ends early")),
            };
        }
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let open = self.open(projection.input())?;
            return Ok(self.projected(projection, open));
        }
        if let Some(filter) = plan.downcast_ref::<FilterExec>() {
            if filter.fetch().is_some() {
                return Err(NotCompiled::new("a filter that ends early"));
            }
            let open = self.open(filter.input())?;
            return self.filtered_by(filter, open);
        }
        if let Some(join) = Joined::of(plan) {
            return self.join(&join);
        }
        if let Some(union) = plan.downcast_ref::<UnionExec>() {
            let inputs = union.inputs().iter().map(|input| self.open(input)).collect::<Compiled<Vec<_>>>()?;
            return self.unite(inputs);
        }
        if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
            return self.groups(aggregate);
        }
        // An order in the middle of a plan is nobody's wish: what takes these rows gives them in its own.
        if let Some(sort) = plan.downcast_ref::<SortExec>() {
            return match sort.fetch() {
                None => self.open(sort.input()),
                Some(_) => Err(NotCompiled::new("first rows in the middle of a plan")),
            };
        }
        if let Some(gathered) = plan.downcast_ref::<CoalescePartitionsExec>() {
            return match gathered.fetch() {
                None => self.open(gathered.input()),
                Some(_) => Err(NotCompiled::new("first rows in the middle of a plan")),
            };
        }
        match plan.downcast_ref::<CooperativeExec>() {
            Some(cooperative) => self.open(cooperative.input()),
            None => Err(NotCompiled::new(format!("pipelines have no {}", plan.name()))),
        }
    }

    /// The rows of a projection of these.
    pub(super) fn projected(&mut self, projection: &ProjectionExec, mut open: PipelineBuilder) -> PipelineBuilder {
        let schema = projection.input().schema();
        self.evaluate(&mut open, projection.expr().iter().map(|column| &column.expr), &schema);
        let columns = projection.expr().iter().map(|column| open.scope.translate(&column.expr, &schema).ok()).collect();
        open.scope.set_columns(columns);
        open
    }

    /// The rows of a filter of these.
    pub(super) fn filtered_by(&mut self, filter: &FilterExec, mut open: PipelineBuilder) -> Compiled<PipelineBuilder> {
        self.filter(&mut open, filter.predicate(), &filter.input().schema())?;
        if let Some(projection) = filter.projection() {
            open.project(projection);
        }
        Ok(open)
    }

    /// Records for which a condition is not true go no further.
    pub(super) fn filter(
        &mut self,
        open: &mut PipelineBuilder,
        condition: &Arc<dyn PhysicalExpr>,
        schema: &Schema,
    ) -> Compiled<()> {
        let mut parts = vec![condition];
        if open.scope.translate(condition, schema).is_err() {
            // What pipelines can look at comes first: less is left for others to look at.
            let taken: Vec<_>;
            (taken, parts) =
                split_conjunction(condition).into_iter().partition(|part| open.scope.translate(part, schema).is_ok());
            for part in taken {
                let part = open.scope.truth(part, schema)?;
                self.keep(open, part);
            }
            self.evaluate(open, parts.iter().copied(), schema);
        }
        for part in parts {
            let part = open.scope.truth(part, schema)?;
            self.keep(open, part);
        }
        Ok(())
    }

    fn keep(&mut self, open: &mut PipelineBuilder, condition: Expression) {
        match self.having(open) {
            Some(having) => *having = Some(Expression::and(having.take(), condition)),
            None => open.steps.push(Step::Filter(condition)),
        }
    }

    /// The condition under which groups are rows at all, when nothing has happened to them yet.
    fn having(&mut self, open: &PipelineBuilder) -> Option<&mut Option<Expression>> {
        let Source::Rows(groups) = open.source else { return None };
        match &mut self.pipelines.get_mut(groups)?.sink {
            Sink::Aggregate { having, .. } if open.steps.is_empty() && open.computed.is_empty() => Some(having),
            _ => None,
        }
    }

    fn scan(&mut self, scan: &ScanExec, plan: &Arc<dyn ExecutionPlan>) -> PipelineBuilder {
        let number = self.scans.len();
        let table = scan.table();
        let mut read = TableRead { table, ids: Vec::new(), facts: Vec::new() };
        let mut columns = Vec::new();
        for id in scan.columns() {
            let known = table.definition.column_by_id(*id).zip(integer_bounds(table, *id));
            let known = known.filter(|_| !self.late.contains(id));
            columns.push(known.map(|(column, (min, max))| {
                read.facts.push((Limits::new(min, max), has_nulls(table, column)));
                read.ids.push(*id);
                let determines = if is_unique(table, *id) { vec![number] } else { Vec::new() };
                let trace = Trace { origin: Some(number), determines, ..Trace::default() };
                let expression = Expression::Column(read.ids.len() - 1);
                Typed::of_column(table, column, expression, trace)
            }));
        }
        let predicate = if self.own_predicates { read.predicate(scan.predicate()) } else { None };
        let TableRead { ids, mut facts, .. } = read;
        // Strings that have no codes are carried as the numbers of their records.
        let (mut numbers, all) = (Vec::new(), Limits::new(0, table.numbers().saturating_sub(1) as i64));
        for (column, id) in columns.iter_mut().zip(scan.columns()) {
            let Some(definition) = table.definition.column_by_id(*id).filter(|_| column.is_none()) else { continue };
            let is_late = self.late.contains(id);
            if !is_late && definition.logical_type.class() != ValueClass::Bytes {
                continue;
            }
            let has_nulls = !is_late && has_nulls(table, definition);
            let of = has_nulls.then_some(*id);
            let place = numbers.iter().position(|known| *known == of).unwrap_or_else(|| {
                numbers.push(of);
                facts.push((all, has_nulls));
                numbers.len() - 1
            });
            let records = Some(RecordColumn { table: Arc::clone(table), column: *id });
            // Many records may have NULL.
            let determines = if has_nulls { Vec::new() } else { vec![number] };
            let trace = Trace { origin: Some(number), determines, records, numbered: false };
            let expression = Expression::Column(ids.len() + place);
            *column = Some(Typed { expression, data_type: definition.logical_type.to_arrow(), entries: None, trace });
        }
        let scope = ColumnScope::new(facts.clone(), columns, table.rows(), &self.parameters);
        self.scans.push(Scanned { plan: Arc::clone(plan), facts, columns: ids, predicate, numbers });
        PipelineBuilder::new(Source::Scan(number), scope)
    }

    /// Ends a pipeline in rows of all its columns that can be carried on. Gives its number and, by column, what it is
    /// over the columns of the rows.
    pub(super) fn end_in_rows(&mut self, open: PipelineBuilder) -> Compiled<(usize, Vec<Option<Typed>>)> {
        let PipelineBuilder { source, computed, fields, steps, scope, most, hints, .. } = open;
        let mut kept: Vec<Expression> = Vec::new();
        let mut place = |typed: Typed| {
            if matches!(typed.expression, Expression::Constant(_)) {
                return typed;
            }
            let known = kept.iter().position(|expression| *expression == typed.expression);
            let column = known.unwrap_or_else(|| {
                kept.push(typed.expression.clone());
                kept.len() - 1
            });
            Typed { expression: Expression::Column(column), ..typed }
        };
        let columns = scope.columns().iter().map(|column| column.clone().map(&mut place)).collect();
        // Nothing happens on the way: the rows are there already.
        if let (Source::Rows(rows), true) = (source, steps.is_empty() && computed.is_empty()) {
            let own = kept.iter().map(|column| match column {
                Expression::Column(column) => fields.get(*column).map(|field| Expression::Column(field.column)),
                _ => None,
            });
            if let Some(own) = own.collect::<Option<Vec<_>>>()
                && self.pipelines[rows].keys().is_none()
            {
                let columns: Vec<Option<Typed>> = columns;
                let renamed = columns.into_iter().map(|column| {
                    column.map(|typed| match typed.expression {
                        Expression::Column(column) => Typed { expression: own[column].clone(), ..typed },
                        _ => typed,
                    })
                });
                return Ok((rows, renamed.collect()));
            }
        }
        let facts = kept.iter().map(|expression| expression.facts(scope.facts()));
        let facts = facts.collect::<Result<Vec<_>, _>>().map_err(|_| NotCompiled::too_wide())?;
        let sink = Sink::Rows { columns: kept, keys: None };
        self.pipelines.push(Pipeline { source, computed, fields, steps, sink, hints, behind: None });
        self.left.push(facts);
        self.rows.push(most);
        Ok((self.pipelines.len() - 1, columns))
    }

    /// Records of the largest table that is read.
    pub(super) fn largest_table(&self) -> Option<u64> {
        self.scans.iter().filter_map(|scan| Some(scan.table().ok()?.rows())).max()
    }

    /// A pipeline over the rows that another left, of which these are the columns.
    pub(super) fn over(&self, source: Source, rows: usize, columns: Vec<Option<Typed>>) -> PipelineBuilder {
        let scope = ColumnScope::new(self.left[rows].clone(), columns, self.rows[rows], &self.parameters);
        PipelineBuilder::new(source, scope)
    }
}

/// Whether records may have NULL in a column.
pub(super) fn has_nulls(table: &TableSnapshot, column: &ColumnDefinition) -> bool {
    column.nullable && table.summary(column.id).is_none_or(|summary| summary.nulls > 0)
}

/// True when no two records have the same value of a column, and none is NULL.
fn is_unique(table: &TableSnapshot, column: ColumnId) -> bool {
    let not_null = table.definition.column_by_id(column).is_some_and(|column| !column.nullable);
    let declared = table.definition.keys.iter().any(|key| key.columns == [column]);
    let counted =
        |summary: ColumnSummary| summary.nulls == 0 && summary.distinct_exact && summary.distinct == table.rows();
    (declared && not_null) || table.summary(column).is_some_and(counted)
}

impl Scanned {
    /// Its operator.
    pub(super) fn exec(&self) -> Result<&ScanExec> {
        let scan = self.plan.downcast_ref::<ScanExec>();
        scan.ok_or_else(|| Error::Internal(format!("a pipeline reads a {}", self.plan.name())))
    }

    /// Partitions of its operator.
    pub(super) fn partitions(&self) -> usize {
        self.plan.output_partitioning().partition_count()
    }

    /// The table that it reads.
    pub(super) fn table(&self) -> Result<&Arc<TableSnapshot>> {
        Ok(self.exec()?.table())
    }
}
