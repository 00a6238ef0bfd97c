//! Figure 10 and Table 4: queries 1 and 6 of TPC-H over layouts of lineitem, plain and compressed.

use super::data::{Chunk, MappedFile, folder};
use super::lineitem::{LineItemForm, TpchLoop, TpchQuery, answer, line_items};
use super::measured::{MeasuredLoop, start};
use super::micro::{CONSTANT, LOOP, OWN, RUN_TIME, median};
use super::setups::{CheckedLoop, CodeTarget, SetUp, checked};
use super::source::{LoopSource, Walk};
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Measured,
    Mode, Point, Trial, Variant, levels,
};
use crate::statistics::Quartiles;
use std::rc::Rc;

/// Figure 10.
pub static FIG10: Experiment = Experiment {
    name: "fragility.fig10",
    title: "TPC-H queries 1 and 6 over layouts of lineitem",
    place: "runtime-fragility paper, section 6, figure 10",
    about: "Queries 1 and 6 as compiled programs, as in fragility.fig4, over all 16 attributes of lineitem at scale 1 (0.1 in quick runs) in \
            rows, in chunks and in columns: plain, and compressed as Table 4 has it. The paper tells neither its scale nor its \
            layouts. Query 1 has an array of groups, its answer is a digest of all sums.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Overhead over the best set-up and layout, cut at 250 %",
        kind: FigureKind::Boxes,
        x: "layout",
        series: "setup",
        panels: &["lineitem", "query"],
        metric: LOOP,
        axis: "% over the best",
        only: &[],
    }],
    claims: &FIG10_CLAIMS,
};

/// Table 4.
pub static TABLE4: Experiment = Experiment {
    name: "fragility.table4",
    title: "Bytes of lineitem's attributes",
    place: "runtime-fragility paper, section 6.1, table 4",
    about: "The types that fragility.fig10 gives lineitem's attributes, plain and compressed.",
    uses: &[],
    design: |_| {
        Ok(Design {
            factors: vec![
                Factor::new("attribute", "", LineItemForm::Plain.widths().map(|(name, _)| name)),
                Factor::new("lineitem", "", LineItemForm::ALL.map(LineItemForm::name)),
            ],
            found: LineItemForm::ALL.into_iter().flat_map(bytes).collect(),
            ..Design::default()
        })
    },
    derive: None,
    figures: &[Figure {
        title: "Bytes of an attribute",
        kind: FigureKind::Bars,
        x: "attribute",
        series: "lineitem",
        panels: &[],
        metric: "found_bytes",
        axis: "bytes",
        only: &[],
    }],
    claims: &TABLE4_CLAIMS,
};

fn bytes(form: LineItemForm) -> Vec<Point> {
    let point = |(attribute, width): (&str, usize)| Point {
        levels: [("attribute", attribute.to_owned()), ("lineitem", form.name().to_owned())].into(),
        metrics: [("found_bytes", Measured::new("bytes".to_owned(), vec![width as f64]))].into(),
        ..Point::default()
    };
    form.widths().map(point).into()
}

/// Scale of the check of programs: some more records than the largest chunk has.
const CHECKED_SCALE: f64 = 0.012;

fn scale(bench: &Bench) -> f64 {
    match bench.settings.mode {
        Mode::Tiny => CHECKED_SCALE,
        Mode::Quick => 0.1,
        Mode::Default | Mode::Full => 1.0,
    }
}

fn layouts(bench: &Bench) -> Vec<Chunk> {
    let sizes: &[usize] = match bench.settings.mode {
        Mode::Quick => &[1, 1 << 8, 1 << 16],
        _ => &[1, 1 << 4, 1 << 8, 1 << 12, 1 << 16],
    };
    sizes.iter().map(|size| Chunk::Of(*size)).chain([Chunk::All]).collect()
}

fn walks(chunk: Chunk) -> Vec<(Walk, &'static str)> {
    match chunk {
        Chunk::All => vec![(Walk::Column, OWN)],
        Chunk::Of(1) => vec![(Walk::Row, OWN)],
        Chunk::Of(k) => vec![(Walk::Chunks(k), CONSTANT), (Walk::AnyChunks, RUN_TIME)],
    }
}

fn loops(layouts: &[Chunk]) -> Vec<TpchLoop> {
    let mut loops: Vec<TpchLoop> = Vec::new();
    for form in LineItemForm::ALL {
        for question in TpchQuery::ALL {
            for (walk, _) in layouts.iter().flat_map(|chunk| walks(*chunk)) {
                let own = TpchLoop { form, question, walk };
                if !loops.contains(&own) {
                    loops.push(own);
                }
            }
        }
    }
    loops
}

