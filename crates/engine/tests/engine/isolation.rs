//! What transactions see of each other, held against a model: every interleaving of short transactions of two connections, at each level
//! of isolation, and of three. The model states the rules of docs/transactions.md and nothing else.

use crate::rows;
use gingham::{Connection, Database};
use std::collections::BTreeMap;

/// What a transaction does. Tables have one record each, with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Reads a table.
    Read(&'static str),
    /// Adds to what is in a table.
    Add(&'static str, i64),
    /// Reads a table and keeps others from writing.
    Lock(&'static str),
    /// Copies the number of the first table into the second.
    Copy(&'static str, &'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    ReadCommitted,
    RepeatableRead,
}

/// What a statement gives: a number, or an error's SQLSTATE, or nothing.
type Answer = Result<Option<i64>, &'static str>;

/// The database: the number in each table, and how often it was changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct State(BTreeMap<&'static str, (i64, u64)>);

impl State {
    fn value(&self, table: &str) -> i64 {
        self.0[table].0
    }
}

/// The rules, for transactions that one writer at a time can commit.
struct Model {
    committed: State,
    /// Who has the turn to write, and what is changed.
    writer: Option<(usize, State)>,
    open: Vec<Transaction>,
}

struct Transaction {
    level: Level,
    /// What REPEATABLE READ has pinned.
    pinned: Option<State>,
    read: Vec<&'static str>,
}

impl Model {
    fn new(levels: &[Level]) -> Self {
        let committed = State(TABLES.iter().map(|table| (*table, (0, 0))).collect());
        let open = levels.iter().map(|level| Transaction { level: *level, pinned: None, read: Vec::new() }).collect();
        Self { committed, writer: None, open }
    }

    /// The state that a reading statement of `who` sees.
    fn seen(&mut self, who: usize) -> State {
        match &self.writer {
            Some((writer, state)) if *writer == who => state.clone(),
            _ => {
                let own = &mut self.open[who];
                match own.level {
                    Level::ReadCommitted => self.committed.clone(),
                    Level::RepeatableRead => own.pinned.get_or_insert_with(|| self.committed.clone()).clone(),
                }
            }
        }
    }

    /// Takes the turn for `who`, who goes on from what is committed.
    fn take_turn(&mut self, who: usize) -> Result<(), &'static str> {
        match &self.writer {
            Some((writer, _)) if *writer == who => return Ok(()),
            Some(_) => return Err("55P03"),
            None => {}
        }
        let own = &self.open[who];
        if let Some(pinned) = &own.pinned
            && own.read.iter().any(|table| pinned.0[table] != self.committed.0[table])
        {
            return Err("40001");
        }
        self.writer = Some((who, self.committed.clone()));
        Ok(())
    }

    fn step(&mut self, who: usize, step: Step) -> Answer {
        match step {
            Step::Read(table) => {
                let value = self.seen(who).value(table);
                self.open[who].read.push(table);
                Ok(Some(value))
            }
            Step::Lock(table) => {
                self.take_turn(who)?;
                Ok(Some(self.seen(who).value(table)))
            }
            Step::Add(table, amount) => {
                self.take_turn(who)?;
                self.change(table, |state| state.value(table) + amount);
                Ok(None)
            }
            Step::Copy(from, to) => {
                self.take_turn(who)?;
                self.change(to, |state| state.value(from));
                Ok(None)
            }
        }
    }

    fn change(&mut self, table: &'static str, value: impl Fn(&State) -> i64) {
        let (_, state) = self.writer.as_mut().expect("who changes has the turn");
        let new = (value(state), state.0[table].1 + 1);
        state.0.insert(table, new);
    }

    fn commit(&mut self, who: usize) {
        if let Some((_, state)) = self.writer.take_if(|(writer, _)| *writer == who) {
            self.committed = state;
        }
    }
}

const TABLES: [&str; 2] = ["t", "u"];

fn sql(step: Step) -> String {
    match step {
        Step::Read(table) => format!("SELECT n FROM {table}"),
        Step::Lock(table) => format!("SELECT n FROM {table} FOR UPDATE"),
        Step::Add(table, amount) => format!("UPDATE {table} SET n = n + {amount}"),
        Step::Copy(from, to) => format!("UPDATE {to} SET n = {from}.n FROM {from}"),
    }
}

/// What the engine answers.
fn ask(connection: &Connection, step: Step) -> Answer {
    let sql = sql(step);
    let answered = match step {
        Step::Read(_) | Step::Lock(_) => number(connection, &sql).map(Some),
        Step::Add(..) | Step::Copy(..) => connection.execute(&sql).map(|_| None),
    };
    answered.map_err(|error| error.sqlstate())
}

fn number(connection: &Connection, sql: &str) -> gingham::Result<i64> {
    let batches = connection.query(sql)?.collect_batches()?;
    let batch = batches.iter().find(|batch| batch.num_rows() > 0).expect("a record");
    let value = gingham::ScalarValue::try_from_array(batch.column(0), 0)?;
    Ok(value.to_string().parse().expect("a number"))
}

/// The orders in which the steps of transactions can come, each with its own in order: the transaction of each step.
fn interleavings(lengths: &[usize]) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for _ in 0..lengths.iter().sum() {
        let longer = |order: &Vec<usize>| {
            let free = |who: &usize| order.iter().filter(|own| *own == who).count() < lengths[*who];
            let with = |who: usize| [order.clone(), vec![who]].concat();
            (0..lengths.len()).filter(free).map(with).collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    orders
}

const LEVELS: [Level; 2] = [Level::ReadCommitted, Level::RepeatableRead];

fn begin(level: Level) -> &'static str {
    match level {
        Level::ReadCommitted => "BEGIN ISOLATION LEVEL READ COMMITTED",
        Level::RepeatableRead => "BEGIN ISOLATION LEVEL REPEATABLE READ",
    }
}

/// Runs one order of steps; each transaction commits behind its last one.
fn run(connections: &[Connection], levels: &[Level], scripts: &[&[Step]], order: &[usize]) {
    let mut model = Model::new(levels);
    let mut next = vec![0; scripts.len()];
    let mut told = Vec::new();
    connections[0].execute("UPDATE t SET n = 0; UPDATE u SET n = 0").expect("nobody else writes");
    for (connection, level) in connections.iter().zip(levels) {
        connection.execute(begin(*level)).expect("a transaction begins");
    }
    for who in order {
        let at = next[*who];
        next[*who] += 1;
        match scripts[*who].get(at) {
            Some(step) => {
                let (expected, answer) = (model.step(*who, *step), ask(&connections[*who], *step));
                told.push(format!("{who} {step:?}: {answer:?}"));
                assert_eq!(answer, expected, "{levels:?}, {order:?}: {}", told.join("; "));
            }
            None => {
                connections[*who].execute("COMMIT").expect("it commits");
                model.commit(*who);
                told.push(format!("{who} commits"));
            }
        }
    }
    for table in TABLES {
        let found = number(&connections[0], &format!("SELECT n FROM {table}")).expect("a record");
        assert_eq!(found, model.committed.value(table), "{levels:?}, {order:?}: {}", told.join("; "));
    }
}

fn connections(layout: &str, count: usize) -> Vec<Connection> {
    let database = Database::in_memory().expect("a scratch database");
    let connections: Vec<Connection> = (0..count).map(|_| database.connect()).collect();
    for table in TABLES {
        let sql = format!("CREATE TABLE {table} (n BIGINT) WITH (layout = '{layout}'); INSERT INTO {table} VALUES (0)");
        connections[0].execute(&sql).expect("a table");
    }
    for connection in &connections {
        connection.execute("SET lock_timeout = 1").expect("a setting");
    }
    connections
}

/// Short transactions: reads of one and of two tables, changes after reads and before them, of what was read and of something else.
const SCRIPTS: [&[Step]; 8] = [
    &[Step::Read("t"), Step::Read("t")],
    &[Step::Read("t"), Step::Add("t", 1)],
    &[Step::Read("t"), Step::Add("u", 2)],
    &[Step::Add("t", 4), Step::Read("u")],
    &[Step::Copy("t", "u"), Step::Read("t")],
    &[Step::Lock("u"), Step::Add("u", 8)],
    &[Step::Read("u"), Step::Copy("u", "t")],
    &[Step::Read("t"), Step::Add("t", 1), Step::Read("u")],
];

/// What PostgreSQL answers to interleavings of [`SCRIPTS`].
const OF_POSTGRES: &str = include_str!("../../../../tests/transactions/postgres.txt");

/// Whether the model answers as a line says.
fn answers_so(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let mut word = || words.next().expect("a line has all of its words");
    let scripts = [word(), word()].map(|number| SCRIPTS[number.parse::<usize>().expect("a number")]);
    let levels = [word(), word()].map(|level| if level == "RC" { Level::ReadCommitted } else { Level::RepeatableRead });
    let order = word().chars().map(|who| who as usize - '0' as usize);
    let mut model = Model::new(&levels);
    let (mut next, mut answers) = ([0; 2], Vec::new());
    for who in order {
        match scripts[who].get(next[who]) {
            Some(step) => {
                let answer = model.step(who, *step).expect("neither waits nor fails");
                answers.push(answer.map_or("-".to_owned(), |number| number.to_string()));
            }
            None => model.commit(who),
        }
        next[who] += 1;
    }
    answers.push("|".to_owned());
    answers.extend(TABLES.iter().map(|table| model.committed.value(table).to_string()));
    answers.iter().all(|answer| word() == answer)
}

#[test]
fn postgres_answers_the_same_where_nobody_waits_or_fails() {
    let (mut same, mut others) = (0, 0);
    for line in OF_POSTGRES.lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix("! ") {
            None => {
                assert!(answers_so(line), "{line}");
                same += 1;
            }
            Some(line) => {
                assert!(!answers_so(line), "{line} is no difference any more");
                others += 1;
            }
        }
    }
    assert_eq!((same, others), (2112, 24));
}

/// One order in so many is tried, unless all are asked for by `GINGHAM_NIGHTLY`.
const SAMPLE: usize = 16;

#[test]
fn every_interleaving_of_two_transactions_follows_the_rules() {
    let sample = if std::env::var_os("GINGHAM_NIGHTLY").is_some() { 1 } else { SAMPLE };
    let (mut orders, mut run_orders) = (0, 0);
    for layout in ["column", "nsm"] {
        let connections = connections(layout, 2);
        for one in SCRIPTS {
            for other in SCRIPTS {
                for levels in LEVELS.iter().flat_map(|one| LEVELS.iter().map(|other| [*one, *other])) {
                    for order in interleavings(&[one.len() + 1, other.len() + 1]) {
                        orders += 1;
                        // Not a divisor of the number of orders of a pair, so that each pair is seen in others.
                        if orders % (sample + usize::from(sample > 1)) == 0 {
                            run(&connections, &levels, &[one, other], &order);
                            run_orders += 1;
                        }
                    }
                }
            }
        }
    }
    // 7 scripts of two steps and one of three: 20 orders with each other, 35 with the longer one, 70 of that with itself.
    assert_eq!(orders, 2 * 4 * (7 * 7 * 20 + 2 * 7 * 35 + 70));
    assert!(run_orders >= orders / (sample + 1));
}

#[test]
fn every_interleaving_of_three_transactions_follows_the_rules() {
    let connections = connections("column", 3);
    let scripts: [&[Step]; 4] = [&[Step::Read("t")], &[Step::Add("t", 1)], &[Step::Copy("t", "u")], &[Step::Lock("u")]];
    let mut orders = 0;
    for one in scripts {
        for levels in LEVELS.map(|level| [level; 3]) {
            let three: [&[Step]; 3] = [one, &[Step::Read("t"), Step::Add("u", 2)], &[Step::Add("t", 4)]];
            for order in interleavings(&[2, 3, 2]) {
                orders += 1;
                if orders % 5 == 0 || std::env::var_os("GINGHAM_NIGHTLY").is_some() {
                    run(&connections, &levels, &three, &order);
                }
            }
        }
    }
    assert_eq!(orders, 4 * 2 * 210);
}

#[test]
fn read_only_transactions_refuse_to_write() {
    let connections = connections("column", 1);
    let connection = &connections[0];
    for begin in [
        "BEGIN READ ONLY",
        "BEGIN; SET TRANSACTION READ ONLY",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY; BEGIN",
    ] {
        connection.execute(begin).expect(begin);
        for sql in [
            "INSERT INTO t VALUES (1)",
            "UPDATE t SET n = 1",
            "DELETE FROM t",
            "TRUNCATE t",
            "DROP TABLE t",
            "CREATE TABLE x (n INT)",
            "CREATE INDEX i ON t (n)",
            "ALTER TABLE t ADD COLUMN m INT",
            "MERGE INTO t USING u ON t.n = u.n WHEN MATCHED THEN DELETE",
            "WITH w AS (SELECT 1 AS n) INSERT INTO t SELECT n FROM w",
            "EXPLAIN ANALYZE DELETE FROM t",
            "SELECT n FROM t FOR UPDATE",
            "LOCK TABLE t",
            "COPY t FROM 'nosuch.csv'",
        ] {
            let error = connection.execute(sql).expect_err(sql);
            assert_eq!(error.sqlstate(), "25006", "{sql}: {error}");
        }
        assert!(connection.appender("t").is_err_and(|error| error.sqlstate() == "25006"));
        connection.execute("CREATE TEMP TABLE own (n INT); INSERT INTO own SELECT n FROM t").expect("its own table");
        assert_eq!(rows(connection, "SELECT n FROM own"), ["0"]);
        connection.execute("ROLLBACK; RESET default_transaction_read_only").expect("it ends");
    }
    connection.execute("SET default_transaction_read_only = on").expect("a setting");
    assert_eq!(connection.execute("UPDATE t SET n = 1").expect_err("a statement alone").sqlstate(), "25006");
    connection.execute("BEGIN READ WRITE; UPDATE t SET n = 1; COMMIT").expect("it says that it writes");
}
