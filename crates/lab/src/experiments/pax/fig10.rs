//! Figure 10: range selections over the number of attributes of R.

use super::expect::{self, PAIR, converges, enough, faster};
use super::relation::{self, DEGREE, Relation};
use crate::experiment::{
    Bench, Claim, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Mode, Trial, levels,
};
use crate::random::Random;

/// The experiment.
pub static FIG10: Experiment = Experiment {
    name: "pax.fig10",
    title: "Range selections over the degree of the relation",
    place: "PAX paper, section 6.2.2, figure 10",
    about: "select avg(a_p) from R where Lo < a_q and a_q < Hi, half of the records pass; a_q is the first attribute of R, a_p the \
            last one. R has from 2 to 64 attributes of 8 bytes, and half the records for twice the attributes. The paper's \
            operators, units of ten queries.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Time of a record",
        kind: FigureKind::Lines,
        x: "degree",
        series: "layout",
        panels: &[],
        metric: "time",
        axis: "cycles per record",
        only: &[],
    }],
    claims: &CLAIMS,
};

const DEGREES: [usize; 6] = [2, 4, 8, 16, 32, 64];

fn design(bench: &Bench) -> Result<Design, Error> {
    let degrees = if bench.settings.mode == Mode::Quick { vec![2, 8, 64] } else { DEGREES.to_vec() };
    let trial = |degree: &usize| {
        let degree = *degree;
        let setup = move |bench: &Bench| {
            let records = relation::records(bench) * DEGREE / degree;
            let relation = Relation::new(bench, records, degree, &PAIR)?;
            let mut random = Random::named(bench.settings.seed, "pax.fig10");
            let queries = relation.queries(&mut random, 50.0, &[0], &[degree - 1]);
            Ok(relation.variants(&queries, &levels(&[("degree", &degree)])))
        };
        Trial { name: format!("{degree} attributes"), setup: Box::new(setup) }
    };
    Ok(Design {
        trials: degrees.iter().map(trial).collect(),
        factors: vec![Factor::new("degree", "attributes", degrees), Factor::new("layout", "", expect::names(&PAIR))],
        notes: relation::told_records(bench).into_iter().collect(),
        enough: enough(bench),
        ..Design::default()
    })
}

static CLAIMS: [Claim; 3] = [
    Claim {
        id: "fig10.pax_faster",
        text: "PAX is faster than NSM with up to 16 attributes",
        place: "section 6.2.2, figure 10",
        ours: Some("up to 16: read from the figure"),
        judge: |context| {
            let each = |degree| faster(context, ("pax", "nsm"), 1.0, &[("degree", degree)]);
            Expectation::judge(["2", "4", "8", "16"].into_iter().flat_map(each).collect())
        },
    },
    Claim {
        id: "fig10.converge",
        text: "As the degree grows, the times of a record come nearer to each other",
        place: "section 6.2.2",
        ours: Some("NSM's time over PAX's is smaller with 64 attributes than with 8"),
        judge: |context| Expectation::judge(converges(context, ("degree", "8", "64"), &[])),
    },
    Claim {
        id: "fig10.grows",
        text: "A record takes longer the more attributes it has, in both layouts, since fewer records share a page's costs",
        place: "section 6.2.2, figure 10",
        ours: Some("64 attributes against 2"),
        judge: |context| {
            let less = |label, a: &_, b: &_| Expectation::less(label, a, b, 1.0);
            let each = |layout| expect::between(context, layout, ("degree", "2", "64"), "time", &[], less);
            Expectation::judge(["nsm", "pax"].into_iter().flat_map(each).collect())
        },
    },
];
