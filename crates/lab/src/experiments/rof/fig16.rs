//! Figure 16: sizes of the prefetch groups.

use super::query;
use crate::experiment::{Claim, Context, Expectation, Experiment, FigureKind, Mode};

/// The experiment.
pub static FIG16: Experiment = Experiment {
    name: "rof.fig16",
    title: "How many keys are asked for ahead",
    place: "relaxed operator fusion paper, figure 16 (section 5.5)",
    about: "The staged plan of each query, as in rof.fig9's ROF, with prefetch groups of 0 (no prefetching) to 256 \
            keys. Scale 10 (1 in quick runs), one thread. Queries 1 and 6 have no join, and groups in arrays.",
    uses: &[],
    design: |bench| Ok(query::sizes("group", "keys", "prefetch=group:", sizes(bench.settings.mode))),
    derive: None,
    figures: &[query::figure("Time of a query", FigureKind::LogLines, "group", "query")],
    claims: &CLAIMS,
};

fn sizes(mode: Mode) -> Vec<usize> {
    match mode {
        Mode::Tiny => vec![0, 16],
        Mode::Quick => vec![0, 4, 16, 64, 256],
        Mode::Default | Mode::Full => vec![0, 2, 4, 8, 16, 32, 64, 128, 256],
    }
}

/// Queries with joins.
const JOINS: [usize; 6] = [3, 4, 5, 13, 14, 19];

fn others(context: &Context<'_>) -> Vec<String> {
    sizes(context.bench.settings.mode).into_iter().filter(|size| *size != 16).map(|size| size.to_string()).collect()
}

static CLAIMS: [Claim; 3] = [
    Claim {
        id: "fig16.group_matters",
        text: "Groups of 16 keys make each of the queries with joins faster than no prefetching does",
        place: "section 5.5",
        ours: None,
        judge: |context| Expectation::judge(query::faster(context, &JOINS, "group", ("16", "0"), 1.0)),
    },
    Claim {
        id: "fig16.group_of_16",
        text: "No other size is better than 16 keys",
        place: "section 5.5",
        ours: Some("no better: 16 keys take less than 1.03 times the time of each other size"),
        judge: |context| {
            let all = others(context);
            let each = all.iter().flat_map(|other| query::faster(context, &JOINS, "group", ("16", other), 1.03));
            Expectation::judge(each.collect())
        },
    },
    Claim {
        id: "fig16.group_flat",
        text: "Queries 1 and 6 take the same time whatever the size",
        place: "section 5.5",
        ours: Some("the same: within 1.05 times that of 16 keys"),
        judge: |context| {
            let all = others(context);
            let each = all.iter().flat_map(|other| query::alike(context, &[1, 6], "group", (other, "16"), 1.05));
            Expectation::judge(each.collect())
        },
    },
];
