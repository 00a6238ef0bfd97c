//! Cache misses of the paper's operators on simulated processors: those of the paper, by their caches, as few machines grant
//! counters. Valgrind's callgrind runs the same variants that a test runs; what it counted becomes stall time by the
//! paper's latencies (section 6.2.1). It knows no prefetching and no overlapping of misses: these are upper bounds.

use super::expect;
use super::relation::{DEGREE, Relation};
use crate::experiment::{
    Bench, Design, Error, Factor, Laps, Measured, Mode, Point, Subject, Trial, Variant, levels, simulate,
};
use crate::machine::callgrind::{self, Cache, Events, Hierarchy};
use crate::random::Random;
use gingham::storage::model::HeapLayout;
use serde_json::Value;
use std::rc::Rc;

/// Cycles that a miss of the first level costs the Xeon, when the second has the line.
const FIRST_MISS: f64 = 10.0;
/// Cycles that a miss of the second level costs it: 70 to 80.
const SECOND_MISS: f64 = 75.0;
/// Instructions that it retires in a cycle at most.
const RETIRED: f64 = 3.0;
/// Bytes that are read to empty the caches: twice the largest one.
const EMPTIED: usize = 8 << 20;
/// Bytes of the shortest lines.
const SHORTEST_LINE: usize = 32;

/// A processor of the paper, as far as its caches go.
#[derive(Debug, Clone, Copy)]
pub struct Platform {
    /// What the paper calls it.
    pub name: &'static str,
    caches: Hierarchy,
}

/// The platform of variants that run and are not simulated.
const HERE: &str = "this one";

const fn cache(kibibytes: usize, ways: usize, line: usize) -> Cache {
    Cache { bytes: kibibytes << 10, ways, line }
}

/// The paper's main machine (section 5.1): Pentium II Xeon, whose caches have sets of four lines.
pub const XEON: Platform = Platform {
    name: "Xeon",
    caches: Hierarchy { instructions: cache(16, 4, 32), data: cache(16, 4, 32), last: cache(512, 4, 32) },
};

/// UltraSPARC-IIi and Alpha 21164 (section 8.1), the latter without the cache between its first and its last.
pub const OTHERS: [Platform; 2] = [
    Platform {
        name: "UltraSparc",
        caches: Hierarchy { instructions: cache(16, 2, 32), data: cache(16, 1, 32), last: cache(512, 1, 64) },
    },
    Platform {
        name: "Alpha",
        caches: Hierarchy { instructions: cache(8, 1, 32), data: cache(8, 1, 32), last: cache(4096, 1, 64) },
    },
];

/// Records of R: few are as good as many, since caches hold none of them when a run begins.
fn records(bench: &Bench) -> usize {
    match bench.settings.mode {
        Mode::Tiny => 1_500,
        Mode::Quick => 10_000,
        Mode::Default | Mode::Full => 20_000,
    }
}

/// What is run: for each of `selectivities` in percent a query on one table per layout; on DSM for the first one only.
#[derive(Debug, Clone, Copy)]
pub struct Selections {
    /// The experiment.
    pub name: &'static str,
    /// The layouts.
    pub layouts: &'static [HeapLayout],
    /// Percent of the records that pass.
    pub selectivities: &'static [u32],
    /// Attributes of the predicate, of which the first selects, and projected ones.
    pub attributes: (usize, usize),
}

impl Selections {
    /// Lays the experiment out: simulated where this program can be started under valgrind, and else, in that
    /// program and in tests, as variants to be run.
    pub fn design(self, bench: &Bench, platforms: &'static [Platform]) -> Result<Design, Error> {
        let mut factors = vec![
            Factor::new("selectivity", "%", self.selectivities),
            Factor::new("layout", "", expect::names(self.layouts)),
        ];
        let Some(counter) = &bench.settings.counter else {
            factors.push(Factor::new("platform", "", [HERE]));
            let trial = Trial { name: "R".to_owned(), setup: Box::new(move |bench| self.variants(bench)) };
            return Ok(Design { factors, trials: vec![trial], ..Design::default() });
        };
        factors.push(Factor::new("platform", "", platforms.iter().map(|platform| platform.name)));
        let Some(version) = callgrind::version() else {
            let note = "not available: these are counts of simulated processors, and valgrind is not installed";
            return Ok(Design { factors, notes: vec![note.to_owned()], ..Design::default() });
        };
        let (mut found, mut notes) = (Vec::new(), vec![told(&version, records(bench))]);
        let limit = bench.settings.budget;
        for platform in platforms {
            match simulate(self.name, counter, &platform.caches, limit).and_then(|lines| points(&lines, platform)) {
                Ok(points) => found.extend(points),
                Err(reason) => notes.push(format!("{}: not available; {reason}", platform.name)),
            }
        }
        Ok(Design { factors, found, notes, ..Design::default() })
    }

    fn variants(self, bench: &Bench) -> Result<Vec<Variant>, Error> {
        let relation = Relation::new(bench, records(bench), DEGREE, self.layouts)?;
        let mut random = Random::named(bench.settings.seed, self.name);
        let (tested, projected) = self.attributes;
        let emptied: Rc<[u64]> = vec![1; EMPTIED / size_of::<u64>()].into();
        let mut variants = Vec::new();
        for (place, percent) in self.selectivities.iter().enumerate() {
            let queries = relation.queries(&mut random, f64::from(*percent), &[tested], &[projected]);
            let levels = levels(&[("selectivity", percent), ("platform", &HERE)]);
            for Variant { levels, units, facts, subject } in relation.variants(&queries[..1], &levels) {
                // DSM's lookups would take longer than all else.
                if place == 0 || !levels.contains(&("layout", HeapLayout::Dsm.name().to_owned())) {
                    let subject = Box::new(Cold { subject, emptied: Rc::clone(&emptied) });
                    variants.push(Variant { levels, units, facts, subject });
                }
            }
        }
        Ok(variants)
    }
}

