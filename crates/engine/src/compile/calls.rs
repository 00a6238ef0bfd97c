//! Calls of aggregate functions as what pipelines compute: most as words of a group's state, the others kept apart.

use crate::compile::draft::PipelineBuilder;
use crate::compile::evaluate::text_function;
use crate::compile::functions::is_string;
use crate::compile::groups::{GroupParts, OutputColumn, OutputSource};
use crate::compile::numbers::as_double;
use crate::compile::translate::{Trace, Typed};
use arrow::datatypes::{DataType, Schema};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use gingham_execution::{Arithmetic, Expression, Finish, Function, Gathering, Limits, Moment, OutOfLine, Pair, Spread};
use std::sync::Arc;

impl GroupParts {
    /// Adds a call. `None` for one that pipelines do not compute.
    pub(super) fn add_function(
        &mut self,
        function: &AggregateFunctionExpr,
        filter: Option<Expression>,
        open: &PipelineBuilder,
        schema: &Schema,
    ) -> Option<()> {
        let data_type = function.field().data_type().clone();
        let plain = function.order_bys().is_empty() && !function.ignore_nulls();
        let arguments = function.expressions();
        let name = function.fun().name();
        if let ([first, second], "covar_samp" | "covar_pop" | "corr") = (arguments.as_slice(), name) {
            let floats = [first, second].map(|argument| open.scope.translate(argument, schema).ok());
            let [Some(first), Some(second)] = floats else { return None };
            return if plain && !function.is_distinct() {
                self.add_pair(name, [first, second], filter, open)
            } else {
                None
            };
        }
        let [argument] = arguments.as_slice() else { return None };
        // The smallest and the largest of some values are those of the different ones.
        let is_distinct = function.is_distinct();
        if !plain || (is_distinct && !matches!(name, "count" | "min" | "max" | "sum" | "avg")) {
            return None;
        }
        match name {
            "count" if is_distinct => {
                let argument = open.scope.translate(argument, schema).ok()?.told_apart()?;
                let count = self.compute(Function::CountDistinct, Some(argument.expression), filter);
                self.show(Finish::Value(count), data_type, None, Trace::default());
            }
            "count" => {
                let argument = open.scope.translate(argument, schema).ok()?;
                let count = self.compute(Function::Count, Some(argument.expression), filter);
                self.show(Finish::Value(count), data_type, None, Trace::default());
            }
            "sum" => {
                let argument = open.scope.translate(argument, schema).ok()?;
                self.add_sum(argument, filter, is_distinct, data_type)?;
            }
            name @ ("min" | "max") => {
                let ordered = open.scope.translate(argument, schema).ok().and_then(Typed::ordered);
                let ordered = ordered.filter(|ordered| ordered.data_type == data_type);
                let Some(ordered) = ordered else {
                    is_text(function).then_some(())?;
                    return self.add_text(argument, filter, (open, schema), data_type, name == "max");
                };
                let function = if name == "min" { Function::Min } else { Function::Max };
                let value = self.compute(function, Some(ordered.expression), filter);
                self.show(Finish::Value(value), data_type, ordered.entries, Trace::default());
            }
            name @ ("bool_and" | "bool_or") => {
                let truth = open.scope.translate(argument, schema).ok()?.truth()?;
                let function = if name == "bool_and" { Function::Min } else { Function::Max };
                let value = self.compute(function, Some(truth), filter);
                self.show(Finish::Value(value), data_type, None, Trace::default());
            }
            name @ ("bit_and" | "bit_or" | "bit_xor") => {
                let argument = open.scope.translate(argument, schema).ok()?.number()?;
                if argument.data_type != data_type {
                    return None;
                }
                let function = match name {
                    "bit_and" => Function::BitAnd,
                    "bit_or" => Function::BitOr,
                    _ => Function::BitXor,
                };
                let value = self.compute(function, Some(argument.expression), filter);
                self.show(Finish::Value(value), data_type, None, Trace::default());
            }
            "avg" => {
                let argument = open.scope.translate(argument, schema).ok()?;
                self.add_average(argument, filter, (open, is_distinct), data_type)?;
            }
            name @ ("var" | "var_pop" | "stddev" | "stddev_pop") => {
                let (sample, root) = (!name.ends_with("_pop"), name.starts_with("stddev"));
                self.add_spread(open.scope.translate(argument, schema).ok()?, filter, (sample, root))?;
            }
            _ => return None,
        }
        Some(())
    }

    /// A sum: of floats exact whatever they are, of others within what the type holds.
    fn add_sum(
        &mut self,
        argument: Typed,
        filter: Option<Expression>,
        is_distinct: bool,
        data_type: DataType,
    ) -> Option<()> {
        let finish = match &data_type {
            DataType::Float64 if argument.data_type != data_type => return None,
            DataType::Float64 if is_distinct => {
                let different = self.gather(Gathering::DistinctFloats, vec![argument.expression], filter);
                Finish::Moment(different, Moment::Sum)
            }
            DataType::Float64 => Finish::Value(self.compute(Function::FloatSum, Some(argument.expression), filter)),
            _ => {
                let number = argument.number()?.expression;
                Finish::Within(self.compute(sum_of(is_distinct), Some(number), filter), sum_limits(&data_type)?)
            }
        };
        self.show(finish, data_type, None, Trace::default());
        Some(())
    }

