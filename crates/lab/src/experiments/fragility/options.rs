//! Remarks of the paper beside its figures, and two things that it leaves out: a minimum without a branch (footnote 1), chunks of more than
//! 2^16 records (section 4), code for this very processor, and huge pages.

use super::data::{Chunk, MappedFile, Values, folder};
use super::measured::{MeasuredLoop, layout_bytes, records, start};
use super::micro::{LOOP, schemas};
use super::setups::{CodeTarget, SetUp, checked, checks};
use super::source::{Loop, LoopSource, MicroQuery, Schema, Walk};
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Point, Trial,
    Variant, levels,
};
use crate::statistics::Summary;
use std::path::Path;
use std::rc::Rc;

/// The experiment.
pub static OPTIONS: Experiment = Experiment {
    name: "fragility.options",
    title: "No branch, larger chunks, code for this processor, huge pages",
    place: "runtime-fragility paper, footnote 1 and section 4; the last two are ours",
    about: "As fragility.fig4, over rows, columns and some chunk sizes that are given at run time: Q1 with the minimum made by masks; chunks of \
            2^16 to 2^20 records; programs compiled for this very processor; and data that each program copies to memory for which it \
            asks for huge pages (the fact huge_mb is what it had).",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Time of a record",
        kind: FigureKind::Bars,
        x: "layout",
        series: "option",
        panels: &["schema", "query", "setup"],
        metric: LOOP,
        axis: "cycles per record",
        only: &[],
    }],
    claims: &CLAIMS,
};

const PLAIN: &str = "as the paper";
const NO_BRANCH: &str = "no branch";
const NATIVE: &str = "this processor";
const HUGE: &str = "huge pages";
const COLUMNS: usize = 4;
/// The largest chunk of the figures, and larger ones.
const LARGE: [usize; 3] = [1 << 16, 1 << 18, 1 << 20];
const LAYOUTS: [Chunk; 6] =
    [Chunk::Of(1), Chunk::Of(1024), Chunk::Of(LARGE[0]), Chunk::Of(LARGE[1]), Chunk::Of(LARGE[2]), Chunk::All];

fn walk(chunk: Chunk) -> Walk {
    match chunk {
        Chunk::Of(1) => Walk::Row,
        Chunk::Of(_) => Walk::AnyChunks,
        Chunk::All => Walk::Column,
    }
}

/// The questions of an option, and whether it is measured over a layout.
fn questions(option: &str, chunk: Chunk) -> &'static [MicroQuery] {
    let is_large = matches!(chunk, Chunk::Of(k) if k >= LARGE[0]);
    match option {
        PLAIN => &[MicroQuery::Min, MicroQuery::Product],
        _ if is_large => &[],
        NO_BRANCH => &[MicroQuery::BranchFreeMin],
        _ => &[MicroQuery::Min, MicroQuery::Product],
    }
}

fn loops(bench: &Bench) -> Vec<Loop> {
    let mut loops = Vec::new();
    for schema in schemas(bench) {
        for question in [MicroQuery::Min, MicroQuery::Product, MicroQuery::BranchFreeMin] {
            for walk in [Walk::Row, Walk::Column, Walk::AnyChunks] {
                loops.push(Loop { schema, columns: COLUMNS, question, walk });
            }
        }
    }
    loops
}

fn design(bench: &Bench) -> Result<Design, Error> {
    let loops = loops(bench);
    let checks = checks(&loops)?;
    let (plain, mut notes) = checked(&loops, &checks, CodeTarget::Any, |_, _| true);
    let (native, of_native) = checked(&loops, &checks, CodeTarget::Native, |_, _| true);
    notes.extend(
        of_native
            .into_iter()
            .filter(|note| !notes.contains(note))
            .map(|note| format!("{note} (for this processor)"))
            .collect::<Vec<_>>(),
    );
    // Only set-ups that compile both ways are shown.
    let both: Vec<(SetUp, SetUp)> = plain
        .into_iter()
        .filter_map(|plain| Some((plain.clone(), native.iter().find(|native| native.name == plain.name)?.clone())))
        .collect();
    let place = folder(layout_bytes(bench) * LAYOUTS.len());
    let trial = |schema: Schema| {
        let (both, place) = (both.clone(), place.clone());
        Trial { name: schema.name().to_owned(), setup: Box::new(move |bench| variants(bench, schema, &both, &place)) }
    };
    let trials = if both.is_empty() { Vec::new() } else { schemas(bench).into_iter().map(trial).collect() };
    Ok(Design {
        factors: vec![
            Factor::new("schema", "", schemas(bench).into_iter().map(Schema::name)),
            Factor::new("query", "", [MicroQuery::Min, MicroQuery::Product].map(MicroQuery::name)),
            Factor::new("layout", "records of a chunk", LAYOUTS.map(Chunk::name)),
            Factor::new("option", "", [PLAIN, NO_BRANCH, NATIVE, HUGE]),
            Factor::new("setup", "", both.iter().map(|(plain, _)| plain.name.clone())),
        ],
        trials,
        notes,
        ..Design::default()
    })
}

