//! What the advisor proposes within its budget, against every candidate that it knows, all of them built whole and measured here in
//! a budget of their own.

use super::workloads::{CASES, WorkloadCase};
use crate::advisor::scratch::{Built, Sample, Scratch};
use crate::advisor::trial::run;
use crate::advisor::{Advice, AnswerDigest, Request, Stop, advise};
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Laps, Mode,
    Point, Subject, Trial, Variant, levels,
};
use crate::machine::Clock;
use crate::statistics::{best_class, compare};
use gingham::advisor::{Candidate, StatementUse, TableFacts, Workload, propose, rank};
use gingham_kernels::Isa;
use std::cell::OnceCell;
use std::cmp::Ordering;
use std::rc::Rc;
use std::time::Duration;

/// The experiment.
pub static WORKLOADS: Experiment = Experiment {
    name: "advisor.workloads",
    title: "What the advisor proposes, against all that it could",
    place: "ours; the statistics are those of the runtime-fragility paper, section 3",
    about: "For each workload the advisor proposes a design of one table within its budget. Then every candidate that it knows, 64 at most, \
            is built whole beside the others, and the workload runs on all of them in rounds; every answer is compared with that of the \
            present design, which is column. Writes are undone again.",
    uses: &[],
    design: |bench| Ok(design(bench)),
    derive: None,
    figures: &[Figure {
        title: "Time of the workload by design",
        kind: FigureKind::Bars,
        x: "place",
        series: "kind",
        panels: &["workload"],
        metric: STATEMENTS,
        axis: "cycles of the statements",
        only: &[],
    }],
    claims: &CLAIMS,
};

/// The metric that designs are compared by: the time of the statements, without BEGIN and ROLLBACK round those that write.
const STATEMENTS: &str = "statements";
/// Candidates that are built at most.
const MOST: usize = 64;
/// What a design is to the advisor, as a level; one that is nothing of that has none.
const PROPOSED: &str = "proposed";
const COLUMN: &str = "column";
const BOTH: &str = "column, proposed";

fn design(bench: &Bench) -> Design {
    let trial = |case: &'static WorkloadCase| Trial {
        name: case.name.to_owned(),
        setup: Box::new(|bench: &Bench| variants(bench, case)),
    };
    let note = "ADULT and BASEBALL: not run, give --data FOLDER with adult.csv and baseball/BattingPost.csv".to_owned();
    let lacks =
        WorkloadCase::of(bench).count() < CASES.len() && matches!(bench.settings.mode, Mode::Default | Mode::Full);
    Design {
        factors: vec![
            Factor::new("workload", "", WorkloadCase::of(bench).map(|case| case.name)),
            Factor::new("kind", "", Vec::<String>::new()),
            Factor::new("place", "", Vec::<String>::new()),
            Factor::new("design", "", Vec::<String>::new()),
        ],
        trials: WorkloadCase::of(bench).map(trial).collect(),
        notes: lacks.then_some(note).into_iter().collect(),
        ..Design::default()
    }
}

/// The advisor's time.
fn budget(bench: &Bench) -> Duration {
    match bench.settings.mode {
        Mode::Tiny => Duration::from_millis(500),
        Mode::Quick => Duration::from_secs(6),
        Mode::Default | Mode::Full => Duration::from_secs(30),
    }
}

fn failed(error: gingham::Error) -> Error {
    Error::Data(error.to_string())
}

