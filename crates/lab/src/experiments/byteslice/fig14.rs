//! Figures 14, 20 and 21: TPC-H's selections and projections over materialised joins (section 4.2, appendices F and G).

use super::query::variants;
use super::scan;
use super::tpch_queries::{NAMES, query};
use crate::data::wide::{Wide, line_items};
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Measured,
    Mode, Point, Trial, levels,
};
use std::cell::OnceCell;
use std::rc::Rc;

/// Figure 14.
pub static FIG14: Experiment = Experiment {
    name: "byteslice.fig14",
    title: "TPC-H's selections and projections",
    place: "ByteSlice paper, section 4.2, figure 14",
    about: "13 of TPC-H's queries over line items joined with all that they refer to: conditions are scanned column-first to one bit \
            vector, then the projected attributes are looked up at its set bits. LIKE queries are left out, as in the paper. Speed-ups are \
            of times of the same round.",
    uses: &[],
    design,
    derive: Some(with_speed_ups),
    figures: &[SPEED_UP],
    claims: &CLAIMS,
};

const SPEED_UP: Figure = Figure {
    title: "Speed-up over bit-packed",
    kind: FigureKind::Bars,
    x: "query",
    series: "packing",
    panels: &[],
    metric: "speed_up",
    axis: "times as fast as bit-packed",
    only: &[],
};

/// The scale factor of a mode: the paper's 10 at full size; by default one whose query columns together are more than four
/// times a last cache of 32 MB.
fn scale(bench: &Bench) -> f64 {
    match bench.settings.mode {
        Mode::Tiny => 0.001,
        Mode::Quick => 0.5,
        Mode::Default => 3.0,
        Mode::Full => 10.0,
    }
}

/// The table, made when the first trial needs it.
type Shared = Rc<OnceCell<Wide>>;

fn shared(bench: &Bench, table: &Shared) -> Shared {
    table.get_or_init(|| line_items(scale(bench), bench.machine.threads));
    Rc::clone(table)
}

fn design(bench: &Bench) -> Result<Design, Error> {
    let table = Shared::default();
    let trials = NAMES.into_iter().map(|name| {
        let table = Rc::clone(&table);
        Trial {
            name: name.to_string(),
            setup: Box::new(move |bench: &Bench| {
                let table = shared(bench, &table);
                let wide = table.get().expect("just made");
                let narrow = wide.attributes.iter().filter(|attribute| attribute.width <= 24).count();
                let share = narrow as f64 / wide.attributes.len() as f64;
                let mut all = variants(bench, wide, &query(name, wide), &Vec::new());
                all.iter_mut().for_each(|variant| variant.facts.push(("narrow", share)));
                Ok(all)
            }),
        }
    });
    let factors = vec![Factor::new("query", "", NAMES), Factor::new("packing", "", scan::packings())];
    let notes = vec![format!("scale factor {}", scale(bench))];
    Ok(Design { factors, trials: trials.collect(), notes, ..Design::default() })
}

/// The points with their speed-up over bit-packed: of each run over bit-packed's in the same round.
pub fn with_speed_ups(context: &Context<'_>) -> Vec<Point> {
    let mut points = context.findings.points.clone();
    for point in &mut points {
        let rival = context.findings.beside(point, "packing", "bit_packed");
        let (Some(time), Some(of_rival)) =
            (point.metrics.get("time"), rival.and_then(|rival| rival.metrics.get("time")))
        else {
            continue;
        };
        let quotients = of_rival.samples.iter().zip(&time.samples).map(|(of_rival, time)| of_rival / time).collect();
        point.metrics.insert("speed_up", Measured::new("times bit-packed's speed".to_string(), quotients));
    }
    points
}

/// In every query ByteSlice is faster than each of `rivals`.
pub fn fastest(context: &Context<'_>, rivals: &[&str]) -> Judgement {
    Expectation::judge(super::expect::faster(context, "byteslice", rivals, 1.0, &[]))
}

/// The best speed-up of ByteSlice over a packing, over all queries, is at least so much.
fn up_to(context: &Context<'_>, rival: &str, factor: f64) -> Judgement {
    let mut best: Option<(f64, Expectation)> = None;
    for point in super::expect::points(context, "byteslice", &[]) {
        let other = context.findings.beside(point, "packing", rival).and_then(Point::time);
        if let (Some(ours), Some(theirs)) = (point.time(), other) {
            let quotient = theirs.mean / ours.mean;
            if best.as_ref().is_none_or(|(most, _)| quotient > *most) {
                let label = format!("{} over {rival}, {quotient:.2} times", point.level("query"));
                best = Some((quotient, Expectation::less(label, ours, theirs, 1.0 / factor)));
            }
        }
    }
    Expectation::judge(best.into_iter().map(|(_, expectation)| expectation).collect())
}

