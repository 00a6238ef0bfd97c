//! WITH RECURSIVE in a subquery that looks around: all values of the domain go through the rounds together. The rows of the round
//! before have the domain's columns, and those that belong to an outer row are looked up by them.

use crate::unnest::Unnesting;
use crate::unnest::domain::Domain;
use crate::unnest::push::outer_then;
use crate::unnest::rows::{UnnestedRows, columns_of, project};
use arrow::datatypes::{Field, Schema};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, HashMap, TableReference};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::Result;
use datafusion::logical_expr::logical_plan::TableScanBuilder;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Operator, RecursiveQuery, binary_expr};
use std::sync::Arc;

/// Whether a plan reads the rows of a recursive query's round before.
pub(super) fn is_round(plan: &LogicalPlan) -> bool {
    let LogicalPlan::TableScan(scan) = plan else { return false };
    source_as_provider(&scan.source).is_ok_and(|provider| provider.downcast_ref::<CteWorkTable>().is_some())
}

impl Unnesting<'_> {
    /// A recursive query for each row of a domain.
    pub(super) fn push_recursive(&mut self, query: &RecursiveQuery, domain: &Domain) -> Result<UnnestedRows> {
        let mut first = self.push(&query.static_term, domain)?;
        let own: Vec<Expr> = columns_of(&query.static_term).collect();
        let shown = outer_then(&first, domain, &own)?;
        first.plan = project(first.plan, shown)?;
        let rounds = self.fresh(&query.name);
        let field = |field: &Arc<Field>| field.as_ref().clone().with_nullable(true);
        let fields: Vec<Field> = first.schema().fields().iter().map(field).collect();
        let table = Arc::new(CteWorkTable::new(&rounds, Arc::new(Schema::new(fields))));
        let term = self.of_rounds(query, domain, &table)?;
        let mut next = self.push(&term, domain)?;
        let own: Vec<Expr> = columns_of(&query.recursive_term).collect();
        let shown = outer_then(&next, domain, &own)?;
        next.plan = project(next.plan, shown)?;
        let plan = LogicalPlanBuilder::from(first.plan);
        let plan = plan.to_recursive_query(rounds, next.plan, query.is_distinct)?.build()?;
        // The query's columns as the plan above knows them.
        let names = domain.outer().count();
        let columns = columns_of(&plan).collect::<Vec<_>>();
        let bindings: HashMap<Column, Expr> = domain.outer().cloned().zip(columns.iter().cloned()).collect();
        let wanted = query.schema.columns();
        let renamed =
            columns[names..].iter().zip(&wanted).map(|(own, name)| crate::unnest::rows::named(own.clone(), name));
        let shown = columns[..names].iter().cloned().chain(renamed).collect();
        Ok(UnnestedRows { plan: project(plan, shown)?, bindings })
    }

    /// The part of a recursive query that reads the round before, over rounds that have a domain's columns.
    fn of_rounds(&mut self, query: &RecursiveQuery, domain: &Domain, table: &Arc<CteWorkTable>) -> Result<LogicalPlan> {
        let rounds = table.name().to_owned();
        let changed = query.recursive_term.as_ref().clone().transform_up_with_subqueries(|node| {
            let LogicalPlan::TableScan(scan) = &node else { return Ok(Transformed::no(node)) };
            if !is_round(&node) || scan.table_name.table() != query.name {
                return Ok(Transformed::no(node));
            }
            let source = provider_as_source(Arc::clone(table) as _);
            let scan = TableScanBuilder::new(TableReference::bare(rounds.clone()), source).build()?;
            let scan = LogicalPlan::TableScan(scan);
            let mut columns = columns_of(&scan).collect::<Vec<_>>();
            let own = columns.split_off(domain.outer().count());
            // Under names of their own: those of the rounds are the first part's.
            let (mut shown, mut same) = (Vec::new(), Vec::new());
            for (column, outer) in columns.into_iter().zip(domain.outer()) {
                let name = self.fresh(&outer.name);
                let field = scan.schema().field(shown.len());
                let outer =
                    Expr::OuterReferenceColumn(Arc::new(field.as_ref().clone().with_nullable(true)), outer.clone());
                let round = Expr::Column(Column::new_unqualified(name.clone()));
                same.push(binary_expr(round, Operator::IsNotDistinctFrom, outer));
                shown.push(column.alias(name));
            }
            let names = node.schema().columns();
            shown.extend(own.into_iter().zip(&names).map(|(own, name)| crate::unnest::rows::named(own, name)));
            let rows = LogicalPlanBuilder::from(project(scan, shown)?);
            let rows = rows.filter(conjunction(same).unwrap_or_else(|| datafusion::logical_expr::lit(true)))?;
            let rows = rows.project(names.into_iter().map(Expr::Column))?.build()?;
            Ok(Transformed::yes(rows))
        })?;
        Ok(changed.data)
    }
}
