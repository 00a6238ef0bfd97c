//! The tables and views that a statement names, looked up once before it is bound: looking up may have to wait for a file
//! system, binding does not.

use crate::files::{FileCall, file_call};
use crate::sql::walk::{SyntaxTree, Visit};
use crate::{Error, Result};
use async_trait::async_trait;
use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{FunctionArg, Ident, ObjectName, Query, SetExpr, Table, TableFactor};
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::{SqlState, TableName};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// What a name of a table stands for.
#[derive(Debug, Clone)]
pub(crate) enum KnownRelation {
    /// A table of the database, or a TEMP table.
    Table {
        /// Its state in the statement's snapshot.
        table: Arc<TableSnapshot>,
        /// Whether only the session has it.
        is_temporary: bool,
    },
    /// An external table, a system table, or a file.
    Other(Arc<dyn TableProvider>),
    /// A view, which is bound anew wherever it is named.
    View(Arc<View>),
}

/// A view's definition.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) name: TableName,
    pub(crate) query: Query,
    /// Names of its first columns; those of the query for the others.
    pub(crate) columns: Vec<String>,
    /// What its own names stand for.
    pub(crate) tables: Tables,
}

/// A view as it is found: its own names are not yet looked up.
pub(crate) struct FoundView {
    pub(crate) name: TableName,
    pub(crate) query: Query,
    pub(crate) columns: Vec<String>,
    /// Looks up the view's own names.
    pub(crate) inside: Arc<dyn Lookup>,
}

/// What a look-up gives.
pub(crate) enum Looked {
    /// A table.
    Known(KnownRelation),
    /// A view, whose names are still to be looked up.
    View(Box<FoundView>),
}

/// Looks names of tables up: the session's catalog, for the statement or for a view within it.
#[async_trait]
pub(crate) trait Lookup: Send + Sync + fmt::Debug {
    /// What `reference` stands for; `None` for what does not exist.
    async fn look_up(&self, reference: &TableReference) -> Result<Option<Looked>>;

    /// The records of files, as a function of FROM reads them.
    async fn files(&self, call: FileCall) -> Result<Arc<dyn TableProvider>>;

    /// The error for a table that does not exist.
    fn unknown(&self, reference: &TableReference) -> Error;
}

/// The names of tables in a statement, or in a view's query.
#[derive(Debug)]
pub(crate) struct Tables {
    known: HashMap<TableReference, KnownRelation>,
    /// Views that are being defined by themselves, with the error for whoever means them: a WITH may have a query of the name.
    defining: HashMap<TableReference, Error>,
    /// Calls of functions that read files, by their text.
    files: HashMap<String, Arc<dyn TableProvider>>,
    lookup: Arc<dyn Lookup>,
}

/// Views that were read already, by name and by whether only the session has them.
type Views = HashMap<TableName, Arc<View>>;

impl Tables {
    /// Looks up what `tree` names, and what its views name.
    pub(crate) async fn of(tree: &mut (impl SyntaxTree + Send), lookup: Arc<dyn Lookup>) -> Result<Self> {
        Self::read(named(tree)?, lookup, &mut Views::new()).await
    }

