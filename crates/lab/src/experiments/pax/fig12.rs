//! Figure 12 (section 7.3): range selections and TPC-H queries, by the paper's operators and through SQL.

use super::expect::{self, PAIR, enough, faster};
use super::loads::LoadData;
use super::relation::{load, open, scratch};
use super::sql::Queries;
use super::tpch::{GroupAnswer, Question, Tables, answer};
use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Laps, Mode,
    Subject, Trial, Variant, levels,
};
use crate::tpch::TpchTable;
use gingham::storage::lab::DirectPages;
use gingham::storage::model::HeapOptions;
use std::rc::Rc;

/// The experiment.
pub static FIG12: Experiment = Experiment {
    name: "pax.fig12",
    title: "Range selections and TPC-H queries",
    place: "PAX paper, section 7.3, figure 12",
    about: "Range selections on lineitem (RS: a tenth passes, one or three predicates, one or four attributes projected and written out) \
            and queries 1, 6, 12 and 14 of TPC-H. By operators: the paper's, tuple at a time and in place, with the paper's \
            parameters, hash tables of joins in memory. Through SQL: this engine's, on one thread, which gathers zones of pages into \
            columns, with the specification's parameters. Everything is in memory, where the paper's queries read disks.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Time of a query",
        kind: FigureKind::Bars,
        x: "query",
        series: "layout",
        panels: &["way", "size"],
        metric: "time",
        axis: "cycles",
        only: &[],
    }],
    claims: &CLAIMS,
};

const OPERATORS: &str = "operators";
const SQL: &str = "SQL";
const ASKED: [TpchTable; 3] = [TpchTable::LineItem, TpchTable::Orders, TpchTable::Part];

fn design(bench: &Bench) -> Result<Design, Error> {
    let sizes: &[u32] = match bench.settings.mode {
        Mode::Tiny => &[1],
        Mode::Quick => &[10],
        Mode::Default | Mode::Full => &[100, 200, 500],
    };
    let by_operators = |size: &u32| {
        let size = *size;
        let setup = move |bench: &Bench| by_operators(&LoadData::of_megabytes(bench, size.into(), &ASKED)?, size);
        Trial { name: format!("{size} MB, {OPERATORS}"), setup: Box::new(setup) }
    };
    let by_sql = |size: &u32| {
        let size = *size;
        let setup = move |bench: &Bench| by_sql(&LoadData::of_megabytes(bench, size.into(), &ASKED)?, size);
        Trial { name: format!("{size} MB, {SQL}"), setup: Box::new(setup) }
    };
    let small = "the data set is smaller than the paper's of 100, 200 and 500 MB".to_owned();
    Ok(Design {
        trials: sizes.iter().map(by_operators).chain(sizes.iter().map(by_sql)).collect(),
        factors: vec![
            Factor::new("size", "MB", sizes),
            Factor::new("way", "", [OPERATORS, SQL]),
            Factor::new("query", "", Question::ALL.map(Question::name)),
            Factor::new("layout", "", expect::names(&PAIR)),
        ],
        notes: (sizes[0] < 100).then_some(small).into_iter().collect(),
        enough: enough(bench),
        ..Design::default()
    })
}

fn by_operators(data: &LoadData, size: u32) -> Result<Vec<Variant>, Error> {
    let batches = [0, 1, 2].map(|table: usize| &data.tables[table].1[..]);
    let failed = super::relation::failed;
    let mut variants = Vec::new();
    for layout in PAIR {
        let store = scratch()?;
        let mut pages = Vec::new();
        for (definition, batches) in &data.tables {
            let table = load(&store, definition.clone(), HeapOptions::new(layout), batches)?;
            pages.push(open(&store, table)?);
        }
        let pages: Rc<[DirectPages]> = pages.into();
        for question in Question::ALL {
            let expected = answer(Tables::Batches(batches), question).map_err(failed)?;
            let own = [("size", size.to_string()), ("way", OPERATORS.to_owned())];
            let levels = levels(&[("query", &question.name()), ("layout", &layout.name())]);
            variants.push(Variant {
                levels: own.into_iter().chain(levels).collect(),
                units: (1.0, "query"),
                facts: vec![("records", data.records as f64)],
                subject: Box::new(AskedOperators {
                    pages: Rc::clone(&pages),
                    question,
                    expected,
                    found: Ok(GroupAnswer::new()),
                }),
            });
        }
    }
    Ok(variants)
}

