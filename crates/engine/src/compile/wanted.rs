//! What is wanted of a query's rows: all of them or the first, in an order or in any. Sorts and limits above the operator
//! are taken into it, so that strings are fetched only of rows that are given, and a pipeline whose rows suffice ends early.

use crate::compile::first_texts::first_by_text;
use crate::compile::groups::{OutputColumn, OutputSource};
use crate::words::sort_keys;
use arrow::array::ArrayRef;
use arrow::compute::SortOptions;
use arrow::datatypes::Schema;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use gingham_execution::{Pool, Rows, SortKey, Top};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// First rows whose keys are remembered while a query runs, so that it leaves out worse ones. More are sorted like all rows.
const MOST_FIRST: usize = 1 << 16;

/// Fewer of the rows than one of so many are few: most strings come behind those met before.
const FEW_OF_ROWS: usize = 8;

/// Bytes that the memory limit is charged for the position of an output row.
const PLACE_BYTES: usize = size_of::<usize>();

/// Which rows, and in which order.
#[derive(Debug, Clone, Default)]
pub(super) struct OutputOrder {
    order: Option<Order>,
    /// Rows that are left out before the first.
    skip: usize,
    /// Rows at most.
    fetch: Option<usize>,
    /// Rows that the operator above chooses from are enough: the first of a column's order, so many, and their ties.
    top: Option<(SortKey, usize)>,
}

/// An order of the operator's columns.
#[derive(Debug, Clone)]
struct Order {
    columns: LexOrdering,
    /// The sort keys by positions among the query's columns.
    keys: Vec<SortKey>,
    /// Sort keys that are strings, whose integers have no order: the key's position, and the output's.
    texts: Vec<(usize, usize)>,
}

impl OutputOrder {
    /// The rows in the order of some columns, the first `fetch` of them. `None` where only a part of the rows was wanted
    /// before, and for columns whose order is not that of integers.
    pub(super) fn sorted(
        &self,
        columns: &[(usize, SortOptions)],
        fetch: Option<usize>,
        outputs: &[OutputColumn],
        schema: &Schema,
    ) -> Option<Self> {
        if !self.is_all() {
            return None;
        }
        let named = columns.iter().map(|(column, options)| {
            PhysicalSortExpr::new(Arc::new(Column::new(schema.field(*column).name(), *column)), *options)
        });
        Self::ordered(columns, LexOrdering::new(named)?, fetch, outputs)
    }

    /// The rows in the order of some outputs, which is called `columns`, the first `fetch` of them. `None` for outputs whose
    /// order is not that of integers.
    pub(super) fn ordered(
        keys: &[(usize, SortOptions)],
        columns: LexOrdering,
        fetch: Option<usize>,
        outputs: &[OutputColumn],
    ) -> Option<Self> {
        let texts = keys.iter().map(|(output, _)| *output).enumerate();
        let texts = texts.filter(|(_, output)| outputs.get(*output).is_some_and(|shown| shown.trace.is_unordered()));
        let texts = texts.collect();
        let keys = keys.iter().map(|(output, options)| key(outputs.get(*output)?, *options));
        let keys = keys.collect::<Option<Vec<SortKey>>>()?;
        Some(Self { order: Some(Order { columns, keys, texts }), fetch, ..Self::default() })
    }

    /// The rows that may be among the first in the order of a column, and perhaps of others after it.
    pub(super) fn top(
        &self,
        column: usize,
        options: SortOptions,
        rows: usize,
        outputs: &[OutputColumn],
    ) -> Option<Self> {
        let output = outputs.get(column)?;
        let top = Some((key(output, options).filter(|_| !output.trace.is_unordered())?, rows));
        self.is_all().then(|| Self { top, ..Self::default() })
    }

    /// These rows without the first `skip`, at most `fetch`.
    pub(super) fn limited(&self, skip: usize, fetch: Option<usize>) -> Self {
        let left = self.fetch.map(|rows| rows.saturating_sub(skip));
        let fetch = left.into_iter().chain(fetch).min();
        Self { skip: self.skip.saturating_add(skip), fetch, ..self.clone() }
    }

    fn is_all(&self) -> bool {
        self.skip == 0 && self.fetch.is_none() && self.top.is_none()
    }

    /// The order that the rows have.
    pub(super) fn order(&self) -> Option<&LexOrdering> {
        self.order.as_ref().map(|order| &order.columns)
    }

    /// Rows that suffice, whichever they are.
    pub(super) fn enough(&self) -> Option<usize> {
        let last = self.last()?;
        (self.order.is_none() && self.top.is_none()).then_some(last)
    }

    /// Rows that suffice where the first in an order are wanted.
    pub(super) fn first(&self) -> Option<Top> {
        let few = |rows: &usize| (1..=MOST_FIRST).contains(rows);
        if let Some((key, rows)) = self.top {
            return few(&rows).then(|| Top { keys: vec![key], rows, ties: true });
        }
        let (Order { keys, texts, .. }, rows) = (self.order.as_ref()?, self.last().filter(few)?);
        match texts.first() {
            None => Some(Top { keys: keys.clone(), rows, ties: false }),
            // Strings have no order yet, and what comes before them may not tell all rows apart.
            Some((first, _)) if *first > 0 => Some(Top { keys: vec![keys[0]], rows, ties: true }),
            Some(_) => None,
        }
    }

    /// The place behind the last row.
    fn last(&self) -> Option<usize> {
        Some(self.fetch?.saturating_add(self.skip))
    }

