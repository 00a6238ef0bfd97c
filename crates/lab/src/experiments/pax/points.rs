//! Section 7.5: point queries over their projectivity.

use super::expect::{self, PAIR, against, enough};
use super::relation::{self, DEGREE, Relation};
use crate::experiment::{
    Bench, Claim, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Laps, Mode, Subject, Trial,
    Variant, levels,
};
use crate::random::Random;
use gingham::storage::lab::{DirectPages, DirectRead, PageColumn};
use gingham::storage::lmdb::RecordId;
use gingham::storage::model::HeapLayout;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The experiment.
pub static POINTS: Experiment = Experiment {
    name: "pax.points",
    title: "Point queries over projectivity",
    place: "PAX paper, section 7.5",
    about: "Records of R at random keys: a tree in memory gives the record id, the catalog's tree the page, and 1 to 8 attributes are \
            read from it. No page is pinned on its own, no record locked or copied, which the paper's times include. Units of \
            1000 queries.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Time of a point query",
        kind: FigureKind::Lines,
        x: "projectivity",
        series: "layout",
        panels: &[],
        metric: "time",
        axis: "cycles per query",
        only: &[],
    }],
    claims: &CLAIMS,
};

/// Queries of a unit.
const UNIT: usize = 1000;

fn design(bench: &Bench) -> Result<Design, Error> {
    let numbers = match bench.settings.mode {
        Mode::Quick => vec![1, 2, 4, 8],
        _ => (1..=DEGREE).collect::<Vec<_>>(),
    };
    let own = numbers.clone();
    let setup = move |bench: &Bench| {
        let relation = Relation::new(bench, relation::records(bench), DEGREE, &PAIR)?;
        let mut random = Random::named(bench.settings.seed, "pax.points");
        let keys: Rc<[u64]> = (0..UNIT).map(|_| random.below(relation.records() as u64)).collect();
        let mut variants = Vec::new();
        for (layout, pages) in relation.tables() {
            let index = Rc::new(index(&pages)?);
            for projectivity in &own {
                let levels = levels(&[("projectivity", projectivity), ("layout", &layout.name())]);
                let own = relation.columns().iter().take(*projectivity);
                let sum = |column: &Vec<u64>| keys.iter().map(|key| column[*key as usize]).sum::<u64>();
                let subject = Lookups {
                    pages: Rc::clone(&pages),
                    index: Rc::clone(&index),
                    keys: Rc::clone(&keys),
                    projectivity: *projectivity,
                    expected: own.map(sum).sum(),
                    found: Ok(0),
                };
                variants.push(Variant {
                    levels,
                    units: (UNIT as f64, "query"),
                    facts: vec![("records", relation.records() as f64)],
                    subject: Box::new(subject),
                });
            }
        }
        Ok(variants)
    };
    Ok(Design {
        trials: vec![Trial { name: "R".to_owned(), setup: Box::new(setup) }],
        factors: vec![
            Factor::new("projectivity", "attributes", numbers),
            Factor::new("layout", "", expect::names(&PAIR)),
        ],
        notes: relation::told_records(bench).into_iter().collect(),
        enough: enough(bench),
        ..Design::default()
    })
}

/// The record ids of a table by their keys, which are the records' numbers in their order.
fn index(pages: &DirectPages) -> Result<BTreeMap<u64, RecordId>, Error> {
    let ids = pages.read(|read| {
        let mut ids = Vec::new();
        for page in read.pages()? {
            let page = page?;
            ids.extend((0..page.rows()).map(|row| page.id(row)));
        }
        Ok(ids)
    });
    Ok((0..).zip(ids.map_err(relation::failed)?).collect())
}

/// A unit of point queries.
struct Lookups {
    pages: Rc<DirectPages>,
    index: Rc<BTreeMap<u64, RecordId>>,
    keys: Rc<[u64]>,
    projectivity: usize,
    expected: u64,
    found: Result<u64, String>,
}

impl Lookups {
    /// The sum of the attributes of a record that are projected.
    fn record(&self, read: DirectRead<'_>, layout: HeapLayout, id: RecordId) -> gingham::storage::Result<u64> {
        let Some((page, row)) = read.page_of(id)? else { return Ok(0) };
        let schema = read.schema();
        let value = |attribute| match layout {
            HeapLayout::Pax => page.minipage(schema, attribute).code(row),
            HeapLayout::Nsm | HeapLayout::Dsm => page.slotted(schema, attribute).code(row),
        };
        Ok((0..self.projectivity).map(value).sum())
    }
}

impl Subject for Lookups {
    fn prepare(&mut self) {
        self.found = Err("it has not run".to_owned());
    }

    fn run(&mut self, _: &mut Laps) {
        let layout = self.pages.reader().record().options.layout;
        let found = self.pages.read(|read| {
            let ids = self.keys.iter().filter_map(|key| self.index.get(key));
            ids.map(|id| self.record(read, layout, *id)).sum()
        });
        self.found = found.map_err(|error| error.to_string());
    }

    fn check(&mut self) -> Result<(), String> {
        match self.found.clone()? {
            found if found == self.expected => Ok(()),
            found => Err(format!("a sum of {found}, {} expected", self.expected)),
        }
    }
}

static CLAIMS: [Claim; 1] = [Claim {
    id: "points.same",
    text: "Point queries take the same time in PAX as in NSM, at every projectivity",
    place: "section 7.5",
    ours: Some("the same: within 1.1 times either way"),
    judge: |context| {
        let alike = |label, a: &_, b: &_| Expectation::alike(label, a, b, 1.1);
        Expectation::judge(against(context, ("pax", "nsm"), "time", &[], alike))
    },
}];
