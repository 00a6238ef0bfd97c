//! Tables, views, indexes and sequences that a statement sees, with the OIDs that clients know them by.

use crate::files::file_functions;
use crate::functions::is_internal;
use crate::postgres::{Relation, RelationKind, hashed, numbered_oid, schema_oid, system_table_oid};
use crate::session::pg_catalog::rows;
use crate::session::state::BARE_NAMES;
use crate::session::{Session, system_tables};
use crate::temporal::{AT_TIME_ZONE, TIME_OF, TO_INTERVAL};
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use gingham_storage::model::{Labels, ViewDefinition};
use gingham_storage::snapshot::{Snapshot, TableSnapshot};
use gingham_storage::{ColumnId, DEFAULT_SCHEMA, SequenceRecord, TableDefinition};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The columns of a sequence, with their types' numbers.
pub(super) const SEQUENCE_COLUMNS: [(&str, i64); 3] = [("last_value", 20), ("log_cnt", 20), ("is_called", 16)];

/// The schema that TEMP tables are shown in.
pub(super) const TEMPORARY: &str = "pg_temp";

/// An index, or the key of a constraint, which clients look for as one.
#[derive(Debug, Clone)]
pub(super) struct Index {
    pub(super) name: String,
    /// The table that it is of.
    pub(super) table: i64,
    pub(super) columns: Vec<ColumnId>,
    pub(super) is_unique: bool,
    pub(super) is_primary: bool,
    pub(super) definition: Arc<TableDefinition>,
}

/// What a relation is.
#[derive(Debug, Clone)]
pub(super) enum RelationSource {
    Table {
        definition: Arc<TableDefinition>,
        /// Its state; `None` for one that can't be read.
        snapshot: Option<Arc<TableSnapshot>>,
    },
    View(Arc<ViewDefinition>),
    Index(Index),
    Sequence(Arc<SequenceRecord>),
    /// A table of PostgreSQL's catalog, of ours, of information_schema, or an external one.
    Other,
}

/// All relations, the ones found first standing before those of the same name.
pub(super) struct ListedRelations {
    pub(super) all: Vec<(Relation, RelationSource)>,
    /// The schemas with their numbers.
    pub(super) schemas: Vec<(String, i64)>,
    /// Numbers and comments of schemas and views.
    pub(super) labels: Vec<Arc<Labels>>,
}

impl ListedRelations {
    /// Those that a statement sees.
    pub(super) fn of(seen: &Seen) -> Self {
        let mut own = Self { all: Vec::new(), schemas: Vec::new(), labels: vec![Arc::clone(&seen.database.labels)] };
        if let Some(temporary) = &seen.temporary {
            own.labels.push(Arc::clone(&temporary.labels));
            own.add(temporary, true, &|_| true, true);
        }
        for name in seen.external_names() {
            let relation = Relation {
                oid: hashed("external", &name),
                schema: DEFAULT_SCHEMA.to_owned(),
                name,
                kind: RelationKind::Table,
                is_visible: true,
            };
            own.all.push((relation, RelationSource::Other));
        }
        let path = &seen.search_path;
        for schema in path {
            own.add(&seen.database, false, &|own| own == schema, true);
        }
        own.add(&seen.database, false, &|own| !path.iter().any(|known| known == own), false);
        let system = |schema: &str, name: &str, is_visible: bool| Relation {
            oid: system_table_oid(name),
            schema: schema.to_owned(),
            name: name.to_owned(),
            kind: RelationKind::Table,
            is_visible,
        };
        let catalog = rows::tables().map(|name| system(rows::SCHEMA, name, true));
        let ours = system_tables::NAMES.iter().map(|name| system(rows::SCHEMA, name, true));
        let (schema, names) = &seen.standard;
        let standard = names.iter().map(|name| {
            let relation = system(schema, name, false);
            Relation { oid: hashed("information_schema", name), kind: RelationKind::View, ..relation }
        });
        own.all.extend(catalog.chain(ours).chain(standard).map(|relation| (relation, RelationSource::Other)));
        let kept = seen.database.schemas.iter().map(String::as_str);
        let names =
            [rows::SCHEMA, DEFAULT_SCHEMA, *schema].into_iter().chain(kept.filter(|name| *name != DEFAULT_SCHEMA));
        let names = names.chain(seen.temporary.is_some().then_some(TEMPORARY));
        let number = |name: &str| seen.database.labels.schemas.get(name).map_or(0, |label| label.number);
        own.schemas = names.map(|name| (name.to_owned(), schema_oid(name, number(name)))).collect();
        own
    }

