//! Ours: the fragility of the engine itself, which is what its users meet: the same queries through SQL over the same layouts, with the ways in
//! which pipelines run in the place of compilers.

use super::data::Values;
use super::lineitem::TpchQuery;
use super::micro::QUESTIONS;
use super::source::{MicroQuery, Schema};
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Laps, Mode,
    Point, Subject, Trial, Variant, levels,
};
use crate::tpch::answers::QueryAnswer;
use crate::tpch::{TpchTable, generate_in_order, queries};
use arrow::array::{ArrayRef, Int8Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema};
use gingham::{Connection, Database};
use std::rc::Rc;
use std::sync::Arc;

/// The experiment.
pub static SQL: Experiment = Experiment {
    name: "fragility.sql",
    title: "Layouts and ways of execution through SQL",
    place: "runtime-fragility paper, figures 4 and 10; the experiment is ours",
    about: "The queries of fragility.fig4 on char and those of fragility.fig10 through SQL on one thread, over tables in layouts row, \
            mempax and column, with gingham.execution fused, staged, vectorized and interpreted: what a set-up is here. The engine's codes \
            and zone maps are as always, so that times are not those of the programs. Answers are compared with plain loops, of TPC-H with those \
            of DataFusion's operators.",
    uses: &[],
    design: |bench| Ok(design(bench)),
    derive: None,
    figures: &[Figure {
        title: "Overhead over the best way and layout, cut at 250 %",
        kind: FigureKind::Boxes,
        x: "layout",
        series: "execution",
        panels: &["query"],
        metric: "time",
        axis: "% over the best",
        only: &[],
    }],
    claims: &CLAIMS,
};

/// Layouts, as SQL and as the other experiments name them.
const LAYOUTS: [(&str, &str); 5] =
    [("row", "row"), ("mempax(16)", "16"), ("mempax(256)", "256"), ("mempax(4096)", "4096"), ("column", "column")];
const EXECUTIONS: [&str; 4] = ["fused", "staged", "vectorized", "interpreted"];
/// Records of a batch of a load.
const BATCH: usize = 1 << 16;

fn name(question: MicroQuery) -> String {
    format!("char {}", question.name())
}

fn design(bench: &Bench) -> Design {
    let micro = Trial { name: Schema::Char.name().to_owned(), setup: Box::new(micro_variants) };
    let tpch = Trial { name: "lineitem".to_owned(), setup: Box::new(tpch_variants) };
    let queries = QUESTIONS.map(name).into_iter().chain(TpchQuery::ALL.map(|of| format!("TPC-H {}", of.name())));
    let quick = "quick runs have a sixteenth of the records of char, and lineitem at scale 0.1".to_owned();
    Design {
        factors: vec![
            Factor::new("query", "", queries),
            Factor::new("layout", "records of a chunk", LAYOUTS.map(|(_, name)| name)),
            Factor::new("execution", "", EXECUTIONS),
        ],
        trials: vec![micro, tpch],
        notes: (bench.settings.mode == Mode::Quick).then_some(quick).into_iter().collect(),
        ..Design::default()
    }
}

fn failed(error: gingham::Error) -> Error {
    Error::Data(error.to_string())
}

/// A session of one thread that runs pipelines in one way.
fn session(database: &Database, execution: &str) -> Result<Connection, Error> {
    let connection = database.connect();
    for setting in ["gingham.threads = '1'".to_owned(), format!("gingham.execution = '{execution}'")] {
        connection.execute(&format!("SET {setting}")).map_err(failed)?;
    }
    Ok(connection)
}

