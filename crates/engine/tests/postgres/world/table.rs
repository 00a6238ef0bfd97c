//! A table with its rows, and the statements that make it and put its records where they are to lie.

use super::literal::literal;
use super::series::Series;
use super::storage::Storage;
use super::{Columns, Gathered};
use crate::generate::Features;
use crate::generator::Generator;
use crate::tree::Type;

/// A table with its rows.
#[derive(Debug, Clone)]
pub struct Table {
    /// The schema it is in, unless that is the one of names without a schema.
    pub schema: Option<&'static str>,
    pub name: &'static str,
    pub columns: Columns,
    /// The column that is the PRIMARY KEY.
    pub key: Option<usize>,
    pub storage: Storage,
    pub layout: &'static str,
    /// The records of a large table before those of `rows`.
    pub series: Option<Series>,
    pub rows: Vec<Vec<String>>,
    /// Statements that delete and change records before the last rows come.
    pub changes: Vec<String>,
    /// How many rows come after these.
    pub late: usize,
    /// What is said of each column: its type, and constraints.
    declared: Vec<String>,
    /// The columns whose values differ, and those without NULL.
    unique: Vec<bool>,
    not_null: Vec<bool>,
    /// Rows of one INSERT, so of one segment.
    per_insert: usize,
    /// The DEFAULT of the last column, which the table gets behind its first rows, when it loses another one.
    added: Option<String>,
}

/// What a table is to be.
pub struct Wanted<'k> {
    /// Names and types of columns that it can have.
    pub kinds: &'k [(&'static str, Type)],
    pub schema: Option<&'static str>,
    pub name: &'static str,
    pub is_large: bool,
}

impl Table {
    /// The table's name as a statement must write it.
    pub fn path(&self) -> String {
        self.schema.map_or(self.name.to_owned(), |schema| format!("{schema}.{}", self.name))
    }

    pub fn random(random: &mut Generator, features: &Features, wanted: &Wanted<'_>) -> Self {
        let storage = match Storage::random(random, features) {
            Storage::Delta if wanted.is_large => Storage::Segments,
            storage => storage,
        };
        let layout = storage.layout(random);
        let mut columns = some_columns(random, features, wanted.kinds);
        let id = wanted.is_large.then(|| match columns.iter().position(|(name, _)| name == "id") {
            Some(at) => at,
            None => {
                columns.push(("id".to_owned(), Type::Integer));
                columns.len() - 1
            }
        });
        if let Some(id) = id {
            columns[id].1 = Type::Integer;
        }
        let whole: Vec<usize> = (0..columns.len()).filter(|column| columns[*column].1.is_whole()).collect();
        let key = match id {
            Some(id) => random.chance(40).then_some(id),
            None => (!whole.is_empty() && random.chance(50)).then(|| *random.pick(&whole)),
        };
        let none = vec![false; columns.len()];
        let (mut unique, mut not_null, mut declared) = (none.clone(), none, Vec::new());
        for (column, (_, kind)) in columns.iter().enumerate() {
            let constraint = match random.between(0, 9) {
                _ if key == Some(column) => " PRIMARY KEY",
                0 if !wanted.is_large => " UNIQUE",
                1 if !wanted.is_large => " NOT NULL",
                _ => "",
            };
            unique[column] = [" PRIMARY KEY", " UNIQUE"].contains(&constraint);
            not_null[column] = [" PRIMARY KEY", " NOT NULL"].contains(&constraint);
            declared.push(format!("{}{constraint}", random.pick(kind.declared())));
        }
        let (schema, name) = (wanted.schema, wanted.name);
        let (rows, changes, late, series) = (Vec::new(), Vec::new(), 0, None);
        let per_insert = random.between(1, 7) as usize;
        let mut table = Self {
            schema,
            name,
            columns,
            key,
            storage,
            layout,
            series,
            rows,
            changes,
            late,
            declared,
            unique,
            not_null,
            per_insert,
            added: None,
        };
        let last = table.columns.len() - 1;
        let is_free = !table.unique[last] && !table.not_null[last] && id != Some(last);
        if is_free && features.has("altered tables") && random.chance(30) {
            table.added = Some(literal(random, features, table.columns[last].1));
        }
        table.series = id.map(|id| Series::random(random, features, &table.columns, id));
        let rows = if random.chance(10) { 0 } else { random.between(1, 7) };
        for _ in 0..rows + i64::from(storage == Storage::Changed) * 4 {
            table.add(random, features);
        }
        if storage == Storage::Changed {
            table.late = random.between(0, 3).min(table.rows.len() as i64) as usize;
            for _ in 0..random.between(1, 2) {
                let change = table.change(random, features);
                table.changes.push(change);
            }
        }
        table
    }

