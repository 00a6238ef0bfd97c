//! Statements that define: tables, columns, constraints, indexes, views, schemas, layouts.
//!
//! | file | what |
//! |---|---|
//! | `create`, `definition`, `constraints` | CREATE TABLE: its columns, their types, keys and CHECKs |
//! | `expression` | DEFAULT and CHECK, kept as text |
//! | `alter`, `alter_column`, `alter_constraint` | ALTER TABLE |
//! | `existing` | CHECKs and NOT NULL over records that exist |
//! | `alter_design`, `auto_layout` | tables that are given another layout, by their user or by OPTIMIZE |
//! | `define` | statements in a grammar of Gingham's: |
//! | `sequence`, `identity` | sequences, identity and generated columns |
//! | `rename`, `comment` | ALTER … RENAME TO, COMMENT ON |
//! | `like`, `rewrite` | CREATE TABLE (LIKE …); tables whose records are written anew |
//! | `on_commit` | TEMP tables that change when a transaction ends |
//! | `cascade` | what depends on what is dropped |
//! | `index`, `view`, `external` | indexes, views, files that are read in place |
//! | `objects` | schemas, and what removes things |
//! | `skipped` | notices of IF EXISTS and IF NOT EXISTS |

pub(crate) mod alter;
mod alter_column;
mod alter_constraint;
pub(crate) mod alter_design;
mod auto_layout;
pub(crate) mod cascade;
pub(crate) mod comment;
pub(crate) mod constraints;
pub(crate) mod create;
pub(crate) mod define;
pub(crate) mod definition;
pub(crate) mod existing;
pub(crate) mod expression;
pub(crate) mod external;
pub(crate) mod following_views;
pub(crate) mod identity;
pub(crate) mod index;
mod like;
pub(crate) mod objects;
pub(crate) mod on_commit;
pub(crate) mod rename;
pub(crate) mod rewrite;
pub(crate) mod sequence;
mod skipped;
pub(crate) mod view;
mod view_names;
