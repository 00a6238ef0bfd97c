//! Figures 6, 7, 9 and 14 (sections 5.2, 6.2 and 8): cache misses and stalls of range selections, on simulated processors.

use super::expect::{against, between, points};
use super::simulated::{OTHERS, Platform, Selections, XEON};
use crate::experiment::{Claim, Context, Expectation, Experiment, Figure, FigureKind, Judgement};
use gingham::storage::model::HeapLayout;

/// Attributes that lie beside each other in an NSM record, and in a line where the record begins on one.
const BESIDE: (usize, usize) = (0, 1);
/// Attributes that lie more than a line of 32 bytes apart.
const APART: (usize, usize) = (0, 7);

const PAPER: [HeapLayout; 2] = [HeapLayout::Nsm, HeapLayout::Pax];

/// A figure of a simulated metric.
const FIGURE: Figure = Figure {
    title: "Stalls for data that the second level has not",
    kind: FigureKind::Lines,
    x: "selectivity",
    series: "layout",
    panels: &[],
    metric: "l2_data_stalls",
    axis: "cycles per record",
    only: &[],
};

const FIG6_RUNS: Selections =
    Selections { name: "pax.fig6", layouts: &PAPER, selectivities: &[10], attributes: BESIDE };

/// Figure 6.
pub static FIG6: Experiment = Experiment {
    name: "pax.fig6",
    title: "What a range selection waits for",
    place: "PAX paper, section 5.2, figure 6",
    about: "Stalls of a range selection that lets 10 % of the records pass, by cache and by what was missed, on the simulated caches \
            of the paper's Xeon: of the paper's own operators alone, without a parser, buffer pool, locks or log. The four \
            commercial systems of the figure are not here.",
    uses: &[],
    design: |bench| FIG6_RUNS.design(bench, &[XEON]),
    derive: None,
    figures: &[
        Figure { title: "Stalls for data, second level", kind: FigureKind::Bars, ..FIGURE },
        Figure { title: "Stalls for data, first level", kind: FigureKind::Bars, metric: "l1_data_stalls", ..FIGURE },
        Figure {
            title: "Stalls for instructions, second level",
            kind: FigureKind::Bars,
            metric: "l2_instruction_stalls",
            ..FIGURE
        },
        Figure {
            title: "Stalls for instructions, first level",
            kind: FigureKind::Bars,
            metric: "l1_instruction_stalls",
            ..FIGURE
        },
    ],
    claims: &[Claim {
        id: "fig6.data",
        text: "With NSM most of the time that is lost to memory goes to data that the second level has not",
        place: "section 5.2, figure 6",
        ours: Some("most: more than half; of the scan's own code only"),
        judge: |context| {
            let part = |layout: &str| {
                let point = *points(context, layout, &[]).first()?;
                Some(point.summary("l2_data_stalls")?.mean / point.summary("memory_stalls")?.mean)
            };
            let all = part("nsm").map(|part| Expectation::plain("nsm", format!("{:.0} %", part * 100.0), part > 0.5));
            simulated(all.into_iter().collect())
        },
    }],
};

const FIG7_RUNS: Selections = Selections {
    name: "pax.fig7",
    layouts: &[HeapLayout::Nsm, HeapLayout::Dsm, HeapLayout::Pax],
    selectivities: &[1, 5, 10, 20, 50, 100],
    attributes: BESIDE,
};

/// Figure 7.
pub static FIG7: Experiment = Experiment {
    name: "pax.fig7",
    title: "Stalls for data by selectivity",
    place: "PAX paper, section 6.2.1, figure 7",
    about: "Misses and stalls of select avg(a_p) from R where Lo < a_q and a_q < Hi, on the simulated caches of the paper's Xeon (16 KiB \
            and 512 KiB, lines of 32 bytes), a_p behind a_q in the record. Computation is the least that the instructions take: \
            three retire in a cycle. DSM, which the figure has not, is here for table 1.",
    uses: &[],
    design: |bench| FIG7_RUNS.design(bench, &[XEON]),
    derive: None,
    figures: &[
        FIGURE,
        Figure { title: "Stalls for data that the second level has", metric: "l1_data_stalls", ..FIGURE },
        Figure { title: "Computation, at least", metric: "computation", ..FIGURE },
        Figure { title: "All stalls for memory", metric: "memory_stalls", ..FIGURE },
    ],
    claims: &FIG7_CLAIMS,
};

