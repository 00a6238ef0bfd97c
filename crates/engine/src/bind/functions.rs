//! Functions in FROM: those that give rows, the elements of arrays, several side by side (ROWS FROM), and rows with their numbers
//! (WITH ORDINALITY).

use crate::bind::binder::{Binder, Bound, column_of};
use crate::bind::error;
use crate::bind::expression::NameContext;
use crate::bind::from::{From, FromContext, Shown, aliased};
use crate::bind::scope::{FromRelation, NameScope, Named};
use crate::bind::tables::reference;
use crate::bind::typed::with_types;
use crate::bind::unnest::has_unnest;
use crate::files::file_functions;
use crate::functions::{EXPANDED, KEYWORDS};
use crate::sql::calls::list_of;
use crate::sql::clauses::ROWS_FROM;
use crate::sql::names::fold;
use crate::sql::operators::call;
use crate::sql::postgres::without_schema;
use crate::temporal::SERIES;
use crate::{Error, Result};
use arrow::datatypes::DataType;
use datafusion::catalog::TableFunctionArgs;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, ScalarValue, TableReference};
use datafusion::functions::core::expr_fn::{coalesce, greatest};
use datafusion::functions_nested::expr_fn::{array_length, make_array};
use datafusion::functions_window::row_number::row_number;
use datafusion::logical_expr::expr::Unnest;
use datafusion::logical_expr::{Expr as Planned, ExprSchemable, LogicalPlanBuilder, cast, lit};
use datafusion::sql::sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, Spanned};
use gingham_storage::SqlState;
use std::sync::Arc;

/// What lists in FROM are elements of.
struct Listed {
    /// The functions, each with the lists whose elements are its columns.
    functions: Vec<(String, Vec<Planned>)>,
    /// What the member of FROM is called without an alias.
    name: String,
}