static CLAIMS: [Claim; 6] = [
    Claim {
        id: "fig14.fastest",
        text: "ByteSlice is the fastest packing in every TPC-H query",
        place: "section 4.2",
        ours: None,
        judge: |context| fastest(context, &["bit_packed", "hbp", "vbp"]),
    },
    Claim {
        id: "fig14.up_to_10",
        text: "ByteSlice is up to 10 times as fast as bit-packed",
        place: "section 1",
        ours: Some("up to: the best query's speed-up is at least so much"),
        judge: |context| up_to(context, "bit_packed", 10.0),
    },
    Claim {
        id: "fig14.up_to_5",
        text: "ByteSlice is up to 5.5 times as fast as VBP",
        place: "section 1",
        ours: Some("as fig14.up_to_10"),
        judge: |context| up_to(context, "vbp", 5.5),
    },
    Claim {
        id: "fig14.up_to_3",
        text: "ByteSlice is up to 3 times as fast as HBP",
        place: "section 1",
        ours: Some("as fig14.up_to_10"),
        judge: |context| up_to(context, "hbp", 3.0),
    },
    Claim {
        id: "fig14.vbp_lookups",
        text: "Where many rows are selected (Q1, Q14, Q15), VBP is slower than bit-packed: its lookups take the time",
        place: "section 4.2",
        ours: None,
        judge: |context| {
            let all = ["Q1", "Q14", "Q15"].into_iter().filter_map(|name| {
                let time = |packing| {
                    context
                        .findings
                        .points
                        .iter()
                        .find(|p| p.level("query") == name && p.level("packing") == packing)?
                        .time()
                };
                Some(Expectation::less(name, time("bit_packed")?, time("vbp")?, 1.0))
            });
            Expectation::judge(all.collect())
        },
    },
    Claim {
        id: "fig14.narrow",
        text: "90 % of TPC-H's columns have codes of no more than 24 bits",
        place: "appendix A",
        ours: Some("of the columns that our wide table keeps, at this scale factor"),
        judge: |context| {
            let share = context.findings.points.first().and_then(|point| point.facts.get("narrow"));
            let met = |share: &f64| Expectation::plain("their part", format!("{:.0} %", share * 100.0), *share >= 0.9);
            Expectation::judge(share.map(met).into_iter().collect())
        },
    },
];

/// Figure 20.
pub static FIG20: Experiment = Experiment {
    name: "byteslice.fig20",
    title: "TPC-H: scans and lookups apart",
    place: "ByteSlice paper, appendix F, figure 20",
    about: "The runs of byteslice.fig14, each cut into its scans and its lookups.",
    uses: &["byteslice.fig14"],
    design: |_| {
        let factors = vec![Factor::new("query", "", NAMES), Factor::new("packing", "", scan::packings())];
        Ok(Design { factors, ..Design::default() })
    },
    derive: Some(|context| context.of("byteslice.fig14").map_or(Vec::new(), |found| found.points.clone())),
    figures: &[
        Figure { title: "Scans", metric: "scan", axis: "cycles per tuple", ..SPEED_UP },
        Figure { title: "Lookups", metric: "lookup", axis: "cycles per tuple", ..SPEED_UP },
    ],
    claims: &[Claim {
        id: "fig20.both",
        text: "TPC-H has queries that scans dominate (Q4, Q19) and queries that lookups dominate (Q1)",
        place: "appendix F",
        ours: Some("judged by ByteSlice's times; dominate: take more than half"),
        judge: |context| {
            let all = [("Q4", "lookup", "scan"), ("Q19", "lookup", "scan"), ("Q1", "scan", "lookup")];
            let all = all.into_iter().filter_map(|(name, less, more)| {
                let at = [("query", name), ("packing", "byteslice")];
                let point =
                    context.findings.points.iter().find(|p| at.iter().all(|(f, level)| p.level(f) == *level))?;
                Some(Expectation::less(
                    format!("{name}, {less} and {more}"),
                    point.summary(less)?,
                    point.summary(more)?,
                    1.0,
                ))
            });
            Expectation::judge(all.collect())
        },
    }],
};

/// Figure 21.
pub static FIG21: Experiment = Experiment {
    name: "byteslice.fig21",
    title: "TPC-H's queries over skewed data",
    place: "ByteSlice paper, appendix G, figure 21",
    about: "As byteslice.fig14, but each attribute's codes are drawn by Zipf's distribution (exponents 1 and 2) over its domain, by a \
            generator of ours: small codes are frequent, and attributes of a row are independent.",
    uses: &[],
    design: skewed_design,
    derive: Some(with_speed_ups),
    figures: &[Figure { panels: &["exponent"], ..SPEED_UP }],
    claims: &[Claim {
        id: "fig21.fastest",
        text: "On skewed TPC-H data too, ByteSlice is the fastest packing in every query",
        place: "appendix G",
        ours: None,
        judge: |context| fastest(context, &["bit_packed", "hbp", "vbp"]),
    }],
};

const EXPONENTS: [u32; 2] = [1, 2];

fn skewed_design(bench: &Bench) -> Result<Design, Error> {
    let even = Shared::default();
    let mut trials = Vec::new();
    for exponent in EXPONENTS {
        let skewed = Shared::default();
        for name in NAMES {
            let (even, skewed) = (Rc::clone(&even), Rc::clone(&skewed));
            trials.push(Trial {
                name: format!("{name}, Zipf {exponent}"),
                setup: Box::new(move |bench: &Bench| {
                    let even = shared(bench, &even);
                    let even = even.get().expect("just made");
                    let wide = skewed.get_or_init(|| even.skewed(f64::from(exponent), bench.settings.seed));
                    Ok(variants(bench, wide, &query(name, wide), &levels(&[("exponent", &exponent)])))
                }),
            });
        }
    }
    let factors = vec![
        Factor::new("exponent", "", EXPONENTS),
        Factor::new("query", "", NAMES),
        Factor::new("packing", "", scan::packings()),
    ];
    Ok(Design { factors, trials, notes: vec![format!("scale factor {}", scale(bench))], ..Design::default() })
}
