//! Subqueries as values, by three-valued logic: random ones of small tables with NULLs, against a model of SQL that goes
//! through all rows. DataFusion alone takes NULL for false in some of these, and refuses others.

use crate::generator::Generator;
use crate::{connect, rows};
use std::fmt::Write;

type Cell = Option<i64>;

/// A table of two columns of INTEGER.
struct Table {
    name: &'static str,
    columns: [&'static str; 2],
    rows: Vec<[Cell; 2]>,
}

/// The table that is asked, and those of subqueries: one with NULLs, one that can have none, an empty one.
fn tables(random: &mut Generator) -> [Table; 4] {
    let mut table = |name, columns, rows, nulls| {
        let mut cell = || (!random.chance(nulls)).then(|| random.between(0, 5));
        Table { name, columns, rows: (0..rows).map(|_| [cell(), cell()]).collect() }
    };
    [
        table("t", ["a", "b"], 14, 20),
        table("u", ["c", "d"], 6, 20),
        table("v", ["e", "f"], 4, 0),
        table("w", ["g", "h"], 0, 0),
    ]
}

fn create(table: &Table) -> String {
    let [first, second] = table.columns;
    let not_null = if table.name == "v" { " NOT NULL" } else { "" };
    let name = table.name;
    let mut sql = format!("CREATE TABLE {name} ({first} INTEGER{not_null}, {second} INTEGER{not_null});");
    for row in &table.rows {
        write!(sql, "INSERT INTO {name} VALUES ({}, {});", text(row[0]), text(row[1])).expect("a string takes it");
    }
    sql
}

fn text(cell: Cell) -> String {
    cell.map_or("NULL".to_owned(), |number| number.to_string())
}

const OPERATORS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

fn compare(own: Cell, operator: &str, other: Cell) -> Option<bool> {
    let (own, other) = (own?, other?);
    Some(match operator {
        "=" => own == other,
        "<>" => own != other,
        "<" => own < other,
        "<=" => own <= other,
        ">" => own > other,
        _ => own >= other,
    })
}

/// A column of `t`, or a number.
#[derive(Clone, Copy)]
enum Value {
    Column(usize),
    Number(i64),
}

impl Value {
    fn random(random: &mut Generator) -> Self {
        if random.chance(12) { Self::Number(random.between(0, 5)) } else { Self::Column(random.between(0, 1) as usize) }
    }

    fn text(self) -> String {
        match self {
            Self::Column(column) => ["t.a", "t.b"][column].to_owned(),
            Self::Number(number) => number.to_string(),
        }
    }

    fn of(self, row: &[Cell; 2]) -> Cell {
        match self {
            Self::Column(column) => row[column],
            Self::Number(number) => Some(number),
        }
    }
}

/// `SELECT column FROM table WHERE column operator value`, or the largest of these.
struct Query {
    table: usize,
    column: usize,
    condition: Option<(usize, &'static str, Value)>,
    largest: bool,
}

impl Query {
    fn random(random: &mut Generator) -> Self {
        let condition = random.chance(60).then(|| {
            let operator = if random.chance(60) { "=" } else { *random.pick(&OPERATORS) };
            (random.between(0, 1) as usize, operator, Value::random(random))
        });
        let largest = random.chance(20);
        Self { table: random.between(1, 3) as usize, column: random.between(0, 1) as usize, condition, largest }
    }

    fn text(&self, tables: &[Table]) -> String {
        let Table { name, columns, .. } = &tables[self.table];
        let column = columns[self.column];
        let column = if self.largest { format!("max({column})") } else { column.to_owned() };
        let condition = self
            .condition
            .map(|(column, operator, value)| format!(" WHERE {} {operator} {}", columns[column], value.text()));
        format!("(SELECT {column} FROM {name}{})", condition.unwrap_or_default())
    }

