//! Tables 1 and 2: the packings of the tables' columns, and the bytes that they take.

use super::grid::told;
use super::stored::{Stored, StoredFile, StoredTable};
use super::tables::PaperTable;
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Laps,
    Measured, Point, Subject, Trial, Variant, levels,
};
use crate::words::number;
use std::rc::Rc;

/// Table 2.
pub static TABLE2: Experiment = Experiment {
    name: "readopt.table2",
    title: "Bytes of a record",
    place: "read-optimized paper, section 6.1, table 2",
    about: "The paper's integer tables in dense pages of 32 KB: rows and columns packed as Table 1 has it, rows of Narrow-S as it prints them, \
            and both with the packings that take fewest bytes. Pages are read and their bytes and records counted. Bit-aligned: all \
            columns bit-packed, computed from the values.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Bytes of a record",
        kind: FigureKind::Bars,
        x: "table",
        series: "storage",
        panels: &[],
        metric: "found_bytes",
        axis: "bytes of pages per record",
        only: &[],
    }],
    claims: &TABLE2_CLAIMS,
};

/// Table 1.
pub static TABLE1: Experiment = Experiment {
    name: "readopt.table1",
    title: "Packings by hand and by size",
    place: "read-optimized paper, section 4.2, table 1",
    about: "From readopt.table2: what the packings that take fewest bytes save over those of the paper's Table 1, which were chosen by \
            hand. Below 1, choosing by size is better.",
    uses: &["readopt.table2"],
    design: |_| {
        Ok(Design {
            factors: vec![
                Factor::new("table", "", TABLES.map(PaperTable::name)),
                Factor::new("storage", "", [Stored::Rows.name(), Stored::Columns.name()]),
            ],
            ..Design::default()
        })
    },
    derive: Some(derive),
    figures: &[Figure {
        title: "Bytes by size over bytes by hand",
        kind: FigureKind::Bars,
        x: "table",
        series: "storage",
        panels: &[],
        metric: "found_ratio",
        axis: "of the paper's packings",
        only: &[],
    }],
    claims: &TABLE1_CLAIMS,
};

const TABLES: [PaperTable; 4] = [PaperTable::NarrowE, PaperTable::NarrowS, PaperTable::WideE, PaperTable::NarrowU];
const STORED: [Stored; 5] =
    [Stored::Rows, Stored::Columns, Stored::SmallestRows, Stored::SmallestColumns, Stored::PrintedRows];
/// Bytes of a record by Table 2, compressed; all of its numbers are rounded up.
const PRINTED: [(PaperTable, f64); 4] =
    [(PaperTable::NarrowE, 17.0), (PaperTable::NarrowS, 7.0), (PaperTable::WideE, 100.0), (PaperTable::NarrowU, 34.0)];

fn design(bench: &Bench) -> Result<Design, Error> {
    let of = |table: PaperTable| Trial {
        name: table.name().to_owned(),
        setup: Box::new(move |bench: &Bench| {
            let ways = if table == PaperTable::NarrowS { &STORED[..] } else { &STORED[..4] };
            let loaded = StoredTable::new(bench, table, ways)?;
            ways.iter().map(|stored| variant(&loaded, *stored)).collect()
        }),
    };
    Ok(Design {
        trials: TABLES.map(of).into(),
        factors: vec![
            Factor::new("table", "", TABLES.map(PaperTable::name)),
            Factor::new("storage", "", STORED.map(Stored::name)),
        ],
        notes: TABLES.into_iter().flat_map(|table| told(bench, table)).collect(),
        ..Design::default()
    })
}

fn variant(loaded: &StoredTable, stored: Stored) -> Result<Variant, Error> {
    let records = loaded.values.records as f64;
    let bits = |column: &Vec<u32>| {
        f64::from(u32::BITS - column.iter().max().map_or(u32::BITS, |largest| (largest - 1).leading_zeros()))
    };
    let aligned: f64 = loaded.values.columns.iter().map(bits).sum();
    Ok(Variant {
        levels: levels(&[("table", &loaded.table.name()), ("storage", &stored.name())]),
        units: (records, "record"),
        facts: vec![
            ("records", records),
            ("bytes_uncompressed", (loaded.table.columns() * 4) as f64),
            ("bits_aligned", aligned),
        ],
        subject: Box::new(PageBytes { files: loaded.files(stored)?, records, found: Err("it has not run".to_owned()) }),
    })
}

