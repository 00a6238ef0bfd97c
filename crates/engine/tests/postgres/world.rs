//! The schemas that statements are about: a few small tables whose columns have the same names, full of NULLs, and views.

use crate::generate::{Features, Maker};
use crate::generator::Generator;
use crate::tree::Type;

/// Names and types of columns.
pub type Columns = Vec<(String, Type)>;

/// A table with its rows.
#[derive(Debug, Clone)]
pub struct Table {
    /// The schema it is in, unless that is the one of names without a schema.
    pub schema: Option<&'static str>,
    pub name: &'static str,
    pub columns: Columns,
    /// The column that is the PRIMARY KEY.
    pub key: Option<usize>,
    /// What is said of each column besides its type.
    constraints: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

/// A view and what it is.
#[derive(Debug, Clone)]
pub struct View {
    pub name: &'static str,
    pub columns: Columns,
    pub create: String,
}

/// Tables and views.
#[derive(Debug, Clone, Default)]
pub struct World {
    pub tables: Vec<Table>,
    pub views: Vec<View>,
}

/// Names of columns, which all tables share, with the types they mostly have.
const NAMES: &[(&str, &[Type])] = &[
    ("a", &[Type::Integer]),
    ("b", &[Type::Integer, Type::Big]),
    ("c", &[Type::Text]),
    ("d", &[Type::Date, Type::Integer]),
    ("f", &[Type::Boolean]),
    ("id", &[Type::Integer, Type::Big]),
    ("k", &[Type::Integer]),
    ("p", &[Type::Decimal, Type::Integer]),
    ("v", &[Type::Double, Type::Text, Type::Integer]),
];

impl Table {
    /// The table's name as a statement must write it.
    pub fn path(&self) -> String {
        self.schema.map_or(self.name.to_owned(), |schema| format!("{schema}.{}", self.name))
    }

    fn random(
        random: &mut Generator,
        kinds: &[(&str, Type)],
        schema: Option<&'static str>,
        name: &'static str,
    ) -> Self {
        let mut left = kinds.to_vec();
        let mut columns = Columns::new();
        for _ in 0..random.between(2, 5) {
            let at = random.between(0, left.len() as i64 - 1) as usize;
            let (name, kind) = left.swap_remove(at);
            let kind = if random.chance(6) { *random.pick(&Type::ALL) } else { kind };
            columns.push((name.to_owned(), kind));
        }
        let whole: Vec<usize> = (0..columns.len()).filter(|column| columns[*column].1.is_whole()).collect();
        let key = (!whole.is_empty() && random.chance(50)).then(|| *random.pick(&whole));
        let mut constraints = vec![""; columns.len()];
        for (column, constraint) in constraints.iter_mut().enumerate() {
            *constraint = match random.between(0, 9) {
                _ if key == Some(column) => " PRIMARY KEY",
                0 => " UNIQUE",
                1 => " NOT NULL",
                _ => "",
            };
        }
        let mut table = Self { schema, name, columns, key, constraints, rows: Vec::new() };
        let rows = if random.chance(10) { 0 } else { random.between(1, 7) };
        for _ in 0..rows {
            table.add(random);
        }
        table
    }

    /// Adds a row, unless a constraint forbids it.
    fn add(&mut self, random: &mut Generator) {
        let mut row = Vec::new();
        for (column, (_, kind)) in self.columns.iter().enumerate() {
            let not_null = [" PRIMARY KEY", " NOT NULL"].contains(&self.constraints[column]);
            let unique = [" PRIMARY KEY", " UNIQUE"].contains(&self.constraints[column]);
            let value = if !not_null && random.chance(25) { "NULL".to_owned() } else { literal(random, *kind) };
            if unique && value != "NULL" && self.rows.iter().any(|row| row[column] == value) {
                return;
            }
            row.push(value);
        }
        self.rows.push(row);
    }

    fn script(&self) -> Vec<String> {
        let columns = self.columns.iter().zip(&self.constraints);
        let columns: Vec<String> =
            columns.map(|((name, kind), constraint)| format!("{name} {}{constraint}", kind.sql())).collect();
        let mut script = vec![format!("CREATE TABLE {} ({})", self.path(), columns.join(", "))];
        if !self.rows.is_empty() {
            let rows: Vec<String> = self.rows.iter().map(|row| format!("({})", row.join(", "))).collect();
            script.push(format!("INSERT INTO {} VALUES {}", self.path(), rows.join(", ")));
        }
        script
    }
}

/// A value of a type, of few so that rows meet.
pub fn literal(random: &mut Generator, kind: Type) -> String {
    match kind {
        Type::Integer | Type::Big => random.between(0, 4).to_string(),
        Type::Double => random.pick(&["-1.5", "0.0", "0.25", "1.0", "2.0", "2.5", "4.0"]).to_string(),
        Type::Text => format!("'{}'", random.pick(&["", "x", "y", "xy", "Y", "1", "é"])),
        Type::Boolean => random.pick(&["TRUE", "FALSE"]).to_string(),
        Type::Date => format!("DATE '2024-0{}-0{}'", random.between(1, 2), random.between(1, 3)),
        Type::Decimal => random.pick(&["-0.50", "0.00", "0.25", "1.00", "1.50", "2.00", "10.10"]).to_string(),
    }
}

impl World {
    /// The schemas and rows of a seed. The features say whether there are views.
    pub fn random(random: &mut Generator, features: &Features) -> Self {
        let kinds: Vec<(&str, Type)> = NAMES.iter().map(|(name, kinds)| (*name, *random.pick(kinds))).collect();
        let mut paths = vec![(None, "t"), (Some("s1"), "t")];
        let others = [(None, "u"), (None, "w"), (Some("s2"), "u")];
        for other in &others[..random.between(1, 3) as usize] {
            paths.push(*other);
        }
        let tables = paths.into_iter().map(|(schema, name)| Table::random(random, &kinds, schema, name)).collect();
        let mut world = Self { tables, views: Vec::new() };
        for name in ["vw", "s1.w"] {
            if features.has("views") && random.chance(50) {
                let view = Maker::new(random.bits(), &world, features).view(name);
                world.views.push(view);
            }
        }
        world
    }

    /// What makes the tables, and what makes the views.
    pub fn script(&self) -> Vec<String> {
        let mut script = vec!["CREATE SCHEMA s1".to_owned(), "CREATE SCHEMA s2".to_owned()];
        script.extend(self.tables.iter().flat_map(Table::script));
        script.extend(self.views.iter().map(|view| view.create.clone()));
        script
    }

    /// These tables with their rows the other way round.
    pub fn reversed(&self) -> Self {
        let mut world = self.clone();
        for table in &mut world.tables {
            table.rows.reverse();
        }
        world
    }

    /// What PostgreSQL does before the script, so that nothing of another world is left.
    pub fn before() -> Vec<String> {
        ["DROP SCHEMA IF EXISTS s1, s2, public CASCADE", "CREATE SCHEMA public"].map(str::to_owned).to_vec()
    }

    /// This world with one thing less, each: a view, a table, a row.
    pub fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for view in 0..self.views.len() {
            let mut less = self.clone();
            less.views.remove(view);
            all.push(less);
        }
        for table in 0..self.tables.len() {
            let mut less = self.clone();
            less.tables.remove(table);
            all.push(less);
        }
        for table in 0..self.tables.len() {
            for row in 0..self.tables[table].rows.len() {
                let mut less = self.clone();
                less.tables[table].rows.remove(row);
                all.push(less);
            }
        }
        all
    }
}
