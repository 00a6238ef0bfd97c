//! Mode `auto` against each mode that a user could force: an experiment of ours, in the place of the paper's planner
//! (section 4.4), which is never held against the plans that it did not choose.

use super::query::{self, Session, Way};
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Mode, Variant,
};
use crate::statistics::{CONFIDENCE, Summary, holm, welch};
use crate::tpch::TpchDatabase;
use crate::tpch::queries::NUMBERS;
use crate::words::number;
use std::rc::Rc;

/// The experiment.
pub static AUTO: Experiment = Experiment {
    name: "rof.auto",
    title: "Mode auto against the best forced mode",
    place: "relaxed operator fusion paper, section 4.4: its planner; the experiment is ours",
    about: "All 22 queries of TPC-H, scale 1, one thread, this engine's own tables and kernels. Kept: plans and code are those of \
            an earlier run. Anew (not in quick runs): each run is planned, and what it compiles is compiled, again. DataFusion's \
            operators are one of the modes, but in quick runs. Each answer is compared with DataFusion's, which has to be the \
            published one.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure { panels: &["plans"], ..query::figure("Time of a query", FigureKind::Bars, "query", "mode") }],
    claims: &CLAIMS,
};

/// What a user would choose.
static FORCED: [&str; 5] = ["fused", "staged", "vectorized", "interpreted", "datafusion"];

/// What a bench has of each factor.
struct BenchLevels {
    queries: Vec<usize>,
    forced: &'static [&'static str],
    plans: &'static [&'static str],
}

impl BenchLevels {
    fn of(bench: &Bench) -> Self {
        let all = NUMBERS.collect();
        match bench.settings.mode {
            Mode::Tiny => Self { queries: vec![3, 6], forced: &FORCED[3..], plans: &["kept", "anew"] },
            Mode::Quick => Self { queries: all, forced: &FORCED[..4], plans: &["kept"] },
            Mode::Default | Mode::Full => Self { queries: all, forced: &FORCED, plans: &["kept", "anew"] },
        }
    }
}

fn design(bench: &Bench) -> Result<Design, Error> {
    let BenchLevels { queries, forced, plans } = BenchLevels::of(bench);
    let of = |number: &usize| {
        let number = *number;
        query::trial_at(1.0, number, move |_, database| variants(database, number, forced, plans))
    };
    Ok(Design {
        trials: queries.iter().map(of).collect(),
        factors: vec![
            Factor::new("query", "", queries.into_iter().map(query::name)),
            Factor::new("mode", "", std::iter::once(&"auto").chain(forced)),
            Factor::new("plans", "", plans),
        ],
        ..Design::default()
    })
}

fn variants(
    database: &Rc<TpchDatabase>,
    number: usize,
    forced: &'static [&'static str],
    plans: &'static [&'static str],
) -> Result<Vec<Variant>, Error> {
    let mut variants = Vec::new();
    for kept in plans {
        for mode in std::iter::once(&"auto").chain(forced) {
            let way = Way { name: mode, mode, stages: "" };
            let keep = ("cache_plans", if *kept == "kept" { "true" } else { "false" });
            let session = Session { number, way, threads: 1, others: &[keep], pipelines: None };
            let mut variant = session.variant(database, ("mode", mode))?;
            variant.levels.push(("plans", (*kept).to_string()));
            variants.push(variant);
        }
    }
    Ok(variants)
}

/// Part of the best mode's time by which auto may be slower, and seconds by which it may be where these are more.
const SLOWER: (f64, f64) = (0.05, 0.0003);

/// Auto beside a forced mode.
struct Pair<'c> {
    label: String,
    auto: &'c Summary,
    forced: &'c Summary,
}

/// For each query, auto is not slower than any forced mode by Welch's test, corrected for all of these comparisons, or by
/// no more than what nobody would mind.
fn not_slower(context: &Context<'_>, plans: &str) -> Judgement {
    let BenchLevels { queries, forced, .. } = BenchLevels::of(context.bench);
    let mut pairs = Vec::new();
    for query in queries {
        for mode in forced {
            let at = [("plans", plans)];
            if let Some((auto, forced)) = query::times(context, (query, &at), "mode", ("auto", mode)) {
                pairs.push(Pair { label: format!("{}, {mode}", query::name(query)), auto, forced });
            }
        }
    }
    if pairs.is_empty() {
        return Judgement::unknown("quick runs leave it out");
    }
    let tests = holm(&pairs.iter().map(|pair| welch(pair.auto, pair.forced).p).collect::<Vec<_>>());
    let least = SLOWER.1 * context.bench.clock.per_second();
    let expectation = |(Pair { label, auto, forced }, p): (Pair<'_>, f64)| {
        let more = auto.mean - forced.mean;
        let met = p >= 1.0 - CONFIDENCE || more <= least.max(SLOWER.0 * forced.mean);
        Expectation::plain(label, format!("{} against {}", number(auto.mean), number(forced.mean)), met)
    };
    Expectation::judge(pairs.into_iter().zip(tests).map(expectation).collect())
}

static CLAIMS: [Claim; 2] = [
    Claim {
        id: "auto.kept",
        text: "With plans kept, auto is not slower than the best forced mode on any query",
        place: "not in the paper",
        ours: Some(
            "the claim is ours; not slower: by Welch's test with Holm's correction, or by at most 5 % or 0.3 ms, whichever is more",
        ),
        judge: |context| not_slower(context, "kept"),
    },
    Claim {
        id: "auto.anew",
        text: "The same where each run plans and compiles anew",
        place: "not in the paper",
        ours: Some("the claim is ours"),
        judge: |context| not_slower(context, "anew"),
    },
];
