//! Table 2: the summary of the comparison, computed from what the other experiments found.

use crate::experiment::{
    Claim, Context, Design, Expectation, Experiment, Factor, Figure, FigureKind, Findings, Judgement, Measured, Point,
};
use crate::statistics::geometric_mean;

/// The experiment.
pub static TABLE2: Experiment = Experiment {
    name: "byteslice.table2",
    title: "Summary of the packings",
    place: "ByteSlice paper, table 2",
    about: "Computed from byteslice.fig8, fig9 and fig10, all in memory: the time of a scan (<) and of a random lookup as \
            multiples of bit-packed's, geometric means over all widths; and what early stop saves at widths above 16 bits.",
    uses: &["byteslice.fig8", "byteslice.fig9", "byteslice.fig10"],
    design: |_| {
        Ok(Design {
            factors: vec![
                Factor::new("property", "", PROPERTIES),
                Factor::new("packing", "", super::scan::named(&PACKINGS)),
            ],
            ..Design::default()
        })
    },
    derive: Some(derive),
    figures: &[Figure {
        title: "Scan, lookup and early stop",
        kind: FigureKind::Bars,
        x: "property",
        series: "packing",
        panels: &[],
        metric: "found_ratio",
        axis: "of bit-packed's time; of the time without early stop",
        only: &[],
    }],
    claims: &CLAIMS,
};

const PROPERTIES: [&str; 3] = ["scan", "lookup", "early stop"];
const PACKINGS: [&str; 4] = ["bit_packed", "vbp", "hbp", "byteslice"];

fn derive(context: &Context<'_>) -> Vec<Point> {
    let mut points = Vec::new();
    for packing in super::scan::named(&PACKINGS).iter().map(|packing| packing.name()) {
        let of_bit_packed = |name, at: &[(&str, &str)]| {
            let found = context.of(name)?;
            ratios(found, packing, at, |point| found.beside(point, "packing", "bit_packed"))
        };
        let scan = of_bit_packed("byteslice.fig9", &[("size", "memory"), ("operator", "<")]);
        let lookup = of_bit_packed("byteslice.fig8", &[("size", "memory"), ("order", "random")]);
        // Bit-packed and HBP have no early stop, and stop at no cost.
        let stop = context.of("byteslice.fig10").and_then(|found| {
            let off = |point: &Point| {
                (point.number("width") > 16.0).then(|| found.beside(point, "early_stop", "off")).flatten()
            };
            ratios(found, packing, &[("size", "memory"), ("early_stop", "on")], off)
        });
        for (property, ratio) in PROPERTIES.into_iter().zip([scan, lookup, stop.or(Some(1.0))]) {
            let Some(ratio) = ratio else { continue };
            points.push(Point {
                levels: [("property", property.to_string()), ("packing", packing.to_string())].into(),
                metrics: [("found_ratio", Measured::new("ratio".to_string(), vec![ratio]))].into(),
                ..Point::default()
            });
        }
    }
    points
}

/// The geometric mean of the times of `packing`'s points over the times of what each is compared with.
fn ratios<'a>(
    found: &'a Findings,
    packing: &str,
    at: &[(&str, &str)],
    other: impl Fn(&Point) -> Option<&'a Point>,
) -> Option<f64> {
    let points = found.points.iter().filter(|point| {
        point.level("packing") == packing && at.iter().all(|(factor, level)| point.level(factor) == *level)
    });
    let ratios: Vec<f64> = points.filter_map(|point| Some(point.time()?.mean / other(point)?.time()?.mean)).collect();
    (!ratios.is_empty()).then(|| geometric_mean(&ratios))
}

static CLAIMS: [Claim; 3] = [
    Claim {
        id: "table2.scan",
        text: "Scans: ByteSlice before VBP, VBP before HBP, HBP before bit-packed",
        place: "table 2 and section 1",
        ours: Some("by the geometric means over all widths; a table of means has no intervals"),
        judge: |context| order(context, "scan", &["byteslice", "vbp", "hbp", "bit_packed"], 1.0),
    },
    Claim {
        id: "table2.lookup",
        text: "Lookups are good in bit-packed, HBP and ByteSlice columns and poor in VBP's",
        place: "table 2",
        ours: Some("good: at most 1.5 times bit-packed's time; poor: more than twice the best's"),
        judge: |context| {
            let Some([bit_packed, vbp, hbp, byteslice]) = means(context, "lookup") else {
                return missing();
            };
            let best = bit_packed.min(hbp).min(byteslice);
            let good = |name: &str, ratio: f64| Expectation::plain(name, format!("{ratio:.2}"), ratio <= 1.5);
            Expectation::judge(vec![
                good("hbp", hbp),
                good("byteslice", byteslice),
                Expectation::plain("vbp", format!("{vbp:.2}"), vbp > 2.0 * best),
            ])
        },
    },
    Claim {
        id: "table2.early_stop",
        text: "Early stop is strong in ByteSlice and good in VBP",
        place: "table 2",
        ours: Some("good: it saves time above 16 bits; strong: it saves a larger part than VBP's"),
        judge: |context| {
            let Some([_, vbp, _, byteslice]) = means(context, "early stop") else {
                return missing();
            };
            Expectation::judge(vec![
                Expectation::plain("vbp with early stop", format!("{vbp:.2} of its time without"), vbp < 1.0),
                Expectation::plain("byteslice", format!("{byteslice:.2} of its time without"), byteslice < vbp),
            ])
        },
    },
];

fn missing() -> Judgement {
    Judgement::unknown("not all four packings were measured")
}

/// The ratios of a property, in the order of [`PACKINGS`].
fn means(context: &Context<'_>, property: &str) -> Option<[f64; 4]> {
    let of = |packing| {
        let at = [("property", property), ("packing", packing)];
        context.findings.get(&at).and_then(|point| point.summary("found_ratio")).map(|ratio| ratio.mean)
    };
    let [a, b, c, d] = PACKINGS.map(of);
    Some([a?, b?, c?, d?])
}

/// The packings' ratios of a property rise in this order.
fn order(context: &Context<'_>, property: &str, packings: &[&'static str], factor: f64) -> Judgement {
    let Some(ratios) = means(context, property) else {
        return missing();
    };
    let ratio =
        |packing: &str| PACKINGS.iter().position(|known| *known == packing).map_or(f64::NAN, |place| ratios[place]);
    let all = packings.windows(2).map(|pair| {
        let (a, b) = (ratio(pair[0]), ratio(pair[1]));
        Expectation::plain(format!("{} and {}", pair[0], pair[1]), format!("{a:.2} against {b:.2}"), a < factor * b)
    });
    Expectation::judge(all.collect())
}
