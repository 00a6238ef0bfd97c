//! Figures 12 and 19: conjunctions and disjunctions in several ways (sections 3.1.2 and 4.1.3, appendix E).

use super::expect::NOT_COUNTED;
use super::scan::{compare_bits, footprint, format, poison, test};
use crate::data::{Codes, PackedColumn};
use crate::experiment::{
    Bench, Claim, Context, Design, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Laps, Point, Sizing,
    Subject, Trial, Variant, levels,
};
use crate::random::Random;
use gingham_kernels::lab::variants::scan_expanded;
use gingham_kernels::packing::{
    Combine, Connective, Operator, Options, Packing, Predicate, Test, Way, evaluate, scan as scan_column,
};
use gingham_kernels::{Isa, bits};
use std::cell::RefCell;
use std::rc::Rc;

/// Figure 12.
pub static FIG12: Experiment = Experiment {
    name: "byteslice.fig12",
    title: "Conjunctions",
    place: "ByteSlice paper, section 4.1.3, figure 12",
    about: "a < c1 AND b > c2 over two columns of evenly distributed 12-bit codes; b > c2 selects 50 %, a < c1 from 50 to 0.1 %. Baseline: \
            two scans and an AND of their bit vectors. Column-first: the second scan is told the bits of the first. Predicate-first: both over 64 \
            rows, then the next. Inverse movemask and mask registers: column-first with the bits expanded to a mask.",
    uses: &[],
    design: |bench| Ok(design(bench, Connective::And)),
    derive: None,
    figures: &[FIGURE, Figure { title: "Cache misses", metric: "cache_misses", axis: "misses per tuple", ..FIGURE }],
    claims: &[
        Claim {
            id: "fig12.column_first",
            text: "Column-first is the fastest way of a conjunction of ByteSlice columns at every selectivity",
            place: "section 4.1.3",
            ours: None,
            judge: column_first,
        },
        Claim {
            id: "fig12.selective_helps",
            text: "The more selective the first predicate, the faster the conjunction, column-first",
            place: "section 4.1.3",
            ours: Some("0.1 % against 50 %"),
            judge: |context| selective(context, "0.1", "50"),
        },
        Claim {
            id: "fig12.predicate_first",
            text: "Predicate-first is not fruitful: it is slower than column-first",
            place: "section 4.1.3",
            ours: None,
            judge: |context| Expectation::judge(faster(context, COLUMN_FIRST, &["byteslice predicate-first"])),
        },
        Claim {
            id: "fig12.cache_misses",
            text: "Predicate-first misses the cache more often than column-first",
            place: "section 4.1.3, figure 12b",
            ours: None,
            judge: cache_misses,
        },
        Claim {
            id: "fig12.inverse_movemask",
            text: "Expanding the first predicate's bits by an inverse movemask costs what early stop gains",
            place: "section 3.1.2",
            ours: Some("it is slower than condensing the mask, both under AVX2"),
            judge: |context| {
                let condensed = if context.bench.isa() > Isa::Avx2 { COLUMN_FIRST_AVX2 } else { COLUMN_FIRST };
                Expectation::judge(faster(context, condensed, &[INVERSE_MOVEMASK]))
            },
        },
    ],
};

/// Figure 19.
pub static FIG19: Experiment = Experiment {
    name: "byteslice.fig19",
    title: "Disjunctions",
    place: "ByteSlice paper, appendix E, figure 19",
    about: "a < c1 OR b > c2, otherwise as byteslice.fig12; a < c1 selects from 10 to 99.9 %.",
    uses: &[],
    design: |bench| Ok(design(bench, Connective::Or)),
    derive: None,
    figures: &[FIGURE, Figure { title: "Cache misses", metric: "cache_misses", axis: "misses per tuple", ..FIGURE }],
    claims: &[
        Claim {
            id: "fig19.column_first",
            text: "Column-first is the fastest way of a disjunction of ByteSlice columns at every selectivity",
            place: "appendix E",
            ours: None,
            judge: column_first,
        },
        Claim {
            id: "fig19.unselective_helps",
            text: "The more the first predicate selects, the faster the disjunction, column-first",
            place: "appendix E",
            ours: Some("99.9 % against 10 %"),
            judge: |context| selective(context, "99.9", "10"),
        },
    ],
};

const FIGURE: Figure = Figure {
    title: "Time of both predicates",
    kind: FigureKind::Bars,
    x: "selectivity",
    series: "way",
    panels: &["size"],
    metric: "time",
    axis: "cycles per tuple",
    only: &[],
};

const WIDTH: u8 = 12;
/// The part that the second predicate selects.
const SECOND: f64 = 0.5;

