//! Figure 8 and section 6.2.2: range selections over the number of attributes that they project and that their predicate has.

use super::expect::{self, PAIR, converges, enough, faster, points};
use super::relation::{self, DEGREE, Relation, UNIT};
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Mode, Trial, Variant,
    levels, linear_fit,
};
use crate::random::Random;
use gingham::storage::model::HeapLayout;

/// The experiment.
pub static FIG8: Experiment = Experiment {
    name: "pax.fig8",
    title: "Range selections over projectivity and number of predicates",
    place: "PAX paper, section 6.2.2, figure 8",
    about: "select avg(a_p), … from R where Lo < a_q and a_q < Hi [and …], of which half of the records pass the first predicate and \
            all pass the others. R has eight attributes of 8 bytes and 1.2 million records (100000 in quick runs), in memory. The \
            projectivity is varied with the predicate on the eighth attribute, or the number of predicates with the eighth \
            attribute projected. The operators are the paper's (section 4.3), tuple at a time and in place. Units of ten queries, on DSM of two.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Time of a record",
        kind: FigureKind::LogLines,
        x: "attributes",
        series: "layout",
        panels: &["varied"],
        metric: "time",
        axis: "cycles per record",
        only: &[],
    }],
    claims: &CLAIMS,
};

/// Queries of a unit on DSM.
const DSM_UNIT: usize = 2;
const VARIED: [&str; 2] = ["projectivity", "predicates"];

fn attributes(bench: &Bench) -> Vec<usize> {
    match bench.settings.mode {
        Mode::Tiny | Mode::Quick => vec![1, 4, 7],
        Mode::Default | Mode::Full => (1..DEGREE).collect(),
    }
}

fn design(bench: &Bench) -> Result<Design, Error> {
    let numbers = attributes(bench);
    let trial = |(name, layouts): (&str, &'static [HeapLayout])| {
        let numbers = numbers.clone();
        Trial { name: name.to_owned(), setup: Box::new(move |bench| variants(bench, layouts, &numbers)) }
    };
    let trials = [("NSM and PAX", &PAIR[..]), ("DSM", &[HeapLayout::Dsm])].map(trial).into();
    let factors = vec![
        Factor::new("varied", "", VARIED),
        Factor::new("attributes", "", numbers),
        Factor::new("layout", "", expect::names(&HeapLayout::ALL)),
    ];
    Ok(Design {
        factors,
        trials,
        notes: relation::told_records(bench).into_iter().collect(),
        enough: enough(bench),
        ..Design::default()
    })
}

/// DSM is so much slower that it would leave the others few rounds: it has a trial of its own, with shorter units.
fn variants(bench: &Bench, layouts: &[HeapLayout], numbers: &[usize]) -> Result<Vec<Variant>, Error> {
    let relation = Relation::new(bench, relation::records(bench), DEGREE, layouts)?;
    let unit = if layouts == [HeapLayout::Dsm] { DSM_UNIT } else { UNIT };
    let mut random = Random::named(bench.settings.seed, "pax.fig8");
    let (last, mut variants) = (DEGREE - 1, Vec::new());
    for varied in VARIED {
        for number in numbers {
            let several: Vec<usize> = (0..*number).collect();
            let (tested, projected) = if varied == VARIED[0] { (vec![last], several) } else { (several, vec![last]) };
            let queries = relation.queries(&mut random, 50.0, &tested, &projected);
            let levels = levels(&[("varied", &varied), ("attributes", number)]);
            variants.extend(relation.variants(&queries[..unit], &levels));
        }
    }
    Ok(variants)
}

/// The time of DSM grows along a line.
fn line(context: &Context<'_>, varied: &str) -> Option<Expectation> {
    let points = points(context, "dsm", &[("varied", varied)]);
    let means: Vec<_> =
        points.iter().filter_map(|point| Some((point.number("attributes"), point.time()?.mean))).collect();
    let (slope, _, explained) = (means.len() > 2).then(|| linear_fit(&means))?;
    let figures = format!("{slope:.1} cycles an attribute, {:.0} % explained", explained * 100.0);
    Some(Expectation::plain(format!("dsm by {varied}"), figures, slope > 0.0 && explained >= 0.9))
}

static CLAIMS: [Claim; 6] = [
    Claim {
        id: "fig8.pax_faster",
        text: "PAX is faster than NSM at every projectivity and number of predicates, also when all attributes are projected",
        place: "section 6.2.2",
        ours: None,
        judge: |context| Expectation::judge(faster(context, ("pax", "nsm"), 1.0, &[])),
    },
    Claim {
        id: "fig8.converge",
        text: "With more attributes the times of NSM and PAX come nearer to each other",
        place: "section 6.2.2",
        ours: Some("NSM's time over PAX's is smaller at 7 attributes than at 1, for each of the two"),
        judge: |context| {
            let each = |varied| converges(context, ("attributes", "1", "7"), &[("varied", varied)]);
            Expectation::judge(VARIED.into_iter().flat_map(each).collect())
        },
    },
    Claim {
        id: "fig8.dsm_slower",
        text: "DSM is about nine times slower than NSM and PAX",
        place: "section 6.2.2",
        ours: Some("about nine: at least 4.5 times, at each place"),
        judge: |context| {
            let mut all = faster(context, ("nsm", "dsm"), 1.0 / 4.5, &[]);
            all.extend(faster(context, ("pax", "dsm"), 1.0 / 4.5, &[]));
            Expectation::judge(all)
        },
    },
    Claim {
        id: "fig8.dsm_nine",
        text: "DSM is no more than about nine times slower than NSM",
        place: "section 6.2.2",
        ours: Some("about nine: at most 18 times, at each place"),
        judge: |context| Expectation::judge(faster(context, ("dsm", "nsm"), 18.0, &[])),
    },
    Claim {
        id: "fig8.dsm_linear",
        text: "The time of DSM grows linearly with the number of attributes",
        place: "sections 1 and 9",
        ours: Some("linearly: a rising line explains 90 % of the variance of the means"),
        judge: |context| Expectation::judge(VARIED.into_iter().filter_map(|varied| line(context, varied)).collect()),
    },
    Claim {
        id: "fig8.stable",
        text: "The times of NSM and PAX are relatively insensitive to the number of attributes",
        place: "sections 6.2 and 9",
        ours: Some("insensitive: 7 attributes take at most twice the time of one"),
        judge: |context| {
            let twice = |label, a: &_, b: &_| Expectation::less(label, a, b, 2.0);
            let each = |layout| expect::between(context, layout, ("attributes", "7", "1"), "time", &[], twice);
            Expectation::judge(["nsm", "pax"].into_iter().flat_map(each).collect())
        },
    },
];
