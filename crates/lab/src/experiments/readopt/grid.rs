//! Figures over selectivity and the number of columns, which most are: rows and columns side by side, and for some uncompressed rows.

use super::expect::{self, BALANCED, HERE, LineLevels, PAPER};
use super::measured::{ScanPoint, SharedTable, disk};
use super::queries::{Picked, QueryKind};
use super::stored::Stored;
use super::tables::PaperTable;
use crate::experiment::{Bench, Context, Design, Expectation, Factor, Figure, FigureKind, Judgement, levels};
use crate::words::thousands;

/// A figure's table and selectivities.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    /// The table.
    pub table: PaperTable,
    /// Percentages of records that pass.
    pub percents: &'static [f64],
    /// How its records are stored; uncompressed rows are measured at the last percentage alone.
    pub stored: &'static [Stored],
}

/// Rows and columns.
pub const PAIR: [Stored; 2] = [Stored::Rows, Stored::Columns];
/// Rows, columns and uncompressed rows.
pub const WITH_PLAIN: [Stored; 3] = [Stored::Rows, Stored::Columns, Stored::PlainRows];

/// The figures of a grid: at the paper's rate, at its balance, and at the rate of the disk here.
pub const FIGURES: [Figure; 3] = [
    figure("Time of a record at 70 MB/s, derived", "storage", &["selectivity"], PAPER),
    figure(
        "Time of a record at the paper's balance of processor and disk, derived",
        "storage",
        &["selectivity"],
        BALANCED,
    ),
    figure("Time of a record at the disk's full rate", "storage", &["selectivity"], HERE),
];

/// A figure of times over the number of columns that are returned.
pub const fn figure(
    title: &'static str,
    series: &'static str,
    panels: &'static [&'static str],
    metric: &'static str,
) -> Figure {
    Figure {
        title,
        kind: FigureKind::DeviationLines,
        x: "columns",
        series,
        panels,
        metric,
        axis: "cycles per record",
        only: &[("disk", "full rate")],
    }
}

impl Grid {
    /// Lays it out.
    pub fn design(self, bench: &Bench) -> Design {
        let [first, _, half, all] = self.table.returned();
        let last = self.percents.len() - 1;
        let mut points = Vec::new();
        for (place, percent) in self.percents.iter().enumerate() {
            for returned in self.table.returned() {
                for stored in self.stored {
                    if *stored != Stored::PlainRows || place == last {
                        points.push(point(*stored, *percent, returned));
                    }
                }
            }
        }
        let middle = self.percents[self.percents.len() / 2];
        let throttled = vec![
            point(Stored::Rows, middle, half),
            point(Stored::Columns, self.percents[0], first),
            point(Stored::Columns, self.percents[last], all),
        ];
        Design {
            trials: SharedTable::new(self.table, self.stored).trials(bench, points, throttled),
            factors: vec![
                Factor::new("selectivity", "%", self.percents),
                Factor::new("columns", "columns", self.table.returned()),
                Factor::new("storage", "", self.stored.iter().map(|stored| stored.name())),
                disks(),
            ],
            notes: told(bench, self.table),
            ..Design::default()
        }
    }

    /// Columns are faster than rows up to so many columns at each selectivity, within `tolerance`.
    pub fn crossovers(context: &Context<'_>, metric: &str, expected: &[(&str, f64)], tolerance: f64) -> Judgement {
        let each = |(percent, expected): &(&str, f64)| {
            expect::crosses(context, &columns(percent), &rows(percent), metric, *expected, tolerance)
        };
        Expectation::judge(expected.iter().filter_map(each).collect())
    }
}

/// The factor of the disk's rate.
pub fn disks() -> Factor {
    Factor::new("disk", "", [disk(false), disk(true)])
}

/// A note on a table that is smaller than the paper's.
pub fn told(bench: &Bench, table: PaperTable) -> Vec<String> {
    let (records, paper) = (table.records(bench), table.paper_records());
    let told = (records < paper).then(|| {
        let [records, paper] = [records, paper].map(|count| thousands(count as u64));
        format!("{} has {records} records, the paper's {paper}", table.name())
    });
    told.into_iter().collect()
}

fn point(stored: Stored, percent: f64, returned: usize) -> ScanPoint {
    ScanPoint {
        stored,
        kind: QueryKind { percent, returned, predicates: 1, picked: Picked::Random },
        levels: levels(&[("selectivity", &percent), ("columns", &returned), ("storage", &stored.name())]),
    }
}

/// The levels of columns at a percentage.
pub fn columns(percent: &str) -> [(&str, &str); 2] {
    [("storage", "columns"), ("selectivity", percent)]
}

/// The levels of rows at a percentage.
pub fn rows(percent: &str) -> [(&str, &str); 2] {
    [("storage", "rows"), ("selectivity", percent)]
}

/// The most that columns gain over rows, or rows over columns, is about `expected` over some percentages.
pub fn gain(context: &Context<'_>, percents: &[&str], of_columns: bool, metric: &str, expected: f64) -> Judgement {
    let lines: Vec<_> = percents.iter().map(|percent| (columns(percent), rows(percent))).collect();
    let pair = |(columns, rows)| if of_columns { (columns, rows) } else { (rows, columns) };
    let pairs: Vec<_> = lines.into_iter().map(pair).collect();
    let pairs: Vec<(LineLevels<'_>, LineLevels<'_>)> =
        pairs.iter().map(|(a, b)| (a.as_slice(), b.as_slice())).collect();
    expect::most_gain(context, &pairs, metric, expected)
}
