//! A scan's predicate as an expression over integers, for pipelines that evaluate it within their first loop, record by
//! record, as a compiled query without boundaries does (relaxed operator fusion paper, section 2.1). Otherwise it is the
//! scan's kernels that do.

use crate::compile::draft::has_nulls;
use crate::compile::translate::SHORT_LIST;
use gingham_execution::{Comparison, Expression, Limits, LookupTable};
use gingham_storage::scan::{integer_bounds, of_entries};
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::{ColumnId, Datum, Predicate};
use std::ops::Bound;

/// Most entries of a dictionary that a condition is evaluated for.
const ENTRIES: usize = 1 << 16;

/// The columns that a pipeline reads of a table: those that its operators name, and those of the predicate behind them.
pub(super) struct TableRead<'t> {
    pub(super) table: &'t TableSnapshot,
    pub(super) ids: Vec<ColumnId>,
    pub(super) facts: Vec<(Limits, bool)>,
}

impl TableRead<'_> {
    /// The expression that is 1 where a predicate holds, with the columns that it needs added. `None`, and none added,
    /// when it is over something else than integers and dictionary codes.
    pub(super) fn predicate(&mut self, predicate: &Predicate) -> Option<Expression> {
        let before = self.ids.len();
        let found = match predicate {
            Predicate::Constant(_) => None,
            predicate => self.translate(predicate),
        };
        if found.is_none() {
            self.ids.truncate(before);
            self.facts.truncate(before);
        }
        found
    }

    fn translate(&mut self, predicate: &Predicate) -> Option<Expression> {
        match predicate {
            Predicate::Constant(holds) => Some(Expression::Constant(Some((*holds).into()))),
            Predicate::And(parts) => self.joined(parts, Expression::And),
            Predicate::Or(parts) => self.joined(parts, Expression::Or),
            Predicate::IsNull { column, negated } => {
                let null = Expression::IsNull(Box::new(self.column(*column)?));
                Some(if *negated { Expression::Not(Box::new(null)) } else { null })
            }
            Predicate::Among { .. } => None,
            Predicate::Range { column, low, high } => {
                self.of_entries(*column, predicate).or_else(|| self.range(*column, low, high))
            }
            Predicate::In { column, values, negated } => {
                self.of_entries(*column, predicate).or_else(|| self.list(*column, values, *negated))
            }
            Predicate::Test { column, .. } => self.of_entries(*column, predicate),
        }
    }

    fn joined(
        &mut self,
        parts: &[Predicate],
        join: fn(Box<Expression>, Box<Expression>) -> Expression,
    ) -> Option<Expression> {
        let parts = parts.iter().map(|part| self.translate(part)).collect::<Option<Vec<_>>>()?;
        parts.into_iter().reduce(|all, part| join(Box::new(all), Box::new(part)))
    }

    /// A column of integers.
    fn column(&mut self, id: ColumnId) -> Option<Expression> {
        if let Some(known) = self.ids.iter().position(|known| *known == id) {
            return Some(Expression::Column(known));
        }
        let (min, max) = integer_bounds(self.table, id)?;
        let nullable = has_nulls(self.table, self.table.definition.column_by_id(id)?);
        self.ids.push(id);
        self.facts.push((Limits::new(min, max), nullable));
        Some(Expression::Column(self.ids.len() - 1))
    }

    fn range(&mut self, id: ColumnId, low: &Bound<Datum>, high: &Bound<Datum>) -> Option<Expression> {
        let column = self.column(id)?;
        let ends =
            [(low, Comparison::GreaterOrEqual, Comparison::Greater), (high, Comparison::LessOrEqual, Comparison::Less)];
        let mut parts = Vec::new();
        for (end, included, excluded) in ends {
            let (operator, value) = match end {
                Bound::Included(value) => (included, value),
                Bound::Excluded(value) => (excluded, value),
                Bound::Unbounded => continue,
            };
            parts.push(Expression::compare(operator, column.clone(), integer(value)?));
        }
        let any = || Expression::Not(Box::new(Expression::IsNull(Box::new(column.clone()))));
        let all = parts.into_iter().reduce(|all, part| Expression::And(Box::new(all), Box::new(part)));
        Some(all.unwrap_or_else(any))
    }

    fn list(&mut self, id: ColumnId, values: &[Datum], negated: bool) -> Option<Expression> {
        if values.len() > SHORT_LIST {
            return None;
        }
        let column = self.column(id)?;
        let equal = |value| Some(Expression::compare(Comparison::Equal, column.clone(), integer(value)?));
        let parts = values.iter().map(equal).collect::<Option<Vec<_>>>()?;
        let any = parts.into_iter().reduce(|all, part| Expression::Or(Box::new(all), Box::new(part)))?;
        Some(if negated { Expression::Not(Box::new(any)) } else { any })
    }

    /// A condition on a column of dictionary codes: its answer for each entry, and for NULL.
    fn of_entries(&mut self, id: ColumnId, predicate: &Predicate) -> Option<Expression> {
        if self.table.dictionaries.get(&id)?.distinct() > ENTRIES {
            return None;
        }
        let (holds, null) = of_entries(self.table, predicate).ok()??;
        let answers: Vec<_> = holds.iter().map(|holds| Some(holds.into())).collect();
        let argument = Box::new(self.column(id)?);
        let map = LookupTable::new(0, &answers, Some(null.into()));
        Some(Expression::Map { map, argument })
    }
}

fn integer(value: &Datum) -> Option<Expression> {
    match value {
        Datum::Integer(value) => Some(Expression::Constant(Some(*value))),
        _ => None,
    }
}
