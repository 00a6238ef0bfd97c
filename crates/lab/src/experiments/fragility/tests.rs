//! Each claim holds on results as the paper has them, fails on contrary ones, and is open without any.

use super::fig3::FIG3;
use super::fig4::{FIG4, TABLE3};
use super::fig5::FIG5;
use super::fig6::FIG6;
use super::fig10::{FIG10, TABLE4};
use super::micro::LOOP;
use super::options::OPTIONS;
use super::sql::SQL;
use super::strides::{FIG8, FIG9};
use crate::experiment::{Point, Verdict};
use crate::experiments::made_up::{all_are, all_are_open_without_results, outcome, point};

#[test]
fn claims_of_figure_3() {
    let points = |low: f64| {
        let mut points = Vec::new();
        for (layout, printed) in [("A", [0.23, 3.27]), ("B", [1.65, 1.99])] {
            for (end, printed) in ["low", "high"].into_iter().zip(printed) {
                for (by, seconds) in [("as printed", printed), ("by the formula", printed + low)] {
                    points.push(point(&[("layout", layout), ("end", end), ("by", by)], &[("found_seconds", seconds)]));
                }
            }
        }
        points
    };
    // The second claim is about the paper's samples, whatever is measured.
    all_are(Verdict::Holds, &FIG3, points(0.0), &[], &[]);
    all_are(Verdict::Fails, &FIG3, points(0.5), &[], &["fig3.not_told_apart"]);
    all_are_open_without_results(&FIG3, &["fig3.not_told_apart"]);
}

/// Results of figure 4: the time of a schema, a query, a layout, a kind of chunks and a set-up.
fn micro(time: impl Fn(&str, &str, &str, &str, &str) -> f64) -> Vec<Point> {
    let mut points = Vec::new();
    for schema in ["char", "int", "long"] {
        for query in ["Q1", "Q2"] {
            for (layout, kinds) in [
                ("row", &["own loop", "run time"][..]),
                ("2", &["constant", "run time"]),
                ("16", &["constant", "run time"]),
                ("512", &["constant", "run time"]),
                ("1024", &["constant", "run time"]),
                ("4096", &["constant", "run time"]),
                ("column", &["own loop"]),
            ] {
                for chunks in kinds {
                    for setup in ["gcc -O1", "gcc -O2", "gcc -O3", "clang -O3"] {
                        let at = [
                            ("schema", schema),
                            ("query", query),
                            ("layout", layout),
                            ("chunks", *chunks),
                            ("setup", setup),
                        ];
                        points.push(point(&at, &[(LOOP, time(schema, query, layout, chunks, setup))]));
                    }
                }
            }
        }
    }
    points
}

/// Columns and chunks of a page are best, short loops worst, char is fragile.
fn as_the_paper() -> Vec<Point> {
    micro(|schema, query, layout, chunks, setup| {
        let page = matches!((schema, layout), ("char", "4096") | ("int", "1024") | ("long", "512"));
        let short = chunks == "run time" && ["row", "2"].contains(&layout);
        let base = if layout == "column" || page { 10.0 } else { 11.0 };
        match schema {
            "char" => {
                let of_setup = match setup {
                    "gcc -O1" | "gcc -O2" if query == "Q1" => 3.5,
                    "gcc -O1" => 1.9,
                    _ => 1.0,
                };
                base * if short && setup == "gcc -O3" {
                    6.0
                } else if short {
                    5.0
                } else {
                    of_setup
                }
            }
            _ => base * if setup == "gcc -O1" { 1.1 } else { 1.0 },
        }
    })
}

/// Short loops are best, long depends on its set-up more than char, and each set-up has its own best layout.
fn contrary() -> Vec<Point> {
    micro(|schema, _, layout, _, setup| match (schema, layout, setup) {
        ("char", "row", _) => 10.0,
        ("char", "4096", _) => 12.0,
        ("char", ..) => 11.0,
        (_, "row", "gcc -O1") => 10.0,
        (_, "2", "clang -O3") => 12.0,
        _ => 40.0,
    })
}

#[test]
fn claims_of_figure_4_and_what_is_computed_from_it() {
    all_are(Verdict::Holds, &FIG4, as_the_paper(), &[], &[]);
    all_are(Verdict::Fails, &FIG4, contrary(), &[], &[]);
    all_are_open_without_results(&FIG4, &[]);
    for experiment in [&TABLE3, &FIG5, &FIG6] {
        all_are(Verdict::Holds, experiment, Vec::new(), &[outcome(&FIG4, as_the_paper())], &[]);
        // Its short loops are the best, and all set-ups alike.
        let contrary = [outcome(&FIG4, contrary())];
        all_are(Verdict::Fails, experiment, Vec::new(), &contrary, &[]);
        all_are_open_without_results(experiment, &[]);
    }
}

