//! Ours: the queries of figure 2 through SQL, over the same dense pages and over the engine's layout `column`.

use super::grid::told;
use super::queries::queries_of_a_point;
use super::stored::{Stored, StoredTable, column_name, failed};
use super::tables::{PaperTable, TableValues};
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Laps, Point,
    Subject, Trial, Variant, levels,
};
use crate::random::Random;
use arrow::array::AsArray;
use arrow::datatypes::Int32Type;
use gingham::Connection;
use std::rc::Rc;

/// The experiment.
pub static SQL: Experiment = Experiment {
    name: "readopt.sql",
    title: "Rows against columns through SQL, Narrow-E",
    place: "read-optimized paper, section 6.2; the experiment is ours",
    about: "select 1, 3, 5 or all of ten columns drawn at random, where one of columns 6 to 10 >= a value that lets through the \
            percentage, through SQL on one thread, past the system's cache: over super-tuples and dense columns in the packings that \
            take fewest bytes, and over layout column. The result's batches are added up and dropped. Compared with plain loops over \
            the values.",
    uses: &[],
    design: |bench| Ok(design(bench)),
    derive: None,
    figures: &[Figure {
        title: "Time of a record, at the disk's full rate",
        kind: FigureKind::DeviationLines,
        x: "columns",
        series: "storage",
        panels: &["selectivity"],
        metric: "time",
        axis: "cycles per record",
        only: &[],
    }],
    claims: &CLAIMS,
};

const TABLE: PaperTable = PaperTable::NarrowE;
const STORED: [Stored; 3] = [Stored::SmallestRows, Stored::SmallestColumns, Stored::Engine];
const PERCENTS: [f64; 3] = [1.0, 10.0, 50.0];
/// The first column that may have the predicate, from 0 on: those before have too few values for every percentage.
const FIRST_TESTED: usize = 5;

fn design(bench: &Bench) -> Design {
    let setup = |bench: &Bench| {
        let table = StoredTable::new(bench, TABLE, &STORED)?;
        let mut variants = Vec::new();
        for percent in PERCENTS {
            for returned in TABLE.returned() {
                let queries: Rc<[SqlQuery]> = queries(bench, &table.values, percent, returned).into();
                for stored in STORED {
                    let at = levels(&[("selectivity", &percent), ("columns", &returned), ("storage", &stored.name())]);
                    variants.push(variant(&table, at, stored, Rc::clone(&queries))?);
                }
            }
        }
        Ok(variants)
    };
    Design {
        trials: vec![Trial { name: TABLE.name().to_owned(), setup: Box::new(setup) }],
        factors: vec![
            Factor::new("selectivity", "%", PERCENTS),
            Factor::new("columns", "columns", TABLE.returned()),
            Factor::new("storage", "", STORED.map(Stored::name)),
        ],
        notes: told(bench, TABLE),
        ..Design::default()
    }
}

/// A query and its right answer.
struct SqlQuery {
    /// The columns that it returns.
    columns: Vec<usize>,
    /// `column >= value`.
    tested: (usize, u32),
    expected: SqlAnswer,
}

/// Records, and the sum of each column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct SqlAnswer {
    count: u64,
    sums: Vec<i64>,
}

fn queries(bench: &Bench, values: &TableValues, percent: f64, returned: usize) -> Vec<SqlQuery> {
    let mut random = Random::named(bench.settings.seed, &format!("sql {percent} {returned}"));
    let query = |_| {
        let mut columns: Vec<usize> = (0..TABLE.columns()).collect();
        random.shuffle(&mut columns);
        columns.truncate(returned);
        let tested = FIRST_TESTED + random.below((TABLE.columns() - FIRST_TESTED) as u64) as usize;
        // Values are even over 1 to the largest.
        let largest = f64::from(TABLE.largest(tested, values.records));
        let value = (largest * (1.0 - percent / 100.0)) as u32 + 1;
        let passing = || (0..values.records).filter(move |record| values.columns[tested][*record] >= value);
        let sum = |column: &usize| passing().map(|record| i64::from(values.columns[*column][record])).sum();
        let expected = SqlAnswer { count: passing().count() as u64, sums: columns.iter().map(sum).collect() };
        SqlQuery { columns, tested: (tested, value), expected }
    };
    (0..queries_of_a_point(bench)).map(query).collect()
}

