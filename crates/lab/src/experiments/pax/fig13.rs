//! Figure 13 (section 7.4): updates over the number of attributes and the selectivity.

use super::expect::{self, PAIR, enough, faster, points};
use super::loads::LoadData;
use super::sql::{failed, fill, move_to};
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Laps, Mode, Subject,
    Trial, Variant, levels,
};
use crate::random::Random;
use crate::statistics::Summary;
use crate::tpch::TpchTable;
use crate::tpch::answers::QueryAnswer;
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use gingham::storage::model::HeapLayout;
use gingham::{Connection, Database};
use std::cell::RefCell;
use std::rc::Rc;

/// The experiment.
pub static FIG13: Experiment = Experiment {
    name: "pax.fig13",
    title: "Updates over the number of attributes and the selectivity",
    place: "PAX paper, section 7.4, figure 13",
    about: "update lineitem set a_p = a_p + 1, … where Lo < l_partkey and l_partkey < Hi, of 1 to 6 numeric attributes, through SQL: a \
            query for the records that change, and one transaction that changes them in their pages. In memory nothing is \
            synced; on disk the commit is. Sums of all records are compared after each run.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Time of a record of the table",
        kind: FigureKind::Lines,
        x: "attributes",
        series: "layout",
        panels: &["kept", "selectivity"],
        metric: "time",
        axis: "cycles per record",
        only: &[],
    }],
    claims: &CLAIMS,
};

/// What is updated, and the unscaled number that 1 is in it.
const UPDATED: [(&str, i128); 6] = [
    ("l_suppkey", 1),
    ("l_quantity", 100),
    ("l_extendedprice", 100),
    ("l_discount", 100),
    ("l_tax", 100),
    ("l_orderkey", 1),
];
const KEPT: [&str; 2] = ["memory", "disk"];

/// Megabytes, numbers of attributes, selectivities in percent.
fn sizes(mode: Mode) -> (f64, &'static [usize], &'static [u32]) {
    match mode {
        Mode::Tiny => (1.0, &[1, 6], &[2, 100]),
        Mode::Quick => (4.0, &[1, 6], &[2, 100]),
        Mode::Default | Mode::Full => (100.0, &[1, 2, 4, 6], &[2, 10, 20, 50, 100]),
    }
}

fn design(bench: &Bench) -> Result<Design, Error> {
    let (megabytes, attributes, selectivities) = sizes(bench.settings.mode);
    let trial =
        |kept: &'static str| Trial { name: kept.to_owned(), setup: Box::new(move |bench| variants(bench, kept)) };
    let small = "lineitem is that of a smaller data set than the paper's of 100 MB".to_owned();
    Ok(Design {
        trials: KEPT.map(trial).into(),
        factors: vec![
            Factor::new("kept", "", KEPT),
            Factor::new("attributes", "", attributes),
            Factor::new("selectivity", "%", selectivities),
            Factor::new("layout", "", expect::names(&PAIR)),
        ],
        notes: (megabytes < 100.0).then_some(small).into_iter().collect(),
        enough: enough(bench),
        ..Design::default()
    })
}

fn variants(bench: &Bench, kept: &'static str) -> Result<Vec<Variant>, Error> {
    let (megabytes, attributes, selectivities) = sizes(bench.settings.mode);
    let data = LoadData::of_megabytes(bench, megabytes, &[TpchTable::LineItem])?;
    let mut keys: Vec<i64> = Vec::with_capacity(data.records);
    for batch in &data.tables[0].1 {
        keys.extend(batch.column(1).as_primitive::<Int64Type>().values());
    }
    let largest = keys.iter().copied().max().unwrap_or(1);
    let mut random = Random::named(bench.settings.seed, "pax.fig13");
    let mut variants = Vec::new();
    for layout in PAIR {
        let table = Rc::new(Updated::new(&data, layout, kept)?);
        for number in attributes {
            for percent in selectivities {
                let width = largest * i64::from(*percent) / 100;
                let low = random.below((largest - width + 1).unsigned_abs()).cast_signed();
                let own = levels(&[
                    ("kept", &kept),
                    ("attributes", number),
                    ("selectivity", percent),
                    ("layout", &layout.name()),
                ]);
                variants.push(Variant {
                    levels: own,
                    units: (data.records as f64, "record"),
                    facts: vec![("records", data.records as f64)],
                    subject: Box::new(Update::new(&table, &keys, *number, low..low + width + 1)),
                });
            }
        }
    }
    Ok(variants)
}

/// A table that all variants of a layout update, and the sums that it must have.
struct Updated {
    connection: Connection,
    sums: RefCell<Vec<i128>>,
    // Closed before its folder goes.
    _database: Database,
    _folder: Option<tempfile::TempDir>,
}

impl Updated {
    fn new(data: &LoadData, layout: HeapLayout, kept: &str) -> Result<Self, Error> {
        let folder = if kept == KEPT[1] {
            Some(tempfile::tempdir().map_err(|error| Error::Data(format!("no folder for a database: {error}")))?)
        } else {
            None
        };
        let database = match &folder {
            Some(folder) => Database::open(folder.path()),
            None => Database::in_memory(),
        };
        let database = database.map_err(failed)?;
        let connection = fill(&database, data)?;
        move_to(&connection, data, layout)?;
        let table = Self { connection, sums: RefCell::default(), _database: database, _folder: folder };
        table.sums.replace(table.found().map_err(Error::Data)?);
        Ok(table)
    }