    /// Adds what a snapshot has in the schemas that are wanted; whether names without a schema mean it, unless what was added before has
    /// them.
    fn add(&mut self, snapshot: &Snapshot, is_temporary: bool, wanted: &dyn Fn(&str) -> bool, is_visible: bool) {
        let shown = |schema: &str| if is_temporary { TEMPORARY.to_owned() } else { schema.to_owned() };
        for (name, definition) in snapshot.definitions().filter(|(name, _)| wanted(&name.schema)) {
            let relation = Relation {
                oid: numbered_oid(is_temporary, Some(definition.id), "table", &name.table),
                schema: shown(&name.schema),
                name: name.table.clone(),
                kind: RelationKind::Table,
                is_visible: is_visible && !self.has_visible(&name.table),
            };
            let indexes = indexes(definition, relation.oid);
            let schema = relation.schema.clone();
            let snapshot = snapshot.tables.get(name).cloned();
            self.all.push((relation, RelationSource::Table { definition: Arc::clone(definition), snapshot }));
            for index in indexes {
                let relation = Relation {
                    oid: numbered_oid(
                        is_temporary,
                        definition.numbers.indexes.get(&index.name).copied(),
                        "index",
                        &format!("{}.{}", index.table, index.name),
                    ),
                    schema: schema.clone(),
                    name: index.name.clone(),
                    kind: RelationKind::Index,
                    is_visible: is_visible && !self.has_visible(&index.name),
                };
                self.all.push((relation, RelationSource::Index(index)));
            }
        }
        for (name, view) in snapshot.views.iter().filter(|(name, _)| wanted(&name.schema)) {
            let relation = Relation {
                oid: numbered_oid(
                    is_temporary,
                    snapshot.labels.views.get(name).map(|label| label.number),
                    "view",
                    &format!("{}.{}", name.schema, name.table),
                ),
                schema: shown(&name.schema),
                name: name.table.clone(),
                kind: RelationKind::View,
                is_visible: is_visible && !self.has_visible(&name.table),
            };
            self.all.push((relation, RelationSource::View(Arc::clone(view))));
        }
        for (name, record) in snapshot.sequences.iter().filter(|(name, _)| wanted(&name.schema)) {
            let relation = Relation {
                oid: numbered_oid(is_temporary, Some(record.definition.number), "sequence", &name.table),
                schema: shown(&name.schema),
                name: name.table.clone(),
                kind: RelationKind::Sequence,
                is_visible: is_visible && !self.has_visible(&name.table),
            };
            self.all.push((relation, RelationSource::Sequence(Arc::clone(record))));
        }
    }

    fn has_visible(&self, name: &str) -> bool {
        self.all.iter().any(|(known, _)| known.is_visible && known.name == name)
    }

    /// The number of a schema; 0 of one that is not there.
    pub(super) fn schema_oid(&self, name: &str) -> i64 {
        self.schemas.iter().find(|(known, _)| known == name).map_or(0, |(_, oid)| *oid)
    }

    /// The relation of a number.
    pub(super) fn by_oid(&self, oid: i64) -> Option<&(Relation, RelationSource)> {
        self.all.iter().find(|(known, _)| known.oid == oid)
    }

    /// The relation of a name, by its schema or by the search path.
    pub(super) fn by_name(&self, schema: Option<&str>, name: &str) -> Option<&(Relation, RelationSource)> {
        self.all
            .iter()
            .find(|(known, _)| known.name == name && schema.map_or(known.is_visible, |schema| known.schema == schema))
    }

    /// The tables with their definitions.
    pub(super) fn tables(&self) -> impl Iterator<Item = (&Relation, &Arc<TableDefinition>)> {
        self.all.iter().filter_map(|(relation, kind)| match kind {
            RelationSource::Table { definition, .. } => Some((relation, definition)),
            _ => None,
        })
    }

    /// The table and the column that a sequence goes with, by its numbers, and whether that is an identity column.
    pub(super) fn owner(&self, sequence: &Relation, record: &SequenceRecord) -> Option<(&Relation, i64, bool)> {
        let owner = record.definition.owner?;
        let (table, definition) = self.referred(owner.table, sequence)?;
        let at = definition.columns.iter().position(|column| column.id == owner.column)?;
        Some((table, at as i64 + 1, owner.identity))
    }

