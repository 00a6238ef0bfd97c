//! What the experiments on whole queries share: TPC-H's queries over one database, each variant a session with settings of
//! its own, so that its plan and its code are kept from run to run; and what is expected of their times.

use crate::experiment::{
    Bench, Context, Design, Error, Expectation, Factor, Figure, FigureKind, Judgement, Laps, Mode, Point, Subject,
    Trial, Variant, levels,
};
use crate::machine::Clock;
use crate::statistics::Summary;
use crate::tpch::TpchDatabase;
use crate::tpch::answers::QueryAnswer;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::util::pretty::pretty_format_batches;
use gingham::Connection;
use std::rc::Rc;

/// The paper's eight queries (section 5.1).
pub const QUERIES: [usize; 8] = [1, 3, 4, 5, 6, 13, 14, 19];

/// Without ROF, as the paper has it: one loop per pipeline, hash tables with Murmur3, no keys that go down to scans.
pub const BASELINE: Way<'static> =
    Way { name: "baseline", mode: "fused", stages: "table=hash, hash=murmur3, keys=off" };
/// Plans with predicates by kernels, and a boundary behind them.
pub const SIMD: Way<'static> =
    Way { name: "+SIMD", mode: "fused", stages: "table=hash, hash=murmur3, keys=off, predicate=kernels" };
/// With ROF: a boundary before each probe too, and group prefetching behind it.
pub const ROF: Way<'static> =
    Way { name: "+prefetch", mode: "staged", stages: "table=hash, hash=murmur3, keys=off, prefetch=group:16" };

/// A way to run a query.
#[derive(Debug, Clone, Copy)]
pub struct Way<'s> {
    /// Its name in results.
    pub name: &'s str,
    /// `gingham.execution`.
    pub mode: &'s str,
    /// `gingham.lab_stages`.
    pub stages: &'s str,
}

/// The scale of the paper; quick runs have 1, tests 0.01.
const PAPER_SCALE: f64 = 10.0;

/// The name of a query.
pub fn name(number: usize) -> String {
    format!("Q{number}")
}

/// A variant of a query: a session with these settings.
pub struct Session<'s> {
    /// The query, by its number in TPC-H.
    pub number: usize,
    /// How it runs.
    pub way: Way<'s>,
    /// `gingham.threads`.
    pub threads: usize,
    /// Other settings, without `gingham.`, and their values.
    pub others: &'s [(&'s str, &'s str)],
    /// Given when the times of its pipelines are wanted too.
    pub pipelines: Option<Clock>,
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
        let Self { number, way, threads, others, pipelines } = self;
        let threads = threads.to_string();
        let own = [("execution", way.mode), ("lab_stages", way.stages), ("threads", threads.as_str())];
        for (setting, value) in own.iter().chain(*others) {
            connection.execute(&format!("SET gingham.{setting} = '{value}'")).map_err(failed)?;
        }
        let expected = database.answer(*number).map_err(|detail| Error::Data(format!("query {number}: {detail}")))?;
        let sql = database.text(*number);
        let pipelines = pipelines.map(|clock| (clock, Vec::new()));
        let found = Err("it has not run".to_owned());
        let subject = Run { connection, number: *number, sql, expected, found, pipelines };
        Ok(Variant {
            levels: levels(&[("query", &name(*number)), (factor, level)]),
            units: (1.0, "run"),
            facts: vec![("scale", database.scale())],
            subject: Box::new(subject),
        })
    }
}

/// A figure of times.
pub const fn figure(title: &'static str, kind: FigureKind, x: &'static str, series: &'static str) -> Figure {
    Figure { title, kind, x, series, panels: &[], metric: "time", axis: "cycles", only: &[] }
}

/// A trial of a query, with the variants that `variants` makes over the database: of the paper's scale, of 1 in quick
/// runs, of 0.01 in tests.
pub fn trial(
    number: usize,
    variants: impl Fn(&Bench, &Rc<TpchDatabase>) -> Result<Vec<Variant>, Error> + 'static,
) -> Trial {
    trial_at(PAPER_SCALE, number, variants)
}

