//! The plans of shared rows are optimised when those of their readers are, and it is known which columns they read.

use crate::settings::Settings;
use crate::shared::table::{SharedRows, shared_by};
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The rule, the last one.
#[derive(Debug)]
pub(crate) struct PlanShared {
    rules: Optimizer,
}

impl PlanShared {
    /// Optimises by `rules`.
    pub(crate) fn new(rules: Vec<Arc<dyn OptimizerRule + Send + Sync>>) -> Self {
        Self { rules: Optimizer::with_rules(rules) }
    }
}

/// Shared rows that are still to be planned, by their numbers, and the columns that are read of them.
type WantedShared = BTreeMap<u64, (Arc<SharedRows>, BTreeSet<usize>)>;

impl OptimizerRule for PlanShared {
    fn name(&self) -> &str {
        "plan_shared"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        None
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let mut wanted = WantedShared::new();
        note(&plan, &mut wanted)?;
        if wanted.is_empty() {
            return Ok(Transformed::no(plan));
        }
        // One reads those that were made before it.
        let mut optimised: Vec<(Arc<SharedRows>, Vec<usize>, LogicalPlan)> = Vec::new();
        while let Some((_, (shared, columns))) = wanted.pop_last() {
            let columns: Vec<usize> = columns.into_iter().collect();
            let all = shared.plan.schema().columns();
            let read = columns.iter().map(|column| Expr::Column(all[*column].clone())).collect();
            let plan = LogicalPlan::Projection(Projection::try_new(read, Arc::new(shared.plan.clone()))?);
            let plan = self.rules.optimize(plan, config, |_, _| {})?;
            note(&plan, &mut wanted)?;
            optimised.push((shared, columns, plan));
        }
        let mut planned: HashMap<u64, Arc<SharedRows>> = HashMap::new();
        for (shared, columns, plan) in optimised.into_iter().rev() {
            let plan = with_planned(plan, &planned)?;
            if let Some(notes) = Settings::of(&config.options()).notes {
                notes.shared(&shared.name, &plan.display_indent().to_string());
            }
            planned.insert(shared.number, Arc::new(shared.planned(columns, plan)));
        }
        Ok(Transformed::yes(with_planned(plan, &planned)?))
    }
}

/// Adds what a plan reads of shared rows.
fn note(plan: &LogicalPlan, wanted: &mut WantedShared) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Some(shared) = shared_by(scan)
            && shared.read.is_none()
        {
            let all = || (0..shared.plan.schema().fields().len()).collect();
            let read = scan.projection.clone().unwrap_or_else(all);
            let own = wanted.entry(shared.number).or_insert_with(|| (Arc::clone(&shared), BTreeSet::new()));
            own.1.extend(read);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// A plan that reads shared rows by plans that are optimised.
fn with_planned(plan: LogicalPlan, planned: &HashMap<u64, Arc<SharedRows>>) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::TableScan(scan) = &node else { return Ok(Transformed::no(node)) };
        let own = shared_by(scan).filter(|shared| shared.read.is_none());
        let Some(own) = own.and_then(|shared| planned.get(&shared.number)) else { return Ok(Transformed::no(node)) };
        let mut again = own.scan(scan.projection.clone())?;
        again.fetch = scan.fetch;
        Ok(Transformed::yes(LogicalPlan::TableScan(again)))
    })?;
    Ok(plan.data)
}
