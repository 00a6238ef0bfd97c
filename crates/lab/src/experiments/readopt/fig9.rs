//! Figure 9: materialised views, which here are groups of columns of one table.

use super::balance::with_balance;
use super::expect::{self, BALANCED, PAPER, SELECTIVITIES};
use super::grid::{self, disks, told};
use super::measured::{ScanPoint, SharedTable};
use super::queries::{Picked, QueryKind};
use super::stored::Stored;
use super::tables::PaperTable;
use crate::experiment::{Bench, Claim, Context, Design, Expectation, Experiment, Factor, Judgement, levels};

/// The experiment.
pub static FIG9: Experiment = Experiment {
    name: "readopt.fig9",
    title: "Views of five and of two columns, Narrow-E at 1 %",
    place: "read-optimized paper, section 6.8, figure 9",
    about: "As readopt.fig2, at 1 %, one predicate: rows, columns, and groups of columns 1 to 5 and 6 to 10, or of two each, in the \
            packings that take fewest bytes. Columns of a query are drawn at random, or with a chance of 100, 75 or 50 % from the view \
            of the column before. A scanner of a view decodes the columns that the query uses, and views are put together as columns \
            are. At ten columns all views are read, whatever the correlation.",
    uses: &[SELECTIVITIES],
    design: |bench| Ok(design(bench)),
    derive: Some(with_balance),
    figures: &[
        grid::figure("Time of a record at 70 MB/s, derived", "storage", &["correlation"], PAPER),
        grid::figure(
            "Time of a record at the paper's balance of processor and disk, derived",
            "storage",
            &["correlation"],
            BALANCED,
        ),
    ],
    claims: &CLAIMS,
};

const TABLE: PaperTable = PaperTable::NarrowE;
const STORED: [Stored; 4] = [Stored::Rows, Stored::Columns, Stored::Fives, Stored::Twos];
const RETURNED: [usize; 7] = [1, 2, 3, 4, 5, 6, 10];
const PERCENT: f64 = 1.0;
/// The chance that the next column is of the same view; rows and columns are measured with columns drawn at random alone.
const CORRELATIONS: [Correlation; 4] = [
    Correlation { name: "none", chance: None },
    Correlation { name: "50 %", chance: Some(0.5) },
    Correlation { name: "75 %", chance: Some(0.75) },
    Correlation { name: "100 %", chance: Some(1.0) },
];

/// A level of the factor `correlation`.
#[derive(Debug, Clone, Copy)]
struct Correlation {
    name: &'static str,
    chance: Option<f64>,
}

fn design(bench: &Bench) -> Design {
    let mut points = Vec::new();
    for returned in RETURNED {
        for correlation in CORRELATIONS {
            let measured = STORED.into_iter().filter(|stored| view(*stored).is_some() || correlation.chance.is_none());
            points.extend(measured.map(|stored| point(stored, returned, correlation)));
        }
    }
    let throttled = vec![
        point(Stored::Fives, 3, CORRELATIONS[0]),
        point(Stored::Twos, 5, CORRELATIONS[3]),
        point(Stored::Columns, 6, CORRELATIONS[0]),
    ];
    Design {
        trials: SharedTable::new(TABLE, &STORED).trials(bench, points, throttled),
        factors: vec![
            Factor::new("columns", "columns", RETURNED),
            Factor::new("correlation", "", CORRELATIONS.map(|correlation| correlation.name)),
            Factor::new("storage", "", STORED.map(Stored::name)),
            disks(),
        ],
        notes: told(bench, TABLE),
        ..Design::default()
    }
}

/// Columns of a view.
fn view(stored: Stored) -> Option<usize> {
    match stored {
        Stored::Fives => Some(5),
        Stored::Twos => Some(2),
        _ => None,
    }
}

fn point(stored: Stored, returned: usize, correlation: Correlation) -> ScanPoint {
    let Correlation { name, chance } = correlation;
    let picked = match (view(stored), chance) {
        (Some(size), Some(chance)) => Picked::Views(size, chance),
        _ => Picked::Random,
    };
    ScanPoint {
        stored,
        kind: QueryKind { percent: PERCENT, returned, predicates: 1, picked },
        levels: levels(&[("columns", &returned), ("correlation", &name), ("storage", &stored.name())]),
    }
}

