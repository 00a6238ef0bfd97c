//! Figures 8 and 9 (section 5): chunk sizes that are no powers of two, over two columns of char, and what the processor counts there.

use super::data::{Chunk, MappedFile, Values, folder};
use super::measured::{MeasuredLoop, layout_bytes, records, start};
use super::micro::{LOOP, QUESTIONS};
use super::setups::{CodeTarget, SetUp, set_ups};
use super::source::{Loop, LoopSource, MicroQuery, Schema, Walk};
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Mode, Point,
    Trial, Variant, levels, linear_fit,
};
use crate::machine::{PROCESS_EVENTS, ProcessCounters};
use crate::statistics::Summary;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

/// Figure 8.
pub static FIG8: Experiment = Experiment {
    name: "fragility.fig8",
    title: "Every second chunk size from 2 to 1024",
    place: "runtime-fragility paper, section 5.3, figure 8",
    about: "Q1 and Q2 over two columns of char, gcc -O2 (the first compiler here where there is no gcc), chunk sizes that the compiler \
            knows. The same random bytes are read in chunks of every size, which makes each a table of its own, with its own right answer. \
            The paper measured this on Sandy Bridge, whose first cache has banks that collide at strides of 64 bytes. Quick runs have \
            the sizes around some multiples of 64.",
    uses: &[],
    design,
    derive: None,
    figures: &FIGURES,
    claims: &FIG8_CLAIMS,
};

/// Figure 9.
pub static FIG9: Experiment = Experiment {
    name: "fragility.fig9",
    title: "Events beside the time of chunks of 448 to 512",
    place: "runtime-fragility paper, section 5.3, figure 9",
    about: "As fragility.fig8, between two of its spikes, with what the processor counts of the program's instructions and misses, where the \
            system grants counters. The paper counts 200 events of Sandy Bridge, of which three follow the time: bank conflicts of the first \
            cache, which no other processor has as an event, prefetches that miss it, and misses of the first TLB.",
    uses: &[],
    design: design_fig9,
    derive: None,
    figures: &FIGURES,
    claims: &FIG9_CLAIMS,
};

static FIGURES: [Figure; 1] = [Figure {
    title: "Time of a record",
    kind: FigureKind::Lines,
    x: "chunk",
    series: "query",
    panels: &[],
    metric: LOOP,
    axis: "cycles per record",
    only: &[],
}];

const COLUMNS: usize = 2;
const WINDOW: std::ops::RangeInclusive<usize> = 448..=512;
/// The stride at which the paper's processor has conflicts.
const PERIOD: usize = 64;

/// The chunk sizes that are measured.
fn sizes(mode: Mode) -> Vec<usize> {
    let all = (2..=1024).step_by(2);
    match mode {
        Mode::Quick | Mode::Tiny => {
            let near = |size: &usize| {
                let off = (size % PERIOD).min(PERIOD - size % PERIOD);
                [64, 128, 256, 448, 512, 960, 1024].iter().any(|at| size.abs_diff(*at) <= 12) && off.is_multiple_of(6)
                    || *size == 480
            };
            all.filter(near).collect()
        }
        Mode::Default | Mode::Full => all.collect(),
    }
}

fn own(question: MicroQuery, walk: Walk) -> Loop {
    Loop { schema: Schema::Char, columns: COLUMNS, question, walk }
}

fn design(bench: &Bench) -> Result<Design, Error> {
    design_of(bench, sizes(bench.settings.mode), false)
}

fn design_fig9(bench: &Bench) -> Result<Design, Error> {
    design_of(bench, WINDOW.step_by(2).collect(), true)
}

