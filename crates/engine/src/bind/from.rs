//! The members of FROM: tables, views, queries of WITH, derived tables.

use crate::bind::binder::{Beside, Binder, Bound, Instead, MERGE_ACTION, QueryContext, TablesOf, With, column_of};
use crate::bind::error;
use crate::bind::items::has_wildcard;
use crate::bind::mentioned::constraint;
use crate::bind::row::ROWS;
use crate::bind::scope::{FromRelation, Level, NameScope, Named, schema_name};
use crate::bind::subquery::as_subquery;
use crate::bind::tables::{KnownRelation, View, reference};
use crate::sql::names::fold;
use crate::table::GinghamTable;
use crate::{Error, Result};
use datafusion::catalog::TableProvider;
use datafusion::common::{Column, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::functions::string::expr_fn::rtrim;
use datafusion::logical_expr::logical_plan::TableScanBuilder;
use datafusion::logical_expr::{Expr as Planned, LogicalPlan, LogicalPlanBuilder, lit};
use datafusion::sql::sqlparser::ast::{
    JoinConstraint, ObjectName, Query, Select, Spanned, TableAlias, TableFactor, TableSampleKind, TableWithJoins,
};
use gingham_storage::snapshot::{RECORD_IDS, TableSnapshot};
use gingham_storage::{ColumnDefinition, LogicalType, SqlState, TableDefinition};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// What a FROM, or a part of it, gives.
pub(super) struct From {
    pub(super) plan: LogicalPlan,
    pub(super) scope: NameScope,
}

/// Where a member of FROM stands.
#[derive(Clone, Copy)]
pub(super) struct FromContext<'a> {
    pub(super) place: &'a QueryContext,
    /// What stands before it, which LATERAL sees.
    pub(super) before: Option<&'a From>,
    /// Whether its columns may be meant without being named.
    pub(super) is_whole: bool,
}

/// How a function of FROM is shown: its alias, and whether its rows are numbered.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) alias: Option<&'a TableAlias>,
    pub(super) with_ordinality: bool,
}

impl From {
    /// The one row without columns that a query without FROM reads.
    fn nothing() -> Result<Self> {
        Ok(Self { plan: LogicalPlanBuilder::empty(true).build()?, scope: NameScope::empty() })
    }

    pub(super) fn of(relation: FromRelation, plan: LogicalPlan) -> Self {
        Self { scope: NameScope::of(relation, &plan), plan }
    }
}