/// Counts the bytes of pages.
struct PageBytes {
    files: Rc<Vec<StoredFile>>,
    records: f64,
    /// Bytes and records, of each file.
    found: Result<Vec<(u64, u64)>, String>,
}

impl Subject for PageBytes {
    fn prepare(&mut self) {
        self.found = Err("it has not run".to_owned());
    }

    fn run(&mut self, _: &mut Laps) {
        let count = |file: &StoredFile| {
            let mut stream = file.pages.stream(super::scan::paced::PAPER_READS)?;
            let (mut bytes, mut records) = (0, 0);
            while let Some(page) = stream.next_page()? {
                bytes += page.length() as u64;
                records += page.records().end - page.records().start;
            }
            Ok((bytes, records))
        };
        let found: gingham::storage::Result<_> = self.files.iter().map(count).collect();
        self.found = found.map_err(|error| error.to_string());
    }

    fn check(&mut self) -> Result<(), String> {
        let expected: Vec<(u64, u64)> =
            self.files.iter().map(|file| (file.pages.bytes(), file.pages.records())).collect();
        let found = self.found.clone()?;
        let is_whole = expected.iter().all(|(_, records)| *records as f64 == self.records);
        if found == expected && is_whole { Ok(()) } else { Err(format!("{found:?}, {expected:?} expected")) }
    }

    fn values(&self) -> Vec<(&'static str, f64)> {
        let bytes: u64 = self.found.iter().flatten().map(|(bytes, _)| bytes).sum();
        vec![("found_bytes", bytes as f64 / self.records)]
    }

    fn runs(&self) -> Option<usize> {
        Some(1)
    }
}

fn bytes(context: &Context<'_>, table: PaperTable, stored: Stored) -> Option<f64> {
    let at = [("table", table.name()), ("storage", stored.name())];
    let point = context.findings.get(&at)?;
    Some(point.summary("found_bytes")?.mean)
}

fn derive(context: &Context<'_>) -> Vec<Point> {
    let Some(findings) = context.of(TABLE2.name) else { return Vec::new() };
    let own = Context { findings, ..*context };
    let mut found = Vec::new();
    for table in TABLES {
        for (by_hand, by_size) in [(Stored::Rows, Stored::SmallestRows), (Stored::Columns, Stored::SmallestColumns)] {
            let (Some(hand), Some(size)) = (bytes(&own, table, by_hand), bytes(&own, table, by_size)) else { continue };
            found.push(Point {
                levels: [("table", table.name().to_owned()), ("storage", by_hand.name().to_owned())].into(),
                facts: [("bytes_by_hand", hand), ("bytes_by_size", size)].into(),
                metrics: [("found_ratio", Measured::new(String::new(), vec![size / hand]))].into(),
            });
        }
    }
    found
}

/// Bytes of a record of some tables and storages meet something, which is told.
fn judge(
    context: &Context<'_>,
    which: &[(PaperTable, Stored)],
    met: impl Fn(PaperTable, f64) -> (String, bool),
) -> Judgement {
    let each = |(table, stored): &(PaperTable, Stored)| {
        let found = bytes(context, *table, *stored)?;
        let (expected, met) = met(*table, found);
        let figures = format!("{} bytes, {expected}", number(found));
        Some(Expectation::plain(format!("{}, {}", table.name(), stored.name()), figures, met))
    };
    Expectation::judge(which.iter().filter_map(each).collect())
}

/// A storage of each table.
fn all(stored: Stored) -> impl Iterator<Item = (PaperTable, Stored)> {
    TABLES.into_iter().map(move |table| (table, stored))
}