/// A trial over a database whose scale is at most the one given.
pub fn trial_at(
    scale: f64,
    number: usize,
    variants: impl Fn(&Bench, &Rc<TpchDatabase>) -> Result<Vec<Variant>, Error> + 'static,
) -> Trial {
    let setup = move |bench: &Bench| {
        let most = match bench.settings.mode {
            Mode::Tiny => 0.01,
            Mode::Quick => 1.0,
            Mode::Default | Mode::Full => PAPER_SCALE,
        };
        variants(bench, &bench.tpch(scale.min(most))?)
    };
    Trial { name: name(number), setup: Box::new(setup) }
}

/// Queries on one thread in some ways, which are the levels of a factor.
pub fn ways(queries: &[usize], factor: &'static str, ways: &'static [Way<'static>]) -> Design {
    let of = |number: usize| {
        trial(number, move |_, database| {
            let variant = |way: &Way| {
                Session { number, way: *way, threads: 1, others: &[], pipelines: None }
                    .variant(database, (factor, &way.name))
            };
            ways.iter().map(variant).collect()
        })
    };
    Design {
        trials: queries.iter().copied().map(of).collect(),
        factors: vec![
            Factor::new("query", "", queries.iter().copied().map(name)),
            Factor::new(factor, "", ways.iter().map(|way| way.name)),
        ],
        ..Design::default()
    }
}

/// The eight queries with ROF, one choice about its stages varied: its name before each of `sizes`, and what they count.
pub fn sizes(factor: &'static str, unit: &'static str, choice: &'static str, sizes: Vec<usize>) -> Design {
    let of = |number: usize| {
        let sizes = sizes.clone();
        trial(number, move |_, database| {
            let variant = |size: &usize| {
                let stages = format!("{}, {choice}{size}", ROF.stages);
                let way = Way { stages: &stages, ..ROF };
                Session { number, way, threads: 1, others: &[], pipelines: None }.variant(database, (factor, size))
            };
            sizes.iter().map(variant).collect()
        })
    };
    Design {
        trials: QUERIES.into_iter().map(of).collect(),
        factors: vec![Factor::new("query", "", QUERIES.map(name)), Factor::new(factor, unit, sizes)],
        ..Design::default()
    }
}

/// A query on its connection.
struct Run {
    connection: Connection,
    number: usize,
    sql: String,
    expected: Rc<QueryAnswer>,
    found: Result<(SchemaRef, Vec<RecordBatch>), String>,
    /// Times of its pipelines in units of the clock, when they are wanted.
    pipelines: Option<(Clock, Vec<f64>)>,
}

/// Names of the metrics with the times of pipelines.
pub const PIPELINES: [&str; 12] = [
    "pipeline_0",
    "pipeline_1",
    "pipeline_2",
    "pipeline_3",
    "pipeline_4",
    "pipeline_5",
    "pipeline_6",
    "pipeline_7",
    "pipeline_8",
    "pipeline_9",
    "pipeline_10",
    "pipeline_11",
];

/// The seconds behind a name in EXPLAIN ANALYZE.
fn seconds(text: &str, name: &str) -> Option<f64> {
    let value = text.split(&format!("{name}=")).nth(1)?.split([',', ']']).next()?.trim();
    let unit = value.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let scale = match &value[unit..] {
        "ns" => 1e-9,
        "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    value[..unit].parse::<f64>().ok().map(|number| number * scale)
}

impl Run {
    /// The times of the pipelines of another run, without what compiling took.
    fn times(&self, clock: Clock) -> Result<Vec<f64>, String> {
        let result = self.connection.query(&format!("EXPLAIN ANALYZE FORMAT indent {}", self.sql));
        let batches = result.and_then(|result| result.collect_batches()).map_err(|error| error.to_string())?;
        let text = pretty_format_batches(&batches).map_err(|error| error.to_string())?.to_string();
        let of = |number: usize| {
            let time = seconds(&text, &format!("pipeline{number}_time"))?;
            let compiling = seconds(&text, &format!("pipeline{number}_compile_time")).unwrap_or(0.0);
            Some((time - compiling).max(0.0) * clock.per_second())
        };
        Ok((0..PIPELINES.len()).map_while(of).collect())
    }
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
        let found = QueryAnswer::new(schema, batches).map_err(|error| error.to_string())?;
        self.expected.check(self.number, &found)?;
        if let Some((clock, _)) = self.pipelines {
            self.pipelines = Some((clock, self.times(clock)?));
        }
        Ok(())
    }

    fn values(&self) -> Vec<(&'static str, f64)> {
        let times = self.pipelines.iter().flat_map(|(_, times)| times);
        PIPELINES.into_iter().zip(times.copied()).collect()
    }
}

/// The times of a query at two levels of a factor, and at some levels of others.
pub fn times<'c>(
    context: &Context<'c>,
    (number, at): (usize, &[(&str, &str)]),
    factor: &str,
    (level, other): (&str, &str),
) -> Option<(&'c Summary, &'c Summary)> {
    let query = name(number);
    let is_level = |point: &&Point| {
        point.level("query") == query
            && point.level(factor) == level
            && at.iter().all(|(factor, level)| point.level(factor) == *level)
    };
    let point = context.findings.points.iter().find(is_level)?;
    Some((point.time()?, context.findings.beside(point, factor, other)?.time()?))
}

