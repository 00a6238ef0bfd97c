//! Figures 4 to 6 and 8: the selectivities of figure 2 on skewed values, wide tables, wide ranges, and strings.

use super::balance::with_balance;
use super::expect::{self, BALANCED, HERE, PAPER, SELECTIVITIES};
use super::grid::{FIGURES, Grid, PAIR, WITH_PLAIN, columns, rows};
use super::tables::PaperTable;
use crate::experiment::{Claim, Context, Expectation, Experiment, Judgement};

const PERCENTS: [f64; 4] = [0.1, 1.0, 10.0, 50.0];

/// Figure 4.
pub static FIG4: Experiment = Experiment {
    name: "readopt.fig4",
    title: "Rows against columns on skewed values, Narrow-S",
    place: "read-optimized paper, section 6.3, figure 4",
    about: "As readopt.fig2, of Narrow-S: the ranges of Narrow-E with values after Zipf with exponent 2. Rows have the first six columns \
            delta-coded together, which Table 1 omits and its sizes need, and dictionaries of the page for the others; columns have \
            runs and dictionaries.",
    uses: &[SELECTIVITIES],
    design: |bench| Ok(Grid { table: PaperTable::NarrowS, percents: &PERCENTS, stored: &PAIR }.design(bench)),
    derive: Some(with_balance),
    figures: &FIGURES,
    claims: &FIG4_CLAIMS,
};

/// Figure 5.
pub static FIG5: Experiment = Experiment {
    name: "readopt.fig5",
    title: "Rows against columns of a wide table, Wide-E",
    place: "read-optimized paper, section 6.4, figure 5",
    about: "As readopt.fig2, of Wide-E: fifty columns, column i even over 1 to 2^(4 + 0.46 i); 1, 13, 25 or all of them are returned.",
    uses: &[SELECTIVITIES],
    design: |bench| Ok(Grid { table: PaperTable::WideE, percents: &PERCENTS, stored: &WITH_PLAIN }.design(bench)),
    derive: Some(with_balance),
    figures: &FIGURES,
    claims: &FIG5_CLAIMS,
};

/// Figure 6.
pub static FIG6: Experiment = Experiment {
    name: "readopt.fig6",
    title: "Rows against columns of wide ranges, Narrow-U",
    place: "read-optimized paper, section 6.5, figure 6",
    about: "As readopt.fig2, of Narrow-U: ten columns, each even over 1 to 100 million, all bit-packed.",
    uses: &[SELECTIVITIES],
    design: |bench| Ok(Grid { table: PaperTable::NarrowU, percents: &PERCENTS, stored: &PAIR }.design(bench)),
    derive: Some(with_balance),
    figures: &FIGURES,
    claims: &FIG6_CLAIMS,
};

/// Figure 8.
pub static FIG8: Experiment = Experiment {
    name: "readopt.fig8",
    title: "Rows against columns of strings",
    place: "read-optimized paper, section 6.7, figure 8",
    about: "As readopt.fig2, of ten columns of 20 letters, not compressed, each behind its length of 5 bits. The paper does not say what its strings \
            hold: here they are random letters.",
    uses: &[SELECTIVITIES],
    design: |bench| Ok(Grid { table: PaperTable::Strings, percents: &PERCENTS, stored: &PAIR }.design(bench)),
    derive: Some(with_balance),
    figures: &FIGURES,
    claims: &FIG8_CLAIMS,
};

const SKEWED: [(&str, f64); 4] = [("0.1", 7.0), ("1", 7.0), ("10", 3.0), ("50", 0.0)];
/// 85, 85, 66 and 25 % of fifty columns.
const WIDE: [(&str, f64); 4] = [("0.1", 42.5), ("1", 42.5), ("10", 33.0), ("50", 12.5)];
/// These percentages of ten columns.
const WIDE_RANGES: [(&str, f64); 4] = [("0.1", 8.5), ("1", 8.5), ("10", 6.6), ("50", 2.5)];

/// Columns are faster than rows while fewer than some are returned, at every selectivity.
fn columns_below(context: &Context<'_>, most: f64) -> Judgement {
    let each = |(percent, _): &(&str, f64)| {
        expect::below(context, &columns(percent), &rows(percent), PAPER, 1.0, |columns| columns < most)
    };
    Expectation::judge(WIDE.iter().flat_map(each).collect())
}

