//! Figure 4: probing hash tables of all sizes, without and with prefetching, and with a key per lane of a register.

use super::probes::{GROUP, LOAD, Probe, ProbeSide};
use super::query;
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Mode, Point,
    Trial, Variant, levels,
};
use crate::machine::available_memory;
use crate::random::Random;
use gingham::storage::huge_vec;
use gingham_kernels::hash::HashFunction;
use gingham_kernels::key_table::{Entry, HashTable, Probing};
use std::rc::Rc;

/// The experiment.
pub static FIG4: Experiment = Experiment {
    name: "rof.fig4",
    title: "Probing hash tables of 1 MB to 1 GB",
    place: "relaxed operator fusion paper, figure 4 (section 3)",
    about: "A join of two columns of 32-bit keys: every key of the probe side is found once. The hash table has open addressing with \
            linear probing, entries of 4 + 4 bytes, half of them used, and Murmur3's 32-bit finaliser. Scalar, group prefetching and \
            vertical vectorisation are the paper's; software pipelining and AMAC are those that it names, match is ours. Groups, \
            pipelines and AMAC have 16 keys, the best of the paper's figure 16. One thread, where the paper had 20; table and output \
            in huge pages. The answer of every run is compared with the rows that the keys were drawn from.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        axis: "cycles per key",
        ..query::figure("Time of a probe", FigureKind::Bars, "table", "probing")
    }],
    claims: &CLAIMS,
};

/// The paper's ways, those that it names, and ours.
const PROBINGS: [Probing; 6] = [
    Probing::Scalar,
    Probing::Group(GROUP),
    Probing::Vertical,
    Probing::Pipelined(GROUP),
    Probing::Amac(GROUP),
    Probing::Match,
];

/// Keys that are probed.
fn probes(mode: Mode) -> usize {
    match mode {
        Mode::Tiny => 5000,
        Mode::Quick => 10_000_000,
        Mode::Default | Mode::Full => 100_000_000,
    }
}

/// Sizes of tables, in megabytes of 2^20 bytes.
fn sizes(mode: Mode) -> Vec<usize> {
    match mode {
        Mode::Tiny => vec![1, 2],
        Mode::Quick | Mode::Default => vec![1, 4, 16, 64, 256, 1024],
        Mode::Full => (0..=10).map(|power| 1 << power).collect(),
    }
}

fn design(bench: &Bench) -> Result<Design, Error> {
    let mode = bench.settings.mode;
    // Table, keys and positions of its rows; three columns of the probe side.
    let bytes = |megabytes: usize| 2.0 * (megabytes << 20) as f64 + 12.0 * probes(mode) as f64;
    let room = available_memory().map_or(f64::INFINITY, |bytes| bytes as f64 * 0.8);
    let (sizes, left_out): (Vec<_>, Vec<_>) = sizes(mode).into_iter().partition(|size| bytes(*size) <= room);
    if sizes.is_empty() {
        return Err(Error::Memory(format!("rof.fig4 needs {:.0} MB of memory", bytes(1) / 1e6)));
    }
    let note = |size: &usize| format!("no table of {size} MB: there is not the memory");
    let trial = |megabytes: usize| Trial {
        name: format!("a table of {megabytes} MB"),
        setup: Box::new(move |bench| Ok(variants(bench, megabytes))),
    };
    Ok(Design {
        factors: vec![Factor::new("table", "MB", &sizes), Factor::new("probing", "", PROBINGS.map(Probing::name))],
        notes: left_out.iter().map(note).collect(),
        trials: sizes.into_iter().map(trial).collect(),
        ..Design::default()
    })
}

/// The key of a row: different rows have different keys, spread over all 32-bit numbers.
fn key_of(row: u32) -> u32 {
    // Products by odd numbers and this exclusive or lose nothing. It is not the table's hash function.
    let mixed = row.wrapping_mul(0x9e37_79b1);
    (mixed ^ mixed >> 15).wrapping_mul(0x2c1b_3c6d)
}

fn variants(bench: &Bench, megabytes: usize) -> Vec<Variant> {
    let slots = (megabytes << 20) / size_of::<Entry<u32>>();
    let build_rows: Vec<u32> = (0..(slots as f64 * LOAD) as u32).collect();
    let build_keys: Vec<u32> = build_rows.iter().map(|row| key_of(*row)).collect();
    let memory = huge_vec(HashTable::<u32>::slots(build_keys.len(), LOAD));
    let table = HashTable::build(bench.isa(), HashFunction::Murmur3, LOAD, &build_keys, &build_rows, memory);
    let count = probes(bench.settings.mode);
    let random = Random::named(bench.settings.seed, &format!("probes of a table of {megabytes} MB"));
    let side = ProbeSide::new(random, count, build_rows.len(), key_of);
    let (bytes, isa, table) = (table.bytes() as f64, bench.isa(), Rc::new(table));
    let variant = |probing: Probing| {
        let (table, side) = (Rc::clone(&table), Rc::clone(&side));
        let locate = Box::new(move |keys: &[u32], links: &mut Vec<u32>| table.locate(isa, probing, keys, links));
        Variant {
            levels: levels(&[("table", &megabytes), ("probing", &probing.name())]),
            units: (count as f64, "key"),
            facts: vec![("bytes", bytes)],
            subject: Box::new(Probe { side, locate }),
        }
    };
    PROBINGS.into_iter().map(variant).collect()
}

