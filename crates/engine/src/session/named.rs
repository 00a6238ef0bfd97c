//! The columns that a statement names: the planner is shown no others.
//!
//! DataFusion puts together the columns of all tables below each operator, and does so again in most of its rules, long before the
//! last of them leaves out what nobody asked for. TPC-H's query 8 reads eight tables with 60 columns, of which it names 22. So tables
//! are shown with the columns whose names occur in the statement, in whatever place; that no other can be meant is all that
//! has to be true. Where a column may be meant without its name, by a `*` or by its position, tables are shown whole.
//! Why: docs/decisions/0049-named-columns.md.

use crate::Result;
use crate::statements::walk::{Tree, Visit};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident, JoinConstraint, JoinOperator,
    Query, Select, SelectItem, SetExpr, Statement as Sql, TableAlias, TableFactor, TableWithJoins,
    WildcardAdditionalOptions,
};
use std::collections::HashSet;

/// Names that a statement mentions, in lower case.
#[derive(Debug, Default)]
pub(super) struct Named {
    names: HashSet<String>,
}

impl Named {
    /// The names in a query; `None` where a column may be meant without being named, and for other statements.
    pub(super) fn of(statement: &mut Statement) -> Result<Option<Self>> {
        let is_query =
            |statement: &Statement| matches!(statement, Statement::Statement(sql) if matches!(**sql, Sql::Query(_)));
        let queries = match &*statement {
            Statement::Explain(explain) => is_query(&explain.statement),
            other => is_query(other),
        };
        if !queries {
            return Ok(None);
        }
        let mut found = Mentions::default();
        statement.walk(&mut found)?;
        Ok((!found.unnamed).then_some(Self { names: found.names }))
    }

    /// Whether a column of that name may be meant.
    pub(super) fn has(&self, column: &str) -> bool {
        self.names.contains(column) || self.names.contains(&column.to_lowercase())
    }
}

/// Collects names.
#[derive(Default)]
struct Mentions {
    names: HashSet<String>,
    /// A column may be meant without its name.
    unnamed: bool,
    /// The SELECT that is next is one of which it matters only whether it has rows.
    exists: bool,
}

impl Mentions {
    fn name(&mut self, ident: &Ident) {
        if !self.names.contains(&ident.value) {
            self.names.insert(ident.value.to_lowercase());
        }
    }

    fn joins(&mut self, tables: &TableWithJoins) {
        for join in &tables.joins {
            match constraint(&join.join_operator) {
                Some(JoinConstraint::Using(columns)) => {
                    let parts = columns.iter().flat_map(|column| &column.0);
                    parts.for_each(|part| match part.as_ident() {
                        Some(ident) => self.name(ident),
                        None => self.unnamed = true,
                    });
                }
                Some(JoinConstraint::Natural) => self.unnamed = true,
                Some(JoinConstraint::On(_) | JoinConstraint::None) => {}
                None => self.unnamed = true,
            }
        }
    }

    fn call(&mut self, function: &Function) {
        let FunctionArguments::List(list) = &function.args else { return };
        for argument in &list.args {
            let (FunctionArg::Named { arg, .. } | FunctionArg::ExprNamed { arg, .. } | FunctionArg::Unnamed(arg)) =
                argument;
            self.unnamed |= match arg {
                FunctionArgExpr::Expr(_) => false,
                // count(*)
                FunctionArgExpr::Wildcard => !function.name.to_string().eq_ignore_ascii_case("count"),
                _ => true,
            };
        }
    }

    fn body(&mut self, body: &SetExpr) {
        match body {
            SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::Values(_) => {}
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left);
                self.body(right);
            }
            _ => self.unnamed = true,
        }
    }
}

impl Visit for Mentions {
    fn query(&mut self, query: &mut Query) -> Result<()> {
        // What stands before the SELECT would be taken for it.
        self.exists &= query.with.is_none() && matches!(*query.body, SetExpr::Select(_));
        self.unnamed |= !query.pipe_operators.is_empty();
        self.body(&query.body);
        Ok(())
    }

    fn select(&mut self, select: &mut Select) -> Result<()> {
        let exists = std::mem::take(&mut self.exists) && is_all_of_some(select);
        for item in &select.projection {
            self.unnamed |= match item {
                SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. } => false,
                _ => !exists,
            };
        }
        self.unnamed |= !select.lateral_views.is_empty() || select.exclude.is_some();
        select.from.iter().for_each(|tables| self.joins(tables));
        Ok(())
    }

    fn table_factor(&mut self, table: &mut TableFactor) -> Result<()> {
        let renames = |alias: &Option<TableAlias>| alias.as_ref().is_some_and(|alias| !alias.columns.is_empty());
        match table {
            // Names for its columns go by their positions.
            TableFactor::Table { alias, .. } => self.unnamed |= renames(alias),
            TableFactor::NestedJoin { table_with_joins, alias } => {
                self.unnamed |= renames(alias);
                self.joins(table_with_joins);
            }
            TableFactor::Derived { .. } | TableFactor::Function { .. } | TableFactor::TableFunction { .. } => {}
            TableFactor::UNNEST { .. } => {}
            _ => self.unnamed = true,
        }
        Ok(())
    }

    fn expression(&mut self, expression: &mut Expr) -> Result<()> {
        match expression {
            Expr::Identifier(ident) => self.name(ident),
            Expr::CompoundIdentifier(parts) => parts.iter().for_each(|part| self.name(part)),
            Expr::Function(function) => self.call(function),
            Expr::Exists { .. } => self.exists = true,
            Expr::Wildcard(_) | Expr::QualifiedWildcard(..) | Expr::MatchAgainst { .. } => self.unnamed = true,
            _ => {}
        }
        Ok(())
    }
}

