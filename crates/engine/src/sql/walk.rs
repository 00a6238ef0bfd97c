//! One walk over syntax trees for every visitor.
//!
//! sqlparser's walk is generic: each type of visitor makes the compiler build it anew, about a thousand functions for
//! all kinds of nodes. Visitors are therefore called through a reference, and the walk is built once.

use crate::{Error, Result};
use datafusion::sql::parser::{CopyToSource, Statement as DataFusionStatement};
use datafusion::sql::sqlparser::ast::{
    Expr, Query, Select, Statement, TableFactor, ValueWithSpan, VisitMut, VisitorMut,
};
use std::ops::ControlFlow;

/// What is done at the nodes of a syntax tree, in the order of the tree; an error ends the walk.
pub(crate) trait Visit {
    /// Before the parts of a statement, also of one within a query.
    fn statement(&mut self, _: &mut Statement) -> Result<()> {
        Ok(())
    }

    /// Before the parts of a query.
    fn query(&mut self, _: &mut Query) -> Result<()> {
        Ok(())
    }

    /// Before the parts of a SELECT.
    fn select(&mut self, _: &mut Select) -> Result<()> {
        Ok(())
    }

    /// After the parts of a SELECT.
    fn select_end(&mut self, _: &mut Select) -> Result<()> {
        Ok(())
    }

    /// Before the parts of a member of FROM.
    fn table_factor(&mut self, _: &mut TableFactor) -> Result<()> {
        Ok(())
    }

    /// Before the parts of an expression.
    fn expression(&mut self, _: &mut Expr) -> Result<()> {
        Ok(())
    }

    /// After the parts of an expression.
    fn expression_end(&mut self, _: &mut Expr) -> Result<()> {
        Ok(())
    }

    /// At a literal or parameter.
    fn value(&mut self, _: &mut ValueWithSpan) -> Result<()> {
        Ok(())
    }
}

/// Trees that can be walked.
pub(crate) trait SyntaxTree {
    /// Calls `visitor` at every node.
    ///
    /// # Errors
    ///
    /// The visitor's first.
    fn walk(&mut self, visitor: &mut dyn Visit) -> Result<()>;
}

macro_rules! trees {
    ($($tree:ty),*) => {$(
        impl SyntaxTree for $tree {
            fn walk(&mut self, visitor: &mut dyn Visit) -> Result<()> {
                match VisitMut::visit(self, &mut Calling(visitor)) {
                    ControlFlow::Continue(()) => Ok(()),
                    ControlFlow::Break(error) => Err(error),
                }
            }
        }
    )*};
}

trees!(Statement, Query, Expr);

impl SyntaxTree for DataFusionStatement {
    fn walk(&mut self, visitor: &mut dyn Visit) -> Result<()> {
        match self {
            Self::Statement(statement) => statement.walk(visitor),
            Self::Explain(explain) => explain.statement.walk(visitor),
            Self::CopyTo(copy) => copy.source.walk(visitor),
            Self::CreateExternalTable(_) | Self::Reset(_) => Ok(()),
        }
    }
}

impl SyntaxTree for CopyToSource {
    fn walk(&mut self, visitor: &mut dyn Visit) -> Result<()> {
        match self {
            Self::Query(query) => query.walk(visitor),
            Self::Relation(_) => Ok(()),
        }
    }
}

struct Calling<'v>(&'v mut dyn Visit);

fn flow(result: Result<()>) -> ControlFlow<Error> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

impl VisitorMut for Calling<'_> {
    type Break = Error;

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<Error> {
        flow(self.0.statement(statement))
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        flow(self.0.query(query))
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        flow(self.0.select(select))
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        flow(self.0.select_end(select))
    }

    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<Error> {
        flow(self.0.table_factor(table))
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<Error> {
        flow(self.0.expression(expression))
    }

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<Error> {
        flow(self.0.expression_end(expression))
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<Error> {
        flow(self.0.value(value))
    }
}
