//! Random statements, and what the tables must hold after each: a plain model of a few tables.

use crate::generator::Generator;
use gingham::{Connection, Error};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Layouts of tables, half of them in heap pages.
const LAYOUTS: [&str; 13] = [
    "nsm",
    "dsm",
    "pax",
    "pax",
    "column",
    "row",
    "mempax(7)",
    "byteslice",
    "vbp",
    "hbp",
    "bit_packed",
    "dense_column",
    "super_tuple",
];

/// All tables by name.
pub type State = BTreeMap<String, Table>;

/// What a record has beside its key.
type Record = (Option<i64>, Option<String>);

/// A table (id BIGINT, a BIGINT, b VARCHAR), and columns that were added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its records by `id`.
    pub rows: Arc<BTreeMap<i64, Record>>,
    /// `id` is its PRIMARY KEY.
    pub keyed: bool,
    heap: bool,
    indexed: bool,
    added: usize,
}

impl Table {
    fn new(keyed: bool, heap: bool) -> Self {
        Self { rows: Arc::default(), keyed, heap, indexed: false, added: 0 }
    }

    /// How many columns it has.
    pub fn columns(&self) -> usize {
        3 + self.added
    }

    /// The rows as a query of all columns in the order of `id` shows them.
    pub fn lines(&self) -> Vec<String> {
        let added: String = (1..=self.added).map(|column| format!("|{column}")).collect();
        let line = |(id, (a, b)): (&i64, &(Option<i64>, Option<String>))| {
            let a = a.map_or(String::new(), |a| a.to_string());
            format!("{id}|{a}|{}{added}", b.as_deref().unwrap_or_default())
        };
        self.rows.iter().map(line).collect()
    }

    /// What `SELECT count(*), min(id), max(id)` and `SELECT sum(a), count(b), max(b)` give.
    pub fn summaries(&self) -> [String; 2] {
        let edge = |id: Option<&i64>| id.map_or(String::new(), i64::to_string);
        let numbers: Vec<i64> = self.rows.values().filter_map(|(a, _)| *a).collect();
        let sum = if numbers.is_empty() { String::new() } else { numbers.iter().sum::<i64>().to_string() };
        let strings: Vec<&str> = self.rows.values().filter_map(|(_, b)| b.as_deref()).collect();
        let (first, last) = (self.rows.keys().next(), self.rows.keys().next_back());
        let greatest = strings.iter().max().copied().unwrap_or_default();
        [format!("{}|{}|{}", self.rows.len(), edge(first), edge(last)), format!("{sum}|{}|{greatest}", strings.len())]
    }
}

/// Statements that are one change, and what the tables hold when it was done.
#[derive(Debug)]
pub struct Proposal {
    pub statements: Vec<String>,
    pub after: State,
}

impl Proposal {
    /// Runs the statements. False when one of them is not offered; nothing has changed then.
    pub fn run(&self, connection: &Connection) -> bool {
        for statement in &self.statements {
            match connection.execute(statement) {
                Ok(_) => {}
                Err(Error::Unsupported(_)) => {
                    if self.statements.len() > 1 && statement != &self.statements[0] {
                        connection.execute("ROLLBACK").expect("what began can be undone");
                    }
                    return false;
                }
                Err(error) => panic!("{statement}: {error}"),
            }
        }
        true
    }
}

/// A source of statements; the same for the same seed and answers.
pub struct Workload {
    random: Generator,
    next_id: i64,
    next_table: usize,
    pub state: State,
}

impl Workload {
    /// Statements for an empty database.
    pub fn new(seed: u64) -> Self {
        Self { random: Generator::new(seed), next_id: 1, next_table: 1, state: State::new() }
    }

    /// A table in columns, and rows that fill a segment file.
    pub fn large_table(&mut self) -> [Proposal; 2] {
        self.table_of("layout = 'column'", 20_000)
    }

    /// A table in heap pages, and rows for more of them than are read again when they are committed.
    pub fn large_heap_table(&mut self) -> [Proposal; 2] {
        self.table_of("layout = 'pax', page_size = 4096", 40_000)
    }

