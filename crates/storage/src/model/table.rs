//! The definition of a table: columns, constraints and options, as the catalog keeps it.

use crate::model::labels::{Comment, ObjectNumbers};
use crate::{Datum, Design, LogicalType};
use serde::{Deserialize, Serialize};

/// Number of a table, never reused within a database.
pub type TableId = u64;
/// Number of a column within its table, never reused, so that segments survive ADD, DROP and RENAME COLUMN.
pub type ColumnId = u32;

/// The schema that holds tables which name none.
pub const DEFAULT_SCHEMA: &str = "public";

/// Schema and name of a table or view, as stored (identifiers are folded by the SQL front end).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TableName {
    /// The schema.
    pub schema: String,
    /// The table.
    pub table: String,
}

impl std::fmt::Display for TableName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.schema == DEFAULT_SCHEMA {
            write!(f, "{}", self.table)
        } else {
            write!(f, "{}.{}", self.schema, self.table)
        }
    }
}

/// One column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnDefinition {
    /// Number within the table.
    pub id: ColumnId,
    /// Name within the table.
    pub name: String,
    /// Type of its values.
    pub logical_type: LogicalType,
    /// False under NOT NULL and PRIMARY KEY.
    pub nullable: bool,
    /// SQL text of the DEFAULT expression.
    pub default: Option<String>,
    /// For a column added later: the value that rows written before have.
    pub initial: Datum,
    /// How its values are made, where statements do not give them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
}

/// How the values of a column are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Generation {
    /// GENERATED … AS IDENTITY: by a sequence.
    Identity {
        /// Whether statements that give values are refused unless they say that they override.
        always: bool,
        /// Number of the sequence.
        sequence: u64,
    },
    /// GENERATED ALWAYS AS (…) STORED: by an expression over the other columns, as SQL text.
    Stored(String),
}

impl ColumnDefinition {
    /// A column that may be NULL, and is where nothing is given.
    pub fn new(id: ColumnId, name: impl Into<String>, logical_type: LogicalType) -> Self {
        Self {
            id,
            name: name.into(),
            logical_type,
            nullable: true,
            default: None,
            initial: Datum::Null,
            generation: None,
        }
    }
}

/// PRIMARY KEY or UNIQUE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyDefinition {
    /// The constraint's name, given or made.
    pub name: String,
    /// Columns of the key, in order.
    pub columns: Vec<ColumnId>,
    /// PRIMARY KEY.
    pub primary: bool,
}

/// CHECK.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckDefinition {
    /// The constraint's name, given or made.
    pub name: String,
    /// SQL text of the condition.
    pub condition: String,
}

/// FOREIGN KEY … REFERENCES.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferenceDefinition {
    /// The constraint's name, given or made.
    pub name: String,
    /// Columns here.
    pub columns: Vec<ColumnId>,
    /// The table referred to.
    pub table: TableId,
    /// Its columns.
    pub referred: Vec<ColumnId>,
}

/// An index of a table in heap pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexDefinition {
    /// Number within the table.
    pub number: u32,
    /// The index's name, or that of the PRIMARY KEY or UNIQUE that it is for.
    pub name: String,
    /// Its columns, in order.
    pub columns: Vec<ColumnId>,
    /// Whether no two records may have the same values, none of them NULL.
    pub unique: bool,
    /// Whether it came with a PRIMARY KEY or UNIQUE.
    pub of_constraint: bool,
}

/// An index of a table in segments: no entries are kept of it. Zone maps do what a plain one would, and a unique one is the key of its
/// name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedIndex {
    /// The index's name.
    pub name: String,
    /// Its columns, in order.
    pub columns: Vec<ColumnId>,
    /// Whether no two records may have the same values, none of them NULL.
    pub unique: bool,
}