/// Judges whether, for some queries, one level of a factor takes less than a part of another's time; at some levels of other
/// factors.
pub fn faster_at(
    context: &Context<'_>,
    (queries, at): (&[usize], &[(&str, &str)]),
    factor: &str,
    levels: (&str, &str),
    part: f64,
) -> Vec<Expectation> {
    let each = |number: &usize| {
        let (time, rival) = times(context, (*number, at), factor, levels)?;
        let label = format!("{}, {:.2} times as fast", name(*number), rival.mean / time.mean);
        Some(Expectation::less(label, time, rival, part))
    };
    queries.iter().filter_map(each).collect()
}

/// Judges whether one level of a factor is faster, whatever the levels of other factors.
pub fn faster(
    context: &Context<'_>,
    queries: &[usize],
    factor: &str,
    levels: (&str, &str),
    part: f64,
) -> Vec<Expectation> {
    faster_at(context, (queries, &[]), factor, levels, part)
}

/// That the query which gains most from one level over another gains at least `gain` times.
pub fn best_gain(context: &Context<'_>, queries: &[usize], factor: &str, levels: (&str, &str), gain: f64) -> Judgement {
    let of = |number: &usize| {
        let (time, rival) = times(context, (*number, &[]), factor, levels)?;
        Some((rival.mean / time.mean, *number))
    };
    let most = queries.iter().filter_map(of).max_by(|a, b| a.0.total_cmp(&b.0));
    let all = most.map(|(_, number)| faster(context, &[number], factor, levels, 1.0 / gain));
    Expectation::judge(all.unwrap_or_default())
}

/// That one level of a factor takes about as long as another, within `within` times either way.
pub fn alike(
    context: &Context<'_>,
    queries: &[usize],
    factor: &str,
    levels: (&str, &str),
    within: f64,
) -> Vec<Expectation> {
    let each = |number: &usize| {
        let (time, rival) = times(context, (*number, &[]), factor, levels)?;
        Some(Expectation::alike(format!("{}, {} and {}", name(*number), levels.0, levels.1), time, rival, within))
    };
    queries.iter().filter_map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn times_have_units() {
        let text = "metrics=[pipeline0_time=1.50ms, pipeline0_rows=7, pipeline1_time=12µs, pipeline10_time=2s]";
        assert_eq!(seconds(text, "pipeline0_time"), Some(0.0015));
        assert_eq!(seconds(text, "pipeline1_time"), Some(12.0 * 1e-6));
        assert_eq!(seconds(text, "pipeline10_time"), Some(2.0));
        assert_eq!(seconds(text, "pipeline2_time"), None);
    }
}
