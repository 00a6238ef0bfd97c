//! The names that a statement mentions: tables show the planner no columns of other names.
//!
//! DataFusion puts together the columns of all tables below each operator, and does so again in most of its rules, long
//! before the last of them leaves out what nobody asked for. TPC-H's query 8 reads eight tables with 60 columns, of which
//! it names 22. A table is therefore bound with the columns whose names occur somewhere in the statement, or with all of
//! them where its query may mean a column without naming it (docs/decisions/0049-named-columns.md).

use crate::Result;
use crate::sql::names::last_part;
use crate::sql::walk::{SyntaxTree, Visit};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, JoinConstraint, JoinOperator, Select, TableFactor,
    TableWithJoins,
};
use std::collections::HashSet;

/// Names in a statement, in small letters.
#[derive(Debug, Default)]
pub(super) struct Mentioned {
    names: HashSet<String>,
    /// Those that stand alone, without a table before them.
    bare: HashSet<String>,
}

impl Mentioned {
    /// The names in a tree.
    pub(super) fn of(tree: &mut impl SyntaxTree) -> Result<Self> {
        let mut mentioned = Self::default();
        tree.walk(&mut mentioned)?;
        Ok(mentioned)
    }

    /// Whether a column of that name may be meant.
    pub(super) fn has(&self, column: &str) -> bool {
        self.names.contains(&column.to_lowercase())
    }

    /// Whether the row of a table of that name may be meant.
    pub(super) fn has_bare(&self, table: &str) -> bool {
        self.bare.contains(&table.to_lowercase())
    }

    fn name(&mut self, name: &str) {
        self.names.insert(name.to_lowercase());
    }

    fn joins(&mut self, tables: &TableWithJoins) {
        for join in &tables.joins {
            if let Some(JoinConstraint::Using(columns)) = constraint(&join.join_operator) {
                let parts = columns.iter().flat_map(|column| &column.0).filter_map(|part| part.as_ident());
                parts.for_each(|part| self.name(&part.value));
            }
        }
    }
}

impl Visit for Mentioned {
    fn select(&mut self, select: &mut Select) -> Result<()> {
        select.from.iter().for_each(|tables| self.joins(tables));
        Ok(())
    }

    fn table_factor(&mut self, table: &mut TableFactor) -> Result<()> {
        if let TableFactor::NestedJoin { table_with_joins, .. } = table {
            self.joins(table_with_joins);
        }
        Ok(())
    }

    fn expression(&mut self, expression: &mut Expr) -> Result<()> {
        match expression {
            Expr::Identifier(name) => {
                self.name(&name.value);
                self.bare.insert(name.value.to_lowercase());
            }
            // `count(t.*)` counts rows of `t` that are there.
            Expr::Function(Function { args: FunctionArguments::List(list), .. }) => {
                for argument in &list.args {
                    if let FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) = argument
                        && let Some(table) = last_part(name)
                    {
                        self.name(&table.value);
                        self.bare.insert(table.value.to_lowercase());
                    }
                }
            }
            Expr::CompoundIdentifier(names) => names.iter().for_each(|name| self.name(&name.value)),
            _ => {}
        }
        Ok(())
    }
}

/// What a join says of its columns, where it can say something.
pub(crate) fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(by)
        | JoinOperator::Inner(by)
        | JoinOperator::Left(by)
        | JoinOperator::LeftOuter(by)
        | JoinOperator::Right(by)
        | JoinOperator::RightOuter(by)
        | JoinOperator::FullOuter(by)
        | JoinOperator::CrossJoin(by)
        | JoinOperator::LeftSemi(by)
        | JoinOperator::RightSemi(by)
        | JoinOperator::LeftAnti(by)
        | JoinOperator::RightAnti(by) => Some(by),
        _ => None,
    }
}