/// Percent that the first predicate selects, in the order of the paper's axis.
fn selectivities(connective: Connective) -> &'static [f64] {
    match connective {
        Connective::Or => &[10.0, 50.0, 90.0, 95.0, 99.0, 99.9],
        Connective::And => &[50.0, 10.0, 5.0, 1.0, 0.1],
    }
}

/// How the second predicate meets the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meeting {
    /// One of the paper's three ways.
    Way(Way),
    /// Column-first, but the first predicate's bits are expanded to the mask that comparisons start from: by the inverse
    /// movemask of figure 7 under AVX2, by mask registers under AVX-512.
    Expanded,
}

/// One line of the figure.
struct FigureLine {
    packing: Packing,
    meeting: Meeting,
    isa: Isa,
    name: &'static str,
}

/// Names of lines that claims speak of.
const COLUMN_FIRST: &str = "byteslice column-first";
const COLUMN_FIRST_AVX2: &str = "byteslice column-first, AVX2";
const INVERSE_MOVEMASK: &str = "byteslice inverse movemask, AVX2";

/// The lines that this machine can draw. ByteSlice and VBP can use the first predicate's bits to stop early; the other
/// packings are for reference.
fn lines(best: Isa) -> Vec<FigureLine> {
    let of = |name, packing, meeting, isa| {
        let here = Packing::parse(packing).filter(|_| isa <= best);
        here.map(|packing| FigureLine { packing, meeting, isa, name })
    };
    let (baseline, column_first) = (Meeting::Way(Way::Baseline), Meeting::Way(Way::ColumnFirst));
    let mut all = vec![
        of("bit_packed", "bit_packed", baseline, best),
        of("hbp", "hbp", baseline, best),
        of("vbp column-first", "vbp", column_first, best),
        of("byteslice baseline", "byteslice", baseline, best),
        of(COLUMN_FIRST, "byteslice", column_first, best),
        of("byteslice predicate-first", "byteslice", Meeting::Way(Way::PredicateFirst), best),
        of(INVERSE_MOVEMASK, "byteslice", Meeting::Expanded, Isa::Avx2),
    ];
    // What the other instruction set's variant is held against, and AVX-512's own.
    if best > Isa::Avx2 {
        all.push(of(COLUMN_FIRST_AVX2, "byteslice", column_first, Isa::Avx2));
        all.push(of("byteslice mask registers", "byteslice", Meeting::Expanded, Isa::Avx512));
    }
    all.into_iter().flatten().collect()
}

fn design(bench: &Bench, connective: Connective) -> Design {
    let sizes = [Sizing::Memory, Sizing::Cache];
    let trials = sizes.into_iter().map(|sizing| Trial {
        name: sizing.name().to_string(),
        setup: Box::new(move |bench: &Bench| Ok(variants(bench, sizing, connective))),
    });
    let factors = vec![
        Factor::new("size", "", sizes.map(Sizing::name)),
        Factor::new("selectivity", "%", selectivities(connective)),
        Factor::new("way", "", lines(bench.isa()).into_iter().map(|line| line.name)),
    ];
    let notes = match bench.machine.isa {
        Isa::Scalar => vec!["plain kernels only: early stop is not worth its branches there".to_string()],
        _ => Vec::new(),
    };
    Design { factors, trials: trials.collect(), notes, ..Design::default() }
}

fn variants(bench: &Bench, sizing: Sizing, connective: Connective) -> Vec<Variant> {
    let mut packings: Vec<Packing> = lines(bench.isa()).into_iter().map(|line| line.packing).collect();
    packings.dedup();
    let rows = bench.rows(sizing, WIDTH, 2.0 * footprint(WIDTH, &packings, 1 + selectivities(connective).len()));
    let codes = ["a", "b"].map(|column| Codes::uniform(WIDTH, rows, &mut Random::named(bench.settings.seed, column)));
    let isa = bench.isa();
    let columns = |packing: Packing| {
        Rc::new([0, 1].map(|column: usize| PackedColumn::new(isa, format(packing, WIDTH), &codes[column])))
    };
    let packed: Vec<(Packing, Rc<[PackedColumn; 2]>)> =
        packings.iter().map(|packing| (*packing, columns(*packing))).collect();
    let second = test(Operator::Greater, WIDTH, SECOND);
    let of_second = codes[1].select(second);
    let out = Rc::new(RefCell::new(vec![0; bits::words(rows)]));
    let mut variants = Vec::new();
    for percent in selectivities(connective) {
        let first = test(Operator::Less, WIDTH, percent / 100.0);
        let mut expected = codes[0].select(first);
        let together = |(first, second): (&mut u64, &u64)| match connective {
            Connective::Or => *first |= second,
            Connective::And => *first &= second,
        };
        expected.iter_mut().zip(&of_second).for_each(together);
        let expected = Rc::new(expected);
        for line in lines(isa) {
            let columns = packed.iter().find(|(known, _)| *known == line.packing).expect("packed above");
            variants.push(Variant {
                levels: levels(&[("size", &sizing.name()), ("selectivity", percent), ("way", &line.name)]),
                units: (rows as f64, "tuple"),
                facts: vec![("rows", rows as f64)],
                subject: Box::new(Both {
                    isa: line.isa,
                    columns: Rc::clone(&columns.1),
                    tests: [first, second],
                    connective,
                    meeting: line.meeting,
                    out: Rc::clone(&out),
                    expected: Rc::clone(&expected),
                }),
            });
        }
    }
    variants
}

