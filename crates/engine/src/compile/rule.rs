//! The rule that puts a [`CompiledExec`] in the place of each aggregation and join that compiled pipelines can do whole, of
//! the sorts, filters and limits above it, and of sorts and filters of what is neither.
//!
//! It runs before DataFusion distributes a plan over threads: what is taken here needs no exchanges below it, and those
//! above are added for what is left.

use crate::compile::exec::CompiledExec;
use crate::compile::joined::Joined;
use crate::compile::not_compiled::NotCompiled;
use crate::compile::sorted::split;
use crate::compile::subtree::Subtree;
use crate::settings::{Execution, Settings};
use crate::table::ScanExec;
use datafusion::common::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::output_requirements::OutputRequirementExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::scalar_subquery::ScalarSubqueryExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::union::UnionExec;
use gingham_execution::{Mode, Pool};
use std::sync::Arc;

/// Replaces aggregations and joins over scans.
#[derive(Debug)]
pub(crate) struct CompilePipelines {
    pool: Arc<Pool>,
    /// The rules that come after this one.
    rest: Arc<[Arc<dyn PhysicalOptimizerRule + Send + Sync>]>,
}

impl CompilePipelines {
    /// Pipelines run on the threads of `pool`. `rest` are the rules that make a runnable plan of what this one is given.
    pub(crate) fn new(pool: Arc<Pool>, rest: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>) -> Self {
        Self { pool, rest: rest.into() }
    }

    /// What stands in the place of a sort whose input is no part of a query yet, when pipelines can do both.
    fn sorted(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        settings: &Settings,
        mode: Mode,
        above: Option<&NotCompiled>,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(sort) = plan.downcast_ref::<SortExec>().filter(|sort| !sort.preserve_partitioning()) else {
            return Ok(None);
        };
        let (sort, later) = match split(sort)? {
            Some((sort, later)) => (Arc::new(sort) as Arc<dyn ExecutionPlan>, Some(later)),
            None => (Arc::clone(plan), None),
        };
        let subtree = match Subtree::of(&sort, mode, settings) {
            Ok(subtree) => subtree,
            Err(why) => {
                note(plan, &why, above, settings);
                return Ok(None);
            }
        };
        let (pool, rest) = (Arc::clone(&self.pool), Arc::clone(&self.rest));
        let compiled: Arc<dyn ExecutionPlan> = Arc::new(CompiledExec::new(subtree, settings, pool, rest));
        Ok(Some(match later {
            Some(later) => Arc::new(ProjectionExec::try_new(later, compiled)?),
            None => compiled,
        }))
    }

    /// The plan with what is taken replaced. `above` says why the operator that it is a part of is not taken, where that was tried.
    fn take(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        settings: &Settings,
        mode: Mode,
        limited: Limited,
        above: Option<&NotCompiled>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // The first of two phases is part of the second.
        let is_whole = |aggregate: &AggregateExec| *aggregate.mode() != AggregateMode::Partial;
        let candidate = plan.downcast_ref::<AggregateExec>().is_some_and(is_whole)
            || (Joined::of(&plan).is_some() && limited != Limited::Above)
            || plan.downcast_ref::<FilterExec>().is_some_and(|filter| is_filter_of_ours(filter, limited));
        let refused = match candidate.then(|| Subtree::of(&plan, mode, settings)) {
            Some(Ok(mut subtree)) => {
                for given in &mut subtree.given {
                    given.plan = self.take(Arc::clone(&given.plan), settings, mode, Limited::Plain, None)?;
                }
                let (pool, rest) = (Arc::clone(&self.pool), Arc::clone(&self.rest));
                return Ok(Arc::new(CompiledExec::new(subtree, settings, pool, rest)));
            }
            Some(Err(why)) => Some(why),
            None => never_taken(&plan),
        };
        if let Some(why) = &refused {
            note(&plan, why, above, settings);
        }
        let above = refused.as_ref().or(above);
        let limited = limited.below(&plan);
        let children =
            plan.children().into_iter().map(|child| self.take(Arc::clone(child), settings, mode, limited, above));
        let mut children = children.collect::<Result<Vec<_>>>()?;
        if let [child] = children.as_mut_slice() {
            if let Some(instead) = absorbed(&plan, child) {
                return Ok(instead);
            }
            if let Some(instead) = self.sorted(&plan, settings, mode, above)? {
                return Ok(instead);
            }
            if let Some(top) = plan.downcast_ref::<SortExec>().and_then(|sort| first_of(sort, child)) {
                *child = top;
            }
        }
        let same = plan.children().into_iter().zip(&children).all(|(before, after)| Arc::ptr_eq(before, after));
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        if same { Ok(plan) } else { plan.replace_children(children, options) }
    }
}

/// Operators that no pipeline has, and that are not looked at as parts of others.
const NEVER_TAKEN: [&str; 4] = ["WindowAggExec", "BoundedWindowAggExec", "RecursionExec", "UnnestExec"];

/// Why an operator is left that pipelines never take.
fn never_taken(plan: &Arc<dyn ExecutionPlan>) -> Option<NotCompiled> {
    NEVER_TAKEN.contains(&plan.name()).then(|| NotCompiled::new(format!("pipelines have no {}", plan.name())))
}

