//! Figure 7: three predicates instead of one, on the left columns or on any.

use super::balance::with_balance;
use super::expect::{self, BALANCED, PAPER, SELECTIVITIES};
use super::grid::{self, PAIR, disks, told};
use super::measured::{ScanPoint, SharedTable};
use super::queries::{Picked, QueryKind};
use super::stored::Stored;
use super::tables::PaperTable;
use crate::experiment::{Bench, Claim, Context, Design, Expectation, Experiment, Factor, Judgement, levels};

/// The experiment.
pub static FIG7: Experiment = Experiment {
    name: "readopt.fig7",
    title: "Three predicates against one, Narrow-E",
    place: "read-optimized paper, section 6.6, figure 7",
    about: "As readopt.fig2, at 0.1 and 10 %, with one predicate, three on the first three columns, or three on the first that are \
            drawn; each of three lets through the cube root. Queries that return one column have one predicate.",
    uses: &[SELECTIVITIES],
    design: |bench| Ok(design(bench)),
    derive: Some(with_balance),
    figures: &[
        grid::figure("Time of a record at 70 MB/s, derived", "predicates", &["selectivity", "storage"], PAPER),
        grid::figure(
            "Time of a record at the paper's balance of processor and disk, derived",
            "predicates",
            &["selectivity", "storage"],
            BALANCED,
        ),
    ],
    claims: &CLAIMS,
};

const TABLE: PaperTable = PaperTable::NarrowE;
const PERCENTS: [f64; 2] = [0.1, 10.0];
const PREDICATES: [PredicateKind; 3] = [
    PredicateKind { name: "one", number: 1, picked: Picked::Random },
    PredicateKind { name: "three, left", number: 3, picked: Picked::Left },
    PredicateKind { name: "three, random", number: 3, picked: Picked::Random },
];

/// A level of the factor `predicates`.
#[derive(Debug, Clone, Copy)]
struct PredicateKind {
    name: &'static str,
    number: usize,
    picked: Picked,
}

fn design(bench: &Bench) -> Design {
    let mut points = Vec::new();
    for percent in PERCENTS {
        for returned in TABLE.returned() {
            for predicates in PREDICATES {
                points.extend(PAIR.map(|stored| point(stored, percent, returned, predicates)));
            }
        }
    }
    let throttled = vec![
        point(Stored::Rows, 10.0, 5, PREDICATES[2]),
        point(Stored::Columns, 10.0, 10, PREDICATES[1]),
        point(Stored::Columns, 0.1, 3, PREDICATES[2]),
    ];
    Design {
        trials: SharedTable::new(TABLE, &PAIR).trials(bench, points, throttled),
        factors: vec![
            Factor::new("selectivity", "%", PERCENTS),
            Factor::new("columns", "columns", TABLE.returned()),
            Factor::new("predicates", "", PREDICATES.map(|kind| kind.name)),
            Factor::new("storage", "", PAIR.map(Stored::name)),
            disks(),
        ],
        notes: told(bench, TABLE),
        ..Design::default()
    }
}

fn point(stored: Stored, percent: f64, returned: usize, predicates: PredicateKind) -> ScanPoint {
    let PredicateKind { name, number, picked } = predicates;
    let at = levels(&[
        ("selectivity", &percent),
        ("columns", &returned),
        ("predicates", &name),
        ("storage", &stored.name()),
    ]);
    ScanPoint { stored, kind: QueryKind { percent, returned, predicates: number, picked }, levels: at }
}

fn at<'a>(storage: &'a str, percent: &'a str, predicates: &'a str) -> [(&'a str, &'a str); 3] {
    [("storage", storage), ("selectivity", percent), ("predicates", predicates)]
}

/// Judges where columns cross rows at a percentage, with each of some predicates.
fn crossings(context: &Context<'_>, metric: &str, percent: &str, expected: &[(&str, f64)]) -> Judgement {
    let each = |(predicates, expected): &(&str, f64)| {
        let lines = (at("columns", percent, predicates), at("rows", percent, predicates));
        expect::crosses(context, &lines.0, &lines.1, metric, *expected, 1.0)
    };
    Expectation::judge(expected.iter().filter_map(each).collect())
}

static CLAIMS: [Claim; 6] = [
    Claim {
        id: "fig7.ten_percent",
        text: "At 10 % columns are faster up to 5 columns with one predicate, and up to 2 with three",
        place: "section 6.6",
        ours: Some("within one column, at 70 MB/s, random columns"),
        judge: |context| crossings(context, PAPER, "10", &[("one", 5.0), ("three, random", 2.0)]),
    },
    Claim {
        id: "fig7.ten_percent_at_balance",
        text: "At the paper's balance, 10 %: up to 5 columns with one predicate, and up to 2 with three",
        place: "section 6.6",
        ours: Some("within one column, random columns"),
        judge: |context| crossings(context, BALANCED, "10", &[("one", 5.0), ("three, random", 2.0)]),
    },
    Claim {
        id: "fig7.few",
        text: "At 0.1 % columns are faster up to 8 columns with one predicate, and up to 7 with three",
        place: "section 6.6",
        ours: Some("within one column, at 70 MB/s, random columns"),
        judge: |context| crossings(context, PAPER, "0.1", &[("one", 8.0), ("three, random", 7.0)]),
    },
    Claim {
        id: "fig7.few_at_balance",
        text: "At the paper's balance, 0.1 %: up to 8 columns with one predicate, and up to 7 with three",
        place: "section 6.6",
        ours: Some("within one column, random columns"),
        judge: |context| crossings(context, BALANCED, "0.1", &[("one", 8.0), ("three, random", 7.0)]),
    },
    Claim {
        id: "fig7.left_faster",
        text: "Columns take less time when the predicates are on the left columns than when they are on random ones",
        place: "section 6.6",
        ours: Some("at 70 MB/s, from three columns on"),
        judge: |context| {
            let each = |percent: &&str| {
                let lines = (at("columns", percent, "three, left"), at("columns", percent, "three, random"));
                expect::below(context, &lines.0, &lines.1, PAPER, 1.0, |columns| columns >= 3.0)
            };
            Expectation::judge(["0.1", "10"].iter().flat_map(each).collect())
        },
    },
    Claim {
        id: "fig7.derived",
        text: "With three predicates, what is derived for 70 MB/s is what runs at that rate take",
        place: "not in the paper",
        ours: Some("the claim is ours: within 5 %"),
        judge: expect::derived,
    },
];