    /// A mean: of decimals in digits, of integers and floats as DOUBLE. The sum is exact in each case.
    fn add_average(
        &mut self,
        argument: Typed,
        filter: Option<Expression>,
        (open, is_distinct): (&PipelineBuilder, bool),
        data_type: DataType,
    ) -> Option<()> {
        match (&data_type, &argument.data_type) {
            (DataType::Float64, DataType::Float64) => {
                let integer = match &argument.expression {
                    Expression::ToFloat { argument, digits: 0 } => Some((**argument).clone()),
                    _ => None,
                };
                // Larger integers may be different and equal as floats.
                let limits = |integer: &Expression| Some(integer.facts(open.scope.facts()).ok()?.0.magnitude());
                let integer =
                    integer.filter(|integer| !is_distinct || limits(integer).is_some_and(|most| most <= 1 << 53));
                let floats = integer.is_none();
                let (sum, count) = match integer {
                    None if is_distinct => {
                        let what = Gathering::DistinctFloats;
                        let different = self.gather(what, vec![argument.expression], filter);
                        (Finish::Moment(different, Moment::Sum), Finish::Counted(different))
                    }
                    None => self.sum_and_count((Function::FloatSum, false), argument.expression, filter),
                    Some(integer) => self.sum_and_count((sum_of(is_distinct), is_distinct), integer, filter),
                };
                let how = OutputSource::Mean { sum: self.finish(sum), count: self.finish(count), floats };
                self.columns.push(OutputColumn { data_type, how, entries: None, trace: Trace::default() });
            }
            (DataType::Decimal128(_, scale), DataType::Decimal128(_, own)) => {
                let digits = u32::try_from(i32::from(*scale) - i32::from(*own)).ok()?;
                let limits = sum_limits(&data_type)?;
                let both = self.sum_and_count((sum_of(is_distinct), is_distinct), argument.expression, filter);
                let (Finish::Value(sum), Finish::Value(count)) = both else { return None };
                self.show(Finish::Mean { sum, count, digits, limits }, data_type, None, Trace::default());
            }
            _ => return None,
        }
        Some(())
    }

    /// A sum and how many it is of, in words.
    fn sum_and_count(
        &mut self,
        (sum, is_distinct): (Function, bool),
        argument: Expression,
        filter: Option<Expression>,
    ) -> (Finish, Finish) {
        let count = if is_distinct { Function::CountDistinct } else { Function::Count };
        let sum = self.compute(sum, Some(argument.clone()), filter.clone());
        (Finish::Value(sum), Finish::Value(self.compute(count, Some(argument), filter)))
    }

    /// How far numbers spread, as a DOUBLE: integers and decimals from sums in words, floats from sums
    /// that are kept apart. All of these are exact.
    fn add_spread(&mut self, argument: Typed, filter: Option<Expression>, (sample, root): (bool, bool)) -> Option<()> {
        let finish = match as_double(argument)? {
            Typed { expression: Expression::ToFloat { argument: number, digits }, .. } => {
                let any = Limits::new(i128::MIN, i128::MAX);
                let square = Expression::arithmetic(Arithmetic::Multiply, (*number).clone(), (*number).clone(), any);
                let sum = self.compute(Function::Sum, Some((*number).clone()), filter.clone());
                let squares = self.compute(Function::Sum, Some(square), filter.clone());
                let count = self.compute(Function::Count, Some(*number), filter);
                Finish::Spread(Spread { sum, squares, count, digits, sample, root })
            }
            Typed { expression, data_type: DataType::Float64, .. } => {
                let floats = self.gather(Gathering::Floats { squares: true }, vec![expression], filter);
                Finish::Moment(floats, Moment::Spread { sample, root })
            }
            _ => return None,
        };
        self.show(finish, DataType::Float64, None, Trace::default());
        Some(())
    }

    /// How two numbers spread together, which aggregates see as DOUBLEs: integers and decimals from sums in words, floats from
    /// sums that are kept apart.
    fn add_pair(
        &mut self,
        name: &str,
        arguments: [Typed; 2],
        filter: Option<Expression>,
        open: &PipelineBuilder,
    ) -> Option<()> {
        if let [
            Typed { expression: Expression::ToFloat { argument: first, digits: one }, .. },
            Typed { expression: Expression::ToFloat { argument: second, digits: other }, .. },
        ] = &arguments
        {
            let numbers = [(**first).clone(), (**second).clone()];
            if numbers.iter().all(|number| has_sum_of_squares(number, open)) {
                return self.add_pair_of_numbers(name, (numbers, [*one, *other]), filter, open);
            }
        }
        let moment = match name {
            "corr" => Moment::Correlation,
            name => Moment::Covariance { sample: name == "covar_samp" },
        };
        let double = |argument: Typed| (argument.data_type == DataType::Float64).then_some(argument.expression);
        let arguments = arguments.into_iter().map(double).collect::<Option<Vec<_>>>()?;
        let floats = self.gather(Gathering::Floats { squares: name == "corr" }, arguments, filter);
        self.show(Finish::Moment(floats, moment), DataType::Float64, None, Trace::default());
        Some(())
    }

