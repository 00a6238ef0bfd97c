//! What PostgreSQL's catalog calls things: its types, its numbers of objects (OIDs), and what functions ask of a catalog.
//!
//! | file | what |
//! |---|---|
//! | `types` | PostgreSQL's types: numbers, names, and what they are of ours |
//! | `oids` | numbers of schemas, tables, views, indexes and constraints |
//! | `names` | the catalog as functions see it |

mod names;
mod oids;
mod types;

pub(crate) use names::{CatalogNames, Definition, MeasuredSize, Relation, RelationKind};
pub(crate) use oids::{DATABASE, OWNER, PG_CATALOG, hashed, numbered_oid, schema_oid, system_table_oid};
pub(crate) use types::{TYPES, format_type, of_arrow, of_column, type_of_name, type_of_oid};
