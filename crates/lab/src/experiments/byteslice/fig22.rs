//! Figure 22 and appendix H: two real data sets, ADULT and BASEBALL.
//!
//! The paper took its queries from another one and prints none of them, so these are ours: selections with the kinds of
//! predicates that such data invites, and projections of a few attributes.

use super::fig14::{fastest, with_speed_ups};
use super::query::{WideQuery, WideTable, variants};
use super::scan;
use crate::data::wide::{Wide, load_csv};
use crate::experiment::{
    Bench, Claim, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Trial,
};
use std::path::{Path, PathBuf};

/// The experiment.
pub static FIG22: Experiment = Experiment {
    name: "byteslice.fig22",
    title: "Real data: ADULT and BASEBALL",
    place: "ByteSlice paper, appendix H, figure 22",
    about: "Selections and projections over the census extract ADULT and over salaries joined with players and teams of BASEBALL; the \
            queries are ours, since the paper prints none. Each data set as it is, which fits the caches, and repeated until it does not. The \
            files are read from the folder that --data names: adult.csv, and baseball/ with People.csv, Salaries.csv and Teams.csv.",
    uses: &[],
    design,
    derive: Some(with_speed_ups),
    figures: &[Figure {
        title: "Speed-up over bit-packed",
        kind: FigureKind::Bars,
        x: "query",
        series: "packing",
        panels: &["rows"],
        metric: "speed_up",
        axis: "times as fast as bit-packed",
        only: &[],
    }],
    claims: &[
        Claim {
            id: "fig22.fastest",
            text: "On ADULT and BASEBALL too, ByteSlice is the fastest packing in every query",
            place: "appendix H",
            ours: Some("the queries are ours"),
            judge: |context| match context.findings.points.is_empty() {
                true => Judgement::unknown(NO_FILES),
                false => fastest(context, &["bit_packed", "hbp", "vbp"]),
            },
        },
        Claim {
            id: "fig22.narrow",
            text: "All attributes of the two data sets have codes of fewer than 20 bits",
            place: "appendix A",
            ours: Some("of the attributes that our queries use"),
            judge: |context| {
                let widths = context.findings.points.iter().filter_map(|point| {
                    let widest = *point.facts.get("widest")?;
                    let label = format!("{} of {}", point.level("query"), point.level("packing"));
                    Some(Expectation::plain(label, format!("{widest} bits"), widest < 20.0))
                });
                let all: Vec<_> = widths.collect();
                if all.is_empty() { Judgement::unknown(NO_FILES) } else { Expectation::judge(all) }
            },
        },
    ],
};

/// Why nothing can be told without the data sets.
const NO_FILES: &str = "the data sets are not here: --data names their folder";

const ADULT: [&str; 4] = ["A1", "A2", "A3", "A4"];
const BASEBALL: [&str; 3] = ["B1", "B2", "B3"];
/// Levels of the rows: as many as the files have, or repeated.
const SIZES: [&str; 2] = ["as they are", "repeated"];
/// Rows that repeated data has at least, unless a run is a small one: a byte each is four times a last cache of 32 MB.
const REPEATED_ROWS: usize = 128 << 20;

fn design(bench: &Bench) -> Result<Design, Error> {
    let Some(folder) = &bench.settings.data else {
        let note = "not run: give --data FOLDER with adult.csv and baseball/ (People.csv, Salaries.csv, Teams.csv)";
        return Ok(Design { notes: vec![note.to_string()], ..Design::default() });
    };
    let mut trials = Vec::new();
    for size in SIZES {
        for name in ADULT.into_iter().chain(BASEBALL) {
            let folder = folder.clone();
            trials.push(Trial {
                name: format!("{name} {size}"),
                setup: Box::new(move |bench: &Bench| {
                    let wide = if ADULT.contains(&name) { adult(&folder)? } else { baseball(&folder)? };
                    let times = if size == SIZES[0] { 1 } else { times(bench, wide.rows()) };
                    let wide = if times == 1 { wide } else { wide.repeated(times) };
                    let shared = vec![("rows", size.to_string())];
                    let widest = wide.attributes.iter().map(|attribute| attribute.width).max().unwrap_or(0);
                    let mut all = variants(bench, &wide, &query(name, &wide), &shared);
                    all.iter_mut().for_each(|variant| variant.facts.push(("widest", f64::from(widest))));
                    Ok(all)
                }),
            });
        }
    }
    let factors = vec![
        Factor::new("rows", "", SIZES),
        Factor::new("query", "", ADULT.into_iter().chain(BASEBALL)),
        Factor::new("packing", "", scan::packings()),
    ];
    Ok(Design { factors, trials, ..Design::default() })
}