/// At 1 %, PAX has less than a part of a metric of NSM's.
fn saves(context: &Context<'_>, metric: &str, part: f64) -> Judgement {
    let less = |label, a: &_, b: &_| Expectation::less(label, a, b, part);
    simulated(against(context, ("pax", "nsm"), metric, &[("selectivity", "1")], less))
}

fn simulated(all: Vec<Expectation>) -> Judgement {
    if all.is_empty() { Judgement::unknown("valgrind has counted nothing") } else { Expectation::judge(all) }
}

static FIG7_CLAIMS: [Claim; 6] = [
    Claim {
        id: "fig7.l2_saved",
        text: "PAX saves at least 75 % of NSM's misses of the second level for data",
        place: "section 6.2.1, at 1 %",
        ours: None,
        judge: |context| saves(context, "l2_misses", 0.25),
    },
    Claim {
        id: "fig7.l2_scan",
        text: "PAX reduces what these misses cost by 70 %",
        place: "section 6.2.1, at 1 %",
        ours: None,
        judge: |context| saves(context, "l2_data_stalls", 0.30),
    },
    Claim {
        id: "fig7.stalls",
        text: "All stalls for memory are 75 % less",
        place: "section 6.2.1, figure 7 on the right, at 1 %",
        ours: None,
        judge: |context| saves(context, "memory_stalls", 0.25),
    },
    Claim {
        id: "fig7.both_levels",
        text: "PAX has fewer misses than NSM in both levels, at every selectivity",
        place: "section 6.2.1",
        ours: None,
        judge: |context| {
            let less = |label, a: &_, b: &_| Expectation::less(label, a, b, 1.0);
            let each = |metric| against(context, ("pax", "nsm"), metric, &[], less);
            simulated(["l1_misses", "l2_misses"].into_iter().flat_map(each).collect())
        },
    },
    Claim {
        id: "fig7.first_small",
        text: "Misses that the second level serves cost little",
        place: "section 6.2.1",
        ours: Some("little: at most a fifth of what the others cost, at every selectivity, in both layouts"),
        judge: |context| {
            let each = |layout| {
                points(context, layout, &[]).into_iter().filter_map(move |point| {
                    let (first, second) = (point.summary("l1_data_stalls")?, point.summary("l2_data_stalls")?);
                    Some(Expectation::less(format!("{layout}, {}", point.label(&["layout"])), first, second, 0.2))
                })
            };
            simulated(["nsm", "pax"].into_iter().flat_map(each).collect())
        },
    },
    Claim {
        id: "fig7.computation",
        text: "PAX takes less computation",
        place: "section 6.2.1: an effect of fewer delays, which simulated instructions have not",
        ours: Some("fewer instructions, at 1 %"),
        judge: |context| saves(context, "computation", 1.0),
    },
];

const FIG9_RUNS: Selections =
    Selections { name: "pax.fig9", layouts: &PAPER, selectivities: &[1, 5, 10, 20, 50, 100], attributes: APART };

/// Figure 9.
pub static FIG9: Experiment = Experiment {
    name: "pax.fig9",
    title: "Stalls of the second level by selectivity, the attributes apart",
    place: "PAX paper, section 6.2.2, figure 9",
    about: "As pax.fig7, with a_p more than a line behind a_q in the record, so that NSM reads another line for each record that passes.",
    uses: &[],
    design: |bench| FIG9_RUNS.design(bench, &[XEON]),
    derive: None,
    figures: &[FIGURE],
    claims: &FIG9_CLAIMS,
};