    fn add_pair_of_numbers(
        &mut self,
        name: &str,
        (numbers, digits): ([Expression; 2], [u32; 2]),
        filter: Option<Expression>,
        open: &PipelineBuilder,
    ) -> Option<()> {
        let any = Limits::new(i128::MIN, i128::MAX);
        let product = |one: &Expression, other: &Expression| {
            Expression::arithmetic(Arithmetic::Multiply, one.clone(), other.clone(), any)
        };
        // A number counts where its partner is one, too.
        let with = |partner: &Expression| {
            let (_, is_nullable) = partner.facts(open.scope.facts()).ok()?;
            let present = Expression::Not(Box::new(Expression::IsNull(Box::new(partner.clone()))));
            Some(if is_nullable { Some(Expression::and(filter.clone(), present)) } else { filter.clone() })
        };
        let [first, second] = &numbers;
        let both = [(first, with(second)?), (second, with(first)?)];
        let products = product(first, second);
        let sums = both.clone().map(|(number, filter)| self.compute(Function::Sum, Some(number.clone()), filter));
        let squares = (name == "corr")
            .then(|| both.map(|(number, filter)| self.compute(Function::Sum, Some(product(number, number)), filter)));
        let count = self.compute(Function::Count, Some(products.clone()), filter.clone());
        let products = self.compute(Function::Sum, Some(products), filter.clone());
        let pair = Pair { sums, products, squares, count, digits, sample: name == "covar_samp" };
        self.show(Finish::Pair(pair), DataType::Float64, None, Trace::default());
        Some(())
    }

    /// The smallest or largest of strings that have no codes: by the strings themselves.
    fn add_text(
        &mut self,
        argument: &Arc<dyn PhysicalExpr>,
        filter: Option<Expression>,
        (open, schema): (&PipelineBuilder, &Schema),
        data_type: DataType,
        largest: bool,
    ) -> Option<()> {
        let known = self.texts.iter().find(|(known, ..)| known == argument);
        let (function, arguments) = match known {
            Some((_, function, arguments)) => (*function, arguments.clone()),
            None => {
                let (function, arguments) = text_function(open, argument, schema)?;
                let number = self.others + self.functions.len();
                self.functions.push(function);
                self.texts.push((Arc::clone(argument), number, arguments.clone()));
                (number, arguments)
            }
        };
        let text = self.gather(Gathering::Text { function, largest }, arguments, filter);
        self.show(Finish::Text(text), data_type, None, Trace { numbered: true, ..Trace::default() });
        Some(())
    }

    /// Adds what is kept apart from words; one for all calls that need the same.
    fn gather(&mut self, what: Gathering, arguments: Vec<Expression>, filter: Option<Expression>) -> usize {
        let alike = |known: &Gathering| match (known, &what) {
            (Gathering::Floats { .. }, Gathering::Floats { .. }) => true,
            (known, what) => known == what,
        };
        let alike = |known: &OutOfLine| alike(&known.what) && known.arguments == arguments && known.filter == filter;
        if let Some(place) = self.apart.iter().position(alike) {
            if let (Gathering::Floats { squares }, Gathering::Floats { squares: wanted }) =
                (&mut self.apart[place].what, what)
            {
                *squares |= wanted;
            }
            return place;
        }
        self.apart.push(OutOfLine { what, arguments, filter });
        self.apart.len() - 1
    }
}

/// Whether the sum of the squares of a number is one of 128 bits, whatever comes.
fn has_sum_of_squares(number: &Expression, open: &PipelineBuilder) -> bool {
    let largest = number.facts(open.scope.facts()).map_or(u128::MAX, |(limits, _)| limits.magnitude());
    let sum = largest.checked_mul(largest).and_then(|square| square.checked_mul(open.most.into()));
    sum.is_some_and(|sum| sum <= i128::MAX as u128)
}

/// Whether a call is for the smallest or largest of some strings.
pub(super) fn is_text(call: &AggregateFunctionExpr) -> bool {
    matches!(call.fun().name(), "min" | "max") && is_string(call.field().data_type())
}

fn sum_of(is_distinct: bool) -> Function {
    if is_distinct { Function::SumDistinct } else { Function::Sum }
}

/// What the type of a sum can hold.
fn sum_limits(data_type: &DataType) -> Option<Limits> {
    match data_type {
        DataType::Int64 | DataType::UInt64 | DataType::Decimal128(..) => crate::compile::numbers::limits(data_type),
        _ => None,
    }
}