    /// Sums over all records: of each attribute, and of the first one weighted by the key, which tells which records changed.
    fn found(&self) -> Result<Vec<i128>, String> {
        let sums: Vec<String> = UPDATED.iter().map(|(name, _)| format!("sum({name})")).collect();
        let sql = format!("SELECT {}, sum(l_suppkey * l_partkey) FROM lineitem", sums.join(", "));
        let told = |error: gingham::Error| error.to_string();
        let result = self.connection.query(&sql).map_err(told)?;
        let (schema, batches) = (result.schema(), result.collect_batches().map_err(told)?);
        let answer = QueryAnswer::new(&schema, &batches).map_err(|error| error.to_string())?;
        let number = |cell: &Option<String>| {
            let digits = cell.as_deref().unwrap_or_default().replace('.', "");
            digits.parse().map_err(|error| format!("a sum of '{digits}': {error}"))
        };
        answer.rows().iter().flatten().map(number).collect()
    }
}

/// An update of some attributes of the records of a range of keys.
struct Update {
    table: Rc<Updated>,
    sql: String,
    /// Records that change, and what each run adds to the sums.
    records: u64,
    adds: Vec<i128>,
    /// What runs since the last check gave.
    runs: Vec<Result<u64, String>>,
}

impl Update {
    fn new(table: &Rc<Updated>, keys: &[i64], number: usize, open: std::ops::Range<i64>) -> Self {
        let changed = || keys.iter().filter(|key| open.start < **key && **key < open.end);
        let records = changed().count() as u64;
        let changes: Vec<String> = UPDATED[..number].iter().map(|(name, _)| format!("{name} = {name} + 1")).collect();
        let add =
            |(place, (_, one)): (usize, &(&str, i128))| if place < number { one * i128::from(records) } else { 0 };
        let mut adds: Vec<i128> = UPDATED.iter().enumerate().map(add).collect();
        adds.push(changed().map(|key| i128::from(*key)).sum());
        let sql = format!(
            "UPDATE lineitem SET {} WHERE l_partkey > {} AND l_partkey < {}",
            changes.join(", "),
            open.start,
            open.end
        );
        Self { table: Rc::clone(table), sql, records, adds, runs: Vec::new() }
    }
}

impl Subject for Update {
    fn prepare(&mut self) {
        self.runs.clear();
    }

    fn run(&mut self, _: &mut Laps) {
        self.runs.push(self.table.connection.execute(&self.sql).map_err(|error| error.to_string()));
    }

    fn check(&mut self) -> Result<(), String> {
        let mut sums = self.table.sums.borrow_mut();
        for run in &self.runs {
            let records = run.clone()?;
            if records != self.records {
                return Err(format!("{records} records were changed, {} expected", self.records));
            }
            sums.iter_mut().zip(&self.adds).for_each(|(sum, add)| *sum += add);
        }
        let found = self.table.found()?;
        if found == *sums { Ok(()) } else { Err(format!("sums are {found:?}, {sums:?} expected")) }
    }
}

/// The times of NSM and PAX for so many attributes at a selectivity.
fn times<'a>(context: &Context<'a>, kept: &str, number: &str, percent: &str) -> Option<(&'a Summary, &'a Summary)> {
    let of = |layout| {
        let at = [("kept", kept), ("attributes", number), ("selectivity", percent)];
        points(context, layout, &at).first()?.time()
    };
    Some((of("nsm")?, of("pax")?))
}

static CLAIMS: [Claim; 4] = [
    Claim {
        id: "fig13.faster",
        text: "Updates are always faster in PAX",
        place: "section 7.4",
        ours: None,
        judge: |context| Expectation::judge(faster(context, ("pax", "nsm"), 1.0, &[])),
    },
    Claim {
        id: "fig13.gain",
        text: "At low selectivity PAX is at least 10 % faster",
        place: "section 7.4, figure 13: 10 to 16 %",
        ours: Some("low: 2 %"),
        judge: |context| Expectation::judge(faster(context, ("pax", "nsm"), 1.0 / 1.1, &[("selectivity", "2")])),
    },
    Claim {
        id: "fig13.falls",
        text: "At low selectivity the gain falls with the number of attributes that are updated",
        place: "section 7.4, figure 13",
        ours: Some("low: 2 %; NSM's time over PAX's is smaller with 6 attributes than with one"),
        judge: |context| {
            let each = |kept| {
                let both = times(context, kept, "6", "2").zip(times(context, kept, "1", "2"));
                both.map(|(six, one)| Expectation::smaller_quotient(kept, six, one))
            };
            Expectation::judge(KEPT.into_iter().filter_map(each).collect())
        },
    },
    Claim {
        id: "fig13.oblivious",
        text: "From 20 to 100 % the gain does not depend on the number of attributes",
        place: "section 7.4, figure 13",
        ours: Some("100 %: NSM's time over PAX's is the same with 6 attributes as with one, within 1.1 times"),
        judge: |context| {
            let each = |kept: &'static str| {
                let (six, one) = (times(context, kept, "6", "100")?, times(context, kept, "1", "100")?);
                Some(Expectation::alike_quotients(kept, six, one, 1.1))
            };
            Expectation::judge(KEPT.into_iter().filter_map(each).collect())
        },
    },
];
