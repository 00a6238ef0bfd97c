//! Physical expressions as expressions over integers. What can't be one exactly is not taken.

use crate::casts::CAST;
use crate::compile::functions::limits;
use crate::compile::not_compiled::{Compiled, NotCompiled};
use crate::compile::numbers::{
    arithmetic, as_double, compare, converted, division, doubles, float_key, is_number, negated,
};
use crate::equality::FLOAT_KEY;
use crate::table::datum;
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Schema};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NegativeExpr, NotExpr,
};
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use gingham_execution::{Arithmetic, Comparison, Expression, FloatArithmetic, Limits, ordered};
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::{ColumnDefinition, ColumnId, Datum, LogicalType, ValueClass};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Longest IN list that becomes comparisons.
pub(super) const SHORT_LIST: usize = 16;

/// An expression with its type in SQL.
#[derive(Debug, Clone)]
pub(super) struct Typed {
    pub(super) expression: Expression,
    pub(super) data_type: DataType,
    /// What its integers are positions of, when they are codes.
    pub(super) entries: Option<ArrayRef>,
    pub(super) trace: Trace,
}

/// Which records an expression's values come from.
#[derive(Debug, Clone, Default)]
pub(super) struct Trace {
    /// The scan of which it is a column.
    pub(super) origin: Option<usize>,
    /// Scans of which a value has one record at most.
    pub(super) determines: Vec<usize>,
    /// Its integers are row ids, in the place of this column's byte strings.
    pub(super) records: Option<RecordColumn>,
    /// Its integers are the query's own numbers of strings, in no order.
    pub(super) numbered: bool,
}

impl Trace {
    /// Whether larger integers need not be larger values.
    pub(super) fn is_unordered(&self) -> bool {
        self.records.is_some() || self.numbered
    }
}

/// A column that is carried as the numbers of its records.
#[derive(Debug, Clone)]
pub(super) struct RecordColumn {
    pub(super) table: Arc<TableSnapshot>,
    pub(super) column: ColumnId,
}

/// What the columns of an operator's output are, as expressions over a pipeline's columns.
#[derive(Debug, Clone)]
pub(super) struct ColumnScope {
    /// Range and nullability of the pipeline's columns.
    facts: Vec<(Limits, bool)>,
    /// The operator's columns; `None` where one is none that a pipeline can compute.
    columns: Vec<Option<Typed>>,
    /// What some expressions over the operator's columns are, where it is known beforehand.
    known: Vec<(Arc<dyn PhysicalExpr>, Typed)>,
    rows: u64,
    parameters: Parameters,
}

/// Expressions whose values are known when the query runs, by their numbers; the scopes of a query share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Parameters(Rc<RefCell<Vec<Arc<dyn PhysicalExpr>>>>);

impl Parameters {
    fn add(&self, expression: &Arc<dyn PhysicalExpr>) -> usize {
        let mut known = self.0.borrow_mut();
        known.iter().position(|other| other == expression).unwrap_or_else(|| {
            known.push(Arc::clone(expression));
            known.len() - 1
        })
    }

    /// All of them.
    pub(super) fn expressions(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.0.borrow().clone()
    }
}

impl PartialEq for RecordColumn {
    /// Two columns are equal when they are one column of one state of a table.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.table, &other.table) && self.column == other.column
    }
}

/// True when codes are positions in the same entries here and there, or neither has any.
pub(super) fn same_entries(own: &Option<ArrayRef>, other: &Option<ArrayRef>) -> bool {
    match (own, other) {
        (None, None) => true,
        (Some(own), Some(other)) => Arc::ptr_eq(own, other),
        _ => false,
    }
}

impl Typed {
    /// An expression of a type that has integers for values.
    pub(super) fn new(expression: Expression, data_type: DataType) -> Self {
        Self { expression, data_type, entries: None, trace: Trace::default() }
    }

    /// A column of a table.
    pub(super) fn of_column(
        table: &TableSnapshot,
        column: &ColumnDefinition,
        expression: Expression,
        trace: Trace,
    ) -> Self {
        let entries = entries(table, column.id, &column.logical_type);
        Self { expression, data_type: column.logical_type.to_arrow(), entries, trace }
    }

