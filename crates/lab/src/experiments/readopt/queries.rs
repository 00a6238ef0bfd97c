//! The query generator (section 4.4): sets of equivalent queries, which differ in the columns that they return, and their answers.

use super::forced::{Forced, passing};
use super::scan::buffer::Dropped;
use super::scan::plan::ScanQuery;
use super::scan::scanner::ScanPredicate;
use super::stored::StoredTable;
use crate::experiment::{Bench, Mode};
use crate::random::Random;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The way in which the columns of queries are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Picked {
    /// Any, each with the same chance; the predicates are on the first that are drawn.
    Random,
    /// The first columns of the table have the predicates, the others are any.
    Left,
    /// Columns of the same view, of so many columns, with this chance (section 6.8).
    Views(usize, f64),
}

/// Properties that the queries of a set share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueryKind {
    /// The percentage of records that pass.
    pub percent: f64,
    /// Columns that are returned.
    pub returned: usize,
    /// Predicates, on as many of the columns.
    pub predicates: usize,
    /// The way in which columns are drawn.
    pub picked: Picked,
}

/// Queries of a point: the paper's 50, fewer in quick runs and in tests.
pub fn queries_of_a_point(bench: &Bench) -> usize {
    match bench.settings.mode {
        Mode::Tiny => 1,
        Mode::Quick => 5,
        Mode::Default | Mode::Full => 50,
    }
}

/// Positions that pass, by percentage and predicates: many sets share them.
pub type Positions = RefCell<HashMap<(u64, usize), Rc<Vec<u32>>>>;

/// Equivalent queries over a table.
pub struct QuerySet {
    table: Rc<StoredTable>,
    queries: Vec<ScanQuery>,
    kind: QueryKind,
    positions: Rc<Positions>,
    answers: RefCell<Vec<Option<Dropped>>>,
}

impl QuerySet {
    /// Draws as many queries as a point has.
    pub fn new(bench: &Bench, table: &Rc<StoredTable>, kind: QueryKind, positions: &Rc<Positions>) -> Self {
        // Percentages are compared by the same queries.
        let like = QueryKind { percent: 0.0, ..kind };
        let mut random = Random::named(bench.settings.seed, &format!("{} {like:?}", table.table.name()));
        let query = |_| {
            let columns = columns(&mut random, table.table.columns(), kind);
            let predicates = kind.predicates.min(kind.returned);
            let predicate = |column: &usize| {
                let record = random.below(table.values.records as u64) as usize;
                let forced = Some(Forced::new(kind.percent / 100.0, predicates));
                ScanPredicate { at_least: table.values.value(*column, record)[0], forced }
            };
            let predicates = columns.iter().take(predicates).map(predicate).collect();
            ScanQuery { columns, predicates, words: table.table.words() }
        };
        let queries: Vec<ScanQuery> = (0..queries_of_a_point(bench)).map(query).collect();
        let answers = RefCell::new(vec![None; queries.len()]);
        Self { table: Rc::clone(table), queries, kind, positions: Rc::clone(positions), answers }
    }

    /// Queries.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// A query, by its number in the set.
    pub fn query(&self, number: usize) -> &ScanQuery {
        &self.queries[number]
    }

    /// The right answer of one of them: the values at the positions that calls of its predicates let through.
    pub fn answer(&self, number: usize) -> Dropped {
        if let Some(known) = self.answers.borrow()[number] {
            return known;
        }
        let query = &self.queries[number];
        let positions = {
            let mut known = self.positions.borrow_mut();
            let (percent, predicates) = (self.kind.percent, query.predicates.len());
            let records = self.table.values.records as u32;
            let found = known.entry((percent.to_bits(), predicates));
            Rc::clone(found.or_insert_with(|| Rc::new(passing(records, percent / 100.0, predicates))))
        };
        let (mut answer, mut tuple) = (Dropped::default(), Vec::new());
        for position in positions.iter() {
            tuple.clear();
            for column in &query.columns {
                tuple.extend_from_slice(self.table.values.value(*column, *position as usize));
            }
            answer.add(&tuple);
        }
        self.answers.borrow_mut()[number] = Some(answer);
        answer
    }
}

