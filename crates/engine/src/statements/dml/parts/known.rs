//! The queries of a WITH as those behind them see them: what a part has returned is a table of the statement, which its name in the
//! WITH reads. So is a query that several parts name: they are to see the same rows of it.

use crate::bind::{in_order, tables_read};
use crate::session::{StatementContext, StatementTables};
use crate::sql::ignored::writes;
use crate::sql::names::{fold, unsupported};
use crate::sql::parse::query_of;
use crate::statements::dml::change::Returned;
use crate::{Error, Result};
use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{Cte, Ident, Query, SetExpr, Statement as Sql, TableAliasColumnDef, With};
use gingham_storage::SqlState;
use gingham_storage::scan::batch_bytes;
use std::collections::HashSet;
use std::sync::Arc;

/// The queries of a WITH.
pub(crate) struct KnownQueries<'c> {
    context: &'c StatementContext,
    with: With,
    /// Places in the order in which the queries are read.
    order: Vec<usize>,
    /// How many of the statement's parts name each query.
    named: Vec<usize>,
    /// Those that give no rows: their statements have no RETURNING.
    silent: HashSet<usize>,
    tables: StatementTables,
    reservation: MemoryReservation,
}

impl<'c> KnownQueries<'c> {
    /// Those of a statement, which is the last part.
    pub(crate) fn of(context: &'c StatementContext, statement: &Query) -> Result<Self> {
        let none = || With { with_token: AttachedToken::empty(), recursive: false, cte_tables: Vec::new() };
        let with = statement.with.clone().unwrap_or_else(none);
        let names: Vec<String> = with.cte_tables.iter().map(|own| fold(&own.alias.name)).collect();
        for (place, name) in names.iter().enumerate() {
            if names[..place].contains(name) {
                let text = format!("WITH has two queries of the name '{name}'");
                return Err(Error::invalid(SqlState::DuplicateAlias, text));
            }
        }
        let place = |own: &&Cte| with.cte_tables.iter().position(|other| std::ptr::eq(*own, other));
        let order = in_order(&with)?.iter().filter_map(place).collect();
        let last = Query { with: None, ..statement.clone() };
        let mut read = vec![(None, tables_read(&last)?)];
        for (place, own) in with.cte_tables.iter().enumerate() {
            refuse_nested(&own.query)?;
            read.push((Some(place), tables_read(&own.query)?));
        }
        let (mut silent, mut named) = (HashSet::new(), Vec::with_capacity(names.len()));
        for (place, (name, own)) in names.iter().zip(&with.cte_tables).enumerate() {
            let reads = |(part, read): &&(Option<usize>, HashSet<String>)| *part != Some(place) && read.contains(name);
            let readers = read.iter().filter(reads).count();
            if !returns(&own.query) {
                silent.insert(place);
                if readers > 0 {
                    let text = format!("WITH query '{name}' has no RETURNING, so that there are no rows of it to read");
                    return Err(Error::Unsupported(text));
                }
            }
            named.push(readers);
        }
        let reservation = MemoryConsumer::new("rows of WITH").register(context.task().memory_pool());
        Ok(Self { context, order, named, silent, tables: context.tables.clone(), reservation, with })
    }

    /// Their places in the order in which they are read.
    pub(crate) fn order(&self) -> Vec<usize> {
        self.order.clone()
    }

    /// The statement with the tables that parts so far have given.
    pub(crate) fn context(&self) -> StatementContext {
        self.context.with_tables(self.tables.clone())
    }

    /// The statement at a place, if it changes records.
    pub(crate) fn statement(&self, place: usize) -> Option<Sql> {
        match self.with.cte_tables[place].query.body.as_ref() {
            SetExpr::Insert(own) | SetExpr::Update(own) | SetExpr::Delete(own) | SetExpr::Merge(own) => {
                Some(own.clone())
            }
            _ => None,
        }
    }

    /// Whether several parts name the query at a place.
    pub(crate) fn is_shared(&self, place: usize) -> bool {
        self.named[place] > 1
    }

    /// All rows of the query at a place, which sees those before it.
    pub(crate) fn rows_of(&self, place: usize) -> Result<Query> {
        let name = fold(&self.with.cte_tables[place].alias.name);
        let query = query_of(&format!("SELECT * FROM {}", Ident::with_quote('"', name)))?;
        let own = self.order.iter().copied().take_while(|other| *other != place).chain([place]);
        Ok(Query { with: self.with_of(own), ..query })
    }

