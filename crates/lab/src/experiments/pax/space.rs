//! Section 3.2 and 4.1: the space that each layout takes.

use super::expect::{against, enough};
use super::loads::LoadData;
use super::relation::{self, DEGREE, Relation, load, open, scratch};
use crate::experiment::{
    Bench, Claim, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Laps, Mode, Subject, Trial,
    Variant, levels,
};
use crate::statistics::Summary;
use crate::tpch::TpchTable;
use gingham::storage::lab::DirectPages;
use gingham::storage::model::{HeapLayout, HeapOptions};
use std::rc::Rc;

/// The experiment.
pub static SPACE: Experiment = Experiment {
    name: "pax.space",
    title: "Bytes of a record by layout",
    place: "PAX paper, sections 2.2, 3.2 and 4.1",
    about: "The pages of R and of TPC-H's larger tables after a bulk load that fills each as far as it goes, counted, and compared with the \
            catalog's count.",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Bytes of a record",
        kind: FigureKind::Bars,
        x: "table",
        series: "layout",
        panels: &[],
        metric: "found_bytes",
        axis: "bytes of pages per record",
        only: &[],
    }],
    claims: &CLAIMS,
};

const R: &str = "R";
const TABLES: [TpchTable; 5] =
    [TpchTable::Customer, TpchTable::Part, TpchTable::PartSupp, TpchTable::Orders, TpchTable::LineItem];
/// Bytes that a page takes in the file, with what LMDB puts before it.
const PAGE: f64 = 8192.0;

fn design(bench: &Bench) -> Result<Design, Error> {
    let tables = || [R].into_iter().chain(TABLES.map(TpchTable::name));
    let tpch = TABLES.map(|table| Trial {
        name: table.name().to_owned(),
        setup: Box::new(move |bench: &Bench| {
            let megabytes = match bench.settings.mode {
                Mode::Tiny => 1.0,
                Mode::Quick => 10.0,
                Mode::Default | Mode::Full => 100.0,
            };
            let data = LoadData::of_megabytes(bench, megabytes, &[table])?;
            let (definition, batches) = &data.tables[0];
            let of = |layout: HeapLayout| {
                let store = scratch()?;
                let loaded = load(&store, definition.clone(), HeapOptions::new(layout), batches)?;
                Ok(variant(table.name(), layout, Rc::new(open(&store, loaded)?)))
            };
            HeapLayout::ALL.into_iter().map(of).collect()
        }),
    });
    let relation = Trial {
        name: R.to_owned(),
        setup: Box::new(|bench: &Bench| {
            let relation = Relation::new(bench, relation::records(bench), DEGREE, &HeapLayout::ALL)?;
            Ok(relation.tables().map(|(layout, pages)| variant(R, layout, pages)).collect())
        }),
    };
    Ok(Design {
        trials: [relation].into_iter().chain(tpch).collect(),
        factors: vec![
            Factor::new("table", "", tables()),
            Factor::new("layout", "", HeapLayout::ALL.map(HeapLayout::name)),
        ],
        enough: enough(bench),
        ..Design::default()
    })
}

fn variant(table: &str, layout: HeapLayout, pages: Rc<DirectPages>) -> Variant {
    let records = pages.reader().rows() as f64;
    Variant {
        levels: levels(&[("table", &table), ("layout", &layout.name())]),
        units: (records, "record"),
        facts: vec![("records", records)],
        subject: Box::new(PageCount { pages, found: Ok(0) }),
    }
}

/// Counts a table's pages.
struct PageCount {
    pages: Rc<DirectPages>,
    found: Result<usize, String>,
}

impl Subject for PageCount {
    fn prepare(&mut self) {
        self.found = Err("it has not run".to_owned());
    }

    fn run(&mut self, _: &mut Laps) {
        let found = self.pages.read(|read| match self.pages.reader().record().options.layout {
            HeapLayout::Dsm => {
                (0..read.schema().attributes().len()).map(|attribute| Ok(read.pair_pages(attribute)?.count())).sum()
            }
            HeapLayout::Nsm | HeapLayout::Pax => Ok(read.pages()?.count()),
        });
        self.found = found.map_err(|error| error.to_string());
    }

    fn check(&mut self) -> Result<(), String> {
        let (found, known) = (self.found.clone()?, self.pages.reader().record().pages);
        if found as u64 == known { Ok(()) } else { Err(format!("{found} pages, the catalog has {known}")) }
    }

    fn values(&self) -> Vec<(&'static str, f64)> {
        let pages = *self.found.as_ref().unwrap_or(&0) as f64;
        vec![("found_bytes", pages * PAGE / self.pages.reader().rows().max(1) as f64), ("pages", pages)]
    }
}

static CLAIMS: [Claim; 3] = [
    Claim {
        id: "space.same",
        text: "A relation takes no more pages in PAX than in NSM",
        place: "section 3.2",
        ours: None,
        judge: |context| {
            let level = |label: String, pax: &Summary, nsm: &Summary| {
                Expectation::plain(label, format!("{} and {} pages", pax.mean, nsm.mean), pax.mean <= nsm.mean)
            };
            Expectation::judge(against(context, ("pax", "nsm"), "pages", &[], level))
        },
    },
    Claim {
        id: "space.slots",
        text: "PAX saves 3 to 4 % of NSM's space on TPC-H's tables for having no slots",
        place: "section 4.1; the other 4 % that it tells of are tags that Shore puts before records",
        ours: Some("2 to 5 %, on lineitem"),
        judge: |context| {
            let part = |label: String, pax: &Summary, nsm: &Summary| {
                let saved = 1.0 - pax.mean / nsm.mean;
                Expectation::plain(label, format!("{:.1} %", saved * 100.0), (0.02..=0.05).contains(&saved))
            };
            Expectation::judge(against(context, ("pax", "nsm"), "pages", &[("table", "lineitem")], part))
        },
    },
    Claim {
        id: "space.dsm",
        text: "DSM takes significantly more, as it repeats the record ids",
        place: "section 2.2",
        ours: Some("significantly: at least 1.5 times NSM's pages"),
        judge: |context| {
            let more = |label: String, nsm: &Summary, dsm: &Summary| {
                let times = dsm.mean / nsm.mean;
                Expectation::plain(label, format!("{times:.2} times"), times >= 1.5)
            };
            Expectation::judge(against(context, ("nsm", "dsm"), "pages", &[], more))
        },
    },
];