/// The variants of a query, whose text and right answer `asked` gives for a table.
fn variants(
    database: &Database,
    query: &str,
    records: usize,
    asked: impl Fn(&str) -> (String, AnswerCheck),
) -> Result<Vec<Variant>, Error> {
    let mut variants = Vec::new();
    for (place, (_, layout)) in LAYOUTS.iter().enumerate() {
        for execution in EXECUTIONS {
            let (sql, check) = asked(&format!("t{place}"));
            let found = Err("it has not run".to_owned());
            variants.push(Variant {
                levels: levels(&[("query", &query), ("layout", layout), ("execution", &execution)]),
                units: (records as f64, "record"),
                facts: vec![("records", records as f64)],
                subject: Box::new(Asked { connection: session(database, execution)?, sql, check, found }),
            });
        }
    }
    Ok(variants)
}

/// Says what is wrong with an answer.
type AnswerCheck = Rc<dyn Fn(&QueryAnswer) -> Result<(), String>>;

/// A query through SQL, and what its answer must be.
struct Asked {
    connection: Connection,
    sql: String,
    check: AnswerCheck,
    found: Result<QueryAnswer, String>,
}

fn ask(connection: &Connection, sql: &str) -> Result<QueryAnswer, String> {
    let result = connection.query(sql).map_err(|error| error.to_string())?;
    let schema = result.schema();
    let batches = result.collect_batches().map_err(|error| error.to_string())?;
    QueryAnswer::new(&schema, &batches).map_err(|error| error.to_string())
}

impl Subject for Asked {
    fn prepare(&mut self) {
        self.found = Err("it has not run".to_owned());
    }

    fn run(&mut self, _: &mut Laps) {
        self.found = ask(&self.connection, &self.sql);
    }

    fn check(&mut self) -> Result<(), String> {
        (self.check)(self.found.as_ref().map_err(String::clone)?)
    }
}

fn micro_variants(bench: &Bench) -> Result<Vec<Variant>, Error> {
    let records = match bench.settings.mode {
        Mode::Tiny => 3000,
        Mode::Quick => super::measured::layout_bytes(bench) / 64,
        Mode::Default | Mode::Full => bench.machine.caches.last,
    };
    let values = Values::new(Schema::Char, 4, records, bench.settings.seed);
    let database = Database::in_memory().map_err(failed)?;
    let connection = database.connect();
    let schema =
        Arc::new(ArrowSchema::new(["a", "b", "c", "d"].map(|name| Field::new(name, DataType::Int8, false)).to_vec()));
    for (place, (layout, _)) in LAYOUTS.iter().enumerate() {
        let columns = "a TINYINT NOT NULL, b TINYINT NOT NULL, c TINYINT NOT NULL, d TINYINT NOT NULL";
        connection.execute(&format!("CREATE TABLE t{place} ({columns}) WITH (layout = '{layout}')")).map_err(failed)?;
        let mut appender = connection.appender(&format!("t{place}")).map_err(failed)?;
        for start in (0..records).step_by(BATCH) {
            let part = start..records.min(start + BATCH);
            let array = |(_, bytes): &(usize, Vec<u8>)| {
                Arc::new(Int8Array::from_iter_values(bytes[part.clone()].iter().map(|byte| *byte as i8))) as ArrayRef
            };
            let batch = RecordBatch::try_new(Arc::clone(&schema), values.table.columns.iter().map(array).collect());
            let appended = batch.map_err(gingham::Error::from).and_then(|batch| appender.append_batch(batch));
            appended.map_err(failed)?;
        }
        appender.finish().map_err(failed)?;
    }
    let mut all = Vec::new();
    for question in QUESTIONS {
        let (function, operator) = if question == MicroQuery::Product { ("SUM", " * ") } else { ("MIN", " + ") };
        let expected = values.answer(question).to_string();
        all.extend(variants(&database, &name(question), records, |table| {
            let columns = ["a", "b", "c", "d"].map(|column| format!("CAST({column} AS INTEGER)")).join(operator);
            let expected = expected.clone();
            let check = move |found: &QueryAnswer| match found.rows() {
                [row] if row.as_slice() == [Some(expected.clone())] => Ok(()),
                rows => Err(format!("{rows:?}, {expected} expected")),
            };
            (format!("SELECT {function}({columns}) FROM {table}"), Rc::new(check) as AnswerCheck)
        })?);
    }
    Ok(all)
}

