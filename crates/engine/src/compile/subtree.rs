//! A part of a physical plan that pipelines can do.

use crate::compile::draft::{QueryBuilder, Scanned};
use crate::compile::functions::CompiledFunction;
use crate::compile::given::ExternalInput;
use crate::compile::groups::{Grouped, OutputColumn};
use crate::compile::joined::Joined;
use crate::compile::not_compiled::{Compiled, NotCompiled};
use crate::compile::wanted::OutputOrder;
use crate::settings::Settings;
use crate::table::ScanExec;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use gingham_execution::{Mode, Prepared, Query};
use std::sync::Arc;

/// Rows that a join without an equality may give to nobody but the client.
const MANY_PAIRS: u64 = 1 << 22;

/// What was found.
#[derive(Debug)]
pub(super) struct Subtree {
    /// All of its rows by DataFusion's operators, not yet shared out over threads.
    pub(super) fallback: Arc<dyn ExecutionPlan>,
    pub(super) query: Prepared,
    pub(super) scans: Vec<Scanned>,
    /// What gives it rows that are no scan's.
    pub(super) given: Vec<ExternalInput>,
    /// What DataFusion computes for the pipelines.
    pub(super) functions: Vec<CompiledFunction>,
    /// What is known when the query runs.
    pub(super) parameters: Vec<Arc<dyn PhysicalExpr>>,
    /// How each column of the result is made of the query's rows, and behind them what these are ordered by.
    pub(super) outputs: Vec<OutputColumn>,
    /// Outputs that tell groups apart by their records: where two of these have the same string, two groups are one.
    pub(super) needs_uniqueness_check: Vec<usize>,
    /// Which rows, and in which order.
    pub(super) wanted: OutputOrder,
    /// Rows are given as they come, morsel by morsel.
    pub(super) by_morsel: bool,
}

impl Subtree {
    /// The subtree that ends in `plan`, an aggregation, a join, a sort or a filter.
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>, mode: Mode, settings: &Settings) -> Compiled<Self> {
        let fixed = settings.lab_stages.clone().unwrap_or_default();
        let own_predicates = mode == Mode::Fused || !fixed.is_empty();
        let mut draft = QueryBuilder { own_predicates, ..QueryBuilder::default() };
        let (mut fallback, mut wanted, mut by_morsel) = (Arc::clone(plan), OutputOrder::default(), false);
        let (outputs, needs_uniqueness_check) = if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
            match draft.first_phase(aggregate)? {
                (first, false) => {
                    let Grouped { columns, needs_uniqueness_check, .. } = draft.aggregate(first, true)?;
                    (columns, needs_uniqueness_check)
                }
                (first, true) => {
                    let open = draft.grouping_sets(first)?;
                    (draft.end_shown(open, &plan.schema())?, Vec::new())
                }
            }
        } else if let Some(join) = Joined::of(plan) {
            let open = draft.open(plan)?;
            // As many rows as this come better one after the other than all at the end.
            if join.on.is_empty() && open.most > MANY_PAIRS {
                return Err(NotCompiled::new("a product of so many rows is given as they come"));
            }
            (draft.end_shown(open, &plan.schema())?, Vec::new())
        } else if let Some(filter) = plan.downcast_ref::<FilterExec>() {
            by_morsel = filter.input().is::<ScanExec>();
            (draft.filtered(plan, filter)?, Vec::new())
        } else {
            let sort = plan.downcast_ref::<SortExec>();
            let sort = sort.ok_or_else(|| NotCompiled::new(format!("pipelines have no {}", plan.name())))?;
            let (outputs, order) = draft.sorted(sort)?;
            (fallback, wanted) = (Arc::clone(sort.input()), order);
            (outputs, Vec::new())
        };
        // Rows that only come and go are nobody's gain.
        if let (Some(why), true) = (&draft.foreign, draft.scans.is_empty()) {
            return Err(why.clone());
        }
        draft.unite_alike();
        let given: Vec<_> = draft.given.iter().map(|given| (given.facts.clone(), given.rows())).collect();
        let source = |scan: &Scanned| Ok((scan.facts.clone(), scan.table()?.rows()));
        let sources = draft.scans.iter().map(source).collect::<crate::Result<Vec<_>>>();
        let sources = sources.map_err(|error| NotCompiled::new(error.to_string()))?;
        let query = Query { pipelines: draft.pipelines };
        let query = match Prepared::new(query, mode, settings.caches(), &sources, &given) {
            Ok(query) => query.with_stages(fixed).telling(settings.show_code),
            Err(error) => return Err(NotCompiled::new(error.to_string())),
        };
        let (scans, parameters) = (draft.scans, draft.parameters.expressions());
        let (functions, given) = (draft.functions, draft.given);
        Ok(Self {
            fallback,
            query,
            scans,
            given,
            functions,
            parameters,
            outputs,
            needs_uniqueness_check,
            wanted,
            by_morsel,
        })
    }
}