impl Binder<'_> {
    /// The rows of a function, whose arguments may look at what stands before it.
    pub(super) fn table_function(
        &mut self,
        name: &ObjectName,
        arguments: &[FunctionArg],
        shown: Shown<'_>,
        member: FromContext<'_>,
    ) -> Result<From> {
        let reference = reference(name)?;
        let function = reference.table().to_owned();
        if function == ROWS_FROM {
            return self.rows_from(arguments, shown, member);
        }
        if function == "unnest" {
            return self.unnested_rows(&values(arguments, &function)?, "unnest", shown, member);
        }
        if let Some(list) = list_of(&function) {
            let given = values(arguments, &function)?;
            return self.unnested_rows(&[call(list, given)], &function, shown, member);
        }
        if let Some(files) = member.place.tables.get().files(name, arguments) {
            let from = self.rows_of(files, &TableReference::bare(function))?;
            return aliased(self.numbered_rows(from, shown)?, shown.alias);
        }
        let scope = NameScope::empty();
        let empty = DFSchema::empty();
        // It may look at what stands before it.
        let place = member.place.inner(self.seen_by_lateral(member));
        let simplifier = self.simplifier();
        let mut given = Vec::with_capacity(arguments.len());
        for argument in values(arguments, &function)? {
            given.push(self.condition(&argument, NameContext::of(&scope, &place), "FROM")?);
        }
        let is_series = SERIES_FUNCTIONS.contains(&function.as_str());
        let is_constant = !given.iter().any(|argument| looks_outside(argument) || has_parameter(argument));
        let is_table = self.state.table_functions().contains_key(&function);
        if !is_table && (!is_constant || self.state.scalar_functions().contains_key(&function)) {
            return self.one_row(name, arguments, shown, member);
        }
        let is_whole = |own: &Planned| own.get_type(&empty).is_ok_and(|own| own.is_integer() || own.is_null());
        if !is_constant || is_series && !given.iter().all(is_whole) {
            return self.listed_rows(&function, given, shown);
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
        let from = self.rows_of(provider, &TableReference::bare(&*function))?;
        let from = self.numbered_rows(from, shown)?;
        if is_series { valued(from, &function, shown) } else { aliased(from, shown.alias) }
    }

    /// The rows of a function of FROM whose arguments differ from row to row, or from run to run, or are no whole numbers: the
    /// elements of the list that the function of that name gives elsewhere.
    fn listed_rows(&mut self, function: &str, given: Vec<Planned>, shown: Shown<'_>) -> Result<From> {
        let known = self.state.scalar_functions().get(function).cloned();
        let list = known.filter(|_| SERIES_FUNCTIONS.contains(&function)).ok_or_else(|| {
            error::unsupported(format!("columns, subqueries and parameters as arguments of {function} in FROM"))
        })?;
        let list = with_types(list.call(given), &DFSchema::empty(), self.state)?;
        let functions = vec![(function.to_owned(), vec![list])];
        self.elements(Listed { functions, name: function.to_owned() }, shown)
    }

    /// The rows of `FROM UNNEST(array, …)`.
    pub(super) fn unnested_rows(
        &mut self,
        arrays: &[Expr],
        name: &str,
        shown: Shown<'_>,
        member: FromContext<'_>,
    ) -> Result<From> {
        let place = member.place.inner(self.seen_by_lateral(member));
        let scope = NameScope::empty();
        let mut lists = Vec::with_capacity(arrays.len());
        for array in arrays {
            lists.push(self.condition(array, NameContext::of(&scope, &place), "FROM")?);
        }
        self.elements(Listed { functions: vec![(name.into(), lists)], name: name.into() }, shown)
    }

    /// The rows of `ROWS FROM (f(…), g(…))`, side by side.
    fn rows_from(&mut self, functions: &[FunctionArg], shown: Shown<'_>, member: FromContext<'_>) -> Result<From> {
        let place = member.place.inner(self.seen_by_lateral(member));
        let scope = NameScope::empty();
        let mut all = Vec::with_capacity(functions.len());
        for function in functions {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(call))) = function else {
                return Err(Error::invalid(
                    SqlState::SyntaxError,
                    format!("ROWS FROM takes functions, and {function} is none"),
                ));
            };
            let name = reference(&call.name)?.table().to_owned();
            let around = NameContext::of(&scope, &place);
            let lists = if name == "unnest" {
                let FunctionArguments::List(list) = &call.args else {
                    return Err(error::unsupported(format!("{function} in ROWS FROM")));
                };
                let mut lists = Vec::with_capacity(list.args.len());
                for array in values(&list.args, &name)? {
                    lists.push(self.condition(&array, around, "FROM")?);
                }
                lists
            } else {
                if self.state.table_functions().contains_key(&name) && !SERIES_FUNCTIONS.contains(&name.as_str()) {
                    return Err(error::unsupported(format!("{name} in ROWS FROM")));
                }
                let planned = self.condition(&Expr::Function(call.clone()), around, "FROM")?;
                let is_list = SERIES_FUNCTIONS.contains(&name.as_str());
                vec![if is_list { planned } else { make_array(vec![planned]) }]
            };
            all.push((name, lists));
        }
        let name = all.first().map(|(name, _)| name.clone()).unwrap_or_default();
        self.elements(Listed { functions: all, name }, shown)
    }

    /// The one row of a function of values: `FROM upper('a')`.
    fn one_row(
        &mut self,
        name: &ObjectName,
        arguments: &[FunctionArg],
        shown: Shown<'_>,
        member: FromContext<'_>,
    ) -> Result<From> {
        let scope = NameScope::empty();
        let place = member.place.inner(self.seen_by_lateral(member));
        let mut call = call("value", Vec::new());
        if let Expr::Function(function) = &mut call {
            function.name = name.clone();
            without_schema(&mut function.name);
            if let FunctionArguments::List(list) = &mut function.args {
                list.args = arguments.to_vec();
            }
        }
        let planned = self.condition(&call, NameContext::of(&scope, &place), "FROM")?;
        let function = reference(name)?.table().to_owned();
        if has_unnest(&planned) {
            return Err(error::unsupported(format!("{function} of unnest in FROM")));
        }
        self.elements(
            Listed { functions: vec![(function.clone(), vec![make_array(vec![planned])])], name: function },
            shown,
        )
    }

    /// A row for each element of the lists, side by side, and its number where it is asked for.
    fn elements(&mut self, listed: Listed, shown: Shown<'_>) -> Result<From> {
        let Listed { functions, name } = listed;
        let is_one = functions.len() == 1 && functions.iter().all(|(_, lists)| lists.len() == 1);
        let mut items = Vec::new();
        let mut titles = Vec::new();
        let mut lengths = Vec::new();
        for (function, lists) in functions {
            for list in lists {
                lengths.push(coalesce(vec![cast(array_length(list.clone()), DataType::Int64), lit(0_i64)]));
                // The rows of a function that gives structs have its fields as columns.
                let is_struct =
                    matches!(&list, Planned::ScalarFunction(call) if [EXPANDED, KEYWORDS].contains(&call.func.name()));
                let elements = Planned::Unnest(Unnest::new(list));
                items.push(if is_struct { Planned::Unnest(Unnest::new(elements)) } else { elements });
                titles.push(function.clone());
            }
        }
        if shown.with_ordinality {
            let series = self.state.scalar_functions().get(SERIES).cloned();
            let series = series.ok_or_else(|| Error::Internal("generate_series is a function".into()))?;
            let numbers = series.call(vec![lit(1_i64), greatest(lengths)]);
            items.push(Planned::Unnest(Unnest::new(numbers)));
            titles.push(ORDINALITY.to_owned());
        }
        let input = LogicalPlanBuilder::empty(true).build()?;
        let (plan, groups) = self.unnest(input, items)?;
        let is_value = is_one && groups.first().is_some_and(|group| group.len() == 1);
        let mut names = Vec::new();
        let mut columns: Vec<Planned> = Vec::new();
        for (group, title) in groups.into_iter().zip(titles) {
            let is_struct = group.len() > 1;
            for column in group {
                let own = column.schema_name().to_string();
                let field = own.split_once('.').map(|(_, field)| field.to_owned());
                names.push(field.filter(|_| is_struct).unwrap_or_else(|| title.clone()));
                columns.push(column);
            }
        }
        let bound = Bound::of(self.project(plan, columns)?, names);
        let bound = self.dependent(bound)?;
        let relation = FromRelation { name: Some(name.clone()), columns: bound.columns, ..FromRelation::default() };
        let from = From::of(relation, bound.plan);
        if is_value { valued(from, &name, shown) } else { aliased(from, shown.alias) }
    }

    /// The rows of a function, with their numbers where these are asked for.
    fn numbered_rows(&mut self, from: From, shown: Shown<'_>) -> Result<From> {
        if !shown.with_ordinality {
            return Ok(from);
        }
        let From { plan, mut scope } = from;
        let mut columns: Vec<Planned> = plan.schema().columns().into_iter().map(Planned::Column).collect();
        let (plan, computed) = self.windows(plan, [&row_number()])?;
        let Some((_, number)) = computed.into_iter().next() else {
            return Err(Error::Internal("a row's number is a column".into()));
        };
        let number = cast(Planned::Column(number), DataType::Int64).alias(self.names.fresh(ORDINALITY));
        let named = Named { name: ORDINALITY.to_owned(), other: None, column: column_of(&number) };
        columns.push(number);
        let plan = self.project(plan, columns)?;
        if let Some(relation) = scope.relations.first_mut() {
            relation.columns.push(named);
            scope.shown.clone_from(&relation.columns);
        }
        let scope = scope.over(Arc::clone(plan.schema()));
        Ok(From { plan, scope })
    }
}