/// Notes why an operator is left to DataFusion. Where the operator that it is a part of was left for the same reason, the reason is
/// this one's.
fn note(plan: &Arc<dyn ExecutionPlan>, why: &NotCompiled, above: Option<&NotCompiled>, settings: &Settings) {
    let is_cause = above == Some(why);
    settings.fallbacks.add(plan, why, is_cause);
    settings.notes.iter().for_each(|notes| notes.left(plan, why, is_cause));
}

/// Whether all rows of an operator are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limited {
    /// They are, and nothing above tells scans which are of no use.
    Plain,
    No,
    /// So many, for certain: pipelines end when they have them.
    Next,
    /// Perhaps not: a join of DataFusion's gives its rows as they come, a pipeline at its end.
    Above,
}

impl Limited {
    /// The limit for the inputs of `plan`, of which so many are wanted.
    fn below(self, plan: &Arc<dyn ExecutionPlan>) -> Self {
        if plan.is::<AggregateExec>() || plan.is::<SortExec>() {
            return Self::No;
        }
        let limits = plan.is::<GlobalLimitExec>() || plan.is::<LocalLimitExec>();
        let plain = plan.is::<ProjectionExec>()
            || plan.is::<OutputRequirementExec>()
            || plan.is::<UnionExec>()
            || plan.is::<ScalarSubqueryExec>();
        match self {
            Self::Plain if plain => Self::Plain,
            Self::Plain | Self::No | Self::Next if limits => Self::Next,
            Self::Next if plan.is::<ProjectionExec>() || plan.is::<OutputRequirementExec>() => Self::Next,
            Self::Plain | Self::No if plan.fetch().is_none() => Self::No,
            _ => Self::Above,
        }
    }
}

/// Whether a filter may be part of pipelines: over a scan that it is not part of, when nobody tells that what it need not
/// give; over groups (HAVING) and joins when they may.
fn is_filter_of_ours(filter: &FilterExec, limited: Limited) -> bool {
    let mut input = filter.input();
    if input.is::<ScanExec>() {
        return limited == Limited::Plain;
    }
    while let Some(projection) = input.downcast_ref::<ProjectionExec>() {
        input = projection.input();
    }
    limited != Limited::Above && (input.is::<AggregateExec>() || Joined::of(input).is_some())
}

/// What stands in the place of a sort or limit over `input`, when pipelines can do it.
fn absorbed(plan: &Arc<dyn ExecutionPlan>, input: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    if let Some(limit) = plan.downcast_ref::<GlobalLimitExec>() {
        return changed(input, &[], &|compiled, _| Some(compiled.limited(limit.skip(), limit.fetch())));
    }
    if let Some(limit) = plan.downcast_ref::<LocalLimitExec>() {
        return changed(input, &[], &|compiled, _| Some(compiled.limited(0, Some(limit.fetch()))));
    }
    let sort = plan.downcast_ref::<SortExec>().filter(|sort| !sort.preserve_partitioning())?;
    let columns = sort.expr().iter().map(|by| Some(by.expr.downcast_ref::<Column>()?.index()));
    changed(input, &columns.collect::<Option<Vec<_>>>()?, &|compiled, columns| {
        let options = sort.expr().iter().map(|by| by.options);
        compiled.sorted(&columns.iter().copied().zip(options).collect::<Vec<_>>(), sort.fetch())
    })
}

/// The input of a sort that gives its first rows, if pipelines can leave out others.
fn first_of(sort: &SortExec, input: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let (rows, first) = (sort.fetch()?, sort.expr().first());
    let column = first.expr.downcast_ref::<Column>()?.index();
    changed(input, &[column], &|compiled, columns| compiled.with_top(columns[0], first.options, rows))
}

/// The plan with the pipelines below, next but for projections, changed; `change` is given what the columns are there.
fn changed(
    plan: &Arc<dyn ExecutionPlan>,
    columns: &[usize],
    change: &dyn Fn(&CompiledExec, &[usize]) -> Option<CompiledExec>,
) -> Option<Arc<dyn ExecutionPlan>> {
    if let Some(compiled) = plan.downcast_ref::<CompiledExec>() {
        if compiled.gives_by_morsel() {
            return None;
        }
        return Some(Arc::new(change(compiled, columns)?));
    }
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    // It only remembers the order that the query asked for.
    if plan.is::<OutputRequirementExec>() {
        let input = changed(plan.children().first()?, columns, change)?;
        return Arc::clone(plan).replace_children(vec![input], options).ok();
    }
    let projection = plan.downcast_ref::<ProjectionExec>()?;
    let below =
        columns.iter().map(|column| Some(projection.expr().get(*column)?.expr.downcast_ref::<Column>()?.index()));
    let input = changed(projection.input(), &below.collect::<Option<Vec<_>>>()?, change)?;
    Arc::clone(plan).replace_children(vec![input], options).ok()
}

impl PhysicalOptimizerRule for CompilePipelines {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let settings = Settings::of(config);
        let Execution::Compiled(mode) = settings.execution else { return Ok(plan) };
        self.take(plan, &settings, mode, Limited::Plain, None)
    }

    fn name(&self) -> &str {
        "compile_pipelines"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
