//! Which plans are shared: those that several places read. Another one goes to where it is read.

use crate::shared::table::{SharedRows, shared_by};
use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use std::collections::HashMap;
use std::sync::Arc;

/// Whether a plan reads shared rows.
pub(crate) fn has_readers(plan: &LogicalPlan) -> Result<bool> {
    let mut any = false;
    plan.apply_with_subqueries(|node| {
        any |= matches!(node, LogicalPlan::TableScan(scan) if shared_by(scan).is_some());
        Ok(if any { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(any)
}

/// A plan in which rows are shared where several places read them.
pub(crate) fn settled(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut readers = HashMap::new();
    count(&plan, &mut readers)?;
    Settling { readers, settled: HashMap::new() }.plan(plan)
}

/// Counts the places that read shared rows, those within shared plans among them.
fn count(plan: &LogicalPlan, readers: &mut HashMap<u64, usize>) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Some(shared) = shared_by(scan)
        {
            let so_far = readers.entry(shared.number).or_default();
            *so_far += 1;
            if *so_far == 1 {
                count(&shared.plan, readers)?;
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

struct Settling {
    readers: HashMap<u64, usize>,
    settled: HashMap<u64, Arc<SharedRows>>,
}

impl Settling {
    fn plan(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let plan = plan.transform_up_with_subqueries(|node| {
            let LogicalPlan::TableScan(scan) = &node else { return Ok(Transformed::no(node)) };
            let Some(shared) = shared_by(scan) else { return Ok(Transformed::no(node)) };
            if self.readers.get(&shared.number) == Some(&1) && !shared.is_kept {
                let plan = self.plan(shared.plan.clone())?;
                let own = plan.schema().columns().into_iter().zip(node.schema().columns());
                let own = own.map(|(column, Column { relation, name, .. })| {
                    Expr::Column(column).alias_qualified(relation, name)
                });
                let own = own.collect();
                return Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(own, Arc::new(plan))?)));
            }
            let known = self.settled.get(&shared.number).cloned();
            let settled = match known {
                Some(settled) => settled,
                None => {
                    let plan = self.plan(shared.plan.clone())?;
                    let name = format!("shared_{}", self.settled.len() + 1);
                    let settled = Arc::new(shared.settled(name, plan));
                    self.settled.insert(shared.number, Arc::clone(&settled));
                    settled
                }
            };
            // Its columns keep their names, so that what is above finds them.
            let renamed = settled.scan(None)?;
            let renamed = LogicalPlan::TableScan(renamed);
            let own = renamed.schema().columns().into_iter().zip(node.schema().columns());
            let own =
                own.map(|(column, Column { relation, name, .. })| Expr::Column(column).alias_qualified(relation, name));
            let own = own.collect();
            Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(own, Arc::new(renamed))?)))
        })?;
        Ok(plan.data)
    }
}
