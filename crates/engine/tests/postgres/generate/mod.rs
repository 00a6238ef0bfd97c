//! Random statements that are mostly valid and have one answer: names are chosen by what PostgreSQL sees at the place, and
//! LIMIT, windows and changes that pick rows only stand where an order tells which.
//!
//! | file | what |
//! |---|---|
//! | `features` | what can be left out by name |
//! | `scope` | which names mean what |
//! | `value`, `condition`, `subquery` | expressions |
//! | `window` | aggregates and window functions |
//! | `from` | FROM with joins, derived tables, LATERAL |
//! | `select`, `group`, `query` | queries, WITH, set operations, ORDER BY |
//! | `recursive` | WITH RECURSIVE |
//! | `alter` | ALTER TABLE |
//! | `change`, `merge` | INSERT, UPDATE, DELETE, MERGE |
//! | `parts` | WITH that changes records |

mod alter;
mod change;
mod clauses;
mod condition;
mod features;
mod from;
mod group;
mod merge;
mod parts;
mod query;
mod recursive;
mod scope;
mod select;
mod subquery;
mod value;
mod window;

pub use features::Features;

use crate::generator::Generator;
use crate::tree::{Tree, Type};
use crate::world::{Columns, Table, View, World};
use query::Wish;
use std::collections::BTreeSet;

/// A statement with what it is about.
#[derive(Debug, Clone)]
pub struct Statement {
    pub tree: Tree,
    /// What shows the table that it changes.
    pub changes: Option<String>,
    /// The features that were used on the way to it.
    pub features: BTreeSet<&'static str>,
}

impl Statement {
    /// True when the statement orders all of its rows, `width` cells wide.
    pub fn orders_all(&self, width: usize) -> bool {
        self.changes.is_none() && self.tree.orders_all(width)
    }
}

/// A WITH query that can be named.
#[derive(Debug, Clone)]
struct Cte {
    name: String,
    columns: Columns,
}

/// Writes statements about a world.
pub struct Maker<'w> {
    random: Generator,
    world: &'w World,
    features: &'w Features,
    used: BTreeSet<&'static str>,
    /// What WITH names at this place; later ones hide earlier ones of the same name.
    ctes: Vec<Cte>,
    /// Named windows of the SELECT that is being written, with whether they have an order; `None` where windows can't stand.
    windows: Option<Vec<(String, bool)>>,
    /// True where DISTINCT ON can't have the ORDER BY that it needs.
    no_distinct_on: bool,
    /// The large table that the FROM being written has, by its alias there; another can't be named any more.
    large: Option<(String, &'w Table)>,
    may_be_large: bool,
    /// How many more tables and subqueries the statement may have.
    fuel: i64,
    /// How much its values nest.
    size: usize,
    /// How many more levels of subqueries it may have.
    depth: usize,
}

impl<'w> Maker<'w> {
    /// The statement of a seed comes from a maker of its own.
    pub fn new(seed: u64, world: &'w World, features: &'w Features) -> Self {
        let mut random = Generator::new(seed);
        // Most statements are small: a large one is refused for one of its parts, which hides what is wrong with others.
        let fuel = *random.pick(&[1, 1, 2, 2, 3, 3, 4, 6, 9, 12]);
        let size = *random.pick(&[0, 1, 1, 2]);
        let depth = std::env::var("GINGHAM_POSTGRES_DEPTH").ok().and_then(|depth| depth.parse().ok()).unwrap_or(4);
        Self {
            random,
            world,
            features,
            used: BTreeSet::new(),
            ctes: Vec::new(),
            windows: None,
            no_distinct_on: false,
            large: None,
            may_be_large: true,
            fuel,
            size,
            depth,
        }
    }

    /// A statement.
    pub fn statement(mut self) -> Statement {
        if self.may("changes in with", 4) {
            let (tree, shown) = self.changes_in_with();
            return Statement { tree, changes: Some(shown), features: self.used };
        }
        if self.random.chance(22)
            && let Some((tree, shown)) = self.change()
        {
            return Statement { tree, changes: Some(shown), features: self.used };
        }
        let tree = self.query(&Vec::new(), &Wish { top: true, ..Wish::default() }).tree;
        Statement { tree, changes: None, features: self.used }
    }

    /// A view over the world's tables.
    pub fn view(mut self, name: &'static str) -> View {
        self.fuel = 2;
        self.may_be_large = false;
        self.depth = 1;
        let made = self.query(&Vec::new(), &Wish { named: true, ..Wish::default() });
        let columns: Vec<Type> = made.columns.iter().map(|(_, kind)| *kind).collect();
        let mut names = ["a", "k", "b", "v", "c", "id", "d", "f", "p"].map(str::to_owned).to_vec();
        let columns: Columns = columns
            .into_iter()
            .enumerate()
            .map(|(number, kind)| {
                let at = self.random.between(0, names.len() as i64 - 1) as usize;
                (if names.len() > 1 { names.swap_remove(at) } else { format!("z{number}") }, kind)
            })
            .collect();
        let list: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let create = format!("CREATE VIEW {name} ({}) AS {}", list.join(", "), made.tree);
        View { name, columns, create }
    }

    /// True in `percent` of cases, when the feature is on.
    fn may(&mut self, feature: &'static str, percent: u64) -> bool {
        let yes = self.random.chance(percent) && self.features.has(feature);
        if yes {
            self.used.insert(feature);
        }
        yes
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.random.between(0, end as i64 - 1) as usize
    }

    /// Takes fuel for a subquery or a table more; false when there is none.
    fn burn(&mut self, amount: i64) -> bool {
        let enough = self.fuel >= amount;
        if enough {
            self.fuel -= amount;
        }
        enough
    }

    /// Writes something one level of queries deeper, where the windows of the query around it can't be named.
    fn deeper<R>(&mut self, write: impl FnOnce(&mut Self) -> R) -> R {
        let windows = self.windows.take();
        let no_distinct_on = std::mem::replace(&mut self.no_distinct_on, false);
        self.depth -= 1;
        let written = write(self);
        self.depth += 1;
        self.no_distinct_on = no_distinct_on;
        self.windows = windows;
        written
    }

    /// Writes something that can hold no window functions.
    fn without_windows<R>(&mut self, write: impl FnOnce(&mut Self) -> R) -> R {
        let windows = self.windows.take();
        let written = write(self);
        self.windows = windows;
        written
    }

    /// Writes a SELECT that has no ORDER BY of its own.
    fn without_distinct_on<R>(&mut self, write: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::replace(&mut self.no_distinct_on, true);
        let written = write(self);
        self.no_distinct_on = before;
        written
    }

    fn distinct_on_allowed(&self) -> bool {
        !self.no_distinct_on
    }

    /// Notes that the statement reads or changes a table.
    fn uses(&mut self, table: &Table) {
        self.used.insert(table.storage.feature());
        if table.is_large() {
            self.used.insert("tables of two zones");
            self.may_be_large = false;
        }
    }

    /// A column name that tables have too.
    fn column_name(&mut self) -> String {
        (*self.random.pick(&["a", "b", "c", "d", "id", "k", "v", "x", "n"])).to_owned()
    }
}
