//! What the experiments on whole queries share: TPC-H's queries over one database, each variant a session with settings of
//! its own, so that its plan and its code are kept from run to run; and what is expected of their times.

use crate::experiment::{
    Bench, Context, Error, Expectation, Judgement, Laps, Mode, Point, Subject, Trial, Variant, levels,
};
use crate::tpch::TpchDatabase;
use crate::tpch::answers::Answer;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use gingham::Connection;
use std::rc::Rc;

/// The paper's eight queries (section 5.1).
pub const QUERIES: [usize; 8] = [1, 3, 4, 5, 6, 13, 14, 19];

/// Without ROF, as the paper has it: one loop per pipeline, hash tables with Murmur3, no keys that go down to scans.
pub const BASELINE: Way = Way { name: "baseline", mode: "fused", stages: "table=hash, hash=murmur3, keys=off" };
/// The same with predicates by kernels, and a boundary behind them.
pub const SIMD: Way =
    Way { name: "+SIMD", mode: "fused", stages: "table=hash, hash=murmur3, keys=off, predicate=kernels" };
/// With ROF: a boundary before each probe too, and group prefetching behind it.
pub const ROF: Way =
    Way { name: "+prefetch", mode: "staged", stages: "table=hash, hash=murmur3, keys=off, prefetch=group:16" };

/// A way to run a query.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    /// Its name in results.
    pub name: &'static str,
    /// `gingham.execution`.
    pub mode: &'static str,
    /// `gingham.lab_stages`.
    pub stages: &'static str,
}

/// The database of a bench: scale 10 as in the paper, 1 in quick runs, 0.01 in tests.
pub fn database(bench: &Bench) -> Result<Rc<TpchDatabase>, Error> {
    bench.tpch(match bench.settings.mode {
        Mode::Tiny => 0.01,
        Mode::Quick => 1.0,
        Mode::Default | Mode::Full => 10.0,
    })
}

/// The name of a query.
pub fn name(number: usize) -> String {
    format!("Q{number}")
}

/// A variant of a query: a session with these settings.
pub struct Session<'s> {
    /// Which query.
    pub number: usize,
    /// `gingham.execution`.
    pub mode: &'s str,
    /// `gingham.lab_stages`.
    pub stages: &'s str,
    /// `gingham.threads`.
    pub threads: usize,
}

impl Session<'_> {
    /// The variant, at a level of some factor besides the query.
    pub fn variant(
        &self,
        database: &Rc<TpchDatabase>,
        (factor, level): (&'static str, &dyn ToString),
    ) -> Result<Variant, Error> {
        let failed = |error: gingham::Error| Error::Data(format!("query {}: {error}", self.number));
        let connection = database.connect();
        let Self { number, mode, stages, threads } = self;
        for (setting, value) in [("execution", *mode), ("lab_stages", *stages), ("threads", &threads.to_string())] {
            connection.execute(&format!("SET gingham.{setting} = '{value}'")).map_err(failed)?;
        }
        let expected = database.answer(*number).map_err(|detail| Error::Data(format!("query {number}: {detail}")))?;
        let sql = database.text(*number);
        let subject = Run { connection, number: *number, sql, expected, found: Err("it has not run".to_owned()) };
        Ok(Variant {
            levels: levels(&[("query", &name(*number)), (factor, level)]),
            units: (1.0, "run"),
            facts: vec![("scale", database.scale())],
            subject: Box::new(subject),
        })
    }
}

/// A trial per query, with a variant per way.
pub fn trials(queries: &[usize], factor: &'static str, ways: &'static [Way]) -> Vec<Trial> {
    let trial = |number: usize| Trial {
        name: name(number),
        setup: Box::new(move |bench| {
            let database = database(bench)?;
            let variant = |way: &Way| {
                let session = Session { number, mode: way.mode, stages: way.stages, threads: 1 };
                session.variant(&database, (factor, &way.name))
            };
            ways.iter().map(variant).collect()
        }),
    };
    queries.iter().copied().map(trial).collect()
}

/// A query on its connection.
struct Run {
    connection: Connection,
    number: usize,
    sql: String,
    expected: Rc<Answer>,
    found: Result<(SchemaRef, Vec<RecordBatch>), String>,
}

impl Subject for Run {
    fn prepare(&mut self) {
        self.found = Err("it has not run".to_owned());
    }

    fn run(&mut self, _: &mut Laps) {
        let result = self.connection.query(&self.sql).and_then(|result| {
            let schema = result.schema();
            Ok((schema, result.collect_batches()?))
        });
        self.found = result.map_err(|error| error.to_string());
    }

    fn check(&mut self) -> Result<(), String> {
        let (schema, batches) = self.found.as_ref().map_err(String::clone)?;
        let found = Answer::new(schema, batches).map_err(|error| error.to_string())?;
        self.expected.check(self.number, &found)
    }
}

/// The result of a query at a level of a factor.
pub fn point<'c>(context: &Context<'c>, number: usize, factor: &str, level: &str) -> Option<&'c Point> {
    let query = name(number);
    let mut points = context.findings.points.iter();
    points.find(|point| point.level("query") == query && point.level(factor) == level)
}

/// Of some queries, that one level of a factor takes less than a part of another's time.
pub fn faster(
    context: &Context<'_>,
    queries: &[usize],
    factor: &str,
    (level, other): (&str, &str),
    part: f64,
) -> Vec<Expectation> {
    let each = |number: &usize| {
        let query = name(*number);
        let point = point(context, *number, factor, level)?;
        let rival = context.findings.beside(point, factor, other).and_then(Point::time)?;
        let gain = rival.mean / point.time()?.mean;
        Some(Expectation::less(format!("{query}, {gain:.2} times as fast"), point.time()?, rival, part))
    };
    queries.iter().filter_map(each).collect()
}

/// That the query which gains most from one level over another gains at least `times`.
pub fn best_gain(
    context: &Context<'_>,
    queries: &[usize],
    factor: &str,
    (level, other): (&str, &str),
    times: f64,
) -> Judgement {
    let gain = |number: &usize| {
        let point = point(context, *number, factor, level)?;
        let rival = context.findings.beside(point, factor, other).and_then(Point::time)?;
        Some((rival.mean / point.time()?.mean, *number))
    };
    let most = queries.iter().filter_map(gain).max_by(|a, b| a.0.total_cmp(&b.0));
    let all = most.map(|(_, number)| faster(context, &[number], factor, (level, other), 1.0 / times));
    Expectation::judge(all.unwrap_or_default())
}

/// That one level of a factor takes about as long as another, within `times` either way.
pub fn alike(
    context: &Context<'_>,
    queries: &[usize],
    factor: &str,
    (level, other): (&str, &str),
    times: f64,
) -> Vec<Expectation> {
    let each = |number: &usize| {
        let query = name(*number);
        let point = point(context, *number, factor, level)?;
        let rival = context.findings.beside(point, factor, other).and_then(Point::time)?;
        Some(Expectation::alike(format!("{query}, {level} and {other}"), point.time()?, rival, times))
    };
    queries.iter().filter_map(each).collect()
}
