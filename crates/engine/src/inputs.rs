//! The methods that operators of ours have alike: of those that read no other operator, and of those that read one.

use arrow::datatypes::SchemaRef;
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::{Partitioning, PlanProperties};
use std::sync::Arc;

/// The methods of an `ExecutionPlan` that reads no other one.
macro_rules! reads_nothing {
    () => {
        fn children(&self) -> Vec<&std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>> {
            Vec::new()
        }

        $crate::inputs::without_expressions!();

        fn replace_children(
            self: std::sync::Arc<Self>,
            children: Vec<std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>>,
            _: ::datafusion::physical_plan::execution_plan::ReplaceChildrenOptions,
        ) -> ::datafusion::error::Result<std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>> {
            if !children.is_empty() {
                return ::datafusion::common::internal_err!("{} reads no other operator", self.name());
            }
            Ok(self)
        }
    };
}

/// The methods of an `ExecutionPlan` whose field `$input` is the one that it reads. `$make` makes one of itself and of another input.
macro_rules! reads_one {
    ($input:tt, $make:expr) => {
        fn children(&self) -> Vec<&std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>> {
            vec![&self.$input]
        }

        $crate::inputs::without_expressions!();

        fn replace_children(
            self: std::sync::Arc<Self>,
            mut children: Vec<std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>>,
            _: ::datafusion::physical_plan::execution_plan::ReplaceChildrenOptions,
        ) -> ::datafusion::error::Result<std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>> {
            let make: fn(&Self, std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>) -> Self = $make;
            match (children.pop(), children.is_empty()) {
                (Some(input), true) => Ok(std::sync::Arc::new(make(&self, input))),
                _ => ::datafusion::common::internal_err!("{} reads one operator", self.name()),
            }
        }
    };
}

/// The methods of an `ExecutionPlan` that evaluates no expressions and knows nothing of its inputs' properties.
macro_rules! without_expressions {
    () => {
        fn apply_expressions(
            &self,
            _: &mut dyn FnMut(
                &std::sync::Arc<dyn ::datafusion::physical_expr::PhysicalExpr>,
            ) -> ::datafusion::error::Result<::datafusion::common::tree_node::TreeNodeRecursion>,
        ) -> ::datafusion::error::Result<::datafusion::common::tree_node::TreeNodeRecursion> {
            Ok(::datafusion::common::tree_node::TreeNodeRecursion::Continue)
        }

        fn with_new_children(
            self: std::sync::Arc<Self>,
            children: Vec<std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>>,
        ) -> ::datafusion::error::Result<std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>> {
            use ::datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
            self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
        }
    };
}

pub(crate) use {reads_nothing, reads_one, without_expressions};

/// The properties of an operator that reads no other one, and whose tasks each give some of its rows as they come.
pub(crate) fn rows_of_tasks(schema: &SchemaRef, tasks: usize) -> Arc<PlanProperties> {
    let properties = PlanProperties::new(
        EquivalenceProperties::new(Arc::clone(schema)),
        Partitioning::UnknownPartitioning(tasks),
        EmissionType::Incremental,
        Boundedness::Bounded,
    );
    Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative))
}