    /// The statement at a place as a query, which sees those before it.
    pub(crate) fn part(&self, place: usize) -> Query {
        Query { with: self.before(place), ..*self.with.cte_tables[place].query.clone() }
    }

    /// The queries that stand before one, for it and the WITH of its own.
    pub(crate) fn before(&self, place: usize) -> Option<With> {
        let own = self.order.iter().take_while(|other| **other != place);
        let before = self.with_of(own.copied());
        match (&self.with.cte_tables[place].query.with, before) {
            (None, before) => before,
            (Some(own), None) => self.is_change(place).then(|| own.clone()),
            (Some(own), Some(mut before)) => {
                if self.is_change(place) {
                    before.cte_tables.extend(own.cte_tables.iter().cloned());
                    before.recursive |= own.recursive;
                }
                Some(before)
            }
        }
    }

    fn is_change(&self, place: usize) -> bool {
        crate::sql::ignored::changes(&self.with.cte_tables[place].query)
    }

    /// All queries, for the last part.
    pub(crate) fn all(&self) -> Option<With> {
        self.with_of(self.order.iter().copied())
    }

    fn with_of(&self, places: impl Iterator<Item = usize>) -> Option<With> {
        let own: Vec<Cte> = places
            .filter(|place| !self.silent.contains(place))
            .map(|place| self.with.cte_tables[place].clone())
            .collect();
        (!own.is_empty()).then(|| With { cte_tables: own, ..self.with.clone() })
    }

    /// Puts the rows that the query at a place has given in its place; nothing where it gives none.
    pub(crate) fn put(&mut self, place: usize, rows: Option<Returned>) -> Result<()> {
        let Some((schema, rows)) = rows.map(Returned::rows) else { return Ok(()) };
        self.put_rows(place, &schema, rows)
    }

    /// Puts rows of a schema in the place of the query at a place: perhaps none.
    pub(crate) fn put_rows(&mut self, place: usize, schema: &SchemaRef, rows: Vec<RecordBatch>) -> Result<()> {
        let batches = numbered(schema, rows, &self.reservation)?;
        let name = format!("\"rows of query {place}\"");
        self.tables.insert(&name, batches)?;
        let cte = &mut self.with.cte_tables[place];
        let query = query_of(&format!("SELECT * FROM {name}"))?;
        (cte.query, cte.materialized) = (Box::new(query), None);
        for field in schema.fields().iter().skip(cte.alias.columns.len()) {
            let name = Ident::with_quote('"', field.name());
            cte.alias.columns.push(TableAliasColumnDef { name, data_type: None });
        }
        Ok(())
    }
}

/// Rows with columns `c0`, `c1`, …, since several may have one name, behind a batch without any; `reservation` grows by what they take.
pub(crate) fn numbered(
    schema: &SchemaRef,
    rows: Vec<RecordBatch>,
    reservation: &MemoryReservation,
) -> Result<Vec<RecordBatch>> {
    let numbered = |(at, field): (usize, &Arc<Field>)| Arc::new(field.as_ref().clone().with_name(format!("c{at}")));
    let own: SchemaRef = Arc::new(Schema::new(schema.fields().iter().enumerate().map(numbered).collect::<Vec<_>>()));
    let mut batches = vec![RecordBatch::new_empty(Arc::clone(&own))];
    for batch in rows {
        reservation.try_grow(batch_bytes(&batch))?;
        batches.push(RecordBatch::try_new(Arc::clone(&own), batch.columns().to_vec())?);
    }
    Ok(batches)
}

/// Whether a query gives rows.
fn returns(query: &Query) -> bool {
    let (SetExpr::Insert(own) | SetExpr::Update(own) | SetExpr::Delete(own) | SetExpr::Merge(own)) =
        query.body.as_ref()
    else {
        return true;
    };
    match own {
        Sql::Insert(insert) => insert.returning.is_some(),
        Sql::Update(update) => update.returning.is_some(),
        Sql::Delete(delete) => delete.returning.is_some(),
        Sql::Merge(merge) => merge.output.is_some(),
        _ => true,
    }
}

/// Refuses statements within those of a WITH: these have one of their own that changes nothing.
fn refuse_nested(query: &Query) -> Result<()> {
    let nested = query.with.as_ref().is_some_and(|with| with.cte_tables.iter().any(|own| writes(&own.query)));
    if nested {
        let text = "INSERT, UPDATE, DELETE or MERGE anywhere but in a WITH at the top of a statement";
        return Err(unsupported(text.to_owned()));
    }
    Ok(())
}
