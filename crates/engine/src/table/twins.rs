//! Filters whose columns can't be told apart by name.
//!
//! DataFusion hands a filter down by the names of its columns. Where an operator gives two columns of one name the filter may
//! end as one of the other column, and leave out records that the query needs, or keep others. A filter above such an operator stays where
//! it is; a dynamic filter is taken off the scans below the operator that makes it.

use crate::table::scan_exec::ScanExec;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use std::collections::HashSet;
use std::sync::Arc;

/// DataFusion's rule that hands filters down, for the parts of a plan with filters in which names tell columns apart.
#[derive(Debug)]
pub(crate) struct HandFiltersDown {
    pub(crate) rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>,
}

impl HandFiltersDown {
    fn below(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if !plan.exists(|plan| Ok(plan.is::<FilterExec>()))? {
            return Ok(plan);
        }
        if !plan.exists(|plan| Ok(gives_twins(plan)))? {
            return self.rule.optimize(plan, config);
        }
        let inputs = plan.children().into_iter().map(|input| self.below(Arc::clone(input), config));
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        replace_children_if_necessary(plan, inputs)
    }
}

impl PhysicalOptimizerRule for HandFiltersDown {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        self.below(plan, config)
    }

    fn name(&self) -> &str {
        self.rule.name()
    }

    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }
}

/// Takes dynamic filters off scans that they may have come to by mistake; runs after they were handed down.
#[derive(Debug)]
pub(crate) struct DropMisledFilters;

impl PhysicalOptimizerRule for DropMisledFilters {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let mut misled = Vec::new();
        find_misled(&plan, &mut misled);
        if misled.is_empty() {
            return Ok(plan);
        }
        let dropped = plan.transform_up(|plan| {
            Ok(match plan.downcast_ref::<ScanExec>().and_then(|scan| scan.without(&misled)) {
                Some(scan) => Transformed::yes(scan),
                None => Transformed::no(plan),
            })
        });
        Ok(dropped?.data)
    }

    fn name(&self) -> &str {
        "drop_misled_filters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Adds the numbers of the filters that are made above columns of one name. Returns whether there are such in `plan`.
fn find_misled(plan: &Arc<dyn ExecutionPlan>, misled: &mut Vec<u64>) -> bool {
    let mut twins = false;
    for child in plan.children() {
        twins |= find_misled(child, misled);
    }
    if twins {
        misled.extend(plan.dynamic_expressions_produced().iter().filter_map(|filter| filter.expression_id()));
    }
    twins || gives_twins(plan)
}

/// Whether two columns of an operator have one name.
fn gives_twins(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let schema = plan.schema();
    let mut names = HashSet::new();
    !schema.fields().iter().all(|field| names.insert(field.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::Schema;
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::expressions::{binary, lit};
    use datafusion::physical_plan::empty::EmptyExec;
    use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
    use datafusion::physical_plan::projection::ProjectionExec;

    /// Puts no rows in the place of any plan.
    #[derive(Debug)]
    struct Emptied;

    impl PhysicalOptimizerRule for Emptied {
        fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
            Ok(Arc::new(EmptyExec::new(plan.schema())))
        }

        fn name(&self) -> &str {
            "emptied"
        }

        fn schema_check(&self) -> bool {
            true
        }
    }

    #[test]
    fn plans_with_filters_whose_columns_have_names_of_their_own_are_given_to_the_rule() {
        let schema = Arc::new(Schema::empty());
        let row: Arc<dyn ExecutionPlan> = Arc::new(PlaceholderRowExec::new(Arc::clone(&schema)));
        let condition = binary(lit(1), Operator::Lt, lit(2), &schema).unwrap();
        let filtered = |plan: &Arc<dyn ExecutionPlan>| -> Arc<dyn ExecutionPlan> {
            Arc::new(FilterExec::try_new(Arc::clone(&condition), Arc::clone(plan)).unwrap())
        };
        let projected = |names: [&str; 2], plan: &Arc<dyn ExecutionPlan>| -> Arc<dyn ExecutionPlan> {
            let columns = names.map(|name| (lit(1), name.to_owned()));
            Arc::new(ProjectionExec::try_new(columns, Arc::clone(plan)).unwrap())
        };
        let (own, twins) = (["a", "b"], ["a", "a"]);
        let rule = HandFiltersDown { rule: Arc::new(Emptied) };
        for (plan, given) in [
            (Arc::clone(&row), "PlaceholderRowExec"),
            (filtered(&row), "EmptyExec"),
            (projected(own, &filtered(&row)), "EmptyExec"),
            (filtered(&projected(own, &row)), "EmptyExec"),
            (filtered(&projected(twins, &row)), "FilterExec ProjectionExec PlaceholderRowExec"),
            (projected(twins, &filtered(&row)), "ProjectionExec EmptyExec"),
        ] {
            let after = rule.optimize(plan, &ConfigOptions::default()).unwrap();
            let (mut names, mut next) = (vec![after.name()], after.children());
            while let [input] = next[..] {
                names.push(input.name());
                next = input.children();
            }
            assert_eq!(names.join(" "), given);
        }
    }
}