/// A question that operators answer.
struct AskedOperators {
    pages: Rc<[DirectPages]>,
    question: Question,
    expected: GroupAnswer,
    found: Result<GroupAnswer, String>,
}

impl Subject for AskedOperators {
    fn prepare(&mut self) {
        self.found = Err("it has not run".to_owned());
    }

    fn run(&mut self, _: &mut Laps) {
        let pages = [&self.pages[0], &self.pages[1], &self.pages[2]];
        self.found = answer(Tables::Pages(pages), self.question).map_err(|error| error.to_string());
    }

    fn check(&mut self) -> Result<(), String> {
        match self.found.as_ref().map_err(String::clone)? {
            found if *found == self.expected => Ok(()),
            found => Err(format!("{found:?}, {:?} expected", self.expected)),
        }
    }
}

fn by_sql(data: &LoadData, size: u32) -> Result<Vec<Variant>, Error> {
    let mut variants = Vec::new();
    for layout in PAIR {
        let queries = Queries::new(data, layout, f64::from(size) / 1000.0)?;
        for question in Question::ALL {
            let own = [("size", size.to_string()), ("way", SQL.to_owned())];
            let levels = levels(&[("query", &question.name()), ("layout", &layout.name())]);
            variants.push(Variant {
                levels: own.into_iter().chain(levels).collect(),
                units: (1.0, "query"),
                facts: vec![("records", data.records as f64)],
                subject: Box::new(queries.ask(question)?),
            });
        }
    }
    Ok(variants)
}

/// Judges whether, for queries by operators, PAX takes less than a part of NSM's time at each size.
fn gains(context: &Context<'_>, queries: &[&str], part: f64) -> Judgement {
    let each = |query: &&str| faster(context, ("pax", "nsm"), part, &[("way", OPERATORS), ("query", query)]);
    Expectation::judge(queries.iter().flat_map(each).collect())
}

static CLAIMS: [Claim; 6] = [
    Claim {
        id: "fig12.all",
        text: "PAX is faster than NSM on range selections and all four queries, at every size",
        place: "section 7.3",
        ours: None,
        judge: |context| gains(context, &Question::ALL.map(Question::name), 1.0),
    },
    Claim {
        id: "fig12.selections",
        text: "Range selections: a speed-up of at least 10 %",
        place: "section 7.3: 14, 13 and 10 %",
        ours: None,
        judge: |context| gains(context, &["RS"], 1.0 / 1.10),
    },
    Claim {
        id: "fig12.scans",
        text: "Queries 1 and 6: at least 15 %",
        place: "section 7.3: 15 to 42 %",
        ours: None,
        judge: |context| gains(context, &["Q1", "Q6"], 1.0 / 1.15),
    },
    Claim {
        id: "fig12.q12",
        text: "Query 12: at least 37 %",
        place: "section 7.3: 37 to 48 %",
        ours: None,
        judge: |context| gains(context, &["Q12"], 1.0 / 1.37),
    },
    Claim {
        id: "fig12.q14",
        text: "Query 14: at least 6 %",
        place: "section 7.3: 6 to 32 %",
        ours: None,
        judge: |context| gains(context, &["Q14"], 1.0 / 1.06),
    },
    Claim {
        id: "fig12.sql",
        text: "Through SQL too PAX is faster than NSM on all of them",
        place: "not in the paper",
        ours: Some("the claim is ours"),
        judge: |context| Expectation::judge(faster(context, ("pax", "nsm"), 1.0, &[("way", SQL)])),
    },
];
