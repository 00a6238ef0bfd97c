//! Numbers and comments of what a table has besides its columns, and of schemas and views: what catalogs and COMMENT ON show, and
//! no record depends on.

use crate::{ColumnId, TableName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Numbers of a table's constraints and indexes by their names, of the counter that tables have theirs from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectNumbers {
    /// Those of constraints.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constraints: BTreeMap<String, u64>,
    /// Those of indexes, also of the one that each key has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub indexes: BTreeMap<String, u64>,
}

impl ObjectNumbers {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.constraints.is_empty() && self.indexes.is_empty()
    }
}

/// What a comment of a table's definition is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommentSubject {
    /// The table.
    Table,
    /// One of its columns.
    Column(ColumnId),
    /// One of its constraints, by name.
    Constraint(String),
    /// One of its indexes, by name.
    Index(String),
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// What it is about.
    pub on: CommentSubject,
    /// What it says.
    pub text: String,
}

/// Number and comment of a schema or a view.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Its number, of the counter that tables have theirs from; 0 for one that an older version has made.
    pub number: u64,
    /// What COMMENT ON says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// Numbers and comments of the schemas and views of a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    /// Those of schemas.
    pub schemas: BTreeMap<String, Label>,
    /// Those of views.
    pub views: BTreeMap<TableName, Label>,
}