/// Some chunk sizes, rows and columns; counted, where that is wanted.
fn design_of(bench: &Bench, sizes: Vec<usize>, is_counted: bool) -> Result<Design, Error> {
    let walks = sizes.iter().map(|size| Walk::Chunks(*size)).chain([Walk::Row, Walk::Column]);
    let loops: Vec<Loop> = walks.flat_map(|walk| QUESTIONS.map(|question| own(question, walk))).collect();
    let (set_ups, mut notes) =
        set_ups(&loops, CodeTarget::Any, |compiler, level| level == 2 && compiler.name != "rustc")?;
    let place = folder(layout_bytes(bench));
    let names = || sizes.iter().map(ToString::to_string).chain(["row".to_owned(), "column".to_owned()]);
    let factors =
        vec![Factor::new("chunk", "records", names()), Factor::new("query", "", QUESTIONS.map(MicroQuery::name))];
    let Some(set_up) = set_ups.into_iter().next() else { return Ok(Design { factors, notes, ..Design::default() }) };
    notes.push(format!("compiled by {}", set_up.name));
    let trial = Trial {
        name: "char".to_owned(),
        setup: Box::new(move |bench| variants(bench, &sizes, is_counted, &set_up, &place)),
    };
    Ok(Design { factors, trials: vec![trial], notes, ..Design::default() })
}

fn variants(
    bench: &Bench,
    sizes: &[usize],
    is_counted: bool,
    set_up: &SetUp,
    place: &Path,
) -> Result<Vec<Variant>, Error> {
    let records = records(bench, COLUMNS);
    let values = Values::new(Schema::Char, COLUMNS, records, bench.settings.seed);
    let file = Rc::new(MappedFile::new(&values.table, Chunk::All, place)?);
    let bytes = values.table.concat();
    let program = &start(std::slice::from_ref(set_up))?[0];
    program.borrow_mut().map(0, &file, false).map_err(Error::Data)?;
    let counters = ProcessCounters::open(program.borrow().process()).filter(|_| is_counted);
    let counters = counters.map(|counters| Rc::new(RefCell::new(counters)));
    let mut variants = Vec::new();
    let walks = sizes.iter().map(|size| (size.to_string(), Walk::Chunks(*size), *size));
    let others = [("row".to_owned(), Walk::Row, 1), ("column".to_owned(), Walk::Column, records)];
    for (name, walk, size) in walks.chain(others) {
        let answers = answers(&bytes, size);
        for (question, expected) in QUESTIONS.into_iter().zip(answers) {
            let measured = MeasuredLoop {
                program: Rc::clone(program),
                own: own(question, walk).name(),
                slot: 0,
                records: (records, size),
                expected,
                file: Rc::clone(&file),
                counters: counters.clone(),
            };
            variants.push(measured.variant(bench.clock, levels(&[("chunk", &name), ("query", &question.name())])));
        }
    }
    Ok(variants)
}

/// The right answers of both queries over bytes that lie in chunks of two columns of so many records.
fn answers(bytes: &[u8], size: usize) -> [i64; 2] {
    let (mut least, mut sum) = (i64::MAX, 0_i64);
    for chunk in bytes.chunks(size * COLUMNS) {
        let (a, b) = chunk.split_at(chunk.len() / COLUMNS);
        for (a, b) in a.iter().zip(b) {
            let (a, b) = (i64::from(*a as i8), i64::from(*b as i8));
            least = least.min(a + b);
            sum += a * b;
        }
    }
    [least, sum]
}

/// The times of a query by chunk size.
fn line<'a>(context: &Context<'a>, query: MicroQuery) -> BTreeMap<usize, &'a Summary> {
    let points = context.findings.points.iter().filter(|point| point.level("query") == query.name());
    points.filter_map(|point| Some((point.level("chunk").parse().ok()?, point.summary(LOOP)?))).collect()
}

