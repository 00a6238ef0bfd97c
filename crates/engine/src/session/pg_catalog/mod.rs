//! The schema `pg_catalog`, as far as clients of PostgreSQL read it, and the catalog that its functions ask. A table that would
//! have nothing to tell here is empty.
//!
//! | file | what |
//! |---|---|
//! | `relations` | tables, views and indexes with their OIDs |
//! | `names` | the catalog as functions see it, comments |
//! | `sequences` | sequences, and what depends on what |
//! | `definitions` | constraints and indexes as SQL |
//! | `rows` | tables as they are filled: columns by `columns.txt`, each row by the columns that it has |
//! | `objects` | schemas, relations, columns, constraints |
//! | `activity` | the sessions and what they run |
//! | `others` | types, functions, roles, settings |

mod activity;
mod definitions;
mod names;
mod objects;
mod others;
mod relations;
mod rows;
mod sequences;

pub(super) use names::StatementNames;
pub(super) use relations::Seen;
pub(super) use rows::SCHEMA as NAME;

use crate::Result;
use crate::session::pg_catalog::relations::ListedRelations;
use crate::session::pg_catalog::rows::Rows;
use datafusion::catalog::{MemTable, TableProvider};
use std::sync::Arc;

/// Whether the schema has a table of that name.
pub(super) fn has(table: &str) -> bool {
    rows::columns_of(table).is_some()
}

/// The table of that name; `None` when there is none.
pub(super) async fn table(name: &str, seen: &Seen) -> Result<Option<Arc<dyn TableProvider>>> {
    let Some(mut rows) = Rows::of(name) else { return Ok(None) };
    let relations = ListedRelations::of(seen);
    match name {
        "pg_namespace" => objects::namespaces(&relations, &mut rows),
        "pg_class" => objects::classes(&relations, &mut rows),
        "pg_attribute" => objects::attributes(seen, &relations, &mut rows).await,
        "pg_attrdef" => objects::defaults(&relations, &mut rows),
        "pg_constraint" => objects::constraint_list(&relations, &mut rows),
        "pg_index" => objects::indexes(&relations, &mut rows),
        "pg_tables" => objects::tables(&relations, &mut rows),
        "pg_views" => objects::views(&relations, &mut rows),
        "pg_indexes" => objects::index_list(&relations, &mut rows),
        "pg_stat_user_tables" | "pg_stat_all_tables" => objects::statistics(&relations, &mut rows),
        "pg_description" => objects::descriptions(&relations, &mut rows),
        "pg_sequence" => sequences::definitions(&relations, &mut rows),
        "pg_sequences" => sequences::states(seen, &relations, &mut rows),
        "pg_depend" => sequences::dependencies(&relations, &mut rows),
        "pg_type" => others::types(&mut rows),
        "pg_proc" => others::functions(seen, &mut rows),
        "pg_am" => others::access_methods(&mut rows),
        "pg_collation" => others::collations(&mut rows),
        "pg_database" => others::databases(&mut rows),
        "pg_roles" | "pg_user" | "pg_authid" | "pg_shadow" => others::roles(seen, &mut rows),
        "pg_stat_activity" => activity::sessions(seen, &mut rows),
        "pg_settings" => others::settings(seen, &mut rows),
        "pg_tablespace" => others::tablespaces(&mut rows),
        "pg_language" => others::languages(&mut rows),
        // There are no triggers, rules, policies, partitions, extensions and the like.
        _ => {}
    }
    let batch = rows.batch()?;
    Ok(Some(Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]])?)))
}