/// How often data of so many rows is repeated.
fn times(bench: &Bench, rows: usize) -> usize {
    use crate::experiment::Mode;
    let wanted = match bench.settings.mode {
        Mode::Tiny => 3 * rows,
        Mode::Quick => REPEATED_ROWS / 8,
        Mode::Default | Mode::Full => REPEATED_ROWS,
    };
    wanted.div_ceil(rows.max(1))
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(name)
}

fn adult(folder: &Path) -> Result<Wide, Error> {
    load_csv(
        &[("adult", &file(folder, "adult.csv"))],
        "SELECT age, workclass, education, \"education-num\" AS schooling, \"marital-status\" AS marital, occupation,
                race, sex, \"capital-gain\" AS gain, \"hours-per-week\" AS hours, \"native-country\" AS country,
                \"Salary\" AS salary
         FROM adult",
    )
}

fn baseball(folder: &Path) -> Result<Wide, Error> {
    load_csv(
        &[
            ("people", &file(folder, "baseball/People.csv")),
            ("salaries", &file(folder, "baseball/Salaries.csv")),
            ("teams", &file(folder, "baseball/Teams.csv")),
        ],
        "SELECT s.\"yearID\" AS year, s.\"lgID\" AS league, s.salary / 1000 AS thousands, p.\"birthYear\" AS born,
                p.\"birthCountry\" AS country, p.weight AS weight, p.height AS height, p.bats AS bats,
                t.\"W\" AS wins, t.\"L\" AS losses, t.\"franchID\" AS franchise
         FROM salaries s, people p, teams t
         WHERE s.\"playerID\" = p.\"playerID\" AND s.\"yearID\" = t.\"yearID\" AND s.\"teamID\" = t.\"teamID\"
         ORDER BY s.\"playerID\", s.\"yearID\", s.\"teamID\"",
    )
}

/// A query over the table of its data set.
fn query(name: &'static str, wide: &Wide) -> WideQuery {
    let t = WideTable(wide);
    let (parts, projection): (_, &'static [&'static str]) = match name {
        "A1" => (vec![t.within("age", 25, 35), t.is("sex", "Female")], &["occupation", "hours", "salary"]),
        "A2" => (vec![t.at_least("gain", 5000), t.is("salary", ">50K")], &["age", "education", "occupation"]),
        "A3" => (
            vec![
                t.at_least("hours", 50),
                t.is("workclass", "Private"),
                t.at_least("schooling", 13),
                t.is("marital", "Divorced"),
            ],
            &["age", "salary"],
        ),
        "A4" => (vec![t.below("age", 30)], &["education", "marital", "race", "country"]),
        "B1" => (vec![t.at_least("year", 2000), t.at_least("thousands", 5000)], &["born", "country", "thousands"]),
        "B2" => (vec![t.is("country", "D.R."), t.is("bats", "L"), t.below("weight", 190)], &["year", "thousands"]),
        "B3" => (vec![t.at_least("wins", 96), t.is("league", "NL")], &["year", "franchise", "thousands", "height"]),
        other => panic!("no query {other}"),
    };
    WideQuery { name, condition: super::query::Condition::And(parts), projection }
}
