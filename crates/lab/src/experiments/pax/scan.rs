//! The paper's own scan operators (section 4.3): in place, tuple at a time, over the pages of one table. NSM has one operator,
//! which finds each value through its record's slot. PAX has one for each attribute, which goes along its minipage, and
//! finds projected values by their places. DSM scans a relation for each attribute of the predicate, which gives a list of record
//! ids, and finds projected values through the tree of record ids.

use gingham::storage::Result;
use gingham::storage::lab::{DirectPage, DirectPages, DirectRead, PageColumn};
use gingham::storage::lmdb::RecordId;
use gingham::storage::model::HeapLayout;
use gingham::storage::pages::PageSchema;

/// `low < a AND a < high`, on codes.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// The attribute.
    pub attribute: usize,
    /// Lo.
    pub low: u64,
    /// Hi.
    pub high: u64,
}

impl Range {
    /// Whether a code lies within.
    #[inline]
    pub fn holds(&self, code: u64) -> bool {
        self.low < code && code < self.high
    }
}

/// `SELECT avg(a_p), … FROM R WHERE Lo < a_q AND a_q < Hi AND …`
#[derive(Debug, Clone)]
pub struct RangeQuery {
    /// What the records must fulfil.
    pub ranges: Vec<Range>,
    /// Attributes whose averages are wanted.
    pub projected: Vec<usize>,
}

/// What averages are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanAnswer {
    /// Records.
    pub count: u64,
    /// The sum of the codes of each projected attribute.
    pub sums: Vec<u64>,
}

impl ScanAnswer {
    /// The answer over no records.
    pub fn none(query: &RangeQuery) -> Self {
        Self { count: 0, sums: vec![0; query.projected.len()] }
    }
}

/// What is done with the records of NSM and PAX pages.
pub trait Operator {
    /// The attributes that it reads.
    fn attributes(&self) -> &[usize];
    /// Takes a page: its attributes, in their order, and its number of records.
    fn page<C: PageColumn>(&mut self, columns: &[C], rows: usize);
}

/// Runs an operator over the pages of an NSM or PAX table.
pub fn scan(pages: &DirectPages, operator: &mut impl Operator) -> Result<()> {
    pages.read(|read| match pages.reader().record().options.layout {
        HeapLayout::Pax => in_pages(read, operator, |page, schema, attribute| page.minipage(schema, attribute)),
        HeapLayout::Nsm | HeapLayout::Dsm => {
            in_pages(read, operator, |page, schema, attribute| page.slotted(schema, attribute))
        }
    })
}

fn in_pages<'p, C: PageColumn>(
    read: DirectRead<'p>,
    operator: &mut impl Operator,
    column: impl Fn(&DirectPage<'p>, &PageSchema, usize) -> C,
) -> Result<()> {
    let (schema, mut columns) = (read.schema(), Vec::new());
    for page in read.pages()? {
        let page = page?;
        columns.clear();
        columns.extend(operator.attributes().iter().map(|attribute| column(&page, schema, *attribute)));
        operator.page(&columns, page.rows());
    }
    Ok(())
}

/// The answer of a query, by the operators of the table's layout.
pub fn run(pages: &DirectPages, query: &RangeQuery) -> Result<ScanAnswer> {
    if pages.reader().record().options.layout == HeapLayout::Dsm {
        return pages.read(|read| in_relations(read, query));
    }
    let attributes = query.ranges.iter().map(|range| range.attribute).chain(query.projected.iter().copied()).collect();
    let mut averages = Averages { query, attributes, answer: ScanAnswer::none(query) };
    scan(pages, &mut averages)?;
    Ok(averages.answer)
}

/// A query's sums: the attributes of its predicate, then those that it projects.
struct Averages<'q> {
    query: &'q RangeQuery,
    attributes: Vec<usize>,
    answer: ScanAnswer,
}

impl Operator for Averages<'_> {
    fn attributes(&self) -> &[usize] {
        &self.attributes
    }

    #[inline]
    fn page<C: PageColumn>(&mut self, columns: &[C], rows: usize) {
        let (tested, projected) = columns.split_at(self.query.ranges.len());
        for row in 0..rows {
            if self.query.ranges.iter().zip(tested).all(|(range, column)| range.holds(column.code(row))) {
                self.answer.count += 1;
                for (sum, column) in self.answer.sums.iter_mut().zip(projected) {
                    *sum = sum.wrapping_add(column.code(row));
                }
            }
        }
    }
}

/// DSM: a relation for each attribute.
fn in_relations(read: DirectRead<'_>, query: &RangeQuery) -> Result<ScanAnswer> {
    let mut ids: Option<Vec<RecordId>> = None;
    for range in &query.ranges {
        let found = qualifying(read, range)?;
        ids = Some(match ids {
            Some(before) => in_both(&before, &found),
            None => found,
        });
    }
    let ids = ids.unwrap_or_default();
    let mut answer = ScanAnswer { count: ids.len() as u64, ..ScanAnswer::none(query) };
    for (sum, attribute) in answer.sums.iter_mut().zip(&query.projected) {
        let pair = read.pair_schema(*attribute);
        for id in &ids {
            if let Some((page, row)) = read.pair_of(*attribute, *id)? {
                *sum = sum.wrapping_add(page.slotted(pair, 1).code(row));
            }
        }
    }
    Ok(answer)
}

/// The ids of the records whose attribute lies within, ascending.
fn qualifying(read: DirectRead<'_>, range: &Range) -> Result<Vec<RecordId>> {
    let (pair, mut found) = (read.pair_schema(range.attribute), Vec::new());
    for page in read.pair_pages(range.attribute)? {
        let page = page?;
        let (ids, values) = (page.slotted(pair, 0), page.slotted(pair, 1));
        found.extend((0..page.rows()).filter(|row| range.holds(values.code(*row))).map(|row| ids.code(row)));
    }
    Ok(found)
}

/// The ids that are in both lists, each ascending: the join of two sub-relations.
fn in_both(a: &[RecordId], b: &[RecordId]) -> Vec<RecordId> {
    let (mut both, mut rest) = (Vec::with_capacity(a.len().min(b.len())), b);
    for id in a {
        let Some(at) = rest.iter().position(|other| other >= id) else { break };
        rest = &rest[at..];
        if rest[0] == *id {
            both.push(*id);
        }
    }
    both
}

#[cfg(test)]
mod tests {
    use super::in_both;

    #[test]
    fn lists_are_joined() {
        assert_eq!(in_both(&[1, 3, 4, 9], &[0, 1, 2, 4, 8, 9, 10]), [1, 4, 9]);
        assert_eq!(in_both(&[1, 2], &[]), [] as [u64; 0]);
        assert_eq!(in_both(&[7], &[1, 2]), [] as [u64; 0]);
    }
}