/// Whether a table fits the last cache.
fn fits(context: &Context<'_>, point: &Point) -> bool {
    point.facts["bytes"] <= context.bench.machine.caches.last as f64
}

/// At every size that `wanted` names, one way to probe takes less than `factor` times the time of each of some others.
fn faster(
    context: &Context<'_>,
    probing: &str,
    others: &[&str],
    factor: f64,
    wanted: impl Fn(&Point) -> bool,
) -> Vec<Expectation> {
    let mut all = Vec::new();
    for point in context.findings.select(&[("probing", probing)]).filter(|point| wanted(point)) {
        for other in others {
            let rival = context.findings.beside(point, "probing", other).and_then(Point::time);
            if let (Some(time), Some(rival)) = (point.time(), rival) {
                let label = format!("{probing} and {other} at {} MB", point.level("table"));
                all.push(Expectation::less(label, time, rival, factor));
            }
        }
    }
    all
}

/// At the size where it gains most, group prefetching is at least `factor` times as fast as none.
fn gains_up_to(context: &Context<'_>, factor: f64) -> Judgement {
    let of_size = |point: &Point| {
        let none = context.findings.beside(point, "probing", "scalar").and_then(Point::time)?.clone();
        let group = point.time()?.clone();
        Some((none.mean / group.mean, point.level("table").to_string(), group, none))
    };
    let gains = context.findings.select(&[("probing", "group")]).filter_map(of_size);
    let most = gains.max_by(|a, b| a.0.total_cmp(&b.0));
    let expectation = most.map(|(gain, size, group, none)| {
        Expectation::less(format!("{gain:.2} times at {size} MB"), &group, &none, 1.0 / factor)
    });
    Expectation::judge(expectation.into_iter().collect())
}

static CLAIMS: [Claim; 8] = [
    Claim {
        id: "fig4.prefetch_best",
        text: "Group prefetching is faster than no prefetching and than vertical vectorisation, at every size",
        place: "section 3, figure 4",
        ours: None,
        judge: |context| Expectation::judge(faster(context, "group", &["scalar", "vertical"], 1.0, |_| true)),
    },
    Claim {
        id: "fig4.prefetch_gain",
        text: "Group prefetching is up to 1.2 times as fast as no prefetching",
        place: "section 3",
        ours: Some("up to: the best size's gain is at least so much"),
        judge: |context| gains_up_to(context, 1.2),
    },
    Claim {
        id: "fig4.vertical_loses_in_cache",
        text: "Vertical vectorisation is slower than group prefetching even where the table fits the cache",
        place: "section 3",
        ours: Some("the last cache"),
        judge: |context| Expectation::judge(faster(context, "group", &["vertical"], 1.0, |point| fits(context, point))),
    },
    Claim {
        id: "fig4.vertical_loses_in_memory",
        text: "Where the table does not fit the cache, vertical vectorisation is slower than either scalar way",
        place: "section 3",
        ours: Some("the last cache"),
        judge: |context| {
            let in_memory = |point: &Point| !fits(context, point);
            let each = ["scalar", "group"].map(|way| faster(context, way, &["vertical"], 1.0, in_memory));
            Expectation::judge(each.into_iter().flatten().collect())
        },
    },
    Claim {
        id: "fig4.pipelined_little",
        text: "Software pipelining brings little over group prefetching",
        place: "section 4.3",
        ours: Some("little: group prefetching takes less than 1.1 times its time, at every size"),
        judge: |context| Expectation::judge(faster(context, "group", &["pipelined"], 1.1, |_| true)),
    },
    Claim {
        id: "fig4.amac_nothing",
        text: "With open addressing AMAC brings nothing over group prefetching",
        place: "section 4.3",
        ours: Some("nothing: group prefetching takes less than 1.05 times its time, at every size"),
        judge: |context| Expectation::judge(faster(context, "group", &["amac"], 1.05, |_| true)),
    },
    Claim {
        id: "fig4.match_best",
        text: "Matching the home slots of whole vectors is faster than all other ways, at every size",
        place: "not in the paper",
        ours: Some("the claim is ours"),
        judge: |context| {
            let others = ["scalar", "group", "vertical", "pipelined", "amac"];
            Expectation::judge(faster(context, "match", &others, 1.0, |_| true))
        },
    },
    Claim {
        id: "fig4.match_twice",
        text: "It is at least 1.5 times as fast as group prefetching, at every size",
        place: "not in the paper",
        ours: Some("the claim is ours"),
        judge: |context| Expectation::judge(faster(context, "match", &["group"], 1.0 / 1.5, |_| true)),
    },
];