    /// In words, for EXPLAIN's tree.
    pub(super) fn in_words(&self) -> String {
        let order = self.order().map_or_else(String::new, |order| format!(", sorted by {}", sort_keys(order)));
        let rows = match (self.skip, self.fetch) {
            (0, None) => String::new(),
            (0, Some(fetch)) => format!(", the first {fetch}"),
            (skip, None) => format!(", all behind the first {skip}"),
            (skip, Some(fetch)) => format!(", the first {fetch} behind {skip}"),
        };
        let top = self.top.map_or_else(String::new, |(_, first)| format!(", the first {first} or more"));
        format!("{order}{rows}{top}")
    }

    /// Bytes that it takes to put so many rows in order.
    pub(super) fn bytes(&self, rows: usize) -> usize {
        if self.order.is_some() { Rows::bytes_to_sort(rows) + rows * PLACE_BYTES } else { 0 }
    }

    /// The places of these among all rows, whose places are the same in each run when they are `placed`; and rows that
    /// the places count, fewer perhaps than there were. `ranked` gives them with a column behind the others for each of some
    /// outputs, of integers that order as their strings do; `text` the strings of an output. All rows are put in order by as many
    /// threads of a pool.
    pub(super) fn of(
        &self,
        mut rows: Rows,
        placed: bool,
        threads: (&Pool, usize),
        text: impl Fn(&Rows, usize) -> crate::Result<ArrayRef>,
        ranked: impl for<'r> FnOnce(&'r Rows, &[usize]) -> crate::Result<Cow<'r, Rows>>,
    ) -> crate::Result<(Arc<Rows>, RowPositions)> {
        if let Some((key, first)) = self.top {
            let rows = first_and_ties(rows, key, first);
            let all = RowPositions::Run(0..rows.rows);
            return Ok((Arc::new(rows), all));
        }
        let last = self.last().unwrap_or(rows.rows).min(rows.rows);
        let Some(Order { keys, texts, .. }) = &self.order else {
            return Ok((Arc::new(rows), RowPositions::Run(self.skip.min(last)..last)));
        };
        // Ranks are of no more strings than those of rows that may be among the first.
        if let (Some(key), Some((first, output))) = (keys.first(), texts.first()) {
            if *first > 0 {
                rows = first_and_ties(rows, *key, last);
            }
            if last < rows.rows / FEW_OF_ROWS {
                let order = (&keys[..*first], keys[*first]);
                rows = rows.take(&first_by_text(&rows, order, last, |rows| text(rows, *output))?);
            }
        }
        let outputs: Vec<usize> = texts.iter().map(|(_, output)| *output).collect();
        let mut keys = keys.clone();
        for (place, (key, _)) in texts.iter().enumerate() {
            keys[*key].column = rows.columns.len() + place;
        }
        let rows = Arc::new(rows);
        let ranked = match ranked(&rows, &outputs)? {
            Cow::Borrowed(_) => Arc::clone(&rows),
            Cow::Owned(ranked) => Arc::new(ranked),
        };
        let mut places = match last < rows.rows {
            true => ranked.in_order(&keys, placed, last),
            false => ranked.all_in_order(&keys, placed, threads)?,
        };
        places.drain(..self.skip.min(places.len()));
        Ok((rows, RowPositions::These(places)))
    }

    /// These rows of an operator that gives all, in any order.
    pub(super) fn over(&self, mut plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        if let Some(order) = &self.order {
            plan = Arc::new(SortExec::new(order.columns.clone(), plan).with_fetch(self.last()));
        }
        if self.skip > 0 || (self.order.is_none() && self.fetch.is_some()) {
            plan = Arc::new(GlobalLimitExec::new(plan, self.skip, self.fetch));
        }
        plan
    }
}

/// Places of rows, in the order in which they are given.
pub(super) enum RowPositions {
    Run(Range<usize>),
    These(Vec<usize>),
}

impl RowPositions {
    /// How many.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Run(run) => run.len(),
            Self::These(places) => places.len(),
        }
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Run(_) => 0,
            Self::These(places) => size_of_val(places.as_slice()),
        }
    }

    /// Some of these rows.
    pub(super) fn part(&self, rows: &Rows, part: Range<usize>) -> Rows {
        match self {
            Self::Run(run) => rows.take(&(run.start + part.start..run.start + part.end).collect::<Vec<_>>()),
            Self::These(places) => rows.take(&places[part]),
        }
    }
}

/// The first rows in the order of a key, and those that are equal to the last of them.
fn first_and_ties(rows: Rows, key: SortKey, first: usize) -> Rows {
    if first >= rows.rows { rows } else { rows.take(&rows.first_and_ties(key, first)) }
}

/// The order of a column, if it is one of the query's.
fn key(output: &OutputColumn, options: SortOptions) -> Option<SortKey> {
    let OutputSource::Column(column) = output.how else { return None };
    let SortOptions { descending, nulls_first } = options;
    Some(SortKey { column, descending, nulls_first })
}

impl fmt::Display for OutputOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(order) = &self.order {
            write!(f, ", sorted by {}", order.columns)?;
        }
        match (self.skip, self.fetch) {
            (0, None) => {}
            (0, Some(fetch)) => write!(f, ", first {fetch}")?,
            (skip, None) => write!(f, ", all behind the first {skip}")?,
            (skip, Some(fetch)) => write!(f, ", first {fetch} behind {skip}")?,
        }
        self.top.map_or(Ok(()), |(_, first)| write!(f, ", first {first} or more"))
    }
}