static FIG9_CLAIMS: [Claim; 3] = [
    Claim {
        id: "fig9.nsm_grows",
        text: "The more records pass, the more NSM waits",
        place: "section 6.2.2, figure 9",
        ours: Some("at 100 % at least 1.5 times as long as at 1 %"),
        judge: |context| {
            let less = |label, a: &_, b: &_| Expectation::less(label, a, b, 1.0 / 1.5);
            simulated(between(context, "nsm", ("selectivity", "1", "100"), "l2_data_stalls", &[], less))
        },
    },
    Claim {
        id: "fig9.pax_flat",
        text: "PAX is insensitive to how many records pass",
        place: "section 6.2.2, figure 9",
        ours: Some("from 1 to 100 % its stalls grow by at most a third of what NSM's grow by"),
        judge: |context| {
            let growth = |layout: &str| {
                let at = |level: &str| {
                    let point = *points(context, layout, &[("selectivity", level)]).first()?;
                    Some(point.summary("l2_data_stalls")?.mean)
                };
                Some(at("100")? - at("1")?)
            };
            let both = growth("pax").zip(growth("nsm"));
            let expectation = |(pax, nsm): (f64, f64)| {
                Expectation::plain("growth", format!("{pax:.1} against {nsm:.1} cycles a record"), pax < nsm / 3.0)
            };
            simulated(both.map(expectation).into_iter().collect())
        },
    },
    Claim {
        id: "fig9.decreasing",
        text: "PAX's further misses come at a decreasing rate as more records pass",
        place: "section 6.2.2",
        ours: Some("from 1 to 20 % it gains more than from 20 to 100 %"),
        judge: |context| {
            let at = |level: &str| {
                let point = *points(context, "pax", &[("selectivity", level)]).first()?;
                Some(point.summary("l2_data_stalls")?.mean)
            };
            let all = at("1").zip(at("20")).zip(at("100")).map(|((least, middle), most)| {
                let figures = format!("{:.1} and {:.1} cycles a record", middle - least, most - middle);
                Expectation::plain("pax", figures, middle - least > most - middle)
            });
            simulated(all.into_iter().collect())
        },
    },
];

static PLATFORMS: [Platform; 3] = [XEON, OTHERS[0], OTHERS[1]];
const FIG14_RUNS: Selections =
    Selections { name: "pax.fig14", layouts: &PAPER, selectivities: &[10], attributes: BESIDE };

/// Figure 14.
pub static FIG14: Experiment = Experiment {
    name: "pax.fig14",
    title: "Misses on the caches of three platforms",
    place: "PAX paper, section 8, figure 14",
    about: "Misses of the last level of all data accesses, of a range selection that lets 10 % of the records pass, on the simulated \
            caches of the paper's three platforms: lines of 32 bytes in the Xeon's, of 64 in the others'. One machine has the times \
            of one platform only, so that the figure's right half is not here; nor are its TPC-H queries.",
    uses: &[],
    design: |bench| FIG14_RUNS.design(bench, &PLATFORMS),
    derive: None,
    figures: &[Figure {
        title: "Misses of all data accesses",
        kind: FigureKind::Bars,
        x: "platform",
        metric: "miss_rate",
        axis: "part of data accesses",
        ..FIGURE
    }],
    claims: &FIG14_CLAIMS,
};

/// How many times fewer misses PAX has on a platform.
fn improvement(context: &Context<'_>, platform: &str) -> Option<f64> {
    let rate = |layout| {
        let point = *points(context, layout, &[("platform", platform)]).first()?;
        Some(point.summary("l2_misses")?.mean)
    };
    Some(rate("nsm")? / rate("pax")?)
}

static FIG14_CLAIMS: [Claim; 2] = [
    Claim {
        id: "fig14.improves",
        text: "PAX has a lower miss rate than NSM on all three",
        place: "section 8.2, figure 14 on the left",
        ours: None,
        judge: |context| {
            let less = |label, a: &_, b: &_| Expectation::less(label, a, b, 1.0);
            simulated(against(context, ("pax", "nsm"), "miss_rate", &[], less))
        },
    },
    Claim {
        id: "fig14.lines",
        text: "The gain is greater where lines are longer",
        place: "section 8.2",
        ours: Some("NSM's misses over PAX's: on UltraSparc and Alpha more than on the Xeon"),
        judge: |context| {
            let Some(xeon) = improvement(context, XEON.name) else { return simulated(Vec::new()) };
            let each = |platform: &Platform| {
                let gain = improvement(context, platform.name)?;
                Some(Expectation::plain(platform.name, format!("{gain:.2} against {xeon:.2} times"), gain > xeon))
            };
            simulated(OTHERS.iter().filter_map(each).collect())
        },
    },
];