/// `SELECT * FROM …`, which has rows or not, whatever its columns are.
fn is_all_of_some(select: &Select) -> bool {
    let grouped = match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(by, modifiers) => !by.is_empty() || !modifiers.is_empty(),
    };
    let all = matches!(&*select.projection, [SelectItem::Wildcard(options)] if *options == WildcardAdditionalOptions::default());
    all && !grouped && select.having.is_none() && select.distinct.is_none()
}

/// What two tables are joined by; `None` for joins that are refused.
fn constraint(join: &JoinOperator) -> Option<&JoinConstraint> {
    match join {
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

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::parser::DFParser;

    /// The names that a statement mentions, in order; `None` where tables are shown whole.
    fn named(sql: &str) -> Option<Vec<String>> {
        let mut statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
        let mut names: Vec<_> = Named::of(&mut statement).unwrap()?.names.into_iter().collect();
        names.sort();
        Some(names)
    }

    #[test]
    fn names_are_found_wherever_they_stand() {
        for (sql, names) in [
            ("SELECT 1", ""),
            ("SELECT a, t.b FROM t", "a b t"),
            ("EXPLAIN SELECT a FROM t", "a"),
            ("SELECT \"A\" + Ä FROM t", "a ä"),
            ("SELECT count(*), sum(a) FILTER (WHERE b > 1) FROM t", "a b"),
            ("SELECT row_number() OVER (PARTITION BY a ORDER BY b) FROM t QUALIFY c > 1", "a b c"),
            ("SELECT sum(a) OVER w FROM t WINDOW w AS (ORDER BY b)", "a b"),
            ("SELECT DISTINCT ON (a) b FROM t ORDER BY c LIMIT 3", "a b c"),
            ("SELECT a FROM t WHERE b IN (SELECT c FROM u WHERE d LIKE e) GROUP BY f HAVING g", "a b c d e f g"),
            ("SELECT 1 FROM t JOIN u USING (a, b)", "a b"),
            ("SELECT 1 FROM t LEFT JOIN (u JOIN v USING (c)) ON d = e", "c d e"),
            ("SELECT x FROM (SELECT a AS x FROM t) AS s (y)", "a x"),
            ("WITH w (x) AS (SELECT a FROM t) SELECT x FROM w UNION ALL VALUES (1)", "a x"),
            ("SELECT s['f'], s.g FROM t", "g s"),
            ("SELECT CASE a WHEN b THEN c END, EXTRACT(YEAR FROM d), SUBSTRING(e FROM f) FROM t", "a b c d e f"),
            ("SELECT value FROM generate_series(1, 3) WHERE a BETWEEN b AND c", "a b c value"),
            ("SELECT GROUPING(a) FROM t GROUP BY ROLLUP (a, b), GROUPING SETS ((c), (d))", "a b c d"),
            ("SELECT a FROM t WHERE EXISTS (SELECT * FROM u WHERE b = c)", "a b c"),
            ("SELECT a FROM t WHERE NOT EXISTS (SELECT * FROM u WHERE EXISTS (SELECT * FROM v WHERE d))", "a d"),
        ] {
            let names = names.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(named(sql), Some(names), "{sql}");
        }
    }

    #[test]
    fn columns_may_be_meant_without_names() {
        for sql in [
            "SELECT * FROM t",
            "SELECT t.* FROM t",
            "SELECT a FROM (SELECT * FROM t)",
            "SELECT a FROM t NATURAL JOIN u",
            "SELECT x FROM t AS s (x, y)",
            "SELECT a FROM u UNION TABLE t",
            "SELECT count(t.*) FROM t",
            "SELECT a FROM t WHERE b IN (SELECT * FROM u)",
            // A `*` that is another SELECT's, or of which the columns matter.
            "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM (SELECT * FROM u))",
            "SELECT a FROM t WHERE EXISTS (WITH w AS (SELECT * FROM u) SELECT * FROM w)",
            "SELECT a FROM t WHERE EXISTS (SELECT * FROM u INTERSECT SELECT * FROM v)",
            "SELECT a FROM t WHERE EXISTS (SELECT * FROM u GROUP BY b)",
            "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u) AND b = (SELECT * FROM v)",
            "INSERT INTO t SELECT a FROM u",
        ] {
            assert_eq!(named(sql), None, "{sql}");
        }
    }
}