impl SqlQuery {
    fn text(&self, stored: Stored) -> String {
        let columns: Vec<String> = self.columns.iter().copied().map(column_name).collect();
        let (column, value) = self.tested;
        format!("SELECT {} FROM {} WHERE {} >= {value}", columns.join(", "), stored.table(), column_name(column))
    }
}

fn variant(
    table: &StoredTable,
    levels: crate::experiment::Levels,
    stored: Stored,
    queries: Rc<[SqlQuery]>,
) -> Result<Variant, Error> {
    let connection = table.connect();
    for setting in ["gingham.threads = '1'", "gingham.io = 'direct'"] {
        connection.execute(&format!("SET {setting}")).map_err(failed)?;
    }
    let records = table.values.records as f64;
    let query = queries.len() - 1;
    let found = Err("it has not run".to_owned());
    Ok(Variant {
        levels,
        units: (records, "record"),
        facts: vec![("records", records)],
        subject: Box::new(SqlScan { connection, stored, queries, query, found }),
    })
}

/// Queries through SQL, one after the other.
struct SqlScan {
    connection: Connection,
    stored: Stored,
    queries: Rc<[SqlQuery]>,
    /// The query of the last run.
    query: usize,
    found: Result<SqlAnswer, String>,
}

impl SqlScan {
    fn ask(&self) -> gingham::Result<SqlAnswer> {
        let query = &self.queries[self.query];
        let mut found = SqlAnswer { count: 0, sums: vec![0; query.columns.len()] };
        for batch in self.connection.query(&query.text(self.stored))? {
            let batch = batch?;
            found.count += batch.num_rows() as u64;
            for (sum, column) in found.sums.iter_mut().zip(batch.columns()) {
                *sum += column.as_primitive::<Int32Type>().values().iter().map(|value| i64::from(*value)).sum::<i64>();
            }
        }
        Ok(found)
    }
}

impl Subject for SqlScan {
    fn prepare(&mut self) {
        self.query = (self.query + 1) % self.queries.len();
        self.found = Err("it has not run".to_owned());
    }

    fn run(&mut self, _: &mut Laps) {
        self.found = self.ask().map_err(|error| error.to_string());
    }

    fn check(&mut self) -> Result<(), String> {
        let (found, expected) = (self.found.clone()?, &self.queries[self.query].expected);
        if found == *expected { Ok(()) } else { Err(format!("{found:?}, {expected:?} expected")) }
    }

    fn runs(&self) -> Option<usize> {
        Some(self.queries.len())
    }
}

/// One storage takes less than a part of another's time, where as many columns are returned as `which` takes.
fn below(context: &Context<'_>, storage: Stored, other: Stored, part: f64, which: impl Fn(f64) -> bool) -> Judgement {
    let each = |point: &Point| {
        let rival = context.findings.beside(point, "storage", other.name())?;
        Some(Expectation::less(point.label(&["storage"]), point.time()?, rival.time()?, part))
    };
    let own = context.findings.points.iter().filter(|point| point.level("storage") == storage.name());
    Expectation::judge(own.filter(|point| which(point.number("columns"))).filter_map(each).collect())
}

static CLAIMS: [Claim; 2] = [
    Claim {
        id: "sql.columns",
        text: "Through SQL dense columns are faster than super-tuples while half of the columns or fewer are returned",
        place: "not in the paper",
        ours: Some("the claim is ours"),
        judge: |context| below(context, Stored::SmallestColumns, Stored::SmallestRows, 1.0, |columns| columns <= 5.0),
    },
    Claim {
        id: "sql.dense",
        text: "Dense columns are read as fast as layout column",
        place: "not in the paper",
        ours: Some("the claim is ours: at most 1.25 times its time"),
        judge: |context| below(context, Stored::SmallestColumns, Stored::Engine, 1.25, |_| true),
    },
];
