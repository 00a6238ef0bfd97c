//! Rows of several pipelines as those of one, input after input: UNION ALL, and the two parts of a full join.

use crate::compile::draft::{PipelineBuilder, QueryBuilder};
use crate::compile::entries::coded;
use crate::compile::functions::is_string;
use crate::compile::not_compiled::{Compiled, NotCompiled};
use crate::compile::translate::{Trace, Typed};
use arrow::array::Array;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use gingham_execution::{Expression, Limits, LookupTable, Pipeline, Sink, Source};
use std::sync::Arc;

/// Entries of all inputs together that are sorted while a query is planned: about a millisecond.
const MANY_ENTRIES: usize = 1 << 13;

impl QueryBuilder {
    /// The rows of all inputs, which have equally many columns. Columns that do not mean the same in all of them are none.
    pub(super) fn unite(&mut self, mut inputs: Vec<PipelineBuilder>) -> Compiled<PipelineBuilder> {
        let width = inputs.first().map_or(0, |input| input.scope.columns().len());
        (0..width).for_each(|column| share_entries(&mut inputs, column));
        self.number_strings(&mut inputs)?;
        let mut columns: Vec<Option<Typed>> =
            (0..width).map(|column| common(inputs.iter().map(|input| input.scope.column(column)))).collect();
        let kept: Vec<usize> = (0..width).filter(|column| columns[*column].is_some()).collect();
        let mut behind: Option<usize> = None;
        for PipelineBuilder { source, computed, fields, steps, scope, most, hints, .. } in inputs {
            let own: Vec<Expression> =
                kept.iter().filter_map(|column| Some(scope.column(*column)?.expression)).collect();
            let facts = own.iter().map(|expression| expression.facts(scope.facts()));
            let mut facts: Vec<(Limits, bool)> =
                facts.collect::<Result<_, _>>().map_err(|_| NotCompiled::too_wide())?;
            let mut rows = most;
            if let Some(first) = behind {
                let both = self.left[first].iter().zip(&facts);
                facts = both.map(|(first, second)| (first.0.union(second.0), first.1 || second.1)).collect();
                rows = self.rows[first].saturating_add(rows);
            }
            let sink = Sink::Rows { columns: own, keys: None };
            self.pipelines.push(Pipeline { source, computed, fields, steps, sink, hints, behind });
            self.left.push(facts);
            self.rows.push(rows);
            behind = Some(self.pipelines.len() - 1);
        }
        for (place, column) in kept.into_iter().enumerate() {
            if let Some(typed) = &mut columns[column] {
                typed.expression = Expression::Column(place);
            }
        }
        let last = behind.ok_or_else(|| NotCompiled::new("a union of nothing"))?;
        Ok(self.over(Source::Rows(last), last, columns))
    }

    /// Where the inputs' strings still mean different things, makes them numbers of the query's own.
    fn number_strings(&mut self, inputs: &mut [PipelineBuilder]) -> Compiled<()> {
        let width = inputs.first().map_or(0, |input| input.scope.columns().len());
        let differs = |column: &usize| {
            let typed: Option<Vec<Typed>> = inputs.iter().map(|input| input.scope.column(*column)).collect();
            let Some([first, rest @ ..]) = typed.as_deref() else { return false };
            let alike = is_string(&first.data_type) && rest.iter().all(|other| other.data_type == first.data_type);
            alike && common(typed.iter().flatten().cloned().map(Some)).is_none()
        };
        let columns: Vec<usize> = (0..width).filter(differs).collect();
        for input in inputs.iter_mut().filter(|_| !columns.is_empty()) {
            let field = |typed: &Option<Typed>| {
                Field::new("", typed.as_ref().map_or(DataType::Null, |typed| typed.data_type.clone()), true)
            };
            let schema = Schema::new(input.scope.columns().iter().map(field).collect::<Vec<_>>());
            let is_left = |column: &&usize| {
                let typed = input.scope.column(**column);
                typed.is_some_and(|typed| !typed.trace.numbered && typed.expression != Expression::Constant(None))
            };
            let left: Vec<_> = columns.iter().filter(is_left).copied().collect();
            let named = |column: &usize| -> Arc<dyn PhysicalExpr> { Arc::new(Column::new("", *column)) };
            let expressions: Vec<_> = left.iter().map(named).collect();
            self.compute(input, &expressions, &schema)?;
            let numbered = input.scope.translate_all(&expressions, &schema)?;
            let mut columns = input.scope.columns().to_vec();
            for (column, typed) in left.into_iter().zip(numbered) {
                columns[column] = Some(typed);
            }
            input.scope.set_columns(columns);
        }
        Ok(())
    }
}

/// Where the inputs' strings are codes of different entries, makes them codes of all entries together.
fn share_entries(inputs: &mut [PipelineBuilder], column: usize) {
    let columns = inputs.iter().map(|input| input.scope.column(column));
    if let Some(Some(shared)) = columns.collect::<Option<Vec<_>>>().map(|columns| shared(&columns)) {
        for (input, typed) in inputs.iter_mut().zip(shared) {
            let mut columns = input.scope.columns().to_vec();
            columns[column] = Some(typed);
            input.scope.set_columns(columns);
        }
    }
}

/// `None` where that need not be, or can't.
fn shared(columns: &[Typed]) -> Option<Vec<Typed>> {
    let is_null = |typed: &Typed| typed.expression == Expression::Constant(None);
    let known = columns.iter().filter(|typed| !is_null(typed));
    let entries = known.map(|typed| typed.entries.clone()).collect::<Option<Vec<_>>>()?;
    let (first, rest) = entries.split_first()?;
    if rest.iter().all(|other| Arc::ptr_eq(first, other)) {
        return None;
    }
    let data_type = first.data_type();
    let alike = rest.iter().all(|other| other.data_type() == data_type);
    if !alike || entries.iter().map(|entries| entries.len()).sum::<usize>() > MANY_ENTRIES {
        return None;
    }
    let (codes, all) = coded(&entries, data_type)?;
    let mut codes = codes.iter();
    let recoded = columns.iter().map(|typed| {
        if is_null(typed) {
            return Some(typed.clone());
        }
        let map = LookupTable::new(0, codes.next()?, None);
        let expression = match &typed.expression {
            Expression::Constant(Some(code)) => {
                Expression::Constant(map.get(i64::try_from(*code).ok()).map(i128::from))
            }
            other => Expression::Map { map, argument: Box::new(other.clone()) },
        };
        Some(Typed { entries: Some(Arc::clone(&all)), ..Typed::new(expression, typed.data_type.clone()) })
    });
    recoded.collect()
}

/// What a column is that comes from several inputs: what it is in all of them that do not always have NULL.
fn common(inputs: impl Iterator<Item = Option<Typed>>) -> Option<Typed> {
    let inputs = inputs.collect::<Option<Vec<_>>>()?;
    let mut known = inputs.iter().filter(|input| input.expression != Expression::Constant(None));
    let Some(first) = known.next() else { return inputs.into_iter().next() };
    let mut common = first.clone();
    for other in known {
        let same_records = common.trace.records == other.trace.records;
        let same_numbers = common.trace.numbered == other.trace.numbered;
        if !common.has_entries_of(other) || !same_records || !same_numbers {
            return None;
        }
        // A value may have a record of either.
        let Trace { records, numbered, .. } = common.trace;
        common.trace = Trace { records, numbered, ..Trace::default() };
    }
    inputs.iter().all(|input| input.data_type == common.data_type).then_some(common)
}