/// Work whose caches hold other data before each run, as they do when R is larger than they are.
struct Cold {
    subject: Box<dyn Subject>,
    emptied: Rc<[u64]>,
}

impl Subject for Cold {
    fn prepare(&mut self) {
        self.subject.prepare();
        std::hint::black_box(self.emptied.iter().step_by(SHORTEST_LINE / size_of::<u64>()).sum::<u64>());
    }

    fn run(&mut self, laps: &mut Laps) {
        self.subject.run(laps);
    }

    fn check(&mut self) -> Result<(), String> {
        self.subject.check()
    }
}

fn told(version: &str, records: usize) -> String {
    format!(
        "counted by callgrind ({version}) on simulated caches of the paper's sizes, of scalar code on {records} records and one \
         query a run, before which the caches hold other data; stalls are misses times the paper's latencies: {FIRST_MISS} cycles where the second level has the line, \
         {SECOND_MISS} where it has not; nothing is prefetched, no misses overlap, and what mispredicted branches cost is not known"
    )
}

/// The results of what was counted on a platform.
fn points(lines: &[(Value, Vec<Events>)], platform: &Platform) -> Result<Vec<Point>, String> {
    lines.iter().map(|(line, events)| point(line, events, platform)).collect()
}

fn point(line: &Value, events: &[Events], platform: &Platform) -> Result<Point, String> {
    let units = line["units"].as_f64().filter(|units| *units > 0.0).ok_or("a variant without units")?;
    let level = |factor: &'static str| Some((factor, line["levels"][factor].as_str()?.to_owned()));
    let mut point = Point::default();
    point.levels.extend(["selectivity", "layout"].into_iter().filter_map(level));
    point.levels.insert("platform", platform.name.to_owned());
    for (metric, unit, of) in METRICS {
        let samples: Vec<f64> = events.iter().map(|events| of(events, units)).collect::<Result<_, _>>()?;
        point.metrics.insert(metric, Measured::new(unit.to_owned(), samples));
    }
    Ok(point)
}

/// A number of the events of a run of so many records.
type Number = fn(&Events, f64) -> Result<f64, String>;

const CYCLES: &str = "cycles per record (simulated)";

static METRICS: [(&str, &str, Number); 9] = [
    ("l1_misses", "L1 data misses per record (simulated)", |events, units| Ok(sum(events, ["D1mr", "D1mw"])? / units)),
    ("l2_misses", "L2 data misses per record (simulated)", |events, units| Ok(sum(events, ["DLmr", "DLmw"])? / units)),
    ("l1_data_stalls", CYCLES, |events, units| Ok(data_stalls(events)?.0 / units)),
    ("l2_data_stalls", CYCLES, |events, units| Ok(data_stalls(events)?.1 / units)),
    ("l1_instruction_stalls", CYCLES, |events, units| Ok(instruction_stalls(events)?.0 / units)),
    ("l2_instruction_stalls", CYCLES, |events, units| Ok(instruction_stalls(events)?.1 / units)),
    ("memory_stalls", CYCLES, |events, units| {
        let (data, instructions) = (data_stalls(events)?, instruction_stalls(events)?);
        Ok((data.0 + data.1 + instructions.0 + instructions.1) / units)
    }),
    ("computation", "cycles per record at least (simulated)", |events, units| {
        Ok(events.of("Ir")? as f64 / RETIRED / units)
    }),
    ("miss_rate", "L2 data misses of all accesses (simulated)", |events, _| {
        Ok(sum(events, ["DLmr", "DLmw"])? / sum(events, ["Dr", "Dw"])?)
    }),
];

fn sum(events: &Events, names: [&str; 2]) -> Result<f64, String> {
    Ok((events.of(names[0])? + events.of(names[1])?) as f64)
}

/// Cycles of stalls for data that the second level has, and for data that it has not.
fn data_stalls(events: &Events) -> Result<(f64, f64), String> {
    let (first, second) = (sum(events, ["D1mr", "D1mw"])?, sum(events, ["DLmr", "DLmw"])?);
    Ok(((first - second).max(0.0) * FIRST_MISS, second * SECOND_MISS))
}

/// Cycles that misses of instructions take: those of the first cache, and those of the second.
fn instruction_stalls(events: &Events) -> Result<(f64, f64), String> {
    let (first, second) = (events.of("I1mr")? as f64, events.of("ILmr")? as f64);
    Ok(((first - second).max(0.0) * FIRST_MISS, second * SECOND_MISS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const FILE: &str = "events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw\nsummary: 3000 800 200 3 50 10 2 25 5\n";

    #[test]
    fn misses_become_stalls() {
        let line = json!({ "levels": { "selectivity": "1", "layout": "pax" }, "units": 10.0, "per": "record" });
        let events = vec![callgrind::parse(FILE).unwrap(); 3];
        let points = points(&[(line, events)], &XEON).unwrap();
        let mean = |metric: &str| points[0].summary(metric).unwrap().mean;
        assert_eq!(points[0].label(&[]), "layout pax, platform Xeon, selectivity 1");
        assert_eq!((mean("l1_misses"), mean("l2_misses")), (6.0, 3.0));
        assert_eq!((mean("l1_data_stalls"), mean("l2_data_stalls")), (30.0, 225.0));
        assert_eq!((mean("l1_instruction_stalls"), mean("l2_instruction_stalls")), (1.0, 15.0));
        assert_eq!((mean("memory_stalls"), mean("computation"), mean("miss_rate")), (271.0, 100.0, 0.03));
    }
}