/// Two selectivities of a storage take the same time.
fn selectivity_alike(context: &Context<'_>, few: [(&str, &str); 2], many: [(&str, &str); 2]) -> Judgement {
    Expectation::judge(expect::alike(context, &few, &many, PAPER))
}

static FIG4_CLAIMS: [Claim; 7] = [
    Claim {
        id: "fig4.crossovers",
        text: "At 70 MB/s columns are faster up to 7, 7, 3 and no columns at 0.1, 1, 10 and 50 %",
        place: "section 6.3",
        ours: Some("within one column"),
        judge: |context| Grid::crossovers(context, PAPER, &SKEWED, 1.0),
    },
    Claim {
        id: "fig4.crossovers_at_balance",
        text: "On skewed values, at the paper's balance too",
        place: "section 6.3",
        ours: Some("within one column; the balance is that of rows at 50 %, see readopt.fig2"),
        judge: |context| Grid::crossovers(context, BALANCED, &SKEWED, 1.0),
    },
    Claim {
        id: "fig4.crossovers_at_full_rate",
        text: "On skewed values, at the full rate of the disk here too",
        place: "section 6.3",
        ours: Some("within one column; the paper's disk gave 70 MB/s"),
        judge: |context| Grid::crossovers(context, HERE, &SKEWED, 1.0),
    },
    Claim {
        id: "fig4.few_alike",
        text: "On skewed values columns take the same time at 0.1 and 1 %",
        place: "section 6.3",
        ours: Some("within 10 %, at 70 MB/s"),
        judge: |context| selectivity_alike(context, columns("0.1"), columns("1")),
    },
    Claim {
        id: "fig4.rows_depend",
        text: "On skewed values the time of rows depends on the selectivity",
        place: "section 6.3",
        ours: Some("0.1 % takes less than 50 %, at 70 MB/s, all ten columns returned"),
        judge: |context| {
            let all = |columns: f64| columns == 10.0;
            Expectation::judge(expect::below(context, &rows("0.1"), &rows("50"), PAPER, 1.0, all))
        },
    },
    Claim {
        id: "fig4.rows_depend_at_balance",
        text: "On skewed values, at the paper's balance the time of rows depends on the selectivity",
        place: "section 6.3",
        ours: Some("0.1 % takes less than 50 %, all ten columns returned"),
        judge: |context| {
            let all = |columns: f64| columns == 10.0;
            Expectation::judge(expect::below(context, &rows("0.1"), &rows("50"), BALANCED, 1.0, all))
        },
    },
    Claim {
        id: "fig4.skew_derived",
        text: "On skewed values, what is derived for 70 MB/s is what runs at that rate take",
        place: "not in the paper",
        ours: Some("the claim is ours: within 5 %"),
        judge: expect::derived,
    },
];