    /// Itself, when it is a number.
    pub(super) fn number(self) -> Option<Self> {
        let number = self.data_type.is_integer() || matches!(self.data_type, DataType::Decimal128(..));
        number.then_some(self)
    }

    /// Itself, when it is a truth.
    pub(super) fn truth(self) -> Option<Expression> {
        (self.data_type == DataType::Boolean).then_some(self.expression)
    }

    /// Itself, when equal integers are equal values and larger ones are larger.
    pub(super) fn ordered(self) -> Option<Self> {
        (!self.trace.is_unordered()).then_some(self)
    }

    /// Itself, when equal integers are equal values.
    pub(super) fn told_apart(self) -> Option<Self> {
        self.trace.records.is_none().then_some(self)
    }

    /// Whether it has codes for the same entries, as [`same_entries`] says.
    pub(super) fn has_entries_of(&self, other: &Self) -> bool {
        same_entries(&self.entries, &other.entries)
    }

    /// True when equal integers mean the same here and there.
    pub(super) fn has_values_of(&self, other: &Self) -> bool {
        self.has_entries_of(other)
            && self.data_type == other.data_type
            && self.trace.numbered == other.trace.numbered
            && self.trace.records.is_none()
            && other.trace.records.is_none()
    }
}

impl ColumnScope {
    /// Columns over those of a pipeline with these facts, which at most so many records have.
    pub(super) fn new(
        facts: Vec<(Limits, bool)>,
        columns: Vec<Option<Typed>>,
        rows: u64,
        parameters: &Parameters,
    ) -> Self {
        Self { facts, columns, known: Vec::new(), rows, parameters: parameters.clone() }
    }

    /// Range and nullability of the pipeline's columns.
    pub(super) fn facts(&self) -> &[(Limits, bool)] {
        &self.facts
    }

    /// The pipeline has more columns.
    pub(super) fn add_facts(&mut self, facts: &[(Limits, bool)]) {
        self.facts.extend_from_slice(facts);
    }

    /// Records at most, as far as is known.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// The operator's columns.
    pub(super) fn columns(&self) -> &[Option<Typed>] {
        &self.columns
    }

    /// One of them.
    pub(super) fn column(&self, index: usize) -> Option<Typed> {
        self.columns.get(index)?.clone()
    }

    /// Gives the scope other columns of the records that it has.
    pub(super) fn set_columns(&mut self, columns: Vec<Option<Typed>>) {
        self.columns = columns;
        self.known.clear();
    }

    /// An expression over the operator's columns is this.
    pub(super) fn know(&mut self, expression: Arc<dyn PhysicalExpr>, typed: Typed) {
        self.known.insert(0, (expression, typed));
    }

    /// Expressions over the operator's columns of which is known what they are.
    pub(super) fn known(&self) -> &[(Arc<dyn PhysicalExpr>, Typed)] {
        &self.known
    }

    /// Other columns over the same pipeline.
    pub(super) fn with_columns(&self, columns: Vec<Option<Typed>>) -> Self {
        Self::new(self.facts.clone(), columns, self.rows, &self.parameters)
    }

    /// Columns that a join has made equal: the first of a pair determines what the second does.
    pub(super) fn equate(&mut self, pairs: &[(Typed, Typed)]) {
        for (own, other) in pairs {
            let equal = self.columns.iter_mut().flatten().filter(|column| column.expression == own.expression);
            equal.for_each(|column| column.trace.determines.extend(&other.trace.determines));
        }
    }