impl Binder<'_> {
    /// Binds the FROM of a SELECT.
    pub(super) fn from(&mut self, select: &Select, place: &QueryContext) -> Result<From> {
        let is_whole = has_wildcard(&select.projection) || select.from.iter().any(is_natural);
        let mut all: Option<From> = None;
        for tables in &select.from {
            // The first tables are those that others stand in for.
            let later = all.as_ref().map(|_| QueryContext { instead: Rc::from([]), ..place.clone() });
            let member = FromContext { place: later.as_ref().unwrap_or(place), before: all.as_ref(), is_whole };
            let next = self.tables(tables, member)?;
            all = Some(match all {
                None => next,
                Some(before) => cross(before, next)?,
            });
        }
        let from = match all {
            Some(from) => from,
            None => From::nothing()?,
        };
        if !place.instead.is_empty() {
            self.note_beside(&from.scope)?;
        }
        Ok(from)
    }

    /// Binds a table and what is joined to it.
    fn tables(&mut self, tables: &TableWithJoins, member: FromContext<'_>) -> Result<From> {
        let mut left = self.factor(&tables.relation, member)?;
        for (number, join) in tables.joins.iter().enumerate() {
            let instead = member.place.instead.iter().skip(number + 1).cloned().collect();
            let place = QueryContext { instead, ..member.place.clone() };
            left = self.join(left, join, FromContext { place: &place, ..member })?;
        }
        Ok(left)
    }

    /// Binds one member of FROM.
    pub(super) fn factor(&mut self, factor: &TableFactor, member: FromContext<'_>) -> Result<From> {
        match factor {
            TableFactor::Table { with_ordinality: true, args: None, name, .. } => {
                Err(Error::Unsupported(format!("WITH ORDINALITY numbers the rows of a function, and {name} is none")))
            }
            TableFactor::Table { name, alias, args: None, sample, .. } => {
                self.table(name, alias.as_ref(), sample.as_ref(), member)
            }
            TableFactor::Table { sample: Some(_), .. } | TableFactor::Derived { sample: Some(_), .. } => {
                Err(error::unsupported("TABLESAMPLE of what is no table"))
            }
            TableFactor::Table { name, alias, args: Some(arguments), with_ordinality, .. } => {
                let shown = Shown { alias: alias.as_ref(), with_ordinality: *with_ordinality };
                self.table_function(name, &arguments.args, shown, member)
            }
            TableFactor::Function { lateral: _, name, args, with_ordinality, alias } => {
                let shown = Shown { alias: alias.as_ref(), with_ordinality: *with_ordinality };
                self.table_function(name, args, shown, member)
            }
            TableFactor::Derived { lateral, subquery, alias, .. } => {
                let alias = alias.as_ref();
                let outer = if *lateral { self.seen_by_lateral(member) } else { member.place.outer.clone() };
                let bound = self.unordered(subquery, &member.place.inner(outer))?;
                let bound = if *lateral { self.dependent(bound)? } else { bound };
                let relation = FromRelation { columns: bound.columns, ..FromRelation::default() };
                if let Some(alias) = alias.filter(|alias| alias.name.value == ROWS) {
                    same_length(alias.columns.len(), relation.columns.len(), subquery)?;
                }
                aliased(From::of(relation, bound.plan), alias)
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let from = self.tables(table_with_joins, member)?;
                match alias {
                    None => Ok(from),
                    Some(alias) => {
                        let relation = FromRelation { columns: from.scope.shown, ..FromRelation::default() };
                        aliased(From::of(relation, from.plan), Some(alias))
                    }
                }
            }
            TableFactor::UNNEST {
                alias,
                array_exprs,
                with_offset: false,
                with_offset_alias: None,
                with_ordinality,
            } => {
                let shown = Shown { alias: alias.as_ref(), with_ordinality: *with_ordinality };
                self.unnested_rows(array_exprs, "unnest", shown, member)
            }
            TableFactor::Pivot { .. } => Err(Error::Unsupported("not supported: PIVOT".into())),
            other => Err(error::unsupported(format!("{other} in FROM"))),
        }
    }

    /// What a LATERAL member sees around it: the members before it, then the queries around.
    pub(super) fn seen_by_lateral(&self, member: FromContext<'_>) -> Option<Rc<Level>> {
        let next = member.place.outer.clone();
        match member.before {
            None => next,
            Some(before) => Some(Level::new(before.scope.clone(), next)),
        }
    }

    fn table(
        &mut self,
        name: &ObjectName,
        alias: Option<&TableAlias>,
        sample: Option<&TableSampleKind>,
        member: FromContext<'_>,
    ) -> Result<From> {
        let reference = reference(name)?;
        let is_table = || matches!(member.place.tables.get().find(&reference), Ok(KnownRelation::Table { .. }));
        if sample.is_some() && (!member.place.instead.is_empty() || !is_table()) {
            return Err(error::unsupported(format!("TABLESAMPLE of '{reference}', which is no table")));
        }
        if let Some(instead) = member.place.instead.first() {
            return self.stand_in_for(&instead.clone(), &reference, alias, member);
        }
        if let TableReference::Bare { table } = &reference
            && sample.is_none()
            && let Some(with) = find_with(member.place.with.as_ref(), table)
        {
            let mut from = self.with_query(&with)?;
            from.scope.relations[0].name = Some(table.to_string());
            return aliased(from, alias);
        }
        match member.place.tables.get().find(&reference).map_err(|error| located(error, name))?.clone() {
            KnownRelation::Table { table, is_temporary } => {
                let name = alias.map_or_else(|| reference.table().to_owned(), |alias| fold(&alias.name));
                let is_row = self.names_row(&name, &table.definition);
                let is_whole = member.is_whole || is_row || alias.is_some_and(|alias| !alias.columns.is_empty());
                let mut from = match sample {
                    None => self.scan(table, &reference, is_whole, None)?,
                    Some(sample) => {
                        let id = self.names.fresh("record id");
                        let table = Arc::new(table.with_record_ids(id.clone()));
                        let all = self.scan(table, &reference, is_whole, Some(&id))?;
                        self.sampled(all, &id, sample, member)?
                    }
                };
                from.scope.relations[0].schema = schema_name(reference.schema(), is_temporary);
                from.scope.relations[0].is_bare = reference.schema().is_none();
                aliased(from, alias)
            }
            KnownRelation::Other(provider) => {
                let mut from = self.rows_of(provider, &reference)?;
                from.scope.relations[0].schema = schema_name(reference.schema(), false);
                from.scope.relations[0].is_bare = reference.schema().is_none();
                aliased(from, alias)
            }
            KnownRelation::View(view) => {
                let bound = self.view(&view)?;
                let relation = FromRelation {
                    name: Some(reference.table().to_owned()),
                    schema: schema_name(reference.schema(), false),
                    columns: bound.columns,
                    is_bare: reference.schema().is_none(),
                    ..FromRelation::default()
                };
                aliased(From::of(relation, bound.plan), alias)
            }
        }
    }

    fn stand_in_for(
        &mut self,
        instead: &Instead,
        reference: &TableReference,
        alias: Option<&TableAlias>,
        member: FromContext<'_>,
    ) -> Result<From> {
        let (mut from, tables): (From, &[Beside]) = match instead {
            Instead::Table(table) => {
                let name = alias.map_or_else(|| reference.table().to_owned(), |alias| fold(&alias.name));
                let is_whole = member.is_whole || self.names_row(&name, &table.definition);
                let mut from = self.scan(Arc::clone(table), reference, is_whole, None)?;
                let ids = table.definition.column_by_id(RECORD_IDS);
                from.scope.relations[0].ids = ids.map(|column| column.name.clone());
                (from, &[])
            }
            Instead::Rows(rows) => (self.rows_of(Arc::clone(rows), reference)?, &[]),
            Instead::Joined(rows, tables) | Instead::Merged(rows, tables) => {
                (self.rows_of(Arc::clone(rows), reference)?, tables)
            }
        };
        let first = &mut from.scope.relations[0];
        first.schema = schema_name(reference.schema(), false);
        first.is_bare = reference.schema().is_none();
        let mut others = first.columns.split_off(first.columns.len() - tables.iter().map(Beside::width).sum::<usize>());
        from.scope.shown.clone_from(&first.columns);
        let mut from = aliased(from, alias)?;
        for Beside { relation, fields } in tables {
            let rest = others.split_off(fields.len());
            let names = relation.columns.iter().map(|own| own.name.clone());
            let columns = others.into_iter().zip(names).map(|(own, name)| Named { name, other: None, ..own }).collect();
            let relation = FromRelation { columns, key: Vec::new(), ..relation.clone() };
            if relation.name.as_deref() != Some(MERGE_ACTION.0) {
                from.scope.shown.extend(relation.columns.iter().cloned());
            }
            from.scope.relations.push(relation);
            others = rest;
        }
        if let Instead::Merged(..) = instead {
            let own = from.scope.relations[0].columns.len();
            from.scope.shown.rotate_left(own);
        }
        Ok(from)
    }

    /// Whether a statement may mean the row of a table of that name.
    fn names_row(&self, name: &str, definition: &TableDefinition) -> bool {
        self.mentioned.has_bare(name) && definition.columns.iter().all(|own| own.name != name)
    }

    /// Notes the tables beside the first one of a statement that changes records.
    pub(super) fn note_beside(&mut self, scope: &NameScope) -> Result<()> {
        for relation in scope.relations.iter().skip(1) {
            let fields = relation.columns.iter().map(|own| scope.field(&own.column)).collect::<Result<_>>()?;
            self.beside.push(Beside { relation: relation.clone(), fields });
        }
        Ok(())
    }

    /// A scan of a table with the columns that the statement mentions and `besides`, or all of them.
    fn scan(
        &mut self,
        table: Arc<TableSnapshot>,
        reference: &TableReference,
        is_whole: bool,
        besides: Option<&str>,
    ) -> Result<From> {
        let mentioned = Rc::clone(&self.mentioned);
        let samples = self.samples.entry(Arc::as_ptr(&table) as usize).or_default().clone();
        let definition = Arc::clone(&table.definition);
        let all = definition.columns.iter().map(|column| column.name.clone()).collect();
        let shown = GinghamTable::showing(
            table,
            |name| is_whole || mentioned.has(name) || besides == Some(name),
            |name| self.names.fresh(name),
            samples,
        )?;
        let own: Vec<String> = shown.own_names().map(str::to_owned).collect();
        let plan = self.trimmed(scan_of(Arc::new(shown), reference)?, &own, &definition)?;
        self.integers.note_typed(plan.schema());
        let columns: Vec<Named> = plan
            .schema()
            .columns()
            .into_iter()
            .zip(own)
            .map(|(column, name)| Named { name, other: None, column })
            .collect();
        let primary = definition.keys.iter().find(|key| key.primary);
        let key = primary.and_then(|key| {
            let column = |id| {
                let ColumnDefinition { name, logical_type, .. } = definition.column_by_id(id)?;
                if matches!(logical_type, LogicalType::UntrimmedChar(_)) {
                    return None; // two of its values may be equal without their blanks
                }
                columns.iter().find(|own| own.name == *name).map(|own| own.column.clone())
            };
            key.columns.iter().map(|id| column(*id)).collect::<Option<Vec<Column>>>()
        });
        let relation = FromRelation {
            name: Some(reference.table().to_owned()),
            columns,
            key: key.unwrap_or_default(),
            all,
            ..FromRelation::default()
        };
        Ok(From::of(relation, plan))
    }

    /// A scan in which CHARs have no blanks at their end, also those of a table that was made by a build that kept them.
    fn trimmed(&mut self, plan: LogicalPlan, own: &[String], definition: &TableDefinition) -> Result<LogicalPlan> {
        let fixed: HashMap<&str, &LogicalType> = { definition.columns.iter() }
            .filter(|column| column.logical_type.fixed_length().is_some())
            .map(|column| (column.name.as_str(), &column.logical_type))
            .collect();
        if fixed.is_empty() {
            return Ok(plan);
        }
        let (mut columns, mut has_blanks) = (Vec::with_capacity(own.len()), false);
        for (column, name) in plan.schema().columns().into_iter().zip(own) {
            let logical_type = fixed.get(name.as_str());
            let length = logical_type.and_then(|own| own.fixed_length());
            let shown = match logical_type {
                Some(LogicalType::UntrimmedChar(_)) => {
                    has_blanks = true;
                    let name = self.names.fresh(&column.name);
                    rtrim(vec![Planned::Column(column), lit(" ")]).alias(name)
                }
                _ => Planned::Column(column),
            };
            self.fixed.note(&column_of(&shown), length);
            columns.push(shown);
        }
        if has_blanks { self.project(plan, columns) } else { Ok(plan) }
    }

    /// The rows of another provider, whose columns get names of their own where theirs are taken.
    pub(super) fn rows_of(&mut self, provider: Arc<dyn TableProvider>, reference: &TableReference) -> Result<From> {
        // Two scans of one name would have columns of one name, below those that they are called by.
        let plan = scan_of(provider, &TableReference::bare(self.names.fresh(reference.table())))?;
        let names: Vec<String> = plan.schema().fields().iter().map(|field| field.name().clone()).collect();
        self.told.note_fields(&plan);
        let plan = self.own_names(plan)?;
        let columns = Bound::of(plan.clone(), names).columns;
        Ok(From::of(
            FromRelation { name: Some(reference.table().to_owned()), columns, ..FromRelation::default() },
            plan,
        ))
    }

    /// A plan whose columns have names that occur once.
    pub(super) fn own_names(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        self.integers.note_typed(plan.schema());
        let columns = plan.schema().columns();
        let renamed = columns.into_iter().map(|column| {
            let name = self.names.fresh(&column.name);
            let renamed =
                if name == column.name { Planned::Column(column) } else { Planned::Column(column).alias(name) };
            self.note(&renamed);
            renamed
        });
        let renamed = renamed.collect();
        self.project(plan, renamed)
    }

    /// A query that may look at columns beside it, as a member of FROM. Its columns have names of their own: rules give others to
    /// what they put in the place of aggregates.
    pub(super) fn dependent(&mut self, bound: Bound) -> Result<Bound> {
        let Bound { plan, columns } = bound;
        if plan.all_out_ref_exprs().is_empty() {
            return Ok(Bound { plan, columns });
        }
        let renamed = plan.schema().columns().into_iter().map(|column| {
            let name = column.name.clone();
            self.renamed(Planned::Column(column), &name)
        });
        let renamed = renamed.collect();
        let subquery = as_subquery(self.project(plan, renamed)?);
        let names: Vec<String> = columns.iter().map(|own| own.name.clone()).collect();
        Ok(Bound::of(LogicalPlan::Subquery(subquery), names).also_called(&columns))
    }

    fn view(&mut self, view: &Arc<View>) -> Result<Bound> {
        let place = QueryContext {
            tables: TablesOf::View(Arc::clone(view)),
            outer: None,
            with: None,
            is_top: false,
            instead: Rc::from([]),
            verb: "",
        };
        // The view's text may mention other names than the statement does.
        let mentioned = Rc::new(crate::bind::mentioned::Mentioned::of(&mut view.query.clone())?);
        let of_statement = std::mem::replace(&mut self.mentioned, mentioned);
        let bound = self.unordered(&view.query, &place);
        self.mentioned = of_statement;
        let mut bound = bound.map_err(|error| in_view(error, view))?;
        bound.rename(&view.columns);
        Ok(bound)
    }
}