fn design(bench: &Bench) -> Result<Design, Error> {
    let (layouts, scale) = (layouts(bench), scale(bench));
    let loops = loops(&layouts);
    let checks = checks(&loops)?;
    let (set_ups, mut notes) = checked(&loops, &checks, CodeTarget::Any, |_, _| true);
    let factors = vec![
        Factor::new("lineitem", "", LineItemForm::ALL.map(LineItemForm::name)),
        Factor::new("query", "", TpchQuery::ALL.map(TpchQuery::name)),
        Factor::new("layout", "records of a chunk", layouts.iter().map(|chunk| chunk.name())),
        Factor::new("chunks", "", [OWN, CONSTANT, RUN_TIME]),
        Factor::new("setup", "", set_ups.iter().map(|set_up| set_up.name.clone())),
    ];
    notes.push(format!("lineitem at scale {scale}"));
    let trial = |form: LineItemForm| {
        let (layouts, set_ups) = (layouts.clone(), set_ups.clone());
        Trial { name: form.name().to_owned(), setup: Box::new(move |bench| variants(bench, form, &layouts, &set_ups)) }
    };
    let trials = if set_ups.is_empty() { Vec::new() } else { LineItemForm::ALL.map(trial).into() };
    Ok(Design { factors, trials, notes, ..Design::default() })
}

/// The loops over a small lineitem.
fn checks(loops: &[TpchLoop]) -> Result<Vec<CheckedLoop>, Error> {
    let mut checks = Vec::new();
    for form in LineItemForm::ALL {
        let table = line_items(form, CHECKED_SCALE, 1)?;
        let answers = TpchQuery::ALL.map(|question| answer(form, &table, question));
        let mut files: Vec<(Walk, Rc<MappedFile>)> = Vec::new();
        for own in loops.iter().filter(|own| own.form == form) {
            let chunk = match own.walk {
                Walk::Row => Chunk::Of(1),
                Walk::Column => Chunk::All,
                Walk::Chunks(k) => Chunk::Of(k),
                Walk::AnyChunks => Chunk::Of(100),
            };
            let file = match files.iter().find(|(walk, _)| *walk == own.walk) {
                Some((_, file)) => Rc::clone(file),
                None => Rc::new(MappedFile::new(&table, chunk, &std::env::temp_dir())?),
            };
            files.push((own.walk, Rc::clone(&file)));
            let expected = answers[own.question as usize];
            checks.push(CheckedLoop { name: own.name(), chunk, file, records: table.records, expected });
        }
    }
    Ok(checks)
}

fn variants(bench: &Bench, form: LineItemForm, layouts: &[Chunk], set_ups: &[SetUp]) -> Result<Vec<Variant>, Error> {
    let table = line_items(form, scale(bench), bench.settings.threads)?;
    let answers = TpchQuery::ALL.map(|question| answer(form, &table, question));
    let place = folder(table.bytes() * layouts.len());
    let programs = start(set_ups)?;
    let mut variants = Vec::new();
    for (slot, chunk) in layouts.iter().enumerate() {
        let file = Rc::new(MappedFile::new(&table, *chunk, &place)?);
        let k = chunk.records(table.records);
        for (program, set_up) in programs.iter().zip(set_ups) {
            program.borrow_mut().map(slot, &file, false).map_err(Error::Data)?;
            for (question, expected) in TpchQuery::ALL.into_iter().zip(answers) {
                for (walk, chunks) in walks(*chunk) {
                    let at = levels(&[
                        ("lineitem", &form.name()),
                        ("query", &question.name()),
                        ("layout", &chunk.name()),
                        ("chunks", &chunks),
                        ("setup", &set_up.name),
                    ]);
                    let measured = MeasuredLoop {
                        program: Rc::clone(program),
                        own: TpchLoop { form, question, walk }.name(),
                        slot,
                        records: (table.records, k),
                        expected,
                        file: Rc::clone(&file),
                        counters: None,
                    };
                    variants.push(measured.variant(bench.clock, at));
                }
            }
        }
    }
    Ok(variants)
}

/// The box of each layout of a form and a query, as overheads over the best of all, in times of it.
fn layout_boxes(context: &Context<'_>, form: LineItemForm, question: TpchQuery) -> Vec<(String, Quartiles)> {
    let at = |point: &&Point| point.level("lineitem") == form.name() && point.level("query") == question.name();
    let points: Vec<&Point> = context.findings.points.iter().filter(at).collect();
    let best = points.iter().filter_map(|point| median(point)).fold(f64::INFINITY, f64::min);
    let mut layouts: Vec<&str> = points.iter().map(|point| point.level("layout")).collect();
    layouts.sort_unstable();
    layouts.dedup();
    let of_layout = |layout: &str| {
        let own = points.iter().filter(|point| point.level("layout") == layout);
        let overheads: Vec<f64> = own.filter_map(|point| Some(median(point)? / best - 1.0)).collect();
        Some((layout.to_owned(), Quartiles::of(&overheads)?))
    };
    layouts.into_iter().filter_map(of_layout).collect()
}

