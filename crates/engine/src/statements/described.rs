//! What a statement gives and takes, found without running it: the schema of its rows and the types of its parameters, which
//! drivers ask for before they send values.
//!
//! A query's are its plan's. Of a statement that changes records, the parts are planned as queries over its table; a parameter
//! that is a whole value of a column has that column's type.

use crate::bind::BoundQuery;
use crate::session::StatementContext;
use crate::sql::ignored as query;
use crate::sql::names::column_name;
use crate::sql::parse::{Statement, query_of};
use crate::sql::session::SessionStatement;
use crate::statements::admin::{explain, prepare, summarize};
use crate::statements::dml::values::is_default;
use crate::statements::dml::{merge, parts};
use crate::statements::row_locks;
use crate::temporal::TIME_OF;
use crate::{Error, Result};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::logical_expr::Expr as Planned;
use datafusion::sql::parser::Statement as DataFusionStatement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, Delete, Expr, FromTable, Insert, LimitClause, Merge, MergeAction, MergeInsertKind,
    ObjectName, OnConflictAction, OnInsert, OutputClause, Query, SelectItem, SetExpr, Statement as Sql, TableFactor,
    TableObject, Update, UpdateTableFromKind, Value, With,
};
use gingham_storage::TableDefinition;
use std::borrow::Cow;
use std::sync::Arc;

/// What is known of a statement before it runs.
#[derive(Debug, Clone)]
pub(crate) struct StatementDescription {
    /// The schema of the rows that it gives; without columns where it gives none, `None` where only running it tells.
    pub(crate) schema: Option<SchemaRef>,
    /// Types of `$1`, `$2`, …; `None` where nothing tells.
    pub(crate) parameters: Vec<Option<DataType>>,
}

impl StatementDescription {
    fn empty() -> Self {
        Self { schema: Some(Arc::new(Schema::empty())), parameters: Vec::new() }
    }

    /// Notes the type of a parameter, unless one was noted before.
    fn note(&mut self, name: &str, data_type: Option<DataType>) {
        let Some(number) = name.trim_start_matches('$').parse::<usize>().ok().and_then(|number| number.checked_sub(1))
        else {
            return;
        };
        if self.parameters.len() <= number {
            self.parameters.resize(number + 1, None);
        }
        let known = &mut self.parameters[number];
        if known.is_none() {
            *known = data_type.filter(|data_type| *data_type != DataType::Null);
        }
    }

    /// Notes the types of parameters that another part of the statement has.
    fn note_others(&mut self, others: Vec<Option<DataType>>) {
        for (place, data_type) in others.into_iter().enumerate() {
            self.note(&format!("${}", place + 1), data_type);
        }
    }