fn same_length(values: usize, columns: usize, query: &Query) -> Result<()> {
    if values == columns {
        return Ok(());
    }
    let text = format!("a row of {values} values is compared with a query of {columns}");
    Err(error::invalid(SqlState::SyntaxError, text, query.span()))
}

/// What WITH calls `name`.
fn find_with(mut with: Option<&Rc<With>>, name: &str) -> Option<Rc<With>> {
    while let Some(own) = with {
        if own.name == name {
            return Some(Rc::clone(own));
        }
        with = own.next.as_ref();
    }
    None
}

fn cross(left: From, right: From) -> Result<From> {
    once(&left.scope, &right.scope)?;
    let plan = LogicalPlanBuilder::from(left.plan).cross_join(right.plan)?.build()?;
    let scope = left.scope.beside(right.scope, Arc::clone(plan.schema()));
    Ok(From { plan, scope })
}

/// Refuses a table that goes by the same name as another: names of columns would mean either.
pub(super) fn once(left: &NameScope, right: &NameScope) -> Result<()> {
    for relation in &right.relations {
        let is_same = |other: &&FromRelation| other.name == relation.name && other.schema == relation.schema;
        if let Some(name) = relation.name.as_ref().filter(|_| left.relations.iter().any(|other| is_same(&other))) {
            return Err(Error::invalid(
                SqlState::DuplicateAlias,
                format!("'{name}' is the name of two tables of this FROM; give one of them an alias"),
            ));
        }
    }
    Ok(())
}