    fn rows(&self, tables: &[Table], outer: &[Cell; 2]) -> Vec<Cell> {
        let passes = |row: &&[Cell; 2]| {
            let condition = self.condition;
            condition.is_none_or(|(column, by, value)| compare(row[column], by, value.of(outer)) == Some(true))
        };
        let found: Vec<Cell> = tables[self.table].rows.iter().filter(passes).map(|row| row[self.column]).collect();
        if self.largest { vec![found.into_iter().flatten().max()] } else { found }
    }
}

enum Condition {
    In { value: Value, not: bool, query: Query },
    Quantified { value: Value, operator: &'static str, all: bool, query: Query },
    Exists { not: bool, query: Query },
    Compare { value: Value, operator: &'static str, number: i64 },
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    IsNull(Box<Condition>),
}

impl Condition {
    fn random(random: &mut Generator, depth: usize) -> Self {
        let kinds = if depth > 2 { 65 } else { 100 };
        let kind = random.between(0, kinds - 1);
        let (value, operator, query) = (Value::random(random), *random.pick(&OPERATORS), Query::random(random));
        let mut inner = || Box::new(Self::random(random, depth + 1));
        match kind {
            0..20 => Self::In { value, not: random.chance(50), query },
            20..38 => Self::Quantified { value, operator, all: random.chance(50), query },
            38..55 => Self::Exists { not: random.chance(40), query },
            55..65 => Self::Compare { value, operator, number: random.between(0, 5) },
            65..75 => Self::Not(inner()),
            75..83 => Self::And(inner(), inner()),
            83..91 => Self::Or(inner(), inner()),
            _ => Self::IsNull(inner()),
        }
    }

    fn text(&self, tables: &[Table]) -> String {
        let own = |inner: &Self| inner.text(tables);
        let or_not = |not: &bool| if *not { "NOT " } else { "" };
        match self {
            Self::In { value, not, query } => format!("{} {}IN {}", value.text(), or_not(not), query.text(tables)),
            Self::Quantified { value, operator, all, query } => {
                format!("{} {operator} {} {}", value.text(), if *all { "ALL" } else { "ANY" }, query.text(tables))
            }
            Self::Exists { not, query } => format!("{}EXISTS {}", or_not(not), query.text(tables)),
            Self::Compare { value, operator, number } => format!("{} {operator} {number}", value.text()),
            Self::Not(inner) => format!("NOT ({})", own(inner)),
            Self::And(left, right) => format!("({} AND {})", own(left), own(right)),
            Self::Or(left, right) => format!("({} OR {})", own(left), own(right)),
            Self::IsNull(inner) => format!("(({}) IS NULL)", own(inner)),
        }
    }

    /// What it is for a row of `t`.
    fn of(&self, tables: &[Table], row: &[Cell; 2]) -> Option<bool> {
        let any = |value: &Value, operator: &str, query: &Query| {
            let compared = query.rows(tables, row).into_iter().map(|other| compare(value.of(row), operator, other));
            either(compared)
        };
        match self {
            Self::In { value, not, query } => any(value, "=", query).map(|found| found != *not),
            Self::Quantified { value, operator, all: false, query } => any(value, operator, query),
            Self::Quantified { value, operator, all: true, query } => {
                let rows = query.rows(tables, row).into_iter();
                both(rows.map(|other| compare(value.of(row), operator, other)))
            }
            Self::Exists { not, query } => Some(query.rows(tables, row).is_empty() == *not),
            Self::Compare { value, operator, number } => compare(value.of(row), operator, Some(*number)),
            Self::Not(inner) => inner.of(tables, row).map(|holds| !holds),
            Self::And(left, right) => both([left, right].map(|side| side.of(tables, row)).into_iter()),
            Self::Or(left, right) => either([left, right].map(|side| side.of(tables, row)).into_iter()),
            Self::IsNull(inner) => Some(inner.of(tables, row).is_none()),
        }
    }
}

/// True when one is, else NULL when one is, else false.
fn either(mut all: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    all.try_fold(Some(false), |known, own| match own {
        Some(true) => Err(()),
        Some(false) => Ok(known),
        None => Ok(None),
    })
    .unwrap_or(Some(true))
}

fn both(all: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    either(all.map(|own| own.map(|holds| !holds))).map(|fails| !fails)
}

/// Queries that ask for a condition in some place, each with how its rows follow from those of `t`.
fn asked(condition: &str, all: &[[Cell; 2]], of: impl Fn(&[Cell; 2]) -> Option<bool>) -> Vec<(String, Vec<String>)> {
    let shown = |holds: Option<bool>| holds.map_or(String::new(), |holds| holds.to_string());
    let cell = |cell: Cell| cell.map_or(String::new(), |number| number.to_string());
    let row = |cells: &[Cell; 2]| format!("{}|{}", cell(cells[0]), cell(cells[1]));
    let passing: Vec<_> = all.iter().filter(|cells| of(cells) == Some(true)).map(row).collect();
    let values = all.iter().map(|cells| format!("{}|{}", row(cells), shown(of(cells)))).collect();
    let count = |wanted| all.iter().filter(|cells| of(cells) == wanted).count();
    let sizes = [Some(true), Some(false), None].map(|wanted| (wanted, count(wanted)));
    let groups = sizes.iter().filter(|(_, rows)| *rows > 0);
    let groups = groups.map(|(wanted, rows)| format!("{}|{rows}", shown(*wanted))).collect();
    let numbered =
        sizes.iter().flat_map(|(wanted, rows)| (1..=*rows).map(|number| format!("{}|{number}", shown(*wanted))));
    vec![
        (format!("SELECT a, b FROM t WHERE {condition}"), passing.clone()),
        (format!("SELECT a, b, {condition} FROM t"), values),
        (format!("SELECT {condition}, count(*) FROM t GROUP BY 1"), groups),
        (
            format!("SELECT sum(CASE WHEN {condition} THEN 1 ELSE 0 END), count(*) FILTER (WHERE {condition}) FROM t"),
            vec![format!("{0}|{0}", passing.len())],
        ),
        (
            format!(
                "SELECT x, n FROM (SELECT {condition} AS x, row_number() OVER (PARTITION BY {condition}) AS n FROM t)"
            ),
            numbered.collect(),
        ),
    ]
}

fn seeds() -> std::ops::Range<u64> {
    if std::env::var_os("GINGHAM_NIGHTLY").is_some() { 0..3000 } else { 0..100 }
}

#[test]
fn conditions_are_three_valued_wherever_they_stand() {
    for seed in seeds() {
        let mut random = Generator::new(seed);
        let (tables, condition) = (tables(&mut random), Condition::random(&mut random, 0));
        let connection = connect();
        connection.execute(&tables.iter().map(create).collect::<String>()).expect("tables");
        let mode = random.pick(&["staged", "interpreted", "datafusion"]);
        connection.execute(&format!("SET gingham.execution = '{mode}'")).expect("a mode");
        for (sql, mut expected) in asked(&condition.text(&tables), &tables[0].rows, |row| condition.of(&tables, row)) {
            let mut found = rows(&connection, &sql);
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "seed {seed}: {sql}");
        }
    }
}
