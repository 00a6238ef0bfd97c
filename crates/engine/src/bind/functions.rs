//! Functions in FROM: those that give rows, and the elements of arrays.

use crate::Result;
use crate::bind::binder::{Binder, Bound};
use crate::bind::error;
use crate::bind::expression::NameContext;
use crate::bind::from::{From, FromContext, aliased};
use crate::bind::scope::{FromRelation, NameScope};
use crate::bind::tables::reference;
use crate::files::file_functions;
use arrow::datatypes::DataType;
use datafusion::catalog::TableFunctionArgs;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, ScalarValue, TableReference};
use datafusion::logical_expr::{Expr as Planned, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, ObjectName, Spanned, TableAlias};
use gingham_storage::SqlState;

impl Binder<'_> {
    /// The rows of a function, whose arguments may look at what stands before it.
    pub(super) fn table_function(
        &mut self,
        name: &ObjectName,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        member: FromContext<'_>,
    ) -> Result<From> {
        let reference = reference(name)?;
        let function = reference.table().to_owned();
        if let Some(files) = member.place.tables.get().files(name, arguments) {
            return aliased(self.rows_of(files, &TableReference::bare(function))?, alias);
        }
        if function == "unnest" {
            let array = |argument: &FunctionArg| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(array)) => Ok(array.clone()),
                other => Err(error::unsupported(format!("argument {other} of unnest in FROM"))),
            };
            let arrays = arguments.iter().map(array).collect::<Result<Vec<Expr>>>()?;
            return self.unnested_rows(&arrays, alias, member);
        }
        let scope = NameScope::empty();
        let empty = DFSchema::empty();
        // It may look at what stands before it.
        let place = member.place.inner(self.seen_by_lateral(member));
        let simplifier = self.simplifier();
        let mut given = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument else {
                return Err(error::unsupported(format!("argument {argument} of {function} in FROM")));
            };
            given.push(self.expression(argument, NameContext::of(&scope, &place))?);
        }
        if given.iter().any(|argument| looks_outside(argument) || has_parameter(argument)) {
            return self.listed_rows(&function, given, alias);
        }
        // Functions take whole numbers of 64 bits, and NULL without a type.
        let given = given.into_iter().map(|own| {
            Ok(match simplifier.simplify(simplifier.coerce(own, &empty)?)? {
                Planned::Literal(value, metadata) if value.is_null() => Planned::Literal(ScalarValue::Null, metadata),
                Planned::Literal(value, metadata) if value.data_type().is_integer() => {
                    Planned::Literal(value.cast_to(&DataType::Int64)?, metadata)
                }
                other => other,
            })
        });
        let given = given.collect::<datafusion::error::Result<Vec<_>>>()?;
        let Some(known) = self.state.table_functions().get(&function) else {
            let names = self.state.table_functions().keys().map(String::as_str);
            let mut names: Vec<&str> = names.collect();
            names.extend(file_functions());
            let suggestion = crate::session::did_you_mean(&function, names);
            return Err(error::invalid(
                SqlState::UndefinedFunction,
                format!("table function '{function}' does not exist{suggestion}"),
                name.span(),
            ));
        };
        let provider = known.create_table_provider_with_args(TableFunctionArgs::new(&given, self.state))?;
        aliased(self.rows_of(provider, &TableReference::bare(function))?, alias)
    }

    /// The rows of a function of FROM whose arguments differ from row to row, or from run to run: the elements of the list that the function of that name
    /// gives elsewhere.
    fn listed_rows(&mut self, function: &str, given: Vec<Planned>, alias: Option<&TableAlias>) -> Result<From> {
        let known = self.state.scalar_functions().get(function).cloned();
        let list = known.filter(|_| matches!(function, "generate_series" | "range")).ok_or_else(|| {
            error::unsupported(format!("columns, subqueries and parameters as arguments of {function} in FROM"))
        })?;
        let elements = Planned::Unnest(datafusion::logical_expr::expr::Unnest::new(list.call(given)));
        self.elements(vec![elements], function, Some("value"), alias)
    }

    /// The rows of `FROM UNNEST(array, …)`.
    pub(super) fn unnested_rows(
        &mut self,
        arrays: &[Expr],
        alias: Option<&TableAlias>,
        member: FromContext<'_>,
    ) -> Result<From> {
        let place = member.place.inner(self.seen_by_lateral(member));
        let scope = NameScope::empty();
        let mut items = Vec::with_capacity(arrays.len());
        for array in arrays {
            let planned = self.expression(array, NameContext::of(&scope, &place))?;
            items.push(Planned::Unnest(datafusion::logical_expr::expr::Unnest::new(planned)));
        }
        self.elements(items, "unnest", None, alias)
    }

    /// A row for each element of the lists that `items` unnest, under the function's name.
    fn elements(
        &mut self,
        items: Vec<Planned>,
        function: &str,
        name: Option<&str>,
        alias: Option<&TableAlias>,
    ) -> Result<From> {
        let input = LogicalPlanBuilder::empty(true).build()?;
        let (plan, items) = self.unnest(input, items)?;
        let columns: Vec<Planned> = items.into_iter().flatten().collect();
        let name_of = |column: &Planned| name.map_or_else(|| column.schema_name().to_string(), str::to_owned);
        let names: Vec<String> = columns.iter().map(name_of).collect();
        let bound = Bound::of(self.project(plan, columns)?, names);
        let bound = self.dependent(bound)?;
        let relation =
            FromRelation { name: Some(function.to_owned()), columns: bound.columns, ..FromRelation::default() };
        aliased(From::of(relation, bound.plan), alias)
    }
}

/// Whether a value is known when the statement is run, and not when it is planned.
fn has_parameter(argument: &Planned) -> bool {
    argument.exists(|part| Ok(matches!(part, Planned::Placeholder(_)))).unwrap_or(true)
}

/// Whether a value is another one for each row of a query around it, or a query's.
pub(super) fn looks_outside(argument: &Planned) -> bool {
    let found = argument.exists(|part| {
        Ok(matches!(
            part,
            Planned::OuterReferenceColumn(..)
                | Planned::ScalarSubquery(_)
                | Planned::Exists(_)
                | Planned::InSubquery(_)
                | Planned::SetComparison(_)
        ))
    });
    found.unwrap_or(true)
}