#[test]
fn claims_of_figures_8_and_9() {
    let points = |spike: f64, misses: f64| {
        let mut points = Vec::new();
        for query in ["Q1", "Q2"] {
            for chunk in ["58", "64", "70", "122", "128", "134"] {
                let at_multiple = ["64", "128"].contains(&chunk);
                let time = if at_multiple { 10.0 * spike } else { 10.0 };
                let events = if at_multiple { 1.0 * misses } else { 1.0 };
                let metrics = [(LOOP, time), ("l1_misses", events), ("tlb_misses", events)];
                points.push(point(&[("chunk", chunk), ("query", query)], &metrics));
            }
        }
        points
    };
    for experiment in [&FIG8, &FIG9] {
        all_are(Verdict::Holds, experiment, points(1.3, 5.0), &[], &[]);
        all_are(Verdict::Fails, experiment, points(0.5, 5.0), &[], &[]);
        all_are_open_without_results(experiment, &[]);
    }
    // Times without counters tell nothing of events.
    let without: Vec<Point> = points(1.3, 5.0)
        .into_iter()
        .map(|mut point| {
            point.metrics.retain(|name, _| *name == LOOP);
            point
        })
        .collect();
    all_are(Verdict::Unknown, &FIG9, without, &[], &[]);
}

#[test]
fn claims_of_figure_10_and_table_4() {
    let points = |as_the_paper: bool| {
        let mut points = Vec::new();
        for (lineitem, spread) in [("plain", 2.0), ("compressed", if as_the_paper { 1.2 } else { 3.0 })] {
            for query in ["Q1", "Q6"] {
                for layout in ["row", "256", "column"] {
                    for (setup, worse) in [("gcc -O1", true), ("gcc -O2", false), ("gcc -O3", false)] {
                        let is_column = layout == "column";
                        let base = match (is_column == as_the_paper, lineitem) {
                            (true, "plain") | (false, "compressed") => 10.0,
                            _ => 15.0,
                        };
                        let spread = match (is_column && lineitem == "plain", as_the_paper) {
                            (true, true) => 1.05,
                            (true, false) => 4.0,
                            _ => spread,
                        };
                        let spread = if is_column && lineitem == "compressed" && as_the_paper { 1.01 } else { spread };
                        let at = [
                            ("lineitem", lineitem),
                            ("query", query),
                            ("layout", layout),
                            ("chunks", "own loop"),
                            ("setup", setup),
                        ];
                        points.push(point(&at, &[(LOOP, base * if worse { spread } else { 1.0 })]));
                    }
                }
            }
        }
        points
    };
    all_are(Verdict::Holds, &FIG10, points(true), &[], &[]);
    all_are(Verdict::Fails, &FIG10, points(false), &[], &[]);
    all_are_open_without_results(&FIG10, &[]);
    // It is about types that are written down.
    all_are(Verdict::Holds, &TABLE4, Vec::new(), &[], &[]);
}

#[test]
fn claims_on_options() {
    let points = |no_branch: f64, native: f64, large: f64| {
        let mut points = Vec::new();
        for (layout, option, time) in [
            ("row", "as the paper", 10.0),
            ("row", "no branch", no_branch),
            ("row", "this processor", native),
            ("65536", "as the paper", 10.0),
            ("262144", "as the paper", large),
            ("1048576", "as the paper", large),
        ] {
            let at =
                [("schema", "char"), ("query", "Q1"), ("layout", layout), ("option", option), ("setup", "gcc -O2")];
            points.push(point(&at, &[(LOOP, time)]));
        }
        points
    };
    all_are(Verdict::Holds, &OPTIONS, points(20.0, 9.0, 10.2), &[], &[]);
    all_are(Verdict::Fails, &OPTIONS, points(5.0, 15.0, 14.0), &[], &[]);
    all_are_open_without_results(&OPTIONS, &[]);
}

#[test]
fn claims_on_sql() {
    let points = |worst: f64| {
        let mut points = Vec::new();
        for (layout, time) in [("row", worst), ("column", 10.0)] {
            for execution in ["fused", "staged", "interpreted"] {
                let at = [("query", "char Q1"), ("layout", layout), ("execution", execution)];
                points.push(point(&at, &[("time", if execution == "interpreted" { 100.0 } else { time })]));
            }
        }
        points
    };
    all_are(Verdict::Holds, &SQL, points(15.0), &[], &[]);
    all_are(Verdict::Fails, &SQL, points(50.0), &[], &[]);
    all_are_open_without_results(&SQL, &[]);
}