fn at<'a>(storage: &'a str, correlation: &'a str) -> [(&'a str, &'a str); 2] {
    [("storage", storage), ("correlation", correlation)]
}

/// Uncorrelated, a set of views beats rows up to so many columns.
fn beats_rows(context: &Context<'_>, metric: &str, views: &str, expected: f64) -> Judgement {
    let lines = (at(views, "none"), at("rows", "none"));
    Expectation::judge(expect::crosses(context, &lines.0, &lines.1, metric, expected, 1.0).into_iter().collect())
}

/// The two sets of views, all columns of a query from as few as can be, against columns, up to six columns.
fn against_columns(context: &Context<'_>, part: f64) -> Vec<Expectation> {
    let each = |views: &&str| {
        let lines = (at(views, "100 %"), at("columns", "none"));
        expect::below(context, &lines.0, &lines.1, PAPER, part, |columns| columns <= 6.0)
    };
    ["views of five", "views of two"].iter().flat_map(each).collect()
}

static CLAIMS: [Claim; 9] = [
    Claim {
        id: "fig9.fives",
        text: "Uncorrelated, views of five columns beat rows up to 3 columns",
        place: "section 6.8",
        ours: Some("within one column, at 70 MB/s"),
        judge: |context| beats_rows(context, PAPER, "views of five", 3.0),
    },
    Claim {
        id: "fig9.fives_at_balance",
        text: "At the paper's balance, uncorrelated views of five columns beat rows up to 3 columns",
        place: "section 6.8",
        ours: Some("within one column; the balance is that of rows at 50 %, see readopt.fig2"),
        judge: |context| beats_rows(context, BALANCED, "views of five", 3.0),
    },
    Claim {
        id: "fig9.twos",
        text: "Uncorrelated, views of two columns beat rows up to 5 columns",
        place: "section 6.8",
        ours: Some("within one column, at 70 MB/s"),
        judge: |context| beats_rows(context, PAPER, "views of two", 5.0),
    },
    Claim {
        id: "fig9.twos_at_balance",
        text: "At the paper's balance, uncorrelated views of two columns beat rows up to 5 columns",
        place: "section 6.8",
        ours: Some("within one column; the balance is that of rows at 50 %, see readopt.fig2"),
        judge: |context| beats_rows(context, BALANCED, "views of two", 5.0),
    },
    Claim {
        id: "fig9.above_five",
        text: "Above five columns rows are faster than views of five",
        place: "section 6.8",
        ours: Some("uncorrelated, at 70 MB/s"),
        judge: |context| {
            let lines = (at("rows", "none"), at("views of five", "none"));
            Expectation::judge(expect::below(context, &lines.0, &lines.1, PAPER, 1.0, |columns| columns > 5.0))
        },
    },
    Claim {
        id: "fig9.above_five_at_balance",
        text: "At the paper's balance rows are faster than views of five above five columns",
        place: "section 6.8",
        ours: Some("uncorrelated"),
        judge: |context| {
            let lines = (at("rows", "none"), at("views of five", "none"));
            Expectation::judge(expect::below(context, &lines.0, &lines.1, BALANCED, 1.0, |columns| columns > 5.0))
        },
    },
    Claim {
        id: "fig9.correlated",
        text: "When the columns of a query lie in as few views as can be, views come near columns",
        place: "section 6.8",
        ours: Some("near: at most 1.25 times their time, of 1 to 6 columns, at 70 MB/s"),
        judge: |context| Expectation::judge(against_columns(context, 1.25)),
    },
    Claim {
        id: "fig9.sometimes_better",
        text: "And are sometimes faster",
        place: "section 6.8",
        ours: Some("at some number of columns, at 70 MB/s"),
        judge: |context| {
            let all = against_columns(context, 1.0);
            let met = all.iter().filter(|expectation| expectation.is_met()).count();
            let figures = format!("{met} of {}", all.len());
            let told = (!all.is_empty()).then(|| Expectation::plain("points where a view is faster", figures, met > 0));
            Expectation::judge(told.into_iter().collect())
        },
    },
    Claim {
        id: "fig9.derived",
        text: "Of views, what is derived for 70 MB/s is what runs at that rate take",
        place: "not in the paper",
        ours: Some("the claim is ours: within 5 %"),
        judge: expect::derived,
    },
];