    /// Adds a row, unless a constraint forbids it.
    fn add(&mut self, random: &mut Generator, features: &Features) {
        let mut row = Vec::new();
        for (column, (_, kind)) in self.columns.iter().enumerate() {
            let is_id = self.series.as_ref().is_some_and(|series| series.id == column);
            let value = if is_id {
                (80_000 + self.rows.len()).to_string()
            } else if !self.not_null[column] && random.chance(25) {
                "NULL".to_owned()
            } else {
                literal(random, features, *kind)
            };
            let same = |other: &String| *other == value || is_zero(other) && is_zero(&value);
            if self.unique[column] && value != "NULL" && self.rows.iter().any(|row| same(&row[column])) {
                return;
            }
            row.push(value);
        }
        self.rows.push(row);
    }

    /// A statement that deletes or changes some of the records.
    fn change(&self, random: &mut Generator, features: &Features) -> String {
        let path = self.path();
        let condition = match &self.series {
            Some(series) => {
                let id = &self.columns[series.id].0;
                let conditions = ["% 3 = 1", "% 100 = 7", "BETWEEN 100 AND 60000", "> 65536", "< 65530", "% 1000 <> 0"];
                format!("{id} {}", random.pick(&conditions))
            }
            None => {
                let column = random.between(0, self.columns.len() as i64 - 1) as usize;
                let name = &self.columns[column].0;
                match self.rows.get(random.between(0, self.rows.len().max(1) as i64 - 1) as usize) {
                    Some(row) if row[column] != "NULL" => format!("{name} = {}", row[column]),
                    _ => format!("{name} IS NULL"),
                }
            }
        };
        let free: Vec<usize> =
            (0..self.columns.len()).filter(|column| !self.unique[*column] && !self.is_id(*column)).collect();
        if free.is_empty() || random.chance(60) {
            return format!("DELETE FROM {path} WHERE {condition}");
        }
        let column = *random.pick(&free);
        let (name, kind) = &self.columns[column];
        format!("UPDATE {path} SET {name} = {} WHERE {condition}", literal(random, features, *kind))
    }

    fn is_id(&self, column: usize) -> bool {
        self.series.as_ref().is_some_and(|series| series.id == column)
    }

    pub fn is_large(&self) -> bool {
        self.series.is_some()
    }

    /// What shows the table after a change: itself, or a query that says much of a large one in few rows.
    pub fn shown(&self) -> String {
        let Some(series) = &self.series else { return self.path() };
        let id = &self.columns[series.id].0;
        let mut items = vec![format!("{id} / 16384"), "count(*)".to_owned()];
        for (name, kind) in &self.columns {
            items.push(format!("count({name})"));
            match kind {
                Type::Bytes => items.push(format!("count(DISTINCT {name})")),
                Type::Boolean => items.push(format!("sum(CAST({name} AS INTEGER))")),
                Type::Integer | Type::Big | Type::Double | Type::Decimal | Type::Wide => {
                    items.push(format!("sum({name})"));
                }
                _ => items.extend([format!("min({name})"), format!("max({name})")]),
            }
        }
        format!("SELECT {} FROM {} GROUP BY 1", items.join(", "), self.path())
    }

    /// A condition that few records of a large table meet; `alias` names it.
    pub fn few(&self, random: &mut Generator, alias: &str) -> Option<String> {
        let series = self.series.as_ref()?;
        let id = format!("{alias}.{}", self.columns[series.id].0);
        let low = *random.pick(&[1, 99, 40_000, 65_500, 65_530, 69_990, 79_990]);
        Some(match random.between(0, 4) {
            0 => format!("{id} = {low}"),
            1 => format!("{id} IN ({low}, 3, 65536, 65537, {})", series.rows),
            2 => format!("{id} % 4001 = {}", random.between(0, 3)),
            _ => format!("{id} BETWEEN {low} AND {}", low + random.between(0, 50)),
        })
    }