/// Whether columns are the least of all layouts by some part of their boxes.
fn column_least(
    context: &Context<'_>,
    form: LineItemForm,
    question: TpchQuery,
    part: impl Fn(&Quartiles) -> f64,
) -> Option<(String, bool)> {
    let boxes = layout_boxes(context, form, question);
    let least = boxes.iter().min_by(|a, b| part(&a.1).total_cmp(&part(&b.1)))?;
    let (_, column) = boxes.iter().find(|(layout, _)| layout == "column")?;
    let percent = |of: &Quartiles| part(of) * 100.0;
    let figures = format!("column {:.1} %, {} {:.1} %", percent(column), least.0, percent(&least.1));
    Some((figures, least.0 == "column"))
}

fn width(of: &Quartiles) -> f64 {
    of.largest - of.smallest
}

static FIG10_CLAIMS: [Claim; 4] = [
    Claim {
        id: "fig10.plain_column",
        text: "Over plain lineitem columns are the fastest layout",
        place: "section 6.2",
        ours: Some("of the smallest median over set-ups, for both queries"),
        judge: |context| {
            let each = |question: TpchQuery| {
                let told = column_least(context, LineItemForm::Plain, question, |of| of.median);
                told.map(|(figures, met)| Expectation::plain(question.name(), figures, met))
            };
            Expectation::judge(TpchQuery::ALL.into_iter().filter_map(each).collect())
        },
    },
    Claim {
        id: "fig10.plain_least_fragile",
        text: "And the least fragile one",
        place: "section 6.2",
        ours: Some(
            "the largest median over set-ups less the smallest is less than for any other layout, for both queries",
        ),
        judge: |context| {
            let each = |question: TpchQuery| {
                let told = column_least(context, LineItemForm::Plain, question, width);
                told.map(|(figures, met)| Expectation::plain(question.name(), figures, met))
            };
            Expectation::judge(TpchQuery::ALL.into_iter().filter_map(each).collect())
        },
    },
    Claim {
        id: "fig10.compressed_narrower",
        text: "Over compressed lineitem the boxes of query 6 are 2 to 5 times narrower",
        place: "section 6.2",
        ours: Some("at least 2 times, of each layout; widths as parts of the best time"),
        judge: |context| {
            let plain = layout_boxes(context, LineItemForm::Plain, TpchQuery::Q6);
            let compressed = layout_boxes(context, LineItemForm::Compressed, TpchQuery::Q6);
            let each = |(layout, of): &(String, Quartiles)| {
                let (_, other) = compressed.iter().find(|(known, _)| known == layout)?;
                let times = width(of) / width(other);
                Some(Expectation::plain(format!("layout {layout}"), format!("{times:.2} times narrower"), times >= 2.0))
            };
            Expectation::judge(plain.iter().filter_map(each).collect())
        },
    },
    Claim {
        id: "fig10.compressed_column",
        text: "There columns are not the fastest layout for query 6",
        place: "section 6.2",
        ours: Some("by the medians over set-ups"),
        judge: |context| {
            let told = column_least(context, LineItemForm::Compressed, TpchQuery::Q6, |of| of.median);
            let told = told.map(|(figures, met): (String, bool)| Expectation::plain("Q6", figures, !met));
            Expectation::judge(told.into_iter().collect())
        },
    },
];

static TABLE4_CLAIMS: [Claim; 1] = [Claim {
    id: "table4.bytes",
    text: "Compressed, seven attributes of lineitem take fewer bytes: 10 instead of 107",
    place: "table 4",
    ours: None,
    judge: |_| -> Judgement {
        let [plain, compressed] = LineItemForm::ALL.map(LineItemForm::widths);
        let changed = || plain.iter().zip(&compressed).filter(|((_, plain), (_, compressed))| plain != compressed);
        let (before, after) =
            (changed().map(|(of, _)| of.1).sum::<usize>(), changed().map(|(_, of)| of.1).sum::<usize>());
        let figures = format!("{} attributes: {after} instead of {before}", changed().count());
        let met = changed().count() == 7 && before == 107 && after == 10;
        Expectation::judge(vec![Expectation::plain("lineitem", figures, met)])
    },
}];