    fn note_all(&mut self, bound: &BoundQuery) -> Result<()> {
        bound.plan.apply_with_subqueries(|node| {
            node.apply_expressions(|expression| {
                expression.apply(|part| {
                    match part {
                        Planned::Placeholder(placeholder) => {
                            let field = placeholder.field.as_ref();
                            self.note(&placeholder.id, field.map(|field| field.data_type().clone()));
                        }
                        // `$1::bigint` says what it is.
                        Planned::Cast(cast) => {
                            if let Planned::Placeholder(placeholder) = &*cast.expr {
                                self.note(&placeholder.id, Some(cast.field.data_type().clone()));
                            }
                        }
                        // So does `$1::time`, which is a call.
                        Planned::ScalarFunction(call) if call.name() == TIME_OF => {
                            if let [Planned::Placeholder(placeholder)] = call.args.as_slice() {
                                self.note(&placeholder.id, Some(DataType::Time64(TimeUnit::Microsecond)));
                            }
                        }
                        _ => {}
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        Ok(())
    }

    /// A value that a column is to have.
    async fn value(&mut self, context: &StatementContext, value: &Expr, column: Option<&DataType>) -> Result<()> {
        match parameter(value) {
            Some(name) => self.note(name, column.cloned()),
            None if value.to_string().contains('$') => {
                let bound = context.bind(query_of(&format!("SELECT {value}"))?, None).await?;
                self.note_all(&bound)?;
            }
            None => {}
        }
        Ok(())
    }
}

/// The name of the parameter that an expression is.
fn parameter(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Nested(inner) => parameter(inner),
        Expr::Value(value) => match &value.value {
            Value::Placeholder(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// The description of a statement. Mistakes in a query are found here.
pub(crate) async fn describe(context: &StatementContext, mut statement: Statement) -> Result<StatementDescription> {
    if row_locks::may_lock(&statement) {
        // It is not run, and locks nothing.
        row_locks::strip(&mut statement, false)?;
    }
    let statement = match statement {
        Statement::Sql(statement) => statement,
        Statement::Explain(explain) => {
            let described = Box::pin(describe(context, explain.statement)).await?;
            return Ok(StatementDescription { schema: Some(explain::schema()), ..described });
        }
        Statement::Summarize(own) => return of_summary(context, own.query).await,
        Statement::Session(own) => return of_session(context, *own).await,
        _ => return Ok(StatementDescription::empty()),
    };
    match *statement {
        DataFusionStatement::Statement(statement) => of_sql(context, *statement).await,
        DataFusionStatement::Explain(explain) => {
            let mut description = StatementDescription::empty();
            if let DataFusionStatement::Statement(inner) = *explain.statement
                && let Sql::Query(query) = *inner
            {
                description.note_all(&context.bind(*query, None).await?)?;
            }
            let column = |name: &str| Field::new(name, DataType::Utf8, false);
            description.schema = Some(Arc::new(Schema::new(vec![column("plan_type"), column("plan")])));
            Ok(description)
        }
        _ => Ok(StatementDescription::empty()),
    }
}

async fn of_session(context: &StatementContext, statement: SessionStatement) -> Result<StatementDescription> {
    match statement {
        SessionStatement::Show { .. } => Ok(StatementDescription { schema: None, parameters: Vec::new() }),
        SessionStatement::Fetch(fetch) if !fetch.moves => {
            let schema = context.session.cursors.schema(&fetch.cursor)?;
            Ok(StatementDescription { schema: Some(schema), parameters: Vec::new() })
        }
        SessionStatement::Declare(mut declare) => {
            query::refuse_ignored(&mut declare.query)?;
            let mut description = StatementDescription::empty();
            description.note_all(&context.bind(declare.query, None).await?)?;
            Ok(description)
        }
        _ => Ok(StatementDescription::empty()),
    }
}

async fn of_summary(context: &StatementContext, mut query: Query) -> Result<StatementDescription> {
    query::refuse_ignored(&mut query)?;
    let mut description = StatementDescription { schema: Some(summarize::schema()), parameters: Vec::new() };
    let limits = limits(&query);
    limits.iter().for_each(|name| description.note(name, Some(DataType::Int64)));
    description.note_all(&context.bind(query, None).await?)?;
    Ok(description)
}

/// The description of one of SQL's own statements.
async fn of_sql(context: &StatementContext, statement: Sql) -> Result<StatementDescription> {
    let statement = match statement {
        Sql::Query(query) if query::has_changes(query.with.as_ref()) => return of_parts(context, *query).await,
        other => other,
    };
    let (statement, with) = query::apart(statement);
    match statement {
        Sql::Query(mut query) => {
            query::refuse_ignored(&mut query)?;
            let limits = limits(&query);
            let bound = context.bind(*query, None).await?;
            let mut description = StatementDescription::empty();
            limits.iter().for_each(|name| description.note(name, Some(DataType::Int64)));
            description.note_all(&bound)?;
            description.schema = Some(schema(context, &bound, &description.parameters)?);
            Ok(description)
        }
        Sql::Insert(insert) => of_insert(context, insert, with.as_ref()).await,
        Sql::Update(update) => of_update(context, update, with.as_ref()).await,
        Sql::Delete(delete) => of_delete(context, delete, with.as_ref()).await,
        Sql::Merge(merge) => of_merge(context, merge, with.as_ref()).await,
        Sql::Execute { name, parameters, .. } => of_execute(context, name.as_ref(), &parameters).await,
        Sql::CreateTable(table) => {
            let mut description = StatementDescription::empty();
            if let Some(query) = table.query {
                description.note_all(&context.bind(*query, None).await?)?;
            }
            Ok(description)
        }
        Sql::ExplainTable { .. }
        | Sql::Explain { .. }
        | Sql::Vacuum(_)
        | Sql::OptimizeTable { .. }
        | Sql::ShowCreate { .. }
        | Sql::ShowFunctions { .. }
        | Sql::ShowTables { .. }
        | Sql::ShowColumns { .. } => Ok(StatementDescription { schema: None, parameters: Vec::new() }),
        _ => Ok(StatementDescription::empty()),
    }
}

/// Describes a statement whose WITH changes records.
async fn of_parts(context: &StatementContext, query: Query) -> Result<StatementDescription> {
    let mut known = parts::KnownQueries::of(context, &query)?;
    let mut parameters = Vec::new();
    for place in known.order() {
        if known.statement(place).is_none() {
            continue;
        }
        let (here, own) = (known.context(), Sql::Query(Box::new(known.part(place))));
        let described = Box::pin(of_sql(&here, own)).await?;
        parameters.push(described.parameters);
        if let Some(schema) = described.schema.filter(|schema| !schema.fields().is_empty()) {
            known.put_rows(place, &Arc::new(Schema::clone(&schema)), Vec::new())?;
        }
    }
    let here = known.context();
    let last = Sql::Query(Box::new(Query { with: known.all(), ..query }));
    let mut described = Box::pin(of_sql(&here, last)).await?;
    for own in parameters {
        described.note_others(own);
    }
    Ok(described)
}

/// The parameters that LIMIT and OFFSET are.
fn limits(query: &Query) -> Vec<String> {
    let (limit, offset) = match &query.limit_clause {
        Some(LimitClause::LimitOffset { limit, offset, .. }) => {
            (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
        }
        Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
        None => (None, None),
    };
    [limit, offset].into_iter().flatten().filter_map(parameter).map(str::to_owned).collect()
}

/// The schema of a query's rows. Where a client says which types its parameters have, these are heeded, and those that nothing tells
/// are texts.
fn schema(context: &StatementContext, bound: &BoundQuery, parameters: &[Option<DataType>]) -> Result<SchemaRef> {
    let mut plan = Cow::Borrowed(&bound.plan);
    if let Some(declared) = &context.parameter_types {
        let data_type = |place: usize| {
            let known = declared.get(place).cloned().flatten().or_else(|| parameters.get(place).cloned().flatten());
            known.unwrap_or(DataType::Utf8View)
        };
        let nulls = (0..declared.len().max(parameters.len())).map(|place| ScalarValue::try_from(&data_type(place)));
        let values = ParamValues::from(nulls.collect::<datafusion::error::Result<Vec<_>>>()?);
        plan = Cow::Owned(bound.plan.clone().with_param_values(values)?);
    }
    Ok(Arc::new(bound.columns.rename(plan.schema().as_arrow())))
}

fn definition(context: &StatementContext, name: &ObjectName) -> Result<Arc<TableDefinition>> {
    Ok(Arc::clone(&context.table(&object_name_to_table_reference(name.clone(), true)?)?.table.definition))
}

fn type_of(definition: &TableDefinition, name: &ObjectName) -> Option<DataType> {
    let name = column_name(definition, name.0.last()?.as_ident()?).ok()?;
    definition.column(&name).map(|column| column.logical_type.to_arrow())
}

/// `WITH …` in front of a query.
fn in_front(with: Option<&With>) -> String {
    with.map_or_else(String::new, |with| format!("{with} "))
}

/// The columns of RETURNING, which sees the table.
async fn returned(
    context: &StatementContext,
    description: &mut StatementDescription,
    table: &str,
    returning: Option<&[SelectItem]>,
    with: Option<&With>,
) -> Result<()> {
    let Some(items) = returning else { return Ok(()) };
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    let text = format!("{}SELECT {} FROM {table}", in_front(with), items.join(", "));
    let bound = context.bind(query_of(&text)?, None).await?;
    description.note_all(&bound)?;
    description.schema = Some(schema(context, &bound, &description.parameters)?);
    Ok(())
}

async fn of_insert(context: &StatementContext, insert: Insert, with: Option<&With>) -> Result<StatementDescription> {
    let mut description = StatementDescription::empty();
    let TableObject::TableName(name) = &insert.table else { return Ok(description) };
    let definition = definition(context, name)?;
    let types = types_of(&definition, &insert.columns);
    if let Some(source) = insert.source {
        of_source(context, &mut description, *source, with, &types).await?;
    }
    if let Some(OnInsert::OnConflict(conflict)) = &insert.on
        && let OnConflictAction::DoUpdate(update) = &conflict.action
    {
        assigned(context, &mut description, &update.assignments, &definition).await?;
    }
    let alias = insert.table_alias.as_ref().map_or_else(String::new, |alias| format!(" AS {}", alias.alias));
    returned(context, &mut description, &format!("{name}{alias}"), insert.returning.as_deref(), with).await?;
    Ok(description)
}

/// What gives the rows of an INSERT into columns of these types.
async fn of_source(
    context: &StatementContext,
    description: &mut StatementDescription,
    source: Query,
    with: Option<&With>,
    types: &[Option<DataType>],
) -> Result<()> {
    match &*source.body {
        SetExpr::Values(values) => {
            for row in &values.rows {
                for (value, column) in row.content.iter().zip(types) {
                    description.value(context, value, column.as_ref()).await?;
                }
            }
            Ok(())
        }
        body => {
            if let SetExpr::Select(select) = body {
                for (item, column) in select.projection.iter().zip(types) {
                    if let SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. } = item
                        && let Some(name) = parameter(value)
                    {
                        description.note(name, column.clone());
                    }
                }
            }
            let bound = context.bind(query_of(&format!("{}{source}", in_front(with)))?, None).await?;
            description.note_all(&bound)
        }
    }
}

/// Assignments that are a parameter each; those that compute with the table's columns are planned with its condition.
async fn assigned(
    context: &StatementContext,
    description: &mut StatementDescription,
    assignments: &[Assignment],
    definition: &TableDefinition,
) -> Result<()> {
    for Assignment { target, value } in assignments {
        if let AssignmentTarget::ColumnName(name) = target
            && parameter(value).is_some()
        {
            description.value(context, value, type_of(definition, name).as_ref()).await?;
        }
    }
    Ok(())
}

async fn of_update(context: &StatementContext, update: Update, with: Option<&With>) -> Result<StatementDescription> {
    let mut description = StatementDescription::empty();
    if let TableFactor::Table { name, .. } = &update.table.relation {
        assigned(context, &mut description, &update.assignments, &*definition(context, name)?).await?;
    }
    let others = match &update.from {
        Some(UpdateTableFromKind::BeforeSet(tables) | UpdateTableFromKind::AfterSet(tables)) => tables.as_slice(),
        None => &[],
    };
    let others: String = others.iter().map(|table| format!(", {table}")).collect();
    let values = update.assignments.iter().filter_map(|assignment| computed(&assignment.value)).collect();
    let tables = format!("{}{others}", update.table);
    found(context, &mut description, &tables, values, update.selection.as_ref(), with).await?;
    returned(context, &mut description, &tables, update.returning.as_deref(), with).await?;
    Ok(description)
}

async fn of_delete(context: &StatementContext, delete: Delete, with: Option<&With>) -> Result<StatementDescription> {
    let mut description = StatementDescription::empty();
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let tables = from.iter().chain(delete.using.iter().flatten()).map(ToString::to_string).collect::<Vec<_>>();
    let tables = tables.join(", ");
    found(context, &mut description, &tables, Vec::new(), delete.selection.as_ref(), with).await?;
    returned(context, &mut description, &tables, delete.returning.as_deref(), with).await?;
    Ok(description)
}

async fn of_merge(context: &StatementContext, merge: Merge, with: Option<&With>) -> Result<StatementDescription> {
    let mut description = StatementDescription::empty();
    let TableFactor::Table { name, .. } = &merge.table else { return Ok(description) };
    let definition = definition(context, name)?;
    let mut values = Vec::new();
    for clause in &merge.clauses {
        values.extend(clause.predicate.iter().map(ToString::to_string));
        match &clause.action {
            MergeAction::Update(update) => {
                assigned(context, &mut description, &update.assignments, &definition).await?;
                values.extend(update.assignments.iter().filter_map(|assignment| computed(&assignment.value)));
            }
            MergeAction::Insert(insert) => {
                let MergeInsertKind::Values(rows) = &insert.kind else { continue };
                let types = types_of(&definition, &insert.columns);
                for (value, column) in rows.rows.iter().flat_map(|row| row.content.iter().zip(&types)) {
                    if let Some(name) = parameter(value) {
                        description.note(name, column.clone());
                    }
                    values.extend(computed(value));
                }
            }
            MergeAction::Delete { .. } => {}
        }
    }
    let tables = format!("{} JOIN {} ON {}", merge.table, merge.source, merge.on);
    found(context, &mut description, &tables, values, None, with).await?;
    if let Some(OutputClause::Returning { select_items, .. }) = merge.output {
        // The source's columns come first.
        let tables = format!("{} CROSS JOIN {}", merge.source, merge.table);
        let items = merge::with_actions(select_items)?;
        returned(context, &mut description, &tables, Some(&items), with).await?;
    }
    Ok(description)
}

/// The description of what EXECUTE executes, with the types that it wants of the parameters that are its values.
async fn of_execute(
    context: &StatementContext,
    name: Option<&ObjectName>,
    values: &[Expr],
) -> Result<StatementDescription> {
    let Some(prepared) = prepare::named(&context.session, name) else {
        return Ok(StatementDescription { schema: None, parameters: Vec::new() });
    };
    let inner = context.with_tables(prepared.tables.clone());
    let own = Box::pin(describe(&inner, prepared.statement.clone())).await?;
    let mut description = StatementDescription { schema: own.schema, parameters: Vec::new() };
    for (number, value) in values.iter().enumerate() {
        let wanted = prepared.types.get(number).or_else(|| own.parameters.get(number)?.as_ref());
        description.value(context, value, wanted).await?;
    }
    Ok(description)
}

/// The text of a value that is computed, and no parameter or DEFAULT.
fn computed(value: &Expr) -> Option<String> {
    (parameter(value).is_none() && !is_default(value)).then(|| value.to_string())
}

/// The types of the columns that are named, or of all of them when none is.
fn types_of(definition: &TableDefinition, names: &[ObjectName]) -> Vec<Option<DataType>> {
    match names {
        [] => definition.columns.iter().map(|column| Some(column.logical_type.to_arrow())).collect(),
        names => names.iter().map(|name| type_of(definition, name)).collect(),
    }
}

/// What finds the records that a statement changes, and computes with them.
async fn found(
    context: &StatementContext,
    description: &mut StatementDescription,
    tables: &str,
    mut values: Vec<String>,
    condition: Option<&Expr>,
    with: Option<&With>,
) -> Result<()> {
    values.push("1".to_owned());
    let condition = condition.map_or_else(String::new, |condition| format!(" WHERE {condition}"));
    let text = format!("{}SELECT {} FROM {tables}{condition}", in_front(with), values.join(", "));
    // A row of values has no place in a select list: its parameters stay without types.
    let Ok(query) = query_of(&text) else { return Ok(()) };
    match context.bind(query, None).await {
        Ok(bound) => description.note_all(&bound),
        Err(Error::Unsupported(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
