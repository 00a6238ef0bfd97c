//! What PostgreSQL's catalog calls things: its types, its numbers of objects (OIDs), and what functions ask of a catalog.
//!
//! | file | what |
//! |---|---|
//! | `types` | PostgreSQL's types: numbers, names, and what they are of ours |
//! | `oids` | numbers of schemas, tables, views, indexes and constraints |
//! | `advisory` | advisory locks as functions name them |
//! | `roles` | what users may do |
//! | `names` | the catalog as functions see it |

mod advisory;
mod names;
mod oids;
mod roles;
mod types;

pub(crate) use advisory::{AdvisoryKey, AdvisoryRequest};
pub(crate) use names::{CatalogNames, Definition, MeasuredSize, Relation, RelationKind};
pub(crate) use oids::{
    DATABASE, OWNER, PG_CATALOG, USER, hashed, numbered_oid, schema_oid, system_table_oid, user_oid,
};
pub(crate) use roles::CatalogUser;
pub use roles::Role;
pub(crate) use types::{TYPE_KEY, TYPES, format_type, of_arrow, of_column, type_of_name, type_of_oid};