    /// The table of the catalog's number beside another one, which it has a key to.
    pub(super) fn referred(&self, id: u64, by: &Relation) -> Option<(&Relation, &Arc<TableDefinition>)> {
        let is_temporary = by.schema == TEMPORARY;
        self.tables()
            .find(|(relation, definition)| definition.id == id && (relation.schema == TEMPORARY) == is_temporary)
    }
}

/// The indexes of a table, and its keys that no index of that name stands for.
fn indexes(definition: &Arc<TableDefinition>, table: i64) -> Vec<Index> {
    let of_key = |name: &str| definition.keys.iter().find(|key| key.name == name);
    let kept = definition.indexes.iter().map(|index| Index {
        name: index.name.clone(),
        table,
        columns: index.columns.clone(),
        is_unique: index.unique,
        is_primary: of_key(&index.name).is_some_and(|key| key.primary),
        definition: Arc::clone(definition),
    });
    let recorded = definition.recorded.iter().map(|index| Index {
        name: index.name.clone(),
        table,
        columns: index.columns.clone(),
        is_unique: index.unique,
        is_primary: false,
        definition: Arc::clone(definition),
    });
    let mut all: Vec<Index> = kept.chain(recorded).collect();
    for key in &definition.keys {
        if !all.iter().any(|index| index.name == key.name) {
            all.push(Index {
                name: key.name.clone(),
                table,
                columns: key.columns.clone(),
                is_unique: true,
                is_primary: key.primary,
                definition: Arc::clone(definition),
            });
        }
    }
    all
}

/// What a statement sees of the database.
pub(in crate::session) struct Seen {
    pub(in crate::session) session: Arc<Session>,
    pub(in crate::session) database: Arc<Snapshot>,
    /// TEMP tables, where the statement sees them.
    pub(in crate::session) temporary: Option<Arc<Snapshot>>,
    /// Whether it sees external and registered tables.
    pub(in crate::session) sees_externals: bool,
    /// The schemas that names alone are looked for in.
    pub(in crate::session) search_path: Vec<String>,
    /// The name of the standard's schema, and its tables.
    pub(in crate::session) standard: (&'static str, Vec<&'static str>),
    /// Looks tables up.
    pub(in crate::session) catalog: Arc<dyn CatalogProvider>,
}

impl Seen {
    /// The names of external and registered tables, where the statement sees them.
    fn external_names(&self) -> Vec<String> {
        if self.sees_externals { self.session.externals.table_names() } else { Vec::new() }
    }

    /// A table or view by its schema, or by the search path; `None` for one that can't be read.
    pub(super) async fn provider(&self, schema: Option<&str>, name: &str) -> Option<Arc<dyn TableProvider>> {
        let schema = self.catalog.schema(schema.unwrap_or(BARE_NAMES))?;
        schema.table(name).await.ok().flatten()
    }

    /// The functions that statements can call, each with the letter of its kind: a function, an aggregate or one of windows.
    pub(in crate::session) fn functions(&self) -> Vec<(String, &'static str)> {
        let (state, _) = self.session.state();
        let mut all: BTreeMap<String, &'static str> = BTreeMap::new();
        all.extend(state.window_functions().keys().map(|name| (name.clone(), "w")));
        all.extend(state.aggregate_functions().keys().map(|name| (name.clone(), "a")));
        let plain = state.table_functions().keys().chain(state.scalar_functions().keys());
        all.extend(plain.map(|name| (name.clone(), "f")));
        all.extend(file_functions().into_iter().map(|name| (name.to_owned(), "f")));
        let of_operators = [AT_TIME_ZONE, TIME_OF, TO_INTERVAL];
        all.into_iter().filter(|(name, _)| !is_internal(name) && !of_operators.contains(&name.as_str())).collect()
    }

    /// Whether a function stands in FROM.
    pub(super) fn gives_rows(&self, name: &str) -> bool {
        let (state, _) = self.session.state();
        state.table_functions().contains_key(name) || file_functions().contains(&name)
    }

    /// The settings with their values and what they are.
    pub(super) fn settings(&self) -> Vec<(String, String, String)> {
        let all = self.session.all_settings().into_iter();
        all.map(|setting| (setting.name, setting.value, setting.description)).collect()
    }
}

/// The number of a table's index of that name; 0 where it has none.
pub(super) fn index_of(relations: &ListedRelations, relation: &Relation, name: &str) -> i64 {
    let index = relations.all.iter().find(|(known, kind)| {
        known.name == name && matches!(kind, RelationSource::Index(index) if index.table == relation.oid)
    });
    index.map_or(0, |(index, _)| index.oid)
}
