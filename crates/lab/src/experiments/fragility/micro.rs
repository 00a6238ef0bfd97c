//! The micro-benchmark (sections 2 and 4): every layout, compiled by every set-up, with chunks that the compiler knows or that it does
//! not.

use super::data::{Chunk, MappedFile, Values, folder};
use super::measured::{MeasuredLoop, layout_bytes, records, start};
use super::setups::{CodeTarget, SetUp, set_ups};
use super::source::{Loop, LoopSource, MicroQuery, Schema, Walk};
use crate::experiment::{Bench, Context, Design, Error, Factor, Mode, Point, Trial, Variant, levels};
use crate::machine::available_memory;
use std::rc::Rc;

/// The largest chunk: above it the paper found no difference.
const MOST: u32 = 16;
/// Columns of the schemas.
const COLUMNS: usize = 4;
/// The queries.
pub const QUESTIONS: [MicroQuery; 2] = [MicroQuery::Min, MicroQuery::Product];

/// How a loop knows its chunks: the levels of the factor `chunks`.
pub const OWN: &str = "own loop";
/// The compiler knows them.
pub const CONSTANT: &str = "constant";
/// They are given when the loop is called.
pub const RUN_TIME: &str = "run time";

/// Chunk sizes that are measured.
fn sizes(bench: &Bench) -> Vec<usize> {
    match bench.settings.mode {
        Mode::Quick => vec![1, 2, 16, 256, 1024, 4096, 1 << MOST],
        _ => (0..=MOST).map(|power| 1 << power).collect(),
    }
}

/// Schemas that are measured.
pub fn schemas(bench: &Bench) -> Vec<Schema> {
    if bench.settings.mode == Mode::Quick { vec![Schema::Char] } else { Schema::ALL.to_vec() }
}

/// Layouts, by name, in their order.
pub fn layouts(bench: &Bench) -> Vec<Chunk> {
    sizes(bench).into_iter().map(Chunk::Of).chain([Chunk::All]).collect()
}

/// The loops over a layout, and how each knows its chunks.
fn walks(chunk: Chunk) -> Vec<(Walk, &'static str)> {
    match chunk {
        Chunk::All => vec![(Walk::Column, OWN)],
        Chunk::Of(1) => vec![(Walk::Row, OWN), (Walk::AnyChunks, RUN_TIME)],
        Chunk::Of(k) => vec![(Walk::Chunks(k), CONSTANT), (Walk::AnyChunks, RUN_TIME)],
    }
}

fn loops(bench: &Bench) -> Vec<Loop> {
    let mut loops = Vec::new();
    for schema in schemas(bench) {
        for question in QUESTIONS {
            let walks = layouts(bench).into_iter().flat_map(walks).map(|(walk, _)| walk);
            loops.extend(walks.map(|walk| Loop { schema, columns: COLUMNS, question, walk }));
        }
    }
    loops.sort_unstable();
    loops.dedup();
    loops
}

/// Lays the benchmark out.
pub fn design(bench: &Bench) -> Result<Design, Error> {
    let (set_ups, mut notes) = set_ups(&loops(bench), CodeTarget::Any, |_, _| true)?;
    let layouts = layouts(bench);
    let factors = vec![
        Factor::new("schema", "", schemas(bench).into_iter().map(Schema::name)),
        Factor::new("query", "", QUESTIONS.map(MicroQuery::name)),
        Factor::new("layout", "records of a chunk", layouts.iter().map(|chunk| chunk.name())),
        Factor::new("chunks", "", [OWN, CONSTANT, RUN_TIME]),
        Factor::new("setup", "", set_ups.iter().map(|set_up| set_up.name.clone())),
    ];
    if set_ups.is_empty() {
        return Ok(Design { factors, notes, ..Design::default() });
    }
    // Layouts of a schema are compared within a trial, where they fit memory together.
    let all = layout_bytes(bench) * layouts.len();
    let fits = available_memory().is_none_or(|free| all as u64 <= free / 4 * 3);
    let parts: Vec<Vec<Chunk>> =
        if fits { vec![layouts] } else { layouts.into_iter().map(|chunk| vec![chunk]).collect() };
    let bytes = layout_bytes(bench) * parts[0].len();
    let place = folder(bytes);
    notes.push(format!(
        "{} MB a layout, in {} where that has room (the fact where_asked), small pages asked for",
        layout_bytes(bench) >> 20,
        place.display()
    ));
    if !fits {
        notes.push("the layouts of a schema don't fit memory together: each is a trial of its own".to_owned());
    }
    let mut trials = Vec::new();
    for schema in schemas(bench) {
        for part in &parts {
            let (part, set_ups, place) = (part.clone(), set_ups.clone(), place.clone());
            trials.push(Trial {
                name: schema.name().to_owned(),
                setup: Box::new(move |bench| variants(bench, schema, &part, &set_ups, &place)),
            });
        }
    }
    Ok(Design { factors, trials, notes, ..Design::default() })
}

fn variants(
    bench: &Bench,
    schema: Schema,
    layouts: &[Chunk],
    set_ups: &[SetUp],
    place: &std::path::Path,
) -> Result<Vec<Variant>, Error> {
    let records = records(bench, COLUMNS * schema.bytes());
    let values = Values::new(schema, COLUMNS, records, bench.settings.seed);
    let answers = QUESTIONS.map(|question| values.answer(question));
    let programs = start(set_ups)?;
    let mut variants = Vec::new();
    for (slot, chunk) in layouts.iter().enumerate() {
        let file = Rc::new(MappedFile::new(&values.table, *chunk, place)?);
        let k = chunk.records(records);
        for (program, set_up) in programs.iter().zip(set_ups) {
            program.borrow_mut().map(slot, &file, false).map_err(Error::Data)?;
            for (question, expected) in QUESTIONS.into_iter().zip(answers) {
                for (walk, chunks) in walks(*chunk) {
                    let at = levels(&[
                        ("schema", &schema.name()),
                        ("query", &question.name()),
                        ("layout", &chunk.name()),
                        ("chunks", &chunks),
                        ("setup", &set_up.name),
                    ]);
                    let measured = MeasuredLoop {
                        program: Rc::clone(program),
                        own: Loop { schema, columns: COLUMNS, question, walk }.name(),
                        slot,
                        records: (records, k),
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

/// The metric of loops.
pub const LOOP: &str = "loop";

/// The median of a point's loop.
pub fn median(point: &Point) -> Option<f64> {
    point.summary(LOOP).map(|summary| summary.median)
}

/// The points of a schema and a query.
pub fn cell<'a>(context: &Context<'a>, schema: &str, query: &str) -> Vec<&'a Point> {
    let at =
        |point: &&Point| point.level("schema") == schema && point.level("query") == query && median(point).is_some();
    context.findings.points.iter().filter(at).collect()
}

/// The pairs of a schema and a query that were measured.
pub fn cells(context: &Context<'_>) -> Vec<(&'static str, &'static str)> {
    let all = Schema::ALL.into_iter().flat_map(|schema| QUESTIONS.map(|query| (schema.name(), query.name())));
    all.filter(|(schema, query)| !cell(context, schema, query).is_empty()).collect()
}

/// A point by what it differs in from the others of its schema and query.
pub fn label(point: &Point) -> String {
    let (layout, chunks) = (point.level("layout"), point.level("chunks"));
    let layout = match layout.parse::<usize>() {
        Ok(k) => format!("chunks of {k}, {chunks}"),
        Err(_) if chunks == OWN => layout.to_owned(),
        Err(_) => format!("{layout}, {chunks}"),
    };
    format!("{layout}, {}", point.level("setup"))
}