/// Two predicates in one way.
struct Both {
    isa: Isa,
    columns: Rc<[PackedColumn; 2]>,
    tests: [Test; 2],
    connective: Connective,
    meeting: Meeting,
    out: Rc<RefCell<Vec<u64>>>,
    expected: Rc<Vec<u64>>,
}

impl Subject for Both {
    fn prepare(&mut self) {
        poison(&mut self.out.borrow_mut(), &self.expected);
    }

    fn run(&mut self, _: &mut Laps) {
        let out = &mut *self.out.borrow_mut();
        let columns = [self.columns[0].packed(), self.columns[1].packed()];
        match self.meeting {
            Meeting::Way(way) => {
                let predicate =
                    |place: usize| Predicate { column: columns[place], test: self.tests[place], validity: None };
                let both = [predicate(0), predicate(1)];
                evaluate(self.isa, columns[0].rows(), &both, self.connective, way, true, out);
            }
            Meeting::Expanded => {
                let combine = match self.connective {
                    Connective::And => Combine::And,
                    Connective::Or => Combine::Or,
                };
                scan_column(self.isa, columns[0], self.tests[0], Options::default(), out);
                scan_expanded(self.isa, columns[1], self.tests[1], combine, out);
            }
        }
    }

    fn check(&mut self) -> Result<(), String> {
        compare_bits(&self.out.borrow(), &self.expected)
    }
}

/// At every selectivity in memory, one way is faster than each of some others.
fn faster(context: &Context<'_>, way: &str, others: &[&str]) -> Vec<Expectation> {
    let mut all = Vec::new();
    let points = context.findings.points.iter();
    for point in points.filter(|point| point.level("size") == "memory" && point.level("way") == way) {
        for other in others {
            let rival = context.findings.beside(point, "way", other).and_then(Point::time);
            if let (Some(ours), Some(theirs)) = (point.time(), rival) {
                let label = format!("{way} and {other} at {} %", point.level("selectivity"));
                all.push(Expectation::less(label, ours, theirs, 1.0));
            }
        }
    }
    all
}

/// ByteSlice's column-first beats its baseline and predicate-first.
fn column_first(context: &Context<'_>) -> Judgement {
    Expectation::judge(faster(context, COLUMN_FIRST, &["byteslice baseline", "byteslice predicate-first"]))
}

/// Judged where the processor or valgrind counts them.
fn cache_misses(context: &Context<'_>) -> Judgement {
    let misses = |way: &str, point: &Point| {
        context.findings.beside(point, "way", way).and_then(|point| point.summary("cache_misses")).cloned()
    };
    let mut all = Vec::new();
    for point in context.findings.select(&[("size", "memory"), ("way", COLUMN_FIRST)]) {
        let both = (misses(COLUMN_FIRST, point), misses("byteslice predicate-first", point));
        if let (Some(column_first), Some(predicate_first)) = both {
            let label = format!("{} %", point.level("selectivity"));
            all.push(Expectation::less(label, &column_first, &predicate_first, 1.0));
        }
    }
    if all.is_empty() {
        return Judgement::unknown(NOT_COUNTED);
    }
    Expectation::judge(all)
}

/// ByteSlice, column-first, in memory: one selectivity is faster than another.
fn selective(context: &Context<'_>, faster: &str, slower: &str) -> Judgement {
    let at = [("size", "memory"), ("way", COLUMN_FIRST), ("selectivity", faster)];
    let point = context.findings.points.iter().find(|point| at.iter().all(|(f, level)| point.level(f) == *level));
    let rival = point.and_then(|point| context.findings.beside(point, "selectivity", slower)).and_then(Point::time);
    let all = match (point.and_then(Point::time), rival) {
        (Some(a), Some(b)) => vec![Expectation::less(format!("{faster} % and {slower} %"), a, b, 1.0)],
        _ => Vec::new(),
    };
    Expectation::judge(all)
}