/// Draws the columns of a query.
fn columns(random: &mut Random, of: usize, kind: QueryKind) -> Vec<usize> {
    let mut all: Vec<usize> = (0..of).collect();
    match kind.picked {
        Picked::Random => random.shuffle(&mut all),
        Picked::Left => random.shuffle(&mut all[kind.predicates.min(of)..]),
        Picked::Views(size, correlation) => return columns_of_views(random, all, kind.returned, size, correlation),
    }
    all.truncate(kind.returned);
    all
}

/// Draws columns by views: one at random; then, with the chance given, the others of its view before any other column. Of views of five
/// columns that is decided once for a query, of views of two for each pair (section 6.8).
fn columns_of_views(
    random: &mut Random,
    mut left: Vec<usize>,
    returned: usize,
    size: usize,
    correlation: f64,
) -> Vec<usize> {
    let mut drawn = Vec::with_capacity(returned);
    let mut passed_over = Vec::new();
    while drawn.len() < returned {
        if left.is_empty() {
            // All views are in use: their other columns come now.
            std::mem::swap(&mut left, &mut passed_over);
        }
        let column = left.swap_remove(random.below(left.len() as u64) as usize);
        drawn.push(column);
        let (mut view, others): (Vec<usize>, Vec<usize>) =
            left.iter().partition(|other| **other / size == column / size);
        left = others;
        random.shuffle(&mut view);
        let wanted = returned - drawn.len();
        let correlated = random.unit() < correlation;
        let is_one_view = size > 2 && returned <= size;
        if correlated && (size == 2 || is_one_view) {
            drawn.extend(view.iter().take(wanted));
            passed_over.extend(view.iter().skip(wanted));
        } else if size == 2 {
            passed_over.extend(view);
        } else {
            // Columns of a large view that is not used alone come as all others do.
            left.extend(view);
            random.shuffle(&mut left);
            drawn.extend(left.drain(..wanted.min(left.len())));
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn draw(returned: usize, picked: Picked) -> Vec<Vec<usize>> {
        let mut random = Random::new(5);
        let kind = QueryKind { percent: 1.0, returned, predicates: 3, picked };
        (0..500).map(|_| columns(&mut random, 10, kind)).collect()
    }

    #[test]
    fn columns_are_drawn_once_each() {
        let views = [(5, 1.0), (5, 0.5), (2, 1.0), (2, 0.75), (2, 0.0)].map(|(size, part)| Picked::Views(size, part));
        for picked in views.into_iter().chain([Picked::Random, Picked::Left]) {
            for returned in 1..=10 {
                for drawn in draw(returned, picked) {
                    let set: BTreeSet<usize> = drawn.iter().copied().collect();
                    assert!(set.len() == returned && drawn.len() == returned, "{picked:?}: {drawn:?}");
                    assert!(drawn.iter().all(|column| *column < 10));
                }
            }
        }
    }

    #[test]
    fn left_columns_have_the_predicates() {
        assert!(draw(5, Picked::Left).iter().all(|drawn| drawn[..3] == [0, 1, 2]));
        assert!(draw(5, Picked::Random).iter().any(|drawn| drawn[..3] != [0, 1, 2]));
    }

    #[test]
    fn correlated_columns_come_from_few_views() {
        let views =
            |drawn: &[usize], size: usize| drawn.iter().map(|column| column / size).collect::<BTreeSet<_>>().len();
        let mean = |returned, size, part| {
            let all = draw(returned, Picked::Views(size, part));
            all.iter().map(|drawn| views(drawn, size) as f64).sum::<f64>() / all.len() as f64
        };
        assert_eq!(mean(4, 5, 1.0), 1.0);
        assert_eq!(mean(4, 2, 1.0), 2.0);
        assert_eq!(mean(4, 2, 0.0), 4.0);
        assert!((1.3..1.6).contains(&mean(4, 5, 0.5)), "{}", mean(4, 5, 0.5));
        assert!((2.4..3.2).contains(&mean(4, 2, 0.5)), "{}", mean(4, 2, 0.5));
        assert_eq!(mean(6, 5, 1.0), 2.0);
    }
}
