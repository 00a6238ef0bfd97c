//! to_char, to_date and to_timestamp.

use crate::error::invalid;
use crate::functions::over_arrays;
use crate::temporal::column::{DayAndTime, as_type, days_and_times};
use crate::temporal::format::number::{NumberDigits, Template};
use crate::temporal::format::pattern::{TemplateItem, items};
use crate::temporal::format::read::{ReadMoment, read};
use crate::temporal::format::write::{FormattedValue, write};
use crate::temporal::moment::{is_infinite, units_of_day};
use crate::temporal::zones::ZONE;
use crate::type_name::type_name;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Float64Type, IntervalMonthDayNanoType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::functions::datetime;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use gingham_execution::divided;
use std::sync::Arc;

/// The functions.
pub(crate) fn functions() -> Vec<Arc<ScalarUDF>> {
    let function = |name, native, what| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(ByTemplate { name, native, what, signature }))
    };
    vec![
        function("to_char", datetime::to_char(), FormatTarget::Char),
        function("to_date", datetime::to_date(), FormatTarget::Date),
        function("to_timestamp", datetime::to_timestamp(&Default::default()), FormatTarget::Timestamp),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum FormatTarget {
    Char,
    Date,
    Timestamp,
}

/// One of the functions, and DataFusion's of that name.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ByTemplate {
    name: &'static str,
    native: Arc<ScalarUDF>,
    what: FormatTarget,
    signature: Signature,
}

/// A template with a `%` is DataFusion's.
fn is_own(template: &str) -> bool {
    !template.contains('%')
}

impl ByTemplate {
    /// Whether a call is by a template of PostgreSQL's, as far as is known while it is planned.
    fn takes(&self, template: Option<&ScalarValue>) -> bool {
        match template {
            Some(template) => template.try_as_str().flatten().is_none_or(is_own),
            None => self.what == FormatTarget::Char,
        }
    }
}

/// Whether to_char shows values of a type.
fn is_shown(data_type: &DataType) -> bool {
    data_type.is_numeric()
        || matches!(data_type, DataType::Date32 | DataType::Timestamp(..) | DataType::Interval(_) | DataType::Time64(_))
        || matches!(data_type, DataType::Time32(_) | DataType::Null)
}