static FIG8_CLAIMS: [Claim; 2] = [
    Claim {
        id: "fig8.spikes",
        text: "There is a spike at every multiple of 64",
        place: "section 5.3: on Sandy Bridge",
        ours: Some("a spike: at least 5 % more than at the sizes 6 below and above; from 64 on"),
        judge: |context| {
            let mut expectations = Vec::new();
            for query in QUESTIONS {
                let line = line(context, query);
                for (size, time) in line.iter().filter(|(size, _)| size.is_multiple_of(PERIOD)) {
                    for beside in [size - 6, size + 6] {
                        let label = format!("{}, {size} and {beside}", query.name());
                        let rival = line.get(&beside);
                        expectations.extend(rival.map(|rival| Expectation::less(label, rival, time, 1.0 / 1.05)));
                    }
                }
            }
            Expectation::judge(expectations)
        },
    },
    Claim {
        id: "fig8.off_powers",
        text: "Q2 gains 20 % by chunk sizes that are no powers of 2",
        place: "section 5.3: on Sandy Bridge",
        ours: Some(
            "against the fastest power of 2 from 64 on, some other size from 64 on takes at most 0.85 of its time",
        ),
        judge: |context| {
            let line = line(context, MicroQuery::Product);
            let fastest = |is_power: bool| {
                let own = line.iter().filter(|(size, _)| **size >= PERIOD && size.is_power_of_two() == is_power);
                own.min_by(|a, b| a.1.mean.total_cmp(&b.1.mean))
            };
            let told = fastest(true).zip(fastest(false)).map(|((power, of_power), (other, of_other))| {
                Expectation::less(format!("chunks of {other} against {power}"), of_other, of_power, 0.85)
            });
            Expectation::judge(told.into_iter().collect())
        },
    },
];

/// Pearson's correlation of two samples.
fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let (slope, _, explained) = linear_fit(pairs);
    explained.sqrt() * slope.signum()
}

static FIG9_CLAIMS: [Claim; 1] = [Claim {
    id: "fig9.misses",
    text: "The time between two spikes follows the misses of the first cache or of the first TLB",
    place: "section 5.3, figure 9: on Sandy Bridge",
    ours: Some("follows: a correlation of at least 0.8 over chunk sizes, for each query"),
    judge: |context| {
        let mut expectations = Vec::new();
        for query in QUESTIONS {
            let own = || context.findings.points.iter().filter(|point| point.level("query") == query.name());
            let follows = |event: &'static str| {
                let pair = |point: &Point| Some((point.summary(LOOP)?.mean, point.summary(event)?.mean));
                let pairs: Vec<(f64, f64)> = own().filter_map(pair).collect();
                (pairs.len() > 2).then(|| (correlation(&pairs), event))
            };
            let misses = PROCESS_EVENTS[1..].iter().copied().filter_map(follows);
            let Some((most, event)) = misses.max_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
            let figures = format!("{most:.2} with {}", event.replace('_', " "));
            expectations.push(Expectation::plain(query.name(), figures, most >= 0.8));
        }
        if expectations.is_empty() {
            return Judgement::unknown("the processor's counters of cache and TLB misses are not granted here");
        }
        Expectation::judge(expectations)
    },
}];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_follow_the_chunks() {
        // Pairs (1, 3), (2, 4), then (5, 6) in the shorter last chunk.
        assert_eq!(answers(&[1, 2, 3, 4, 5, 6], 2), [4, 3 + 8 + 30]);
        assert_eq!(answers(&[1, 2, 3, 4, 5, 6], 3), [1 + 4, 4 + 10 + 18]);
        assert_eq!(answers(&[1, 2, 3, 4, 5, 6], 1), [3, 2 + 12 + 30]);
    }

    #[test]
    fn correlations_are_pearsons() {
        assert!((correlation(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)]) - 1.0).abs() < 1e-12);
        assert!((correlation(&[(1.0, 6.0), (2.0, 4.0), (3.0, 2.0)]) + 1.0).abs() < 1e-12);
        assert!(correlation(&[(1.0, 1.0), (2.0, 3.0), (3.0, 1.0)]).abs() < 1e-12);
    }

    #[test]
    fn quick_sizes_have_their_neighbours() {
        let sizes = sizes(Mode::Quick);
        assert!(
            [58, 64, 70, 442, 448, 454, 480, 506, 512, 518, 1018, 1024].iter().all(|size| sizes.contains(size)),
            "{sizes:?}"
        );
        assert!(sizes.len() < 40);
    }
}