/// A member of FROM under its alias; a query without one is known by no name.
pub(super) fn aliased(mut from: From, alias: Option<&TableAlias>) -> Result<From> {
    let Some(alias) = alias else { return Ok(from) };
    if alias.at.is_some() {
        return Err(error::unsupported("an alias with AT"));
    }
    let relation = &mut from.scope.relations[0];
    relation.name = Some(fold(&alias.name));
    relation.schema = None;
    relation.is_bare = true;
    if !alias.columns.is_empty() {
        relation.all.clear();
        relation.others.clear();
    }
    if alias.columns.len() > relation.columns.len() {
        return Err(error::invalid(
            SqlState::InvalidColumnReference,
            format!(
                "'{}' is given names for {} columns and has {}",
                fold(&alias.name),
                alias.columns.len(),
                relation.columns.len()
            ),
            alias.name.span,
        ));
    }
    for (own, name) in relation.columns.iter_mut().zip(&alias.columns) {
        own.name = fold(&name.name);
        own.other = None;
    }
    from.scope.shown.clone_from(&relation.columns);
    Ok(from)
}

/// A scan under the table's own name: columns that two scans of it have are told apart by theirs.
fn scan_of(provider: Arc<dyn TableProvider>, reference: &TableReference) -> Result<LogicalPlan> {
    // External views have plans of their own, which DataFusion puts in the scan's place.
    Ok(LogicalPlan::TableScan(
        TableScanBuilder::new(TableReference::bare(reference.table()), provider_as_source(provider)).build()?,
    ))
}

/// Whether a join of `tables` finds out by itself which columns are compared.
fn is_natural(tables: &TableWithJoins) -> bool {
    let nested = std::iter::once(&tables.relation).chain(tables.joins.iter().map(|join| &join.relation));
    let is_own = |join: &datafusion::sql::sqlparser::ast::Join| {
        matches!(constraint(&join.join_operator), Some(JoinConstraint::Natural))
    };
    tables.joins.iter().any(is_own)
        || nested.into_iter().any(|factor| match factor {
            TableFactor::NestedJoin { table_with_joins, .. } => is_natural(table_with_joins),
            _ => false,
        })
}

fn located(error: Error, name: &ObjectName) -> Error {
    match error {
        Error::InvalidInput(problem) => Error::InvalidInput(problem.at(error::at(name.span()))),
        other => other,
    }
}

/// An error in a view's text names the view. Its syntax tree has no lines and columns, which would be taken for the
/// statement's.
fn in_view(error: Error, view: &View) -> Error {
    error.about(format_args!("view '{}'", view.name))
}