static FIG5_CLAIMS: [Claim; 7] = [
    Claim {
        id: "fig5.crossovers",
        text: "At 70 MB/s rows are faster from 85, 85, 66 and 25 % of the columns on at 0.1, 1, 10 and 50 %",
        place: "section 6.4",
        ours: Some("within a tenth of the columns"),
        judge: |context| Grid::crossovers(context, PAPER, &WIDE, 5.0),
    },
    Claim {
        id: "fig5.crossovers_at_balance",
        text: "On a wide table, at the paper's balance too",
        place: "section 6.4",
        ours: Some("within a tenth of the columns"),
        judge: |context| Grid::crossovers(context, BALANCED, &WIDE, 5.0),
    },
    Claim {
        id: "fig5.crossovers_at_full_rate",
        text: "On a wide table, at the full rate of the disk here too",
        place: "section 6.4",
        ours: Some("within a tenth of the columns; the paper's disk gave 70 MB/s"),
        judge: |context| Grid::crossovers(context, HERE, &WIDE, 5.0),
    },
    Claim {
        id: "fig5.below_twelve",
        text: "Rows are never faster than columns while fewer than 12 of 50 columns are returned",
        place: "section 6.4",
        ours: Some("of the numbers that are measured, one column; at 70 MB/s"),
        judge: |context| columns_below(context, 12.0),
    },
    Claim {
        id: "fig5.rows_flat",
        text: "The number of columns that are returned has no effect on rows of a wide table",
        place: "section 6.4",
        ours: Some("within 10 %, at 70 MB/s"),
        judge: |context| {
            let flat = WIDE.iter().flat_map(|(percent, _)| expect::constant(context, &rows(percent), PAPER));
            Expectation::judge(flat.collect())
        },
    },
    Claim {
        id: "fig5.uncompressed",
        text: "Uncompressed rows of a wide table take longer than compressed ones at 50 %",
        place: "figure 5",
        ours: Some("at 70 MB/s"),
        judge: |context| {
            let plain = [("storage", "uncompressed rows"), ("selectivity", "50")];
            Expectation::judge(expect::below(context, &rows("50"), &plain, PAPER, 1.0, |_| true))
        },
    },
    Claim {
        id: "fig5.wide_derived",
        text: "On a wide table, what is derived for 70 MB/s is what runs at that rate take",
        place: "not in the paper",
        ours: Some("the claim is ours: within 5 %"),
        judge: expect::derived,
    },
];

static FIG6_CLAIMS: [Claim; 4] = [
    Claim {
        id: "fig6.crossovers",
        text: "Crossovers are as on the wide table: at 70 MB/s rows are faster from 85, 85, 66 and 25 % of the columns on",
        place: "section 6.5",
        ours: Some("within one column"),
        judge: |context| Grid::crossovers(context, PAPER, &WIDE_RANGES, 1.0),
    },
    Claim {
        id: "fig6.crossovers_at_balance",
        text: "On wide ranges, at the paper's balance too",
        place: "section 6.5",
        ours: Some("within one column; the balance is that of rows at 50 %, see readopt.fig2"),
        judge: |context| Grid::crossovers(context, BALANCED, &WIDE_RANGES, 1.0),
    },
    Claim {
        id: "fig6.crossovers_at_full_rate",
        text: "On wide ranges, at the full rate of the disk here too",
        place: "section 6.5",
        ours: Some("within one column; the paper's disk gave 70 MB/s"),
        judge: |context| Grid::crossovers(context, HERE, &WIDE_RANGES, 1.0),
    },
    Claim {
        id: "fig6.derived",
        text: "On wide ranges, what is derived for 70 MB/s is what runs at that rate take",
        place: "not in the paper",
        ours: Some("the claim is ours: within 5 %"),
        judge: expect::derived,
    },
];

static FIG8_CLAIMS: [Claim; 3] = [
    Claim {
        id: "fig8.flat",
        text: "Columns of strings take nearly the same time whatever the selectivity",
        place: "section 6.7",
        ours: Some("0.1 and 50 % within 10 %, at 70 MB/s"),
        judge: |context| selectivity_alike(context, columns("0.1"), columns("50")),
    },
    Claim {
        id: "fig8.reading",
        text: "Reading strings takes longer than computing, in rows and in columns",
        place: "section 6.7",
        ours: Some("at 70 MB/s, at all selectivities"),
        judge: |context| {
            let lines = SKEWED.iter().flat_map(|(percent, _)| [rows(percent), columns(percent)]);
            let each = |at: [(&str, &str); 2]| {
                let elapsed = expect::line(context, &at, PAPER);
                let computing = expect::line(context, &at, "cpu");
                let less = |((columns, computing), (_, elapsed)): ((f64, &_), (f64, &_))| {
                    Expectation::less(
                        format!("{}, {}", expect::named(&at), expect::in_columns(columns)),
                        computing,
                        elapsed,
                        1.0,
                    )
                };
                computing.into_iter().zip(elapsed).map(less).collect::<Vec<_>>()
            };
            Expectation::judge(lines.flat_map(each).collect())
        },
    },
    Claim {
        id: "fig8.derived",
        text: "On strings, what is derived for 70 MB/s is what runs at that rate take",
        place: "not in the paper",
        ours: Some("the claim is ours: within 5 %"),
        judge: expect::derived,
    },
];