    /// An expression over the operator's columns, whose types are those of `schema`.
    pub(super) fn translate(&self, expression: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Compiled<Typed> {
        let translated = Translation { scope: self, schema, maps: true }.translate(expression);
        translated.ok_or_else(|| match expression.downcast_ref::<Column>() {
            Some(column) if column.index() < schema.fields().len() => {
                NotCompiled::column(&column.name(), schema.field(column.index()).data_type())
            }
            _ => NotCompiled::expression(expression),
        })
    }

    /// An expression over the operator's columns that is true, false or NULL.
    pub(super) fn truth(&self, expression: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Compiled<Expression> {
        let truth = self.translate(expression, schema)?.truth();
        truth.ok_or_else(|| NotCompiled::no_form(expression, "condition"))
    }

    /// Some expressions over the operator's columns.
    pub(super) fn translate_all(&self, expressions: &[Arc<dyn PhysicalExpr>], schema: &Schema) -> Compiled<Vec<Typed>> {
        expressions.iter().map(|expression| self.translate(expression, schema)).collect()
    }
}

/// The translation of an expression.
#[derive(Clone, Copy)]
struct Translation<'s> {
    scope: &'s ColumnScope,
    schema: &'s Schema,
    /// Expressions that have no other form may become lookup tables.
    maps: bool,
}

impl Translation<'_> {
    /// Without lookup tables, else as one, else of parts that are such.
    fn translate(self, expression: &Arc<dyn PhysicalExpr>) -> Option<Typed> {
        if let Some((_, typed)) = self.scope.known.iter().find(|(known, _)| known == expression) {
            return Some(typed.clone());
        }
        if !self.maps {
            return self.compose(expression);
        }
        let whole = Self { maps: false, ..self }.compose(expression);
        whole.or_else(|| self.scope.map(expression, self.schema)).or_else(|| self.compose(expression))
    }

    fn compose(self, expression: &Arc<dyn PhysicalExpr>) -> Option<Typed> {
        let plain = |expression, data_type| Some(Typed::new(expression, data_type));
        if let Some(column) = expression.downcast_ref::<Column>() {
            return self.scope.column(column.index());
        }
        if let Some(literal) = expression.downcast_ref::<Literal>() {
            let data_type = literal.value().data_type();
            let value = match datum(literal.value(), &LogicalType::from_arrow("", &data_type).ok()?)? {
                Datum::Null => None,
                Datum::Integer(value) => Some(value),
                Datum::Float(value) => Some(ordered(value.get()).into()),
                Datum::Bytes(_) => return None,
            };
            return plain(Expression::Constant(value), data_type);
        }
        if let Some(subquery) = expression.downcast_ref::<ScalarSubqueryExpr>() {
            let data_type = subquery.return_field(self.schema).ok()?.data_type().clone();
            let limits = limits(&data_type).filter(|_| is_number(&data_type))?;
            let number = self.scope.parameters.add(expression);
            return Some(Typed::new(Expression::Parameter { number, limits }, data_type));
        }
        if let Some(binary) = expression.downcast_ref::<BinaryExpr>() {
            return self.binary(*binary.op(), binary.left(), binary.right(), expression);
        }
        if let Some(call) = expression.downcast_ref::<ScalarFunctionExpr>() {
            if call.name() == "checked_negate" {
                return negated(self.translate(call.args().first()?)?);
            }
            if call.name() == FLOAT_KEY {
                return float_key(self.translate(call.args().first()?)?);
            }
            if call.name() == CAST && expression.data_type(self.schema).ok()? == DataType::Float64 {
                return as_double(self.translate(call.args().first()?)?.number()?);
            }
            let operator = match call.name() {
                "checked_add" => Operator::Plus,
                "checked_subtract" => Operator::Minus,
                "checked_multiply" => Operator::Multiply,
                _ => return None,
            };
            let [left, right] = call.args() else { return None };
            return self.binary(operator, left, right, expression);
        }
        if let Some(not) = expression.downcast_ref::<NotExpr>() {
            let inner = self.translate(not.arg())?.truth()?;
            return plain(Expression::Not(Box::new(inner)), DataType::Boolean);
        }
        if let Some(negative) = expression.downcast_ref::<NegativeExpr>() {
            return negated(self.translate(negative.arg())?);
        }
        if let Some(test) = expression.downcast_ref::<IsNullExpr>() {
            let inner = self.translate(test.arg())?.expression;
            return plain(Expression::IsNull(Box::new(inner)), DataType::Boolean);
        }
        if let Some(test) = expression.downcast_ref::<IsNotNullExpr>() {
            let inner = Expression::IsNull(Box::new(self.translate(test.arg())?.expression));
            return plain(Expression::Not(Box::new(inner)), DataType::Boolean);
        }
        if let Some(list) = expression.downcast_ref::<InListExpr>() {
            return self.in_list(list);
        }
        if let Some(case) = expression.downcast_ref::<CaseExpr>() {
            return self.case(case, expression);
        }
        let cast = expression.downcast_ref::<CastExpr>().filter(|cast| !cast.cast_options().safe)?;
        let inner = self.translate(cast.expr())?;
        if *cast.cast_type() == DataType::Float64 {
            return as_double(inner);
        }
        converted(inner.number()?, cast.cast_type())
    }