/// Every candidate of a case as a variant; the advisor is asked first.
fn variants(bench: &Bench, case: &WorkloadCase) -> Result<Vec<Variant>, Error> {
    let database = case.database(bench)?;
    let connection = database.connect();
    let workload = Workload::parse(&(case.statements)(bench), case.name).map_err(failed)?;
    let name = connection.table(case.table).map_err(failed)?.definition.name.clone();
    let request = Request {
        workload: workload.clone(),
        tables: vec![name],
        budget: budget(bench),
        disk: Some(100.0),
        seed: bench.settings.seed,
    };
    let stop = Stop::default();
    let advice = advise(&database, &request, &(), &stop).map_err(failed)?;
    let table = connection.table(case.table).map_err(failed)?;
    let proposed = proposed(&advice).unwrap_or_else(|| Candidate::present(&table.definition));
    let facts = TableFacts::of(&table);
    let uses: Vec<(f64, StatementUse)> =
        advice.statements.iter().map(|one| (one.statement.weight, one.uses.clone())).collect();
    let mut candidates = propose(&facts, &uses);
    let present = candidates.remove(0);
    let ranked = rank(&facts, candidates, &uses, Isa::best()).map_err(failed)?;
    let others = ranked.into_iter().map(|(candidate, _)| candidate).filter(|one| !is_like(one, &proposed));
    let most = if bench.is_tiny() { 6 } else { MOST };
    let mut all = vec![present];
    all.extend((!is_like(&proposed, &all[0])).then(|| proposed.clone()));
    all.extend(others.take(most));

    let mut scratch = Scratch::of(&database, u64::MAX).map_err(failed)?;
    let sample = Sample::whole(&table).map_err(failed)?;
    // A design that the table can't have is none of those to choose from.
    let built: Vec<(Candidate, Built)> = all
        .into_iter()
        .filter_map(|candidate| Some((candidate.clone(), scratch.build(&table, &sample, &candidate, &stop).ok()?)))
        .collect();
    let uses = uses.into_iter().map(|(_, uses)| uses).collect();
    let shared =
        Rc::new(SharedWorkload { workload, uses, expected: OnceCell::new(), clock: bench.clock, _scratch: scratch });
    let variant = |(number, (candidate, built)): (usize, (Candidate, Built))| {
        let kind = match (number == 0, is_like(&candidate, &proposed)) {
            (true, true) => BOTH,
            (true, false) => COLUMN,
            (false, true) => PROPOSED,
            (false, false) => "another",
        };
        let design = candidate.text(&table.definition);
        Variant {
            levels: levels(&[("workload", &case.name), ("kind", &kind), ("place", &(number + 1)), ("design", &design)]),
            units: (1.0, "workload"),
            facts: vec![("bytes", built.bytes as f64)],
            subject: Box::new(WorkloadSubject {
                built,
                shared: Rc::clone(&shared),
                found: Err("it has not run".into()),
                taken: Duration::ZERO,
            }),
        }
    };
    Ok(built.into_iter().enumerate().map(variant).collect())
}

/// The design that is proposed for the one table; `None` when it keeps its own.
fn proposed(advice: &Advice) -> Option<Candidate> {
    let table = advice.tables.first()?;
    Some(table.designs[table.proposed].candidate.clone())
}

/// Whether two candidates are the same design.
fn is_like(a: &Candidate, b: &Candidate) -> bool {
    (&a.design, &a.sort_by, a.index) == (&b.design, &b.sort_by, b.index)
}

/// What the designs of a workload share.
struct SharedWorkload {
    workload: Workload,
    uses: Vec<StatementUse>,
    /// What the first design answered, which is the present one.
    expected: OnceCell<Vec<AnswerDigest>>,
    clock: Clock,
    /// Gone with the last of them.
    _scratch: Scratch,
}

/// A workload on one design.
struct WorkloadSubject {
    built: Built,
    shared: Rc<SharedWorkload>,
    found: Result<Vec<AnswerDigest>, String>,
    /// How long the statements took.
    taken: Duration,
}

impl WorkloadSubject {
    /// Runs every statement as often as it weighs.
    fn answers(&mut self) -> Result<Vec<AnswerDigest>, String> {
        self.taken = Duration::ZERO;
        let mut answers = Vec::new();
        for statement in &self.shared.workload.statements {
            let mut last = None;
            for _ in 0..(statement.weight as usize).max(1) {
                let ran = run(&self.built.connection, statement);
                let (answer, _, taken) = ran.map_err(|error| format!("line {}: {error}", statement.line))?;
                self.taken += taken;
                last = Some(answer);
            }
            answers.extend(last);
        }
        Ok(answers)
    }
}

impl Subject for WorkloadSubject {
    fn prepare(&mut self) {
        self.found = Err("it has not run".into());
    }

    fn run(&mut self, _: &mut Laps) {
        self.found = self.answers();
    }

    fn values(&self) -> Vec<(&'static str, f64)> {
        vec![(STATEMENTS, self.taken.as_secs_f64() * self.shared.clock.per_second())]
    }