    /// Adds the statements that make the table.
    pub fn script(&self, gathered: &mut Gathered) {
        let path = self.path();
        gathered.set_layout(self.layout);
        let columns = self.columns.iter().zip(&self.declared);
        let mut columns: Vec<String> = columns.map(|((name, _), declared)| format!("{name} {declared}")).collect();
        let own = self.columns.len() - usize::from(self.added.is_some());
        let added = self.added.as_ref().and_then(|default| Some(format!("{} DEFAULT {default}", columns.pop()?)));
        if added.is_some() {
            columns.insert(0, "gone TEXT DEFAULT 'goes'".to_owned());
        }
        gathered.script.push(format!("CREATE TABLE {path} ({})", columns.join(", ")));
        let (first, last) = self.rows.split_at(self.rows.len() - self.late);
        // All at once when they are to stay in the delta.
        let (limit, per_insert) = match self.storage {
            Storage::Segments | Storage::Changed => ("0", self.per_insert),
            _ => ("default", usize::MAX),
        };
        gathered.set_delta(limit);
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        let target = if added.is_some() { format!("{path} ({})", names[..own].join(", ")) } else { path.clone() };
        gathered.script.extend(self.series.as_ref().map(|series| series.insert(&target, own)));
        let insert_into = |target: &str, rows: &[Vec<String>], own: usize| {
            let rows: Vec<String> = rows.iter().map(|row| format!("({})", row[..own].join(", "))).collect();
            format!("INSERT INTO {target} VALUES {}", rows.join(", "))
        };
        let insert = |rows: &[Vec<String>]| insert_into(&target, rows, own);
        gathered.script.extend(first.chunks(per_insert.max(1)).map(insert));
        if let Some(added) = added {
            gathered.script.push(format!("ALTER TABLE {path} DROP COLUMN gone, ADD COLUMN {added}"));
        }
        gathered.script.extend(self.changes.iter().cloned());
        if !last.is_empty() {
            gathered.set_delta("default");
            gathered.script.push(insert_into(&path, last, self.columns.len()));
        }
    }

    /// This table with its rows the other way round.
    pub fn reverse(&mut self) {
        let first = self.rows.len() - self.late;
        self.rows[..first].reverse();
        self.rows[first..].reverse();
        if let Some(series) = &mut self.series {
            series.is_reversed = true;
        }
    }

    /// This table with one thing less, each, but for its rows.
    pub fn simpler(&self) -> Vec<Self> {
        let mut all = Vec::new();
        if self.storage != Storage::Delta && self.changes.is_empty() {
            all.push(Self { storage: Storage::Delta, layout: "column", ..self.clone() });
        }
        if self.layout != "column" && self.storage != Storage::Pages {
            all.push(Self { layout: "column", ..self.clone() });
        }
        for change in 0..self.changes.len() {
            let mut less = self.clone();
            less.changes.remove(change);
            all.push(less);
        }
        if self.added.is_some() {
            all.push(Self { added: None, ..self.clone() });
        }
        if self.late > 0 {
            all.push(Self { late: 0, ..self.clone() });
        }
        all
    }

    /// This table with fewer records of its series.
    pub fn smaller_series(&self) -> Vec<Self> {
        let Some(series) = self.series.as_ref().filter(|series| series.rows > 1) else { return Vec::new() };
        let fewer = |rows: i64| Self { series: Some(series.with_rows(rows.max(1))), ..self.clone() };
        [1, series.rows / 10, series.rows / 2].map(fewer).to_vec()
    }

    /// Takes a row away.
    pub fn remove(&mut self, row: usize) {
        let first = self.rows.len() - self.late;
        self.rows.remove(row);
        self.late -= usize::from(row >= first);
    }
}

/// True for a zero of either sign.
fn is_zero(value: &str) -> bool {
    value == "0.0" || value.contains("'-0'")
}

/// Some of the columns that tables can have.
fn some_columns(random: &mut Generator, features: &Features, kinds: &[(&str, Type)]) -> Columns {
    let stored = features.types(true);
    let mut left = kinds.to_vec();
    let mut columns = Columns::new();
    for _ in 0..random.between(2, 5) {
        let at = random.between(0, left.len() as i64 - 1) as usize;
        let (name, kind) = left.swap_remove(at);
        let kind = if random.chance(12) { *random.pick(&stored) } else { kind };
        columns.push((name.to_owned(), kind));
    }
    columns
}
