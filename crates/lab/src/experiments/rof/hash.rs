//! Hash functions and ways of prefetching as factors of whole queries: an experiment of ours, as the paper's queries have
//! Murmur3 and group prefetching only.

use super::probes::{GROUP, PROBINGS};
use super::query::{self, Session, Way};
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Mode,
};
use gingham_kernels::hash::HashFunction;
use gingham_kernels::key_table::Probing;

/// The experiment.
pub static HASH: Experiment = Experiment {
    name: "rof.hash",
    title: "Hash functions and prefetching in queries",
    place: "relaxed operator fusion paper, sections 4.3 and 5.7; the experiment is ours",
    about: "Five queries with joins, staged, a boundary before each probe, hash tables of ours where arrays would do, no keys that go \
            down to scans: with each hash function, and with each way to find the entries of a vector. Groups, pipelines and AMAC \
            have 16 keys. Scale 10 (1 in quick runs), one thread.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure { panels: &["hash"], ..query::figure("Time of a query", FigureKind::Bars, "query", "probing") }],
    claims: &CLAIMS,
};

/// Queries that probe tables from large inputs.
static JOINS: [usize; 5] = [3, 4, 5, 14, 19];

/// The queries and functions that a bench has.
fn levels(mode: Mode) -> (&'static [usize], &'static [HashFunction]) {
    match mode {
        Mode::Tiny => (&[14], &HashFunction::ALL),
        Mode::Quick => (&JOINS, &[HashFunction::Murmur3, HashFunction::Multiply]),
        Mode::Default | Mode::Full => (&JOINS, &HashFunction::ALL),
    }
}

fn design(bench: &Bench) -> Result<Design, Error> {
    let (queries, functions) = levels(bench.settings.mode);
    let trial = |number: &usize| {
        let number = *number;
        query::trial(number, move |_, database| {
            let mut variants = Vec::new();
            for function in functions {
                for probing in PROBINGS {
                    let (hash, name) = (function.name(), probing.name());
                    let prefetch = match probing {
                        Probing::Scalar => "none".to_owned(),
                        Probing::Match | Probing::Vertical => name.to_owned(),
                        Probing::Group(_) | Probing::Pipelined(_) | Probing::Amac(_) => format!("{name}:{GROUP}"),
                    };
                    let stages = format!("table=hash, hash={hash}, keys=off, prefetch={prefetch}");
                    let way = Way { stages: &stages, ..query::ROF };
                    let session = Session { number, way, threads: 1, others: &[], pipelines: None };
                    let mut variant = session.variant(database, ("hash", &hash))?;
                    variant.levels.push(("probing", name.to_owned()));
                    variants.push(variant);
                }
            }
            Ok(variants)
        })
    };
    Ok(Design {
        trials: queries.iter().map(trial).collect(),
        factors: vec![
            Factor::new("query", "", queries.iter().copied().map(query::name)),
            Factor::new("hash", "", functions.iter().map(|function| function.name())),
            Factor::new("probing", "", PROBINGS.map(Probing::name)),
        ],
        ..Design::default()
    })
}

/// With each hash function, one way to probe takes less than `part` of another's time.
fn faster(context: &Context<'_>, probing: (&str, &str), part: f64) -> Vec<Expectation> {
    let (_, functions) = levels(context.bench.settings.mode);
    let each = |function: &HashFunction| {
        query::faster_at(context, (&JOINS, &[("hash", function.name())]), "probing", probing, part)
    };
    functions.iter().flat_map(each).collect()
}

static CLAIMS: [Claim; 4] = [
    Claim {
        id: "hash.prefetch",
        text: "Group prefetching makes queries faster than none, whatever the hash function",
        place: "section 5.5, of Murmur3",
        ours: None,
        judge: |context| Expectation::judge(faster(context, ("group", "scalar"), 1.0)),
    },
    Claim {
        id: "hash.others_nothing",
        text: "In queries, software pipelining and AMAC bring little over group prefetching",
        place: "section 4.3",
        ours: Some("little: group prefetching takes less than 1.05 times their time"),
        judge: |context| {
            let each = ["pipelined", "amac"].map(|other| faster(context, ("group", other), 1.05));
            Expectation::judge(each.into_iter().flatten().collect())
        },
    },
    Claim {
        id: "hash.match",
        text: "Matching home slots a vector at a time is the fastest way in queries too",
        place: "not in the paper",
        ours: Some("the claim is ours; fastest: less than 1.02 times the time of each other way"),
        judge: |context| {
            let others = ["scalar", "group", "pipelined", "amac"];
            let each = others.map(|other| faster(context, ("match", other), 1.02));
            Expectation::judge(each.into_iter().flatten().collect())
        },
    },
    Claim {
        id: "hash.multiply",
        text: "Our multiplicative function makes no query slower than Murmur3 does",
        place: "not in the paper",
        ours: Some("the claim is ours; no slower: less than 1.02 times the time, probed in our way"),
        judge: |context| {
            let at = [("probing", "match")];
            let functions = ("multiply", "murmur3");
            Expectation::judge(query::faster_at(context, (&JOINS, &at), "hash", functions, 1.02))
        },
    },
];
