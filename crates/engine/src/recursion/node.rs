//! The logical node of a recursive query, which becomes a [`RecursionExec`].

use crate::recursion::exec::RecursionExec;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::DFSchemaRef;
use datafusion::common::internal_datafusion_err;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    Expr, Extension, LogicalPlan, RecursiveQuery, UserDefinedLogicalNode, UserDefinedLogicalNodeCore,
};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use std::fmt;
use std::sync::Arc;

/// A recursive query as DataFusion knows it, under a name by which it is planned otherwise.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd)]
struct Recursion {
    query: RecursiveQuery,
}

impl UserDefinedLogicalNodeCore for Recursion {
    fn name(&self) -> &str {
        "Recursion"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.query.static_term, &self.query.recursive_term]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.query.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recursion: {}, distinct={}", self.query.name, self.query.is_distinct)
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let mut query = self.query.clone();
        let [first, step] = <[LogicalPlan; 2]>::try_from(inputs)
            .map_err(|inputs| internal_datafusion_err!("a recursive query of {} parts", inputs.len()))?;
        (query.static_term, query.recursive_term) = (Arc::new(first), Arc::new(step));
        Ok(Self { query })
    }
}

/// Puts the node in the place of DataFusion's, behind all rules that know that one.
#[derive(Debug)]
pub(crate) struct Recursions;

impl OptimizerRule for Recursions {
    fn name(&self) -> &str {
        "recursions"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        None
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let mut any = false;
        plan.apply_with_subqueries(|node| {
            any |= matches!(node, LogicalPlan::RecursiveQuery(_));
            Ok(if any { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        // Most plans have none, and are not made anew.
        if !any {
            return Ok(Transformed::no(plan));
        }
        plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::RecursiveQuery(query) => {
                Ok(Transformed::yes(LogicalPlan::Extension(Extension { node: Arc::new(Recursion { query }) })))
            }
            other => Ok(Transformed::no(other)),
        })
    }
}

/// DataFusion's planner, which knows this node, too.
#[derive(Debug)]
pub(crate) struct OwnPlanner;

#[async_trait]
impl QueryPlanner for OwnPlanner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(PlanRecursion)]);
        planner.create_physical_plan(plan, session).await
    }
}

/// Plans the node.
#[derive(Debug)]
struct PlanRecursion;

#[async_trait]
impl ExtensionPlanner for PlanRecursion {
    async fn plan_extension(
        &self,
        _planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical: &[&LogicalPlan],
        physical: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        _context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(Recursion { query }) = node.as_any().downcast_ref() else { return Ok(None) };
        let [first, step] = physical else {
            return Err(internal_datafusion_err!("a recursive query of {} parts", physical.len()));
        };
        let schema = Arc::clone(query.schema.inner());
        let exec = RecursionExec::planned(
            &query.name,
            schema,
            Arc::clone(first),
            Arc::clone(step),
            query.is_distinct,
            session.config().target_partitions(),
        )?;
        Ok(Some(Arc::new(exec)))
    }
}
