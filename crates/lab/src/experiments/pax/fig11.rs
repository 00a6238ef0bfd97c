//! Figure 11 and table 2 (section 7.2): bulk loads of TPC-H, and what the threshold for reorganising a page does to them.

use super::expect::{enough, faster};
use super::loads::{Load, LoadData};
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Mode, Point,
    Trial, levels,
};
use crate::statistics::Summary;
use crate::tpch::TpchTable;
use gingham::storage::model::{HeapLayout, HeapOptions};
use std::rc::Rc;

const ABOUT_LOADS: &str = "TPC-H's eight tables, made before, are loaded from Arrow batches into a new database, a synced transaction for each table. \
            Every value is compared once, and the number of records each time.";

/// Figure 11.
pub static FIG11: Experiment = Experiment {
    name: "pax.fig11",
    title: "Bulk loads by layout and size",
    place: "PAX paper, section 7.2, figure 11",
    about: ABOUT_LOADS,
    uses: &[],
    design: sizes,
    derive: None,
    figures: &[Figure {
        title: "Time of a record",
        kind: FigureKind::Bars,
        x: "size",
        series: "layout",
        panels: &[],
        metric: "time",
        axis: "cycles per record",
        only: &[],
    }],
    claims: &FIG11_CLAIMS,
};

/// Megabytes of the data sets: the paper's, in quick runs smaller ones.
fn megabytes(mode: Mode) -> &'static [u32] {
    match mode {
        Mode::Tiny => &[1],
        Mode::Quick => &[4, 12],
        Mode::Default | Mode::Full => &[100, 200, 500],
    }
}

fn told_sizes(bench: &Bench) -> Option<String> {
    let note = "the data sets are smaller than the paper's of 100, 200 and 500 MB";
    matches!(bench.settings.mode, Mode::Tiny | Mode::Quick).then(|| note.to_owned())
}

fn sizes(bench: &Bench) -> Result<Design, Error> {
    let sizes = megabytes(bench.settings.mode);
    let trial = |size: &u32| {
        let size = *size;
        let setup = move |bench: &Bench| {
            let data = Rc::new(LoadData::of_megabytes(bench, size.into(), &TpchTable::ALL)?);
            let of = |layout: HeapLayout| {
                Load::variant(&data, HeapOptions::new(layout), levels(&[("size", &size), ("layout", &layout.name())]))
            };
            Ok(HeapLayout::ALL.into_iter().map(of).collect())
        };
        Trial { name: format!("{size} MB"), setup: Box::new(setup) }
    };
    Ok(Design {
        trials: sizes.iter().map(trial).collect(),
        factors: vec![
            Factor::new("size", "MB", sizes),
            Factor::new("layout", "", HeapLayout::ALL.map(HeapLayout::name)),
        ],
        notes: told_sizes(bench).into_iter().collect(),
        enough: enough(bench),
        ..Design::default()
    })
}

static FIG11_CLAIMS: [Claim; 2] = [
    Claim {
        id: "fig11.penalty",
        text: "With pages filled as far as they go, loading into PAX takes at most 10 % longer than into NSM",
        place: "section 7.2",
        ours: None,
        judge: |context| Expectation::judge(faster(context, ("pax", "nsm"), 1.1, &[])),
    },
    Claim {
        id: "fig11.dsm",
        text: "Loading into DSM takes much longer than into NSM and PAX",
        place: "section 7.2, figure 11",
        ours: Some("much: at least 1.5 times"),
        judge: |context| {
            let mut all = faster(context, ("nsm", "dsm"), 1.0 / 1.5, &[]);
            all.extend(faster(context, ("pax", "dsm"), 1.0 / 1.5, &[]));
            Expectation::judge(all)
        },
    },
];

/// Table 2.
pub static TABLE2: Experiment = Experiment {
    name: "pax.table2",
    title: "Bulk loads by the threshold for reorganising a page",
    place: "PAX paper, section 7.2, table 2",
    about: "TPC-H, as in pax.fig11, is loaded into NSM pages, and into PAX pages that are reorganised for one more record when at least \
            0, 5 or 10 % of the page are free. Reorganisations are those of filled pages, per page of any table.",
    uses: &[],
    design: thresholds,
    derive: None,
    figures: &[
        Figure {
            title: "Time of a record",
            kind: FigureKind::Bars,
            x: "size",
            series: "pages",
            panels: &[],
            metric: "time",
            axis: "cycles per record",
            only: &[],
        },
        Figure {
            title: "Reorganisations",
            kind: FigureKind::Bars,
            x: "size",
            series: "pages",
            panels: &[],
            metric: "reorganisations",
            axis: "per page",
            only: &[],
        },
    ],
    claims: &TABLE2_CLAIMS,
};

