//! Figure 15: sizes of the staging vectors.

use super::query;
use crate::experiment::{Claim, Context, Expectation, Experiment, FigureKind, Mode};

/// The experiment.
pub static FIG15: Experiment = Experiment {
    name: "rof.fig15",
    title: "How long staging vectors are",
    place: "relaxed operator fusion paper, figure 15 (section 5.4)",
    about: "The staged plan of each query, as in rof.fig9's ROF, with staging vectors of 64 to 262,144 records. Scale \
            10 (1 in quick runs), one thread. A vector ends with the zone of 65,536 records that it was begun in, so \
            that longer ones are longer in name only.",
    uses: &[],
    design: |bench| Ok(query::sizes("vector", "records", "vector=", sizes(bench.settings.mode))),
    derive: None,
    figures: &[query::figure("Time of a query", FigureKind::LogLines, "vector", "query")],
    claims: &CLAIMS,
};

fn sizes(mode: Mode) -> Vec<usize> {
    match mode {
        Mode::Tiny => vec![64, 1024],
        Mode::Quick => vec![64, 1024, 16_384, 262_144],
        Mode::Default | Mode::Full => (6..=18).step_by(2).map(|power| 1 << power).collect(),
    }
}

/// The paper's own: where it says that a size is as good as any.
const MIDDLE: &str = "16384";

/// Each size of some queries takes within `times` of what the middle one takes.
fn flat(context: &Context<'_>, queries: &[usize], times: f64) -> Vec<Expectation> {
    let sizes = sizes(context.bench.settings.mode).into_iter().map(|size| size.to_string());
    let others = sizes.filter(|size| size != MIDDLE);
    others.flat_map(|size| query::alike(context, queries, "vector", (&size, MIDDLE), times)).collect()
}

static CLAIMS: [Claim; 2] = [
    Claim {
        id: "fig15.insensitive",
        text: "All queries but 3 take the same time whatever the size of the vectors",
        place: "section 5.4",
        ours: Some("the same: within 1.1 times that of 16,384 records"),
        judge: |context| Expectation::judge(flat(context, &[1, 4, 5, 6, 13, 14, 19], 1.1)),
    },
    Claim {
        id: "fig15.gains_q3",
        text: "Query 3 gains from longer vectors, up to 16,384 records",
        place: "section 5.4",
        ours: None,
        judge: |context| Expectation::judge(query::faster(context, &[3], "vector", (MIDDLE, "64"), 1.0)),
    },
];