    fn binary(
        self,
        operator: Operator,
        left: &Arc<dyn PhysicalExpr>,
        right: &Arc<dyn PhysicalExpr>,
        whole: &Arc<dyn PhysicalExpr>,
    ) -> Option<Typed> {
        let (left, right) = (self.translate(left)?, self.translate(right)?);
        let data_type = whole.data_type(self.schema).ok()?;
        let expression = match operator {
            Operator::And => Expression::And(Box::new(left.truth()?), Box::new(right.truth()?)),
            Operator::Or => Expression::Or(Box::new(left.truth()?), Box::new(right.truth()?)),
            Operator::Plus => arithmetic(Arithmetic::Add, left, right, &data_type)?,
            Operator::Minus => arithmetic(Arithmetic::Subtract, left, right, &data_type)?,
            Operator::Multiply => arithmetic(Arithmetic::Multiply, left, right, &data_type)?,
            Operator::Divide if data_type == DataType::Float64 => doubles(FloatArithmetic::Divide, left, right)?,
            Operator::Divide | Operator::Modulo => division(operator == Operator::Modulo, left, right, &data_type)?,
            Operator::Eq => compare(Comparison::Equal, left, right)?,
            Operator::NotEq => compare(Comparison::NotEqual, left, right)?,
            Operator::Lt => compare(Comparison::Less, left, right)?,
            Operator::LtEq => compare(Comparison::LessOrEqual, left, right)?,
            Operator::Gt => compare(Comparison::Greater, left, right)?,
            Operator::GtEq => compare(Comparison::GreaterOrEqual, left, right)?,
            _ => return None,
        };
        Some(Typed::new(expression, data_type))
    }

    fn in_list(self, list: &InListExpr) -> Option<Typed> {
        if list.list().len() > SHORT_LIST {
            return None;
        }
        let value = self.translate(list.expr())?;
        let mut any = Expression::Constant(Some(0));
        for entry in list.list() {
            let equal = compare(Comparison::Equal, value.clone(), self.translate(entry)?)?;
            any = Expression::Or(Box::new(any), Box::new(equal));
        }
        let expression = if list.negated() { Expression::Not(Box::new(any)) } else { any };
        Some(Typed::new(expression, DataType::Boolean))
    }

    fn case(self, case: &CaseExpr, whole: &Arc<dyn PhysicalExpr>) -> Option<Typed> {
        let data_type = whole.data_type(self.schema).ok()?;
        let value = |value: &Arc<dyn PhysicalExpr>| {
            let value = self.translate(value)?;
            let fits = value.data_type == data_type || value.expression == Expression::Constant(None);
            (fits && value.entries.is_none()).then_some(value.expression)
        };
        let base = match case.expr() {
            Some(base) => Some(self.translate(base)?),
            None => None,
        };
        let mut branches = Vec::new();
        for (when, then) in case.when_then_expr() {
            let when = self.translate(when)?;
            let condition = match &base {
                Some(base) => compare(Comparison::Equal, base.clone(), when)?,
                None => when.truth()?,
            };
            branches.push((condition, value(then)?));
        }
        let otherwise = match case.else_expr() {
            Some(otherwise) => value(otherwise)?,
            None => Expression::Constant(None),
        };
        let number = is_number(&data_type);
        let expression = Expression::Case { branches, otherwise: Box::new(otherwise) };
        number.then_some(Typed::new(expression, data_type))
    }
}

/// The entries of a column's newest dictionary, when its integers are codes.
fn entries(table: &TableSnapshot, column: ColumnId, logical_type: &LogicalType) -> Option<ArrayRef> {
    if logical_type.class() != ValueClass::Bytes {
        return None;
    }
    let none = || arrow::array::new_empty_array(&logical_type.to_arrow());
    Some(table.dictionaries.get(&column).map_or_else(none, |dictionary| Arc::clone(&dictionary.newest)))
}
