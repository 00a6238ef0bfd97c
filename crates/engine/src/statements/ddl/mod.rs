//! Statements that define: tables, columns, constraints, indexes, views, schemas, layouts.
//!
//! | file | what |
//! |---|---|
//! | `create`, `definition`, `constraints` | CREATE TABLE: its columns, their types, keys and CHECKs |
//! | `expression` | DEFAULT and CHECK, kept as text |
//! | `alter`, `existing` | ALTER TABLE, and CHECKs over records that exist |
//! | `alter_design`, `auto_layout` | tables that are given another layout, by their user or by OPTIMIZE |
//! | `index`, `view`, `external` | indexes, views, files that are read in place |
//! | `objects` | schemas, and what removes things |

pub(crate) mod alter;
pub(crate) mod alter_design;
mod auto_layout;
pub(crate) mod constraints;
pub(crate) mod create;
pub(crate) mod definition;
pub(crate) mod existing;
pub(crate) mod expression;
pub(crate) mod external;
pub(crate) mod index;
pub(crate) mod objects;
pub(crate) mod view;
mod view_names;