fn variants(bench: &Bench, schema: Schema, set_ups: &[(SetUp, SetUp)], place: &Path) -> Result<Vec<Variant>, Error> {
    let records = records(bench, COLUMNS * schema.bytes());
    let values = Values::new(schema, COLUMNS, records, bench.settings.seed);
    let (plain, native): (Vec<SetUp>, Vec<SetUp>) = set_ups.iter().cloned().unzip();
    let (plain_programs, native_programs) = (start(&plain)?, start(&native)?);
    let mut variants = Vec::new();
    for (slot, chunk) in LAYOUTS.into_iter().enumerate() {
        let file = Rc::new(MappedFile::new(&values.table, chunk, place)?);
        let k = chunk.records(records);
        for (place, set_up) in plain.iter().enumerate() {
            for option in [PLAIN, NO_BRANCH, NATIVE, HUGE] {
                let questions = questions(option, chunk);
                if questions.is_empty() {
                    continue;
                }
                let programs = if option == NATIVE { &native_programs } else { &plain_programs };
                let program = &programs[place];
                let slot = slot + if option == HUGE { LAYOUTS.len() } else { 0 };
                // Without a branch, it is the program and the data of the loops as the paper has them.
                let map = || program.borrow_mut().map(slot, &file, option == HUGE).map_err(Error::Data);
                let huge = if option == NO_BRANCH { 0 } else { map()? };
                for question in questions {
                    let shown = if *question == MicroQuery::BranchFreeMin { MicroQuery::Min } else { *question };
                    let at = levels(&[
                        ("schema", &schema.name()),
                        ("query", &shown.name()),
                        ("layout", &chunk.name()),
                        ("option", &option),
                        ("setup", &set_up.name),
                    ]);
                    let own = Loop { schema, columns: COLUMNS, question: *question, walk: walk(chunk) }.name();
                    let measured = MeasuredLoop {
                        program: Rc::clone(program),
                        own,
                        slot,
                        records: (records, k),
                        expected: values.answer(*question),
                        file: Rc::clone(&file),
                        counters: None,
                    };
                    let mut variant = measured.variant(bench.clock, at);
                    if option == HUGE {
                        variant.facts.push(("huge_mb", huge as f64 / 1024.0));
                    }
                    variants.push(variant);
                }
            }
        }
    }
    Ok(variants)
}

/// An expectation of an option's time and that as the paper has it, at each place.
fn against_plain(
    context: &Context<'_>,
    option: &str,
    expectation: impl Fn(String, &Summary, &Summary) -> Expectation,
) -> Judgement {
    let each = |point: &Point| {
        let plain = context.findings.beside(point, "option", PLAIN)?;
        Some(expectation(point.label(&["option"]), point.summary(LOOP)?, plain.summary(LOOP)?))
    };
    let own = context.findings.points.iter().filter(|point| point.level("option") == option);
    Expectation::judge(own.filter_map(each).collect())
}

static CLAIMS: [Claim; 3] = [
    Claim {
        id: "options.branch_free",
        text: "A minimum without a branch is slower",
        place: "section 2, footnote 1: consistently",
        ours: None,
        judge: |context| {
            against_plain(context, NO_BRANCH, |label, masked, branch| Expectation::less(label, branch, masked, 1.0))
        },
    },
    Claim {
        id: "options.large_chunks",
        text: "Chunks of more than 2^16 records take no other time than those of 2^16",
        place: "section 4",
        ours: Some("within 10 %"),
        judge: |context| {
            let [first, larger @ ..] = LARGE.map(|k| k.to_string());
            let each = |point: &Point| {
                let base = context.findings.beside(point, "layout", &first)?;
                let label = point.label(&["option"]);
                Some(Expectation::alike(label, point.summary(LOOP)?, base.summary(LOOP)?, 1.1))
            };
            let own = context.findings.points.iter().filter(|point| larger.iter().any(|k| point.level("layout") == k));
            Expectation::judge(own.filter_map(each).collect())
        },
    },
    Claim {
        id: "options.native",
        text: "Code for this very processor is not slower",
        place: "not in the paper",
        ours: Some("the claim is ours: at most 1.05 times the time"),
        judge: |context| {
            against_plain(context, NATIVE, |label, native, plain| Expectation::less(label, native, plain, 1.05))
        },
    },
];