/// The arguments of a function in FROM, which are values without names.
fn values(arguments: &[FunctionArg], function: &str) -> Result<Vec<Expr>> {
    let value = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Ok(value.clone()),
        other => Err(error::unsupported(format!("argument {other} of {function} in FROM"))),
    };
    arguments.iter().map(value).collect()
}

/// What the numbers of WITH ORDINALITY are called.
const ORDINALITY: &str = "ordinality";

/// Functions of FROM that give the elements of a list elsewhere.
const SERIES_FUNCTIONS: [&str; 2] = [SERIES, "range"];

/// A function that gives values: its alias names its column as well, which is called like the function without one. The column of a
/// series is also `value`, where nothing else is.
fn valued(mut from: From, function: &str, shown: Shown<'_>) -> Result<From> {
    if let Some(relation) = from.scope.relations.first_mut() {
        relation.is_value = relation.columns.len() == 1;
        if let Some(first) = relation.columns.first_mut() {
            if SERIES_FUNCTIONS.contains(&function) {
                relation.others.push(Named { name: "value".into(), other: None, column: first.column.clone() });
            }
            first.name = shown.alias.map_or_else(|| function.to_owned(), |alias| fold(&alias.name));
        }
        from.scope.shown.clone_from(&relation.columns);
    }
    aliased(from, shown.alias)
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
