//! The schemas that statements are about: a few tables whose columns have the same names, full of NULLs, and views.
//!
//! | file | what |
//! |---|---|
//! | `literal` | values as they are written |
//! | `storage` | where records lie, and how statements are run |
//! | `series` | tables of two zones |
//! | `table` | a table and what makes it |

mod literal;
mod series;
mod storage;
mod table;

pub use literal::literal;
pub use storage::{Storage, Way};
pub use table::Table;

use crate::generate::{Features, Maker};
use crate::generator::Generator;
use crate::tree::Type;
use table::Wanted;

/// Names and types of columns.
pub type Columns = Vec<(String, Type)>;

/// A view and what it is.
#[derive(Debug, Clone)]
pub struct View {
    pub name: &'static str,
    pub columns: Columns,
    pub create: String,
}

/// Tables and views, and how statements about them are run.
#[derive(Debug, Clone)]
pub struct World {
    pub tables: Vec<Table>,
    pub views: Vec<View>,
    pub way: Way,
}

/// Names of columns, which all tables share, with the types they mostly have.
const NAMES: &[(&str, &[Type])] = &[
    ("a", &[Type::Integer]),
    ("b", &[Type::Integer, Type::Big]),
    ("c", &[Type::Text, Type::Text, Type::Char]),
    ("d", &[Type::Date, Type::Integer, Type::Timestamp]),
    ("f", &[Type::Boolean]),
    ("id", &[Type::Integer, Type::Big]),
    ("k", &[Type::Integer]),
    ("p", &[Type::Decimal, Type::Integer, Type::Wide]),
    ("v", &[Type::Double, Type::Text, Type::Integer, Type::Bytes]),
];

/// Names that need quotes.
const QUOTED: &[(&str, &[Type])] = &[("\"Order\"", &[Type::Integer]), ("\"a b\"", &[Type::Integer, Type::Text])];

/// A script as it grows, with the settings that hold at its end.
pub struct Gathered {
    pub script: Vec<String>,
    layout: &'static str,
    delta: &'static str,
}

impl Gathered {
    fn new(script: Vec<String>) -> Self {
        Self { script, layout: "column", delta: "default" }
    }

    fn set_layout(&mut self, layout: &'static str) {
        if std::mem::replace(&mut self.layout, layout) != layout {
            self.script.push(format!("SET gingham.layout = '{layout}'"));
        }
    }

    fn set_delta(&mut self, rows: &'static str) {
        if std::mem::replace(&mut self.delta, rows) != rows {
            self.script.push(format!("SET gingham.lab_delta_rows = '{rows}'"));
        }
    }
}

impl World {
    /// The schemas and rows of a seed. The features say whether there are views.
    pub fn random(random: &mut Generator, features: &Features) -> Self {
        let stored = features.types(true);
        let quoted = if features.has("quoted names") && random.chance(25) { QUOTED } else { &[] };
        let mut kinds: Vec<(&'static str, Type)> = Vec::new();
        for (name, types) in NAMES.iter().chain(quoted) {
            let kind = *random.pick(types);
            kinds.push((name, if stored.contains(&kind) { kind } else { types[0] }));
        }
        let mut paths = vec![(None, "t"), (Some("s1"), "t")];
        let others: &[(Option<&'static str>, &'static str)] = match quoted.is_empty() {
            true => &[(None, "u"), (None, "w"), (Some("s2"), "u")],
            false => &[(None, "\"Order\""), (Some("s2"), "\"a b\""), (None, "u")],
        };
        paths.extend_from_slice(&others[..random.between(1, 3) as usize]);
        let is_large = features.has("tables of two zones") && random.chance(30);
        let large = is_large.then(|| random.between(0, paths.len() as i64 - 1) as usize);
        let mut tables = Vec::new();
        for (number, (schema, name)) in paths.into_iter().enumerate() {
            let wanted = Wanted { kinds: &kinds, schema, name, is_large: large == Some(number) };
            tables.push(Table::random(random, features, &wanted));
        }
        let mut world = Self { tables, views: Vec::new(), way: Way::random(random, features) };
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
        let mut gathered = Gathered::new(self.way.script());
        gathered.script.extend(["CREATE SCHEMA s1".to_owned(), "CREATE SCHEMA s2".to_owned()]);
        self.tables.iter().for_each(|table| table.script(&mut gathered));
        gathered.script.extend(self.views.iter().map(|view| view.create.clone()));
        gathered.script
    }

    /// True when one of the tables is large.
    pub fn is_large(&self) -> bool {
        self.tables.iter().any(Table::is_large)
    }

    /// These tables with their rows the other way round.
    pub fn reversed(&self) -> Self {
        let mut world = self.clone();
        world.tables.iter_mut().for_each(Table::reverse);
        world
    }

    /// What PostgreSQL does before the script, so that nothing of another world is left.
    pub fn before() -> Vec<String> {
        ["DROP SCHEMA IF EXISTS s1, s2, public CASCADE", "CREATE SCHEMA public"].map(str::to_owned).to_vec()
    }

    /// This world with one thing less, each: a view, a table, a setting, what is special of a table, a row.
    pub fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        // First large tables, with which each try takes a second.
        let large = self.tables.iter().position(Table::is_large);
        for simpler in large.map(|large| self.tables[large].smaller_series()).unwrap_or_default() {
            let mut less = self.clone();
            less.tables[large.unwrap_or_default()] = simpler;
            all.push(less);
        }
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
        all.extend(self.way.plainer().into_iter().map(|way| Self { way, ..self.clone() }));
        for (number, table) in self.tables.iter().enumerate() {
            for simpler in table.simpler() {
                let mut less = self.clone();
                less.tables[number] = simpler;
                all.push(less);
            }
        }
        for table in 0..self.tables.len() {
            for row in 0..self.tables[table].rows.len() {
                let mut less = self.clone();
                less.tables[table].remove(row);
                all.push(less);
            }
        }
        all
    }
}