/// A table as the catalog keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableDefinition {
    /// Number within the database; 0 until created.
    pub id: TableId,
    /// Schema and name.
    pub name: TableName,
    /// Live columns, in order.
    pub columns: Vec<ColumnDefinition>,
    /// Next column number.
    pub next_column: ColumnId,
    /// PRIMARY KEY and UNIQUE.
    pub keys: Vec<KeyDefinition>,
    /// CHECK.
    pub checks: Vec<CheckDefinition>,
    /// REFERENCES.
    pub references: Vec<ReferenceDefinition>,
    /// Where the attributes of a record lie, and how they are packed and encoded. Catalogs of version 1 have none.
    #[serde(default)]
    pub design: Design,
    /// Columns by which loads and OPTIMIZE sort.
    pub sort_by: Vec<ColumnId>,
    /// Indexes, of a table in heap pages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<IndexDefinition>,
    /// Why a table whose layout is `auto` has the design that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<String>,
    /// Numbers of its constraints and indexes.
    #[serde(default, skip_serializing_if = "ObjectNumbers::is_empty")]
    pub numbers: ObjectNumbers,
    /// Comments on it and its parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<Comment>,
    /// Indexes that were made of a table in segments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<RecordedIndex>,
    /// Names of CHECKs and REFERENCES that hold for new records, and that nobody has asked the older ones for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_valid: Vec<String>,
}

impl TableDefinition {
    /// A table of these columns without constraints, in the default design, that has no number yet.
    pub fn new(name: TableName, columns: Vec<ColumnDefinition>) -> Self {
        Self {
            id: 0,
            name,
            next_column: columns.iter().map(|column| column.id + 1).max().unwrap_or(0),
            columns,
            keys: Vec::new(),
            checks: Vec::new(),
            references: Vec::new(),
            design: Design::default(),
            sort_by: Vec::new(),
            indexes: Vec::new(),
            auto: None,
            numbers: ObjectNumbers::default(),
            comments: Vec::new(),
            recorded: Vec::new(),
            not_valid: Vec::new(),
        }
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&ColumnDefinition> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The column of that number.
    pub fn column_by_id(&self, id: ColumnId) -> Option<&ColumnDefinition> {
        // Most often they lie in the order of their numbers, less those that were dropped.
        let (before, behind) = self.columns.split_at(self.columns.len().min(id as usize));
        before.iter().rev().chain(behind).find(|column| column.id == id)
    }

    /// Whether it has a PRIMARY KEY, UNIQUE or REFERENCES.
    pub fn has_constraints(&self) -> bool {
        !self.keys.is_empty() || !self.references.is_empty()
    }

    /// The Arrow schema that scans deliver and writes take.
    pub fn arrow_schema(&self) -> arrow::datatypes::SchemaRef {
        let fields: Vec<_> = self
            .columns
            .iter()
            .map(|column| arrow::datatypes::Field::new(&column.name, column.logical_type.to_arrow(), column.nullable))
            .collect();
        std::sync::Arc::new(arrow::datatypes::Schema::new(fields))
    }
}

/// How the records of a table are arranged: what ALTER TABLE … SET changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrangement {
    /// How columns lie.
    pub design: Design,
    /// Columns by which loads and OPTIMIZE sort.
    pub sort_by: Vec<ColumnId>,
    /// Indexes that no constraint needs.
    pub indexes: Vec<IndexDefinition>,
    /// Why it has this design, where OPTIMIZE chooses it.
    pub auto: Option<String>,
}

impl Arrangement {
    /// Gives the arrangement of a table.
    pub fn present(definition: &TableDefinition) -> Self {
        let own = definition.indexes.iter().filter(|index| !index.of_constraint);
        let indexes = own.cloned().collect();
        let TableDefinition { design, sort_by, auto, .. } = definition.clone();
        Self { design, sort_by, indexes, auto }
    }

    /// A table's definition with this arrangement.
    pub fn of(&self, definition: &TableDefinition) -> TableDefinition {
        let Self { design, sort_by, indexes, auto } = self.clone();
        let needed = definition.indexes.iter().filter(|index| index.of_constraint).cloned();
        TableDefinition { design, sort_by, indexes: needed.chain(indexes).collect(), auto, ..definition.clone() }
    }

    /// Whether records of a table have to be sorted that were not in this order.
    pub fn sorts(&self, definition: &TableDefinition) -> bool {
        !self.sort_by.is_empty() && self.sort_by != definition.sort_by
    }
}

/// A view's definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewDefinition {
    /// Schema and name.
    pub name: TableName,
    /// SQL text of the query.
    pub query: String,
    /// Column names given in CREATE VIEW v (a, b), or empty.
    pub columns: Vec<String>,
}
