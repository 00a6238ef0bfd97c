//! Figure 17: threads, without and with relaxed operator fusion.

use super::query::{self, BASELINE, QUERIES, ROF, Session};
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Variant,
};
use crate::tpch::TpchDatabase;
use crate::words::counted;
use std::rc::Rc;

/// The experiment.
pub static FIG17: Experiment = Experiment {
    name: "rof.fig17",
    title: "TPC-H on several threads",
    place: "relaxed operator fusion paper, figure 17 (section 5.6)",
    about: "The queries of rof.fig9, baseline and ROF, on one thread up to as many as this machine has cores; the paper's had \
            twenty. Scale 10 (1 in quick runs).",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        panels: &["query"],
        ..query::figure("Time of a query", FigureKind::LogLines, "threads", "way")
    }],
    claims: &CLAIMS,
};

/// Threads that the paper's machine had.
const PAPER_THREADS: usize = 20;

/// 1, 2, 4 and so on, and all.
fn threads(bench: &Bench) -> Vec<usize> {
    let most = bench.settings.threads.max(1);
    let mut threads: Vec<usize> = (0..).map(|power| 1 << power).take_while(|threads| *threads < most).collect();
    threads.push(most);
    threads
}

fn design(bench: &Bench) -> Result<Design, Error> {
    let of = |number: usize| query::trial(number, move |bench, database| variants(bench, database, number));
    let most = bench.settings.threads;
    let note = (most < PAPER_THREADS)
        .then(|| format!("{} at most: the paper's machine had {PAPER_THREADS} cores", counted(most as u64, "thread")));
    Ok(Design {
        trials: QUERIES.into_iter().map(of).collect(),
        factors: vec![
            Factor::new("query", "", QUERIES.map(query::name)),
            Factor::new("way", "", ["baseline", "rof"]),
            Factor::new("threads", "", threads(bench)),
        ],
        notes: note.into_iter().collect(),
        ..Design::default()
    })
}

fn variants(bench: &Bench, database: &Rc<TpchDatabase>, number: usize) -> Result<Vec<Variant>, Error> {
    let mut variants = Vec::new();
    for threads in threads(bench) {
        for (name, way) in [("baseline", BASELINE), ("rof", ROF)] {
            let session = Session { number, way, threads, others: &[], pipelines: None };
            let mut variant = session.variant(database, ("way", &name))?;
            variant.levels.push(("threads", threads.to_string()));
            variants.push(variant);
        }
    }
    Ok(variants)
}

/// ROF at a number of threads takes less than a part of the baseline's time.
fn faster(context: &Context<'_>, queries: &[usize], threads: usize, part: f64) -> Vec<Expectation> {
    let threads = threads.to_string();
    let at = [("threads", threads.as_str())];
    query::faster_at(context, (queries, &at), "way", ("rof", "baseline"), part)
}

/// What is said of all of the paper's threads can't be told with fewer.
fn with_all_threads(context: &Context<'_>, judge: impl Fn(usize) -> Judgement) -> Judgement {
    let threads = context.bench.settings.threads;
    if threads < PAPER_THREADS {
        return Judgement::unknown(format!(
            "{} here, the paper's machine has {PAPER_THREADS}",
            counted(threads as u64, "thread")
        ));
    }
    judge(threads)
}

static CLAIMS: [Claim; 3] = [
    Claim {
        id: "fig17.with_threads",
        text: "ROF makes queries 3, 13, 14 and 19 at least 1.5 times as fast with 20 threads too",
        place: "section 5.6",
        ours: None,
        judge: |context| {
            let judge = |threads| Expectation::judge(faster(context, &[3, 13, 14, 19], threads, 1.0 / 1.5));
            with_all_threads(context, judge)
        },
    },
    Claim {
        id: "fig17.q1_not",
        text: "ROF does not make query 1 faster, on any number of threads",
        place: "section 5.6",
        ours: Some("not faster: it takes at least 0.9 of the baseline's time, on as many threads as there are"),
        judge: |context| {
            let of = |threads: usize| {
                let text = threads.to_string();
                let at = [("threads", text.as_str())];
                let (rof, baseline) = query::times(context, (1, &at), "way", ("rof", "baseline"))?;
                Some(Expectation::less(counted(threads as u64, "thread"), baseline, rof, 1.0 / 0.9))
            };
            Expectation::judge(threads(context.bench).into_iter().filter_map(of).collect())
        },
    },
    Claim {
        id: "fig17.here",
        text: "With all threads of this machine ROF makes seven queries faster, as with one",
        place: "section 5.6",
        ours: Some("the number of threads"),
        judge: |context| {
            Expectation::judge(faster(context, &[3, 4, 5, 6, 13, 14, 19], context.bench.settings.threads, 1.0))
        },
    },
];
