//! Figure 13 and section 4.1.4: scans on several threads.

use super::expect::{at_widths, points};
use super::grid::RIVALS;
use super::scan::{self, Case, SELECTIVITY, Setup, footprint, formats, test};
use crate::data::Codes;
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Measured,
    Point, Sizing, Trial, levels,
};
use crate::random::Random;
use crate::statistics::mean;
use crate::words::counted;
use gingham_kernels::packing::{Operator, Options};

/// The experiment.
pub static FIG13: Experiment = Experiment {
    name: "byteslice.fig13",
    title: "Scans on several threads",
    place: "ByteSlice paper, section 4.1.4, figure 13",
    about: "v < c that selects 10 % of evenly distributed codes, the rows cut among threads. Throughput is the mean over all widths; \
            the n-th run of each width makes the n-th value of its sample.",
    uses: &[],
    design,
    derive: Some(derive),
    figures: &[Figure {
        title: "Throughput of scans, mean over the widths",
        kind: FigureKind::Lines,
        x: "threads",
        series: "packing",
        panels: &[],
        metric: "throughput",
        axis: "codes per cycle",
        only: &[("width", MEAN)],
    }],
    claims: &CLAIMS,
};

/// Level of the width of results over all widths.
const MEAN: &str = "mean";

/// Threads: doubling up to all that the settings allow.
fn threads(bench: &Bench) -> Vec<usize> {
    let most = bench.settings.threads.min(bench.machine.threads);
    let mut all: Vec<usize> =
        std::iter::successors(Some(1), |threads| Some(threads * 2)).take_while(|t| *t < most).collect();
    all.push(most);
    all
}

fn design(bench: &Bench) -> Result<Design, Error> {
    let packings = scan::packings();
    let trials = bench.widths().into_iter().map(|width| {
        let packings = packings.clone();
        Trial {
            name: format!("{width} bits"),
            setup: Box::new(move |bench: &Bench| {
                let rows = bench.rows(Sizing::Memory, width, footprint(width, &packings, 4));
                let mut random = Random::named(bench.settings.seed, &format!("codes of {width} bits"));
                let codes = Codes::uniform(width, rows, &mut random);
                let variants = threads(bench).into_iter().flat_map(|threads| {
                    let case = Case {
                        levels: Vec::new(),
                        test: test(Operator::Less, width, SELECTIVITY),
                        options: Options::default(),
                    };
                    let shared = levels(&[("width", &width), ("threads", &threads)]);
                    let setup = Setup { isa: bench.isa(), threads, shared };
                    scan::over(&codes, &formats(&packings, width), &setup, vec![case])
                });
                Ok(variants.collect())
            }),
        }
    });
    let widths = bench.widths().into_iter().map(|width| width.to_string()).chain([MEAN.to_string()]);
    let factors = vec![
        Factor::new("width", "bits", widths),
        Factor::new("threads", "", threads(bench)),
        Factor::new("packing", "", &packings),
    ];
    Ok(Design { factors, trials: trials.collect(), ..Design::default() })
}

/// The measured points, and for each packing and number of threads the mean throughput.
fn derive(context: &Context<'_>) -> Vec<Point> {
    let mut points = context.findings.points.clone();
    for threads in threads(context.bench) {
        for packing in scan::packings() {
            let at = [("threads", &*threads.to_string()), ("packing", packing.name())];
            let samples: Vec<&Vec<f64>> = context
                .findings
                .points
                .iter()
                .filter(|point| at.iter().all(|(factor, level)| point.level(factor) == *level))
                .filter_map(|point| point.metrics.get("time").map(|time| &time.samples))
                .collect();
            let runs = samples.iter().map(|sample| sample.len()).min().unwrap_or(0);
            let throughput = |run| mean(&samples.iter().map(|sample| 1.0 / sample[run]).collect::<Vec<f64>>());
            let unit = format!("codes per {}", context.bench.clock.unit());
            points.push(Point {
                levels: levels(&[("width", &MEAN), ("threads", &threads), ("packing", &packing)]).into_iter().collect(),
                metrics: [("throughput", Measured::new(unit, (0..runs).map(throughput).collect()))].into(),
                ..Point::default()
            });
        }
    }
    points
}

/// The mean throughput of a packing.
fn throughput<'a>(context: &'a Context<'_>, packing: &str, threads: usize) -> Option<&'a crate::statistics::Summary> {
    let threads = threads.to_string();
    let at = [("width", MEAN), ("threads", threads.as_str()), ("packing", packing)];
    context
        .findings
        .points
        .iter()
        .find(|point| at.iter().all(|(f, level)| point.level(f) == *level))?
        .summary("throughput")
}