    fn check(&mut self) -> Result<(), String> {
        let found = self.found.as_ref().map_err(String::clone)?;
        let expected = self.shared.expected.get_or_init(|| found.clone());
        for (number, (expected, found)) in expected.iter().zip(found).enumerate() {
            let uses = &self.shared.uses[number];
            let differs = expected.difference(found, &uses.comparison).filter(|_| !uses.volatile);
            if let Some(detail) = differs {
                return Err(format!("line {}: {detail}", self.shared.workload.statements[number].line));
            }
        }
        Ok(())
    }
}

/// The results of each workload, with the place of the one that was proposed and that of column.
fn by_workload<'a>(context: &'a Context<'_>) -> Vec<(&'a str, Vec<&'a Point>, usize, usize)> {
    let mut workloads: Vec<(&str, Vec<&Point>)> = Vec::new();
    for point in context.findings.points.iter().filter(|point| point.summary(STATEMENTS).is_some()) {
        match workloads.iter_mut().find(|(known, _)| *known == point.level("workload")) {
            Some((_, points)) => points.push(point),
            None => workloads.push((point.level("workload"), vec![point])),
        }
    }
    let place =
        |points: &[&Point], kinds: [&str; 2]| points.iter().position(|point| kinds.contains(&point.level("kind")));
    let placed = |(workload, points): (&'a str, Vec<&'a Point>)| {
        let (proposed, column) = (place(&points, [PROPOSED, BOTH])?, place(&points, [COLUMN, BOTH])?);
        Some((workload, points, proposed, column))
    };
    workloads.into_iter().filter_map(placed).collect()
}

/// Whether what was proposed is in the class of the best of each workload.
fn best(context: &Context<'_>) -> Judgement {
    let each = |(workload, points, proposed, _): (&str, Vec<&Point>, usize, usize)| {
        let times: Vec<_> = points.iter().filter_map(|point| point.summary(STATEMENTS)).collect();
        let class = best_class(&times)?;
        let over = times[proposed].mean / times[class.best].mean;
        let detail = format!(
            "{} takes {over:.2} times the best of {}, {}",
            points[proposed].level("design"),
            points.len(),
            points[class.best].level("design")
        );
        Some(Expectation::plain(workload, detail, class.corrected.contains(&proposed)))
    };
    Expectation::judge(by_workload(context).into_iter().filter_map(each).collect())
}

/// Whether what was proposed is told apart from column as slower nowhere.
fn no_slower(context: &Context<'_>) -> Judgement {
    let each = |(workload, points, proposed, column): (&str, Vec<&Point>, usize, usize)| {
        let (proposed, column) = (points[proposed].summary(STATEMENTS)?, points[column].summary(STATEMENTS)?);
        let detail = format!("{:.2} times column", proposed.mean / column.mean);
        let slower = compare(proposed, column).order == Ordering::Greater;
        Some(Expectation::plain(workload, detail, !slower))
    };
    Expectation::judge(by_workload(context).into_iter().filter_map(each).collect())
}

static CLAIMS: [Claim; 2] = [
    Claim {
        id: "workloads.best",
        text: "What is proposed can't be told from the best of all candidates, for any workload",
        place: "ours",
        ours: Some("by Welch's test with Holm's correction over the candidates of a workload"),
        judge: best,
    },
    Claim {
        id: "workloads.column",
        text: "What is proposed is never slower than column",
        place: "ours",
        ours: Some("as the paper compares two samples"),
        judge: no_slower,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Verdict;
    use crate::experiments::made_up::{all_are, point};

    fn results(proposed: f64, column: f64) -> Vec<Point> {
        let of = |kind: &str, design: &str, time: f64| {
            point(&[("workload", "w"), ("kind", kind), ("design", design)], &[(STATEMENTS, time)])
        };
        vec![
            of(COLUMN, "column", column),
            of(PROPOSED, "row", proposed),
            of("another", "pax", 10.0),
            of("another", "nsm", 20.0),
        ]
    }

    #[test]
    fn claims_can_hold_and_fail() {
        all_are(Verdict::Holds, &WORKLOADS, results(9.0, 15.0), &[], &[]);
        all_are(Verdict::Fails, &WORKLOADS, results(18.0, 15.0), &[], &[]);
        all_are(Verdict::Unknown, &WORKLOADS, Vec::new(), &[], &[]);
    }
}