    fn read<'a>(
        named: NamedTables,
        lookup: Arc<dyn Lookup>,
        views: &'a mut Views,
    ) -> Pin<Box<dyn Future<Output = Result<Self>> + Send + 'a>> {
        Box::pin(async move {
            let (mut known, mut defining) = (HashMap::new(), HashMap::new());
            for name in named.tables {
                if known.contains_key(&name) {
                    continue;
                }
                let looked = match lookup.look_up(&name).await {
                    Err(error) if error.sqlstate() == SqlState::InvalidRecursion.sqlstate() => {
                        defining.insert(name, error);
                        continue;
                    }
                    looked => looked?,
                };
                let found = match looked {
                    None => continue,
                    Some(Looked::Known(found)) => found,
                    Some(Looked::View(view)) => KnownRelation::View(Self::view(*view, views).await?),
                };
                known.insert(name, found);
            }
            let mut files = HashMap::new();
            for (text, call) in named.files {
                if let Entry::Vacant(free) = files.entry(text) {
                    free.insert(lookup.files(call).await?);
                }
            }
            Ok(Self { known, defining, files, lookup })
        })
    }

    async fn view(found: FoundView, views: &mut Views) -> Result<Arc<View>> {
        if let Some(view) = views.get(&found.name) {
            return Ok(Arc::clone(view));
        }
        let FoundView { name, mut query, columns, inside } = found;
        let tables = Self::read(named(&mut query)?, inside, views).await;
        let tables = tables.map_err(|error| error.about(format_args!("view '{name}'")))?;
        let view = Arc::new(View { name: name.clone(), query, columns, tables });
        views.insert(name, Arc::clone(&view));
        Ok(view)
    }

    /// The records that a call of a function reads, where it is one that reads files.
    pub(super) fn files(&self, name: &ObjectName, arguments: &[FunctionArg]) -> Option<Arc<dyn TableProvider>> {
        self.files.get(&text_of_call(name, arguments)).cloned()
    }

    /// What a name stands for.
    ///
    /// # Errors
    ///
    /// Nothing has the name.
    pub(super) fn find(&self, reference: &TableReference) -> Result<&KnownRelation> {
        let missing = || self.defining.get(reference).cloned().unwrap_or_else(|| self.lookup.unknown(reference));
        self.known.get(reference).ok_or_else(missing)
    }
}

/// A name in a statement as a reference.
pub(super) fn reference(name: &ObjectName) -> Result<TableReference> {
    Ok(object_name_to_table_reference(name.clone(), true)?)
}

/// The table of `TABLE schema.t` as a name.
pub(super) fn name_of(table: &Table) -> Option<ObjectName> {
    let parts = [table.schema_name.as_ref(), table.table_name.as_ref()];
    let parts: Vec<Ident> = parts.into_iter().flatten().map(Ident::new).collect();
    (!parts.is_empty()).then(|| ObjectName::from(parts))
}

/// Tables, and calls that read files, which a tree names.
#[derive(Default)]
struct NamedTables {
    tables: Vec<TableReference>,
    /// Calls that read files, with their texts.
    files: Vec<(String, FileCall)>,
}

fn text_of_call(name: &ObjectName, arguments: &[FunctionArg]) -> String {
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    format!("{name}({})", arguments.join(", "))
}

impl NamedTables {
    fn call(&mut self, name: &ObjectName, arguments: &[FunctionArg]) -> Result<()> {
        if let Some(call) = file_call(name, arguments) {
            self.files.push((text_of_call(name, arguments), call?));
        }
        Ok(())
    }

    fn body(&mut self, body: &SetExpr) -> Result<()> {
        match body {
            SetExpr::Table(table) => {
                let name = name_of(table).map(|name| reference(&name)).transpose()?;
                self.tables.extend(name);
                Ok(())
            }
            SetExpr::SetOperation { left, right, .. } => {
                self.body(right)?;
                self.body(left)
            }
            _ => Ok(()),
        }
    }
}

impl Visit for NamedTables {
    fn query(&mut self, query: &mut Query) -> Result<()> {
        self.body(&query.body)
    }

    fn table_factor(&mut self, table: &mut TableFactor) -> Result<()> {
        match table {
            TableFactor::Table { name, args: None, .. } => self.tables.push(reference(name)?),
            TableFactor::Table { name, args: Some(arguments), .. } => self.call(name, &arguments.args)?,
            TableFactor::Function { name, args, .. } => self.call(name, args)?,
            _ => {}
        }
        Ok(())
    }
}

/// Every name of a table in a tree, and every call that reads files. Names of WITH queries are among them: they may be tables' names
/// as well.
fn named(tree: &mut impl SyntaxTree) -> Result<NamedTables> {
    let mut found = NamedTables::default();
    tree.walk(&mut found)?;
    Ok(found)
}