/// The named packings read at least `share` of the bandwidth with `threads` threads. Judged up to 8 bits, where a scan of
/// these packings reads every byte of its column whatever the codes, so that its bytes are known without counters.
fn bandwidth(context: &Context<'_>, packings: &[&str], threads: usize, share: f64) -> Judgement {
    let Some(most) = context.bench.most_bandwidth() else {
        return Judgement::unknown("the read bandwidth was not measured");
    };
    let threads = threads.to_string();
    let mut all = Vec::new();
    for packing in packings {
        for point in at_widths(points(context, packing, &[("threads", &threads)]), 1..=8) {
            let bytes = point.facts.get("bytes").zip(point.facts.get("rows")).map(|(bytes, rows)| bytes / rows);
            if let (Some(time), Some(bytes)) = (point.time(), bytes) {
                let longest = bytes / (share * most) * context.bench.clock.per_second();
                let label = format!("{packing} at {} bits, below {longest:.4}", point.level("width"));
                all.push(Expectation::below(label, time, longest));
            }
        }
    }
    Expectation::judge(all)
}

const OURS: Option<&str> = Some(
    "judged at widths up to 8 bits, where the bytes read are known; bandwidth is what a population count of a buffer reads \
     with the best number of threads",
);

static CLAIMS: [Claim; 7] = [
    Claim {
        id: "fig13.scales",
        text: "Scans of all four packings get faster with a second thread",
        place: "section 4.1.4",
        ours: None,
        judge: |context| {
            let all = RIVALS.into_iter().chain(["byteslice"]).filter_map(|packing| {
                let (one, two) = (throughput(context, packing, 1)?, throughput(context, packing, 2)?);
                Some(Expectation::less(format!("{packing}, 1 thread and 2"), one, two, 1.0))
            });
            Expectation::judge(all.collect())
        },
    },
    Claim {
        id: "fig13.half_bandwidth",
        text: "With one thread HBP, VBP and ByteSlice use more than half of the memory bandwidth",
        place: "section 4.1.4",
        ours: OURS,
        judge: |context| bandwidth(context, &["hbp", "vbp", "byteslice"], 1, 0.5),
    },
    Claim {
        id: "fig13.most_bandwidth",
        text: "With two threads HBP and VBP use more than 70 % of the memory bandwidth",
        place: "section 4.1.4",
        ours: OURS,
        judge: |context| bandwidth(context, &["hbp", "vbp"], 2, 0.7),
    },
    Claim {
        id: "fig13.full_bandwidth",
        text: "With two threads ByteSlice uses more than 98 % of the memory bandwidth",
        place: "section 4.1.4",
        ours: OURS,
        judge: |context| bandwidth(context, &["byteslice"], 2, 0.98),
    },
    Claim {
        id: "fig13.memory_bound",
        text: "From four threads on, scans wait for memory: more threads bring no more",
        place: "section 4.1.4",
        ours: Some("8 threads within a factor of 1.1 of 4"),
        judge: |context| {
            let all = RIVALS.into_iter().chain(["byteslice"]).filter_map(|packing| {
                let (four, eight) = (throughput(context, packing, 4)?, throughput(context, packing, 8)?);
                Some(Expectation::alike(format!("{packing}, 4 threads and 8"), four, eight, 1.1))
            });
            let all: Vec<_> = all.collect();
            if all.is_empty() {
                let threads = counted(context.bench.settings.threads as u64, "thread");
                return Judgement::unknown(format!("the most here is {threads}"));
            }
            Expectation::judge(all)
        },
    },
    Claim {
        id: "fig13.lead",
        text: "With all threads ByteSlice has the highest throughput",
        place: "section 4.1.4",
        ours: None,
        judge: |context| {
            let most = context.bench.settings.threads.min(context.bench.machine.threads);
            let all = RIVALS.into_iter().filter_map(|packing| {
                let (rival, ours) = (throughput(context, packing, most)?, throughput(context, "byteslice", most)?);
                Some(Expectation::less(
                    format!("{packing} and byteslice, {}", counted(most as u64, "thread")),
                    rival,
                    ours,
                    1.0,
                ))
            });
            Expectation::judge(all.collect())
        },
    },
    Claim {
        id: "fig13.hbp_lowest",
        text: "With all threads HBP has the lowest throughput of the four",
        place: "section 4.1.4",
        ours: None,
        judge: |context| {
            let most = context.bench.settings.threads.min(context.bench.machine.threads);
            let all = ["bit_packed", "vbp", "byteslice"].into_iter().filter_map(|packing| {
                let (hbp, other) = (throughput(context, "hbp", most)?, throughput(context, packing, most)?);
                Some(Expectation::less(
                    format!("hbp and {packing}, {}", counted(most as u64, "thread")),
                    hbp,
                    other,
                    1.0,
                ))
            });
            Expectation::judge(all.collect())
        },
    },
];
