//! The whole row of a member of FROM as a value: `SELECT t FROM t`, `count(t)`, `t IS NULL`, `(t).a`. It is a struct of the
//! member's columns. A name means a row where no column has it.

use crate::Result;
use crate::bind::binder::{Binder, column_of};
use crate::bind::error;
use crate::bind::expression::Replacing;
use crate::bind::from::From;
use crate::bind::scope::{FromRelation, resolve};
use crate::sql::names::fold;
use crate::sql::operators::call;
use arrow::datatypes::FieldRef;
use datafusion::common::Column;
use datafusion::logical_expr::{Expr as Planned, LogicalPlan, lit};
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{BinaryOperator, CaseWhen, Expr, Ident, Value};

/// The columns that a row is made of.
pub(super) struct RowColumns {
    /// Their names and the expressions that they are.
    columns: Vec<(String, Expr)>,
    /// Not NULL where there is a row.
    present: Option<Expr>,
    /// The row of a function that gives values is such a value.
    is_value: bool,
}

impl Replacing<'_, '_> {
    /// The row that a name means which no column has.
    pub(super) fn whole_row(&mut self, idents: &[Ident]) -> Result<Option<Expr>> {
        let Some(RowColumns { mut columns, present, is_value }) = self.row_columns(idents)? else { return Ok(None) };
        if is_value && columns.len() == 1 {
            return Ok(columns.pop().map(|(_, column)| column));
        }
        let name = |name| Expr::value(Value::SingleQuotedString(name));
        let fields = columns.into_iter().flat_map(|(own, column)| [name(own), column]).collect();
        let row = call("named_struct", fields);
        Ok(Some(match present {
            None => row,
            Some(present) => Expr::Case {
                case_token: AttachedToken::empty(),
                end_token: AttachedToken::empty(),
                operand: None,
                conditions: vec![CaseWhen { condition: Expr::IsNotNull(Box::new(present)), result: row }],
                else_result: None,
            },
        }))
    }

    /// `t IS NULL` and `t IS NOT NULL`: of all columns of a row.
    pub(super) fn nulls_of_row(&mut self, expression: &Expr) -> Result<Option<Expr>> {
        let (inner, is_null) = match expression {
            Expr::IsNull(inner) => (inner, true),
            Expr::IsNotNull(inner) => (inner, false),
            _ => return Ok(None),
        };
        let mut inner = &**inner;
        while let Expr::Nested(within) = inner {
            inner = within;
        }
        let idents = match inner {
            Expr::Identifier(ident) if !self.is_replaced(ident) => std::slice::from_ref(ident),
            Expr::CompoundIdentifier(idents) => idents.as_slice(),
            _ => return Ok(None),
        };
        if self.is_column(idents)? {
            return Ok(None);
        }
        let Some(row) = self.row_columns(idents)? else { return Ok(None) };
        let test = |(_, column): (String, Expr)| match is_null {
            true => Expr::IsNull(Box::new(column)),
            false => Expr::IsNotNull(Box::new(column)),
        };
        let tests = row.columns.into_iter().map(test).collect();
        let all = crate::bind::row::combined(tests, &BinaryOperator::And);
        Ok(Some(all.unwrap_or_else(|| Expr::value(Value::Boolean(true)))))
    }

    /// Whether a name means a column, or an item of the select list.
    fn is_column(&self, idents: &[Ident]) -> Result<bool> {
        if resolve(idents, self.around.scope, self.around.place.outer.as_ref()).is_ok() {
            return Ok(true);
        }
        let [ident] = idents else { return Ok(false) };
        let name = fold(ident);
        Ok(self.around.aliases.iter().any(|item| item.name == name))
    }

    fn row_columns(&mut self, idents: &[Ident]) -> Result<Option<RowColumns>> {
        let parts: Vec<String> = idents.iter().map(fold).collect();
        let scope = self.around.scope;
        let mut next = self.around.place.outer.clone();
        if let Some(found) = one(idents, &scope.relations, &scope.named(&parts))? {
            let fields = of_relation(found, |column| scope.field(column))?;
            return Ok(Some(self.named_columns(found.clone(), fields, false)));
        }
        while let Some(level) = next {
            let scope = &level.scope;
            if let Some(found) = one(idents, &scope.relations, &scope.named(&parts))? {
                let fields = of_relation(found, |column| scope.field(column))?;
                return Ok(Some(self.named_columns(found.clone(), fields, true)));
            }
            next = level.next.clone();
        }
        Ok(None)
    }

    fn named_columns(&mut self, relation: FromRelation, fields: Vec<FieldRef>, is_outer: bool) -> RowColumns {
        let mut fields = fields.into_iter();
        let mut columns = Vec::with_capacity(relation.columns.len());
        for own in relation.columns {
            if let Some(field) = fields.next()
                && relation.ids.as_ref() != Some(&own.name)
            {
                columns.push((own.name, self.column(own.column, field, is_outer)));
            }
        }
        let present = relation.present.zip(fields.next());
        let present = present.map(|(column, field)| self.column(column, field, is_outer));
        RowColumns { columns, present, is_value: relation.is_value }
    }
}

/// What is known of a member's columns, and of the one that tells whether there is a row.
fn of_relation(relation: &FromRelation, field: impl Fn(&Column) -> Result<FieldRef>) -> Result<Vec<FieldRef>> {
    relation.columns.iter().map(|own| &own.column).chain(&relation.present).map(field).collect()
}

fn one<'r>(idents: &[Ident], relations: &'r [FromRelation], found: &[usize]) -> Result<Option<&'r FromRelation>> {
    match found {
        [] => Ok(None),
        [one] => Ok(relations.get(*one)),
        _ => Err(error::ambiguous(idents)),
    }
}

impl Binder<'_> {
    /// A side of an outer join that may be without a row: members whose rows the statement names get a column that tells.
    pub(super) fn with_presence(&mut self, from: From) -> Result<From> {
        let is_asked = |relation: &FromRelation| {
            let is_row = |name: &String| self.mentioned.has_bare(name) && !from.scope.has(name);
            relation.present.is_none() && !relation.is_value && relation.name.as_ref().is_some_and(is_row)
        };
        let asked: Vec<usize> =
            (0..from.scope.relations.len()).filter(|at| is_asked(&from.scope.relations[*at])).collect();
        if asked.is_empty() || matches!(from.plan, LogicalPlan::Subquery(_)) {
            return Ok(from);
        }
        let From { plan, mut scope } = from;
        let mut columns: Vec<Planned> = plan.schema().columns().into_iter().map(Planned::Column).collect();
        for at in asked {
            let present = lit(true).alias(self.names.fresh("present"));
            scope.relations[at].present = Some(column_of(&present));
            columns.push(present);
        }
        let plan = self.project(plan, columns)?;
        let scope = scope.over(std::sync::Arc::clone(plan.schema()));
        Ok(From { plan, scope })
    }
}