const NSM: &str = "nsm";
const PAX: [(&str, u8); 3] = [("pax, 0 %", 0), ("pax, 5 %", 5), ("pax, 10 %", 10)];

fn thresholds(bench: &Bench) -> Result<Design, Error> {
    let size = megabytes(bench.settings.mode)[0];
    let setup = move |bench: &Bench| {
        let data = Rc::new(LoadData::of_megabytes(bench, size.into(), &TpchTable::ALL)?);
        let of = |name: &str, options| Load::variant(&data, options, levels(&[("size", &size), ("pages", &name)]));
        let pax = PAX.iter().map(|(name, threshold)| {
            of(name, HeapOptions { threshold: *threshold, ..HeapOptions::new(HeapLayout::Pax) })
        });
        Ok([of(NSM, HeapOptions::new(HeapLayout::Nsm))].into_iter().chain(pax).collect())
    };
    Ok(Design {
        trials: vec![Trial { name: format!("{size} MB"), setup: Box::new(setup) }],
        factors: vec![
            Factor::new("size", "MB", [size]),
            Factor::new("pages", "", [NSM].into_iter().chain(PAX.map(|(name, _)| name))),
        ],
        notes: told_sizes(bench).into_iter().collect(),
        enough: enough(bench),
        ..Design::default()
    })
}

/// A metric of some pages.
fn of<'a>(context: &Context<'a>, pages: &str, metric: &str) -> Option<&'a Summary> {
    context.findings.points.iter().find(|point: &&Point| point.level("pages") == pages)?.summary(metric)
}

/// The reorganisations per page of each threshold, in their order.
fn reorganisations(context: &Context<'_>) -> Option<[f64; 3]> {
    let [none, five, ten] = PAX.map(|(name, _)| of(context, name, "reorganisations").map(|found| found.mean));
    Some([none?, five?, ten?])
}

static TABLE2_CLAIMS: [Claim; 4] = [
    Claim {
        id: "table2.fewer",
        text: "The higher the threshold, the fewer reorganisations: 2.25, 1.14 and 0.85 a page",
        place: "section 7.2, table 2",
        ours: Some("the order; the numbers are those of the paper's data and first guesses"),
        judge: |context| {
            let Some([none, five, ten]) = reorganisations(context) else { return Judgement::unknown("not loaded") };
            let figures = format!("{none:.2}, {five:.2} and {ten:.2} a page");
            Expectation::judge(vec![Expectation::plain("0, 5 and 10 %", figures, none > five && five > ten)])
        },
    },
    Claim {
        id: "table2.half",
        text: "A threshold of 5 % halves the number of reorganisations",
        place: "section 7.2, table 2",
        ours: Some("halves: at most 0.6 of it"),
        judge: |context| {
            let Some([none, five, _]) = reorganisations(context) else { return Judgement::unknown("not loaded") };
            Expectation::judge(vec![Expectation::plain(
                "5 and 0 %",
                format!("{five:.2} against {none:.2}"),
                five <= 0.6 * none,
            )])
        },
    },
    Claim {
        id: "table2.number",
        text: "Filling pages as far as they go takes no more than the paper's 2.5 reorganisations a page",
        place: "section 7.2 (table 2 has 2.25)",
        ours: None,
        judge: |context| {
            let Some([none, ..]) = reorganisations(context) else { return Judgement::unknown("not loaded") };
            Expectation::judge(vec![Expectation::plain("0 %", format!("{none:.2} a page"), none <= 2.5)])
        },
    },
    Claim {
        id: "table2.penalty",
        text: "Over NSM, PAX loses at most 10.1 % at 0 %, 4.9 % at 5 % and 0.8 % at 10 %",
        place: "table 2",
        ours: None,
        judge: |context| {
            let Some(nsm) = of(context, NSM, "time") else { return Judgement::unknown("not loaded") };
            let each = |((name, _), factor): (&(&str, u8), f64)| {
                Some(Expectation::less(*name, of(context, name, "time")?, nsm, factor))
            };
            Expectation::judge(PAX.iter().zip([1.101, 1.049, 1.008]).filter_map(each).collect())
        },
    },
];