/// Rows and columns of each table differ by a few bits.
fn within_bits(context: &Context<'_>, rows: Stored, columns: Stored) -> Judgement {
    const FEW: f64 = 8.0;
    let each = |table: PaperTable| {
        let bits = (bytes(context, table, rows)? - bytes(context, table, columns)?) * 8.0;
        let figures = format!("rows take {bits:+.1} bits more");
        Some(Expectation::plain(table.name(), figures, bits.abs() <= FEW))
    };
    Expectation::judge(TABLES.into_iter().filter_map(each).collect())
}

static TABLE2_CLAIMS: [Claim; 3] = [
    Claim {
        id: "table2.bytes",
        text: "With the paper's packings records take 17, 7, 100 and 34 bytes, in rows and in columns",
        place: "table 2",
        ours: Some("rounded up, as all numbers of the table are; Narrow-S with the differences that Table 1 omits"),
        judge: |context| {
            let which: Vec<_> = all(Stored::Rows).chain(all(Stored::Columns)).collect();
            judge(context, &which, |table, found| {
                let printed = PRINTED.iter().find(|(of, _)| *of == table).map_or(f64::NAN, |(_, bytes)| *bytes);
                (format!("{printed} printed"), found.ceil() == printed)
            })
        },
    },
    Claim {
        id: "table2.few_bits",
        text: "Rows and columns compress to within a few bits of each other",
        place: "section 7",
        ours: Some("a few: 8 bits of a record; with the paper's packings"),
        judge: |context| within_bits(context, Stored::Rows, Stored::Columns),
    },
    Claim {
        id: "table2.few_bits_by_size",
        text: "And with the packings that take fewest bytes",
        place: "not in the paper, which has one packing for each table",
        ours: Some("a few: 8 bits of a record"),
        judge: |context| within_bits(context, Stored::SmallestRows, Stored::SmallestColumns),
    },
];

/// Judges by the bytes of Table 2.
fn by_table2(context: &Context<'_>, judge: impl Fn(&Context<'_>) -> Judgement) -> Judgement {
    match context.of(TABLE2.name) {
        Some(findings) => judge(&Context { findings, ..*context }),
        None => Judgement::unknown("readopt.table2 did not run"),
    }
}

static TABLE1_CLAIMS: [Claim; 3] = [
    Claim {
        id: "table1.by_size",
        text: "Choosing packings by their bytes is no worse than the paper's choice by hand",
        place: "not in the paper",
        ours: Some("the claim is ours: at most 1 % more bytes"),
        judge: |context| {
            let each = |point: &Point| {
                let ratio = point.summary("found_ratio")?.mean;
                Some(Expectation::plain(point.label(&[]), format!("{ratio:.3} times the bytes"), ratio <= 1.01))
            };
            Expectation::judge(context.findings.points.iter().filter_map(each).collect())
        },
    },
    Claim {
        id: "table1.skewed_columns",
        text: "For the skewed columns of wide ranges a dictionary of the page is the best choice",
        place: "table 1",
        ours: Some("no choice takes less than 0.9 of its bytes"),
        judge: |context| {
            let at = [("table", "Narrow-S"), ("storage", "columns")];
            let ratio = context.findings.get(&at).and_then(|point| point.summary("found_ratio"));
            let told = ratio.map(|ratio| {
                let figures = format!("by size {:.2} of the bytes by hand", ratio.mean);
                Expectation::plain("columns of Narrow-S", figures, ratio.mean >= 0.9)
            });
            Expectation::judge(told.into_iter().collect())
        },
    },
    Claim {
        id: "table1.as_printed",
        text: "Rows of Narrow-S packed as Table 1 prints it take Table 2's 7 bytes",
        place: "tables 1 and 2",
        ours: Some("rounded up"),
        judge: |context| {
            by_table2(context, |context| {
                judge(context, &[(PaperTable::NarrowS, Stored::PrintedRows)], |_, found| {
                    ("7 printed".to_owned(), found.ceil() == 7.0)
                })
            })
        },
    },
];