#[test]
fn records_lie_where_tables_say_that_they_do() {
    use crate::answer::{Outcome, Typed};
    use crate::engine::Engine;
    use std::collections::BTreeSet;

    let features = Features::asked();
    let mut met = BTreeSet::new();
    let mut large = 0;
    for seed in 0..80 {
        let mut world = World::random(&mut Generator::new(seed), &features);
        // These take most of the time, and those with deleted records are what is wanted of them.
        let changed = |table: &Table| table.is_large() && table.storage == Storage::Changed;
        large += usize::from(world.is_large());
        if world.is_large() && large > 5 && !world.tables.iter().any(changed) {
            continue;
        }
        world.views.clear();
        world.way = Way::PLAIN;
        let engine = Engine::with(&world.script()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        for table in world.tables.iter().filter(|table| table.is_large() || table.rows.len() > table.late) {
            let name = table.name.trim_matches('"');
            let sql = format!(
                "SELECT layout, segments, delta_rows > 0, deleted_rows > 0, rows + deleted_rows > 65536 FROM gingham_tables \
                 WHERE table_schema = '{}' AND table_name = '{name}'",
                table.schema.unwrap_or("public")
            );
            let Outcome::Answer(Typed { answer, .. }) = engine.answer(&sql, None) else { panic!("{sql}") };
            let cells: Vec<&str> = answer.rows[0].iter().map(|cell| cell.as_deref().unwrap_or("-")).collect();
            let [layout, segments, in_delta, deleted, two_zones] = cells[..] else { panic!("{sql}") };
            assert_eq!(layout, table.layout, "seed {seed}, {name}");
            match table.storage {
                Storage::Delta => assert_eq!((segments, in_delta), ("0", "t"), "seed {seed}, {name}"),
                Storage::Segments => assert!(segments != "0" && in_delta == "f", "seed {seed}, {name}: {cells:?}"),
                // Of a table whose records are all deleted there is no segment left.
                Storage::Changed if segments == "0" => continue,
                Storage::Changed => {}
                Storage::Pages => assert_ne!(in_delta, "t", "seed {seed}, {name}"),
            }
            met.insert((table.storage, in_delta == "t", deleted == "t", two_zones == "t"));
        }
    }
    let has = |storage, wanted: [bool; 3]| {
        let fits = |of: &(Storage, bool, bool, bool)| {
            of.0 == storage && (of.1 || !wanted[0]) && (of.2 || !wanted[1]) && (of.3 || !wanted[2])
        };
        assert!(met.iter().any(fits), "{storage:?} {wanted:?}: {met:?}");
    };
    has(Storage::Delta, [true, false, false]);
    has(Storage::Segments, [false, false, true]);
    has(Storage::Changed, [true, true, false]);
    has(Storage::Changed, [false, true, true]);
    has(Storage::Pages, [false, false, true]);
}