impl ScalarUDFImpl for ByTemplate {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        self.native.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let is_text = |data_type: &DataType| data_type.is_string() || data_type.is_null();
        match (self.what, types) {
            (FormatTarget::Char, [value, template]) if is_text(template) && is_shown(value) => {
                let value = match value {
                    integer if integer.is_integer() => DataType::Decimal128(20, 0),
                    DataType::Float32 => DataType::Float64,
                    other => other.clone(),
                };
                Ok(vec![value, DataType::Utf8])
            }
            (FormatTarget::Char, [value, _]) => {
                invalid!(
                    UndefinedFunction,
                    "to_char takes a date, a time, an interval or a number, not {}",
                    type_name(value)
                )
            }
            (FormatTarget::Char, _) => {
                invalid!(UndefinedFunction, "to_char takes a value and a template, not {} values", types.len())
            }
            (_, []) => invalid!(UndefinedFunction, "{} takes a text", self.name),
            (FormatTarget::Timestamp, [seconds]) if seconds.is_numeric() => Ok(vec![DataType::Float64]),
            _ => Ok(types.to_vec()),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match self.what {
            FormatTarget::Char => Ok(DataType::Utf8),
            FormatTarget::Date => Ok(DataType::Date32),
            FormatTarget::Timestamp => self.native.return_type(types),
        }
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<_> = arguments.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let template = arguments.scalar_arguments.get(1).copied().flatten();
        let is_instant =
            self.what == FormatTarget::Timestamp && types.len() == 2 && template.is_some() && self.takes(template);
        let is_instant = is_instant || (self.what == FormatTarget::Timestamp && types == [DataType::Float64]);
        let data_type = match is_instant {
            true => DataType::Timestamp(TimeUnit::Microsecond, Some(ZONE.into())),
            false if self.what == FormatTarget::Timestamp => {
                return self.native.inner().return_field_from_args(arguments);
            }
            false => self.return_type(&types)?,
        };
        Ok(Arc::new(Field::new(self.name, data_type, true)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let template = match arguments.args.get(1) {
            Some(ColumnarValue::Scalar(template)) => Some(template),
            _ => None,
        };
        if self.what == FormatTarget::Timestamp
            && arguments.args.len() == 1
            && arguments.args[0].data_type() == DataType::Float64
        {
            return over_arrays(&arguments, |arrays| instants(&arrays[0], arguments.return_field.data_type()));
        }
        let is_own = arguments.args.len() == 2
            && (template.is_some() || self.what == FormatTarget::Char)
            && self.takes(template);
        if !is_own {
            return self.native.inner().invoke_with_args(arguments);
        }
        over_arrays(&arguments, |arrays| {
            let templates = cast(&arrays[1], &DataType::Utf8)?;
            let templates = templates.as_string::<i32>();
            if self.what == FormatTarget::Char {
                return written(&arrays[0], templates);
            }
            let texts = cast(&arrays[0], &DataType::Utf8)?;
            self.readings(texts.as_string::<i32>(), templates, arguments.return_field.data_type())
        })
    }
}

/// The instants so many seconds after 1970-01-01.
fn instants(seconds: &ArrayRef, result: &DataType) -> Result<ArrayRef> {
    let instant = |seconds: f64| {
        if seconds.is_nan() {
            return invalid!(DatetimeFieldOverflow, "to_timestamp: NaN is no number of seconds");
        }
        if seconds.is_infinite() {
            return Ok(if seconds > 0.0 { i64::MAX } else { i64::MIN });
        }
        // From 4714-11-24 BC to the end of 294276, as PostgreSQL has it.
        match (-210_866_803_200.0..9_224_318_016_000.0).contains(&seconds) {
            true => Ok((seconds * 1e6).round_ties_even() as i64),
            false => invalid!(DatetimeFieldOverflow, "to_timestamp: {seconds} is out of range for TIMESTAMP"),
        }
    };
    let values = cast(seconds, &DataType::Float64)?;
    let values = values.as_primitive::<Float64Type>().iter().map(|own| own.map(instant).transpose());
    as_type(values.collect::<Result<Int64Array>>()?, result)
}

impl ByTemplate {
    fn readings(&self, texts: &StringArray, templates: &StringArray, result: &DataType) -> Result<ArrayRef> {
        let mut known = ParsedTemplate::default();
        let mut values = Vec::with_capacity(texts.len());
        for (text, template) in texts.iter().zip(templates) {
            let Some((text, template)) = text.zip(template) else {
                values.push(None);
                continue;
            };
            match read(text, known.items(template)).and_then(|read| self.value(read)) {
                Ok(value) => values.push(Some(value)),
                Err(problem) => {
                    return invalid!(InvalidDatetimeFormat, "{}('{text}', '{template}'): {problem}", self.name);
                }
            }
        }
        as_type(values.into_iter().collect(), result)
    }
}

impl ByTemplate {
    /// The integer of the result's type that was read.
    fn value(&self, read: ReadMoment) -> std::result::Result<i64, String> {
        let micros = || {
            let midnight = read.days.checked_mul(units_of_day(TimeUnit::Microsecond))?;
            midnight.checked_add(read.time / 1000).filter(|timestamp| !is_infinite(*timestamp))
        };
        let value = match self.what {
            FormatTarget::Date => i32::try_from(read.days).ok().filter(|days| *days != i32::MAX).map(i64::from),
            _ => micros(),
        };
        value.ok_or_else(|| "the year is out of range".to_owned())
    }
}

/// The template that was read last.
#[derive(Debug, Default)]
struct ParsedTemplate {
    template: String,
    items: Vec<TemplateItem>,
}

impl ParsedTemplate {
    fn items(&mut self, template: &str) -> &[TemplateItem] {
        if self.template != template {
            (self.template, self.items) = (template.to_owned(), items(template));
        }
        &self.items
    }
}

/// The values by the template of each row.
fn written(values: &ArrayRef, templates: &StringArray) -> Result<ArrayRef> {
    if values.data_type().is_numeric() {
        return numbers(values, templates);
    }
    let mut known = ParsedTemplate::default();
    let shown = shown(values)?;
    let mut texts = Vec::with_capacity(shown.len());
    for (shown, template) in shown.into_iter().zip(templates) {
        texts.push(shown.zip(template).map(|(shown, template)| {
            let mut text = String::new();
            write(&shown, known.items(template), &mut text);
            text
        }));
    }
    Ok(Arc::new(texts.into_iter().collect::<StringArray>()))
}

/// The values with their parts, which infinite ones have none of.
fn shown(values: &ArrayRef) -> Result<Vec<Option<FormattedValue>>> {
    if let Some(intervals) = values.as_primitive_opt::<IntervalMonthDayNanoType>() {
        return Ok(intervals.iter().map(|interval| interval.map(FormattedValue::interval)).collect());
    }
    let has_zone = matches!(values.data_type(), DataType::Timestamp(_, Some(_)));
    let moment = |moment: DayAndTime| FormattedValue::moment(moment.days, moment.nanoseconds, has_zone);
    Ok(days_and_times(values)?.into_iter().map(|found| found.map(moment)).collect())
}

fn numbers(values: &ArrayRef, templates: &StringArray) -> Result<ArrayRef> {
    let mut texts = Vec::with_capacity(values.len());
    for row in 0..values.len() {
        if values.is_null(row) || templates.is_null(row) {
            texts.push(None);
            continue;
        }
        let template = match Template::read(templates.value(row)) {
            Ok(template) => template,
            Err(problem) => return invalid!(InvalidParameterValue, "{problem}"),
        };
        texts.push(Some(template.write(&digits(values, row, template.behind))));
    }
    Ok(Arc::new(texts.into_iter().collect::<StringArray>()))
}

/// The digits of a number, rounded to so many behind the point.
fn digits(values: &ArrayRef, row: usize, behind: usize) -> NumberDigits {
    let text = match values.as_primitive_opt::<Decimal128Type>() {
        Some(decimals) => {
            let scale = usize::try_from(decimals.scale()).unwrap_or(0);
            let value = decimals.value(row);
            let more = u32::try_from(scale.saturating_sub(behind)).unwrap_or(0);
            let unit = 10i128.pow(more.min(38));
            // The unit is no zero, and no quotient by it is larger than the value.
            let rounded = divided(value, unit).unwrap_or(value);
            let kept = scale.min(behind);
            let digits = format!("{:0width$}", rounded.unsigned_abs(), width = kept + 1);
            let (whole, fraction) = digits.split_at(digits.len() - kept);
            format!("{}{whole}.{fraction:0<behind$}", if value < 0 && rounded != 0 { "-" } else { "" })
        }
        None => {
            let value = values.as_primitive_opt::<Float64Type>().map_or(0.0, |floats| floats.value(row));
            format!("{value:.behind$}")
        }
    };
    let (is_negative, text) = text.strip_prefix('-').map_or((false, text.as_str()), |rest| (true, rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    NumberDigits { is_negative, whole: whole.trim_start_matches('0').to_owned(), fraction: fraction.to_owned() }
}