    /// A table and many rows, which then lie in other layouts, one after the other.
    pub fn load_and_rewrite(&mut self, options: &str, layouts: &[&str]) -> Vec<Proposal> {
        let mut changes = Vec::from(self.table_of(options, 40_000));
        let after = changes[1].after.clone();
        let rewrite = |layout: &&str| {
            let statement = format!("ALTER TABLE t SET (layout = '{layout}')");
            Proposal { statements: vec![statement], after: after.clone() }
        };
        changes.extend(layouts.iter().map(rewrite));
        changes
    }

    /// A table in heap pages, and some rows.
    pub fn heap_table(&mut self) -> [Proposal; 2] {
        self.table_of("layout = 'pax'", 1000)
    }

    fn table_of(&mut self, options: &str, rows: i64) -> [Proposal; 2] {
        let create = format!("CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT, b VARCHAR) WITH ({options})");
        let (mut table, name) = (Table::new(true, !options.contains("column")), "t".to_owned());
        let empty = State::from([(name.clone(), table.clone())]);
        let insert = self.insert_rows(&name, &mut table, rows);
        let full = State::from([(name, table)]);
        [(create, empty), (insert, full)].map(|(statement, after)| Proposal { statements: vec![statement], after })
    }

    /// The next change: a statement, or a transaction of some.
    pub fn propose(&mut self) -> Proposal {
        let mut after = self.state.clone();
        if !self.random.chance(12) || after.len() < 2 {
            let statement = self.statement(&mut after);
            return Proposal { statements: vec![statement], after };
        }
        let mut statements = vec!["BEGIN".to_owned()];
        for _ in 0..self.random.between(1, 4) {
            statements.push(self.change(&mut after));
        }
        if self.random.chance(25) {
            statements.push("ROLLBACK".into());
            after = self.state.clone();
        } else {
            statements.push("COMMIT".into());
        }
        Proposal { statements, after }
    }

    fn statement(&mut self, state: &mut State) -> String {
        let roll = self.random.between(0, 99);
        match roll {
            _ if state.len() < 2 => self.create(state),
            0..6 if state.len() < 5 => self.create(state),
            6..9 if state.len() < 5 => self.create_of_query(state),
            9..12 if state.len() > 2 => {
                let name = self.pick(state);
                state.remove(&name);
                format!("DROP TABLE {name}")
            }
            12..14 => self.rename(state),
            14..17 => self.add_column(state),
            17..22 => format!("OPTIMIZE {}", self.pick(state)),
            22..25 => self.create_index(state),
            25..34 => self.set_layout(state),
            37..41 => "VACUUM".into(),
            34..37 => {
                let name = self.pick(state);
                state.get_mut(&name).expect("it was picked").rows = Arc::default();
                format!("TRUNCATE {name}")
            }
            _ => self.change(state),
        }
    }

    /// A change of rows.
    fn change(&mut self, state: &mut State) -> String {
        let name = self.pick(state);
        let table = state.get_mut(&name).expect("it was picked");
        match self.random.between(0, 9) {
            0..4 => self.insert_few(&name, table),
            4..6 => self.insert_many(&name, table),
            6..8 => self.update(&name, table),
            _ => self.delete(&name, table),
        }
    }

    fn pick(&mut self, state: &State) -> String {
        let names: Vec<&String> = state.keys().collect();
        (*self.random.pick(&names)).clone()
    }

    fn new_name(&mut self) -> String {
        self.next_table += 1;
        format!("t{}", self.next_table - 1)
    }

    /// A layout, and whether it has heap pages.
    fn layout(&mut self) -> (&'static str, bool) {
        let layout = *self.random.pick(&LAYOUTS);
        (layout, matches!(layout, "nsm" | "dsm" | "pax"))
    }

    fn create(&mut self, state: &mut State) -> String {
        let (name, (layout, heap), keyed) = (self.new_name(), self.layout(), self.random.chance(60));
        let key = if keyed { " PRIMARY KEY" } else { "" };
        state.insert(name.clone(), Table::new(keyed, heap));
        format!("CREATE TABLE {name} (id BIGINT{key}, a BIGINT, b VARCHAR) WITH (layout = '{layout}')")
    }

    fn create_of_query(&mut self, state: &mut State) -> String {
        let (name, (layout, heap), from) = (self.new_name(), self.layout(), self.pick(state));
        let table = Table { rows: Arc::clone(&state[&from].rows), ..Table::new(false, heap) };
        state.insert(name.clone(), table);
        format!("CREATE TABLE {name} WITH (layout = '{layout}') AS SELECT id, a, b FROM {from}")
    }