fn tpch_variants(bench: &Bench) -> Result<Vec<Variant>, Error> {
    let scale = match bench.settings.mode {
        Mode::Tiny => 0.01,
        Mode::Quick => 0.1,
        Mode::Default | Mode::Full => 1.0,
    };
    let database = Database::in_memory().map_err(failed)?;
    let connection = database.connect();
    crate::tpch::create_tables(&connection).map_err(failed)?;
    let mut appender = connection.appender(TpchTable::LineItem.name()).map_err(failed)?;
    generate_in_order(TpchTable::LineItem, scale, bench.settings.threads, |batch| appender.append_batch(batch))
        .map_err(failed)?;
    let records = appender.finish().map_err(failed)? as usize;
    for (place, (layout, _)) in LAYOUTS.iter().enumerate() {
        let sql = format!("CREATE TABLE t{place} WITH (layout = '{layout}') AS SELECT * FROM lineitem");
        connection.execute(&sql).map_err(failed)?;
    }
    let mut all = Vec::new();
    for (question, number) in TpchQuery::ALL.into_iter().zip([1, 6]) {
        let text = queries::text(number, scale);
        let oracle = session(&database, "datafusion")?;
        let expected = Rc::new(ask(&oracle, &text).map_err(Error::Data)?);
        all.extend(variants(&database, &format!("TPC-H {}", question.name()), records, |table| {
            let expected = Rc::clone(&expected);
            let check = move |found: &QueryAnswer| expected.check(number, found);
            (text.replace("lineitem", table), Rc::new(check) as AnswerCheck)
        })?);
    }
    Ok(all)
}

/// The results of each query.
fn by_query<'a>(context: &'a Context<'_>) -> Vec<(String, Vec<&'a Point>)> {
    let mut queries: Vec<(String, Vec<&Point>)> = Vec::new();
    for point in &context.findings.points {
        match queries.iter_mut().find(|(query, _)| query == point.level("query")) {
            Some((_, points)) => points.push(point),
            None => queries.push((point.level("query").to_owned(), vec![point])),
        }
    }
    queries
}

/// The worst median over the best of some results, and whose they are.
fn worst_over_best(points: &[&Point]) -> Option<(f64, String)> {
    let medians = || points.iter().filter_map(|point| Some((point.time()?.median, *point)));
    let best = medians().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let worst = medians().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let label = |point: &Point| point.label(&["query"]);
    Some((worst.0 / best.0, format!("{} against {}", label(worst.1), label(best.1))))
}

/// Judges the worst over the best of each query, over the ways of execution that `which` takes.
fn ratios(context: &Context<'_>, which: impl Fn(&Point) -> bool, most: f64) -> Judgement {
    let each = |(query, points): (String, Vec<&Point>)| {
        let points: Vec<&Point> = points.into_iter().filter(|point| which(point)).collect();
        let (ratio, whose) = worst_over_best(&points)?;
        Some(Expectation::plain(query, format!("{ratio:.2} times: {whose}"), ratio <= most))
    };
    Expectation::judge(by_query(context).into_iter().filter_map(each).collect())
}

static CLAIMS: [Claim; 2] = [
    Claim {
        id: "sql.compiled",
        text: "Over layouts and compiled ways of execution the engine is less fragile than the paper's programs on char",
        place: "not in the paper; its table 3 has 3.3 as the least of char",
        ours: Some("the claim is ours: the worst is at most 3.3 times the best, of fused, staged and vectorized"),
        judge: |context| ratios(context, |point| point.level("execution") != "interpreted", 3.3),
    },
    Claim {
        id: "sql.layouts",
        text: "The layout alone changes the engine's time less than twice",
        place: "not in the paper",
        ours: Some("the claim is ours: staged, the worst layout is at most 2 times the best"),
        judge: |context| ratios(context, |point| point.level("execution") == "staged", 2.0),
    },
];
