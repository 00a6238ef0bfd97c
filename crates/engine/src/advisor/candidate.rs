//! A design worth trying, and the statements that give it to a table and take it away again.

use crate::sql::layout;
use crate::sql::quoted::{full_name, quoted};
use gingham_storage::model::Arrangement;
use gingham_storage::{ColumnId, Design, EncodingChoice, IndexDefinition, TableDefinition, TableName};

/// A design for a table.
///
/// ```
/// # use gingham::{Database, advisor::*};
/// # let connection = Database::in_memory()?.connect();
/// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
/// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
/// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
/// # let facts = TableFacts::of(&connection.table("t")?);
/// # let definition = facts.table.definition.clone();
/// assert_eq!(Candidate::present(&definition).reason, "the present design");
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// How columns lie.
    pub design: Design,
    /// Columns that records are sorted by.
    pub sort_by: Vec<ColumnId>,
    /// A column that gets an index, of tables in heap pages.
    pub index: Option<ColumnId>,
    /// Why it is worth a try.
    pub reason: String,
}

impl Candidate {
    /// The design that a table has.
    ///
    /// ```
    /// # use gingham::{Database, advisor::*};
    /// # let connection = Database::in_memory()?.connect();
    /// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
    /// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
    /// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
    /// # let facts = TableFacts::of(&connection.table("t")?);
    /// # let definition = facts.table.definition.clone();
    /// assert_eq!(Candidate::present(&definition).design, definition.design);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn present(definition: &TableDefinition) -> Self {
        let (design, sort_by) = (definition.design.clone(), definition.sort_by.clone());
        Self { design, sort_by, index: None, reason: "the present design".to_owned() }
    }

    /// The table's definition with this design, under another name. It refers to no other table, and nothing is checked: what it
    /// has was checked already.
    ///
    /// ```
    /// # use gingham::{Database, advisor::*};
    /// # let connection = Database::in_memory()?.connect();
    /// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
    /// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
    /// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
    /// # let facts = TableFacts::of(&connection.table("t")?);
    /// # let definition = facts.table.definition.clone();
    /// let name = gingham::storage::TableName { schema: "public".into(), table: "u".into() };
    /// assert_eq!(Candidate::present(&definition).definition(&definition, name).columns, definition.columns);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn definition(&self, of: &TableDefinition, name: TableName) -> TableDefinition {
        let mut definition = of.clone();
        (definition.id, definition.name) = (0, name);
        definition.references.clear();
        (definition.design, definition.sort_by) = (self.design.clone(), self.sort_by.clone());
        // The store makes those of keys.
        definition.indexes.retain(|index| !index.of_constraint && self.design.heap.is_some());
        let number = definition.indexes.iter().map(|index| index.number + 1).max().unwrap_or(0);
        definition.indexes.extend(self.index.map(|column| IndexDefinition {
            number,
            name: index_name(of, column),
            columns: vec![column],
            unique: false,
            of_constraint: false,
        }));
        definition
    }

    /// The arrangement that the design gives to a table.
    ///
    /// ```
    /// # use gingham::{Database, advisor::*};
    /// # let connection = Database::in_memory()?.connect();
    /// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
    /// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
    /// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
    /// # let facts = TableFacts::of(&connection.table("t")?);
    /// # let definition = facts.table.definition.clone();
    /// assert_eq!(Candidate::present(&definition).arrangement(&definition).design, definition.design);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn arrangement(&self, of: &TableDefinition) -> Arrangement {
        Arrangement::present(&self.definition(of, of.name.clone()))
    }

    /// The design in a few words: `column, sort_by day`.
    ///
    /// ```
    /// # use gingham::{Database, advisor::*};
    /// # let connection = Database::in_memory()?.connect();
    /// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
    /// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
    /// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
    /// # let facts = TableFacts::of(&connection.table("t")?);
    /// # let definition = facts.table.definition.clone();
    /// assert_eq!(Candidate::present(&definition).text(&definition), "column");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn text(&self, definition: &TableDefinition) -> String {
        let with = TableDefinition { design: self.design.clone(), ..definition.clone() };
        let mut parts = vec![self.design.text(&with)];
        parts.extend(
            layout::page_options(&self.design)
                .into_iter()
                .filter(|(_, value)| !value.is_empty())
                .map(|(key, value)| format!("{key} {value}")),
        );
        let packings = layout::page_packings(&self.design, &with);
        parts.extend([packings, self.design.encodings_text(&with)].into_iter().filter(|text| !text.is_empty()));
        let names = |columns: &[ColumnId]| {
            let names = columns.iter().filter_map(|id| definition.column_by_id(*id));
            names.map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ")
        };
        parts.extend((!self.sort_by.is_empty()).then(|| format!("sorted by {}", names(&self.sort_by))));
        parts.extend(self.index.map(|column| format!("index on {}", names(&[column]))));
        parts.join(", ")
    }

    /// The statements that give the design to a table that has another.
    ///
    /// ```
    /// # use gingham::{Database, advisor::*};
    /// # let connection = Database::in_memory()?.connect();
    /// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
    /// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
    /// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
    /// # let facts = TableFacts::of(&connection.table("t")?);
    /// # let definition = facts.table.definition.clone();
    /// let rows = propose(&facts, &uses).into_iter().find(|candidate| candidate.text(&definition) == "row");
    /// assert_eq!(rows.expect("a candidate").statements(&definition), ["ALTER TABLE t SET (layout = 'row')"]);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn statements(&self, definition: &TableDefinition) -> Vec<String> {
        let table = full_name(&definition.name);
        let mut statements = Vec::new();
        // A layout of segments takes no index.
        let lost = definition.indexes.iter().filter(|index| !index.of_constraint && self.design.heap.is_none());
        statements.extend(lost.map(|index| format!("DROP INDEX {}", quoted(&index.name))));
        let options = self.options(definition);
        if !options.is_empty() {
            let options: Vec<String> =
                options.into_iter().map(|(key, value)| format!("{key} = '{}'", value.replace('\'', "''"))).collect();
            statements.push(format!("ALTER TABLE {table} SET ({})", options.join(", ")));
        }
        if let Some(column) = self.index.and_then(|id| definition.column_by_id(id)) {
            let (name, column) = (quoted(&index_name(definition, column.id)), quoted(&column.name));
            statements.push(format!("CREATE INDEX {name} ON {table} ({column})"));
        }
        statements
    }

    /// The statements that give the table its design back, once it has this one.
    ///
    /// ```
    /// # use gingham::{Database, advisor::*};
    /// # let connection = Database::in_memory()?.connect();
    /// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
    /// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
    /// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
    /// # let facts = TableFacts::of(&connection.table("t")?);
    /// # let definition = facts.table.definition.clone();
    /// let rows = propose(&facts, &uses).into_iter().find(|candidate| candidate.text(&definition) == "row");
    /// assert_eq!(rows.expect("a candidate").undo(&definition), ["ALTER TABLE t SET (layout = 'column')"]);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn undo(&self, definition: &TableDefinition) -> Vec<String> {
        let changed =
            TableDefinition { design: self.design.clone(), sort_by: self.sort_by.clone(), ..definition.clone() };
        let mut statements = Vec::new();
        statements.extend(self.index.map(|column| format!("DROP INDEX {}", quoted(&index_name(definition, column)))));
        let before = Self::present(definition);
        let without = TableDefinition { indexes: Vec::new(), ..changed };
        statements.extend(before.statements(&without));
        let kept = definition.indexes.iter().filter(|index| !index.of_constraint && self.design.heap.is_none());
        statements.extend(kept.map(|index| {
            let columns = index.columns.iter().filter_map(|id| definition.column_by_id(*id));
            let columns: Vec<String> = columns.map(|column| quoted(&column.name)).collect();
            let unique = if index.unique { "UNIQUE " } else { "" };
            let (name, table) = (quoted(&index.name), full_name(&definition.name));
            format!("CREATE {unique}INDEX {name} ON {table} ({})", columns.join(", "))
        }));
        statements
    }

    /// The options of ALTER TABLE … SET that lead from the table's design to this one.
    fn options(&self, definition: &TableDefinition) -> Vec<(&'static str, String)> {
        let mut options = Vec::new();
        if self.design != definition.design {
            let with = TableDefinition { design: self.design.clone(), ..definition.clone() };
            options.push(("layout", self.design.text(&with)));
            let packings = layout::page_packings(&self.design, &with);
            options.extend((!packings.is_empty()).then_some(("packing", packings)));
            options.extend(layout::page_options(&self.design).into_iter().filter(|(_, value)| !value.is_empty()));
            let encodings = self.changed_encodings(definition);
            options.extend((!encodings.is_empty()).then_some(("encoding", encodings)));
        }
        if self.sort_by != definition.sort_by {
            let names = self.sort_by.iter().filter_map(|id| definition.column_by_id(*id));
            let names: Vec<String> = names.map(|column| quoted(&column.name)).collect();
            options.push(("sort_by", names.join(", ")));
        }
        options
    }

    /// Encodings that differ from the table's, which a change of layout would keep.
    fn changed_encodings(&self, definition: &TableDefinition) -> String {
        if self.design.heap.is_some() {
            return String::new();
        }
        let of = |design: &Design, column| design.column(column).map_or(EncodingChoice::Auto, |own| own.encoding);
        let changed = definition.columns.iter().filter_map(|column| {
            let own = of(&self.design, column.id);
            (own != of(&definition.design, column.id)).then(|| format!("{} {}", quoted(&column.name), own.name()))
        });
        changed.collect::<Vec<_>>().join(", ")
    }
}

/// A name for an index on a column that none of the table's has.
fn index_name(definition: &TableDefinition, column: ColumnId) -> String {
    let column = definition.column_by_id(column).map_or("", |column| &column.name);
    let mut name = format!("{}_{column}_advised", definition.name.table);
    while definition.indexes.iter().any(|index| index.name == name) {
        name.push('_');
    }
    name
}