    fn rename(&mut self, state: &mut State) -> String {
        let (from, to) = (self.pick(state), self.new_name());
        let table = state.remove(&from).expect("it was picked");
        state.insert(to.clone(), table);
        format!("ALTER TABLE {from} RENAME TO {to}")
    }

    fn add_column(&mut self, state: &mut State) -> String {
        let name = self.pick(state);
        let table = state.get_mut(&name).expect("it was picked");
        table.added += 1;
        format!("ALTER TABLE {name} ADD COLUMN x{} INTEGER DEFAULT {}", table.added, table.added)
    }

    /// An index of a table in heap pages; other tables have none.
    fn create_index(&mut self, state: &mut State) -> String {
        let name = self.pick(state);
        let table = state.get_mut(&name).expect("it was picked");
        if !table.heap {
            return self.insert_few(&name, table);
        }
        table.indexed = true;
        format!("CREATE INDEX ON {name} (a)")
    }

    fn set_layout(&mut self, state: &mut State) -> String {
        let (name, (mut layout, heap)) = (self.pick(state), self.layout());
        let table = state.get_mut(&name).expect("it was picked");
        if table.indexed && !heap {
            layout = "nsm";
        }
        table.heap = heap || table.indexed;
        format!("ALTER TABLE {name} SET (layout = '{layout}')")
    }

    fn insert_few(&mut self, name: &str, table: &mut Table) -> String {
        let rows = Arc::make_mut(&mut table.rows);
        let mut values = Vec::new();
        for _ in 0..self.random.between(1, 5) {
            let id = self.next_id + self.random.between(0, 3);
            self.next_id = id + 1;
            let (a, short) = (self.random.between(-1000, 1000), self.random.chance(90));
            // Some that no page has room for.
            let times = if short { self.random.between(1, 6) } else { self.random.between(300, 4000) };
            rows.insert(id, (Some(a), Some("new".repeat(times as usize))));
            values.push(format!("({id}, {a}, repeat('new', {times}))"));
        }
        format!("INSERT INTO {name} (id, a, b) VALUES {}", values.join(", "))
    }

    fn insert_many(&mut self, name: &str, table: &mut Table) -> String {
        // More than a delta takes, now and then.
        let count = if self.random.chance(8) { 17_000 } else { self.random.between(50, 1200) };
        self.insert_rows(name, table, count)
    }

    fn insert_rows(&mut self, name: &str, table: &mut Table, count: i64) -> String {
        let first = self.next_id;
        self.next_id += count;
        let rows = (first..first + count).map(|id| {
            let (a, b) = ((id % 7 > 0).then_some(id % 1000), (id % 5 > 0).then(|| format!("text {}", id % 37)));
            (id, (a, b))
        });
        Arc::make_mut(&mut table.rows).extend(rows);
        format!(
            "INSERT INTO {name} (id, a, b) SELECT value, CASE WHEN value % 7 > 0 THEN value % 1000 END,
                 CASE WHEN value % 5 > 0 THEN 'text ' || CAST(value % 37 AS VARCHAR) END
                 FROM generate_series({first}, {})",
            first + count - 1
        )
    }

    fn update(&mut self, name: &str, table: &mut Table) -> String {
        let (modulus, remainder) = self.part();
        let add = self.random.between(1, 50);
        for (id, (a, b)) in Arc::make_mut(&mut table.rows) {
            if id % modulus == remainder {
                *a = a.map(|a| a + add);
                *b = b.take().map(|b| b + "up");
            }
        }
        format!("UPDATE {name} SET a = a + {add}, b = b || 'up' WHERE id % {modulus} = {remainder}")
    }

    fn delete(&mut self, name: &str, table: &mut Table) -> String {
        let (modulus, remainder) = self.part();
        Arc::make_mut(&mut table.rows).retain(|id, _| id % modulus != remainder);
        format!("DELETE FROM {name} WHERE id % {modulus} = {remainder}")
    }

    /// A part of the ids: a few of them, or many.
    fn part(&mut self) -> (i64, i64) {
        let modulus = *self.random.pick(&[2, 5, 40, 400]);
        (modulus, self.random.between(0, modulus - 1))
    }
}
