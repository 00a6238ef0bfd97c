//! A function over the catalog of its statement, as DataFusion's scalar function: a row at a time, since there are few.

use crate::postgres::CatalogNames;
use crate::settings::Settings;
use crate::type_name::type_name;
use crate::{Error, Result};
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, ListBuilder, StringViewArray, StringViewBuilder,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use gingham_storage::SqlState;
use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The zone of times with one.
const ZONE: &str = "UTC";

/// A value of an argument, or of the result.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CatalogValue {
    Null,
    Text(String),
    Integer(i64),
    Truth(bool),
    /// Texts of a list.
    Texts(Vec<String>),
    /// Microseconds since 1970.
    Moment(i64),
}

impl CatalogValue {
    /// Its text, or the digits of a number.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Integer(number) => number.to_string(),
            Self::Truth(truth) => truth.to_string(),
            Self::Null | Self::Texts(_) | Self::Moment(_) => String::new(),
        }
    }

    /// The number that it is, or whose digits it is.
    pub(super) fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }
}

impl From<Option<String>> for CatalogValue {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }
}

impl From<Option<i64>> for CatalogValue {
    fn from(number: Option<i64>) -> Self {
        number.map_or(Self::Null, Self::Integer)
    }
}

/// The type of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gives {
    Text,
    Integer,
    Truth,
    Texts,
    Moment,
}

impl Gives {
    fn data_type(self) -> DataType {
        match self {
            Self::Text => DataType::Utf8View,
            Self::Integer => DataType::Int64,
            Self::Truth => DataType::Boolean,
            Self::Texts => DataType::new_list(DataType::Utf8View, true),
            Self::Moment => DataType::Timestamp(TimeUnit::Microsecond, Some(ZONE.into())),
        }
    }

    fn array(self, values: Vec<CatalogValue>) -> ArrayRef {
        match self {
            Self::Text => {
                let text = |value| if let CatalogValue::Text(text) = value { Some(text) } else { None };
                Arc::new(values.into_iter().map(text).collect::<StringViewArray>())
            }
            Self::Integer => {
                let number = |value| if let CatalogValue::Integer(number) = value { Some(number) } else { None };
                Arc::new(values.into_iter().map(number).collect::<Int64Array>())
            }
            Self::Truth => {
                let truth = |value| if let CatalogValue::Truth(truth) = value { Some(truth) } else { None };
                Arc::new(values.into_iter().map(truth).collect::<BooleanArray>())
            }
            Self::Moment => {
                let moment = |value| if let CatalogValue::Moment(moment) = value { Some(moment) } else { None };
                let moments = values.into_iter().map(moment).collect::<TimestampMicrosecondArray>();
                Arc::new(moments.with_timezone(ZONE))
            }
            Self::Texts => {
                let mut lists = ListBuilder::new(StringViewBuilder::new());
                for value in values {
                    if let CatalogValue::Texts(texts) = value {
                        texts.into_iter().for_each(|text| lists.values().append_value(text));
                        lists.append(true);
                    } else {
                        lists.append(false);
                    }
                }
                Arc::new(lists.finish())
            }
        }
    }
}

/// The result for one row's arguments.
pub(super) type OfRow = fn(&[CatalogValue], &dyn CatalogNames) -> Result<CatalogValue>;

/// A function that asks the catalog. Two of one name are the same function.
#[derive(Debug)]
pub(crate) struct CatalogFunction {
    name: &'static str,
    aliases: Vec<String>,
    arguments: RangeInclusive<usize>,
    gives: Gives,
    of_row: OfRow,
    /// NULL arguments give NULL.
    is_strict: bool,
    signature: Signature,
}

impl CatalogFunction {
    /// A function that is NULL where an argument is, and the same throughout a statement.
    pub(super) fn new(name: &'static str, arguments: RangeInclusive<usize>, gives: Gives, of_row: OfRow) -> Self {
        let signature = Signature::user_defined(Volatility::Stable);
        Self { name, aliases: Vec::new(), arguments, gives, of_row, is_strict: true, signature }
    }

    /// With another name beside its own.
    pub(super) fn alias(mut self, name: &str) -> Self {
        self.aliases.push(name.to_owned());
        self
    }

    /// One that is not NULL wherever an argument is.
    pub(super) fn with_nulls(mut self) -> Self {
        self.is_strict = false;
        self
    }

    /// One that is computed for each row.
    pub(super) fn volatile(mut self) -> Self {
        self.signature.volatility = Volatility::Volatile;
        self
    }
}

impl PartialEq for CatalogFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for CatalogFunction {}

impl Hash for CatalogFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// The type that an argument is read as.
fn taken(name: &str, data_type: &DataType) -> Result<DataType> {
    match data_type {
        own if own.is_integer() => Ok(DataType::Int64),
        own if own.is_string() || own.is_null() => Ok(DataType::Utf8View),
        DataType::Boolean => Ok(DataType::Boolean),
        // A number with a fraction, of a function that takes seconds.
        own if own.is_numeric() => Ok(DataType::Utf8View),
        other => Err(Error::invalid(
            SqlState::UndefinedFunction,
            format!("function {name} does not take {}; it takes names as text and OIDs", type_name(other)),
        )),
    }
}

fn values(array: &ArrayRef) -> Vec<CatalogValue> {
    let value = |row: usize| match array.data_type() {
        _ if array.is_null(row) => CatalogValue::Null,
        DataType::Int64 => CatalogValue::Integer(array.as_primitive::<Int64Type>().value(row)),
        DataType::Boolean => CatalogValue::Truth(array.as_boolean().value(row)),
        DataType::Utf8View => CatalogValue::Text(array.as_string_view().value(row).to_owned()),
        _ => CatalogValue::Null,
    };
    (0..array.len()).map(value).collect()
}

impl ScalarUDFImpl for CatalogFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> DataFusionResult<Vec<DataType>> {
        if !self.arguments.contains(&types.len()) {
            let (least, most) = (self.arguments.start(), self.arguments.end());
            let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
            let text = format!("function {} takes {wanted} arguments, not {}", self.name, types.len());
            return Err(Error::invalid(SqlState::UndefinedFunction, text).into());
        }
        Ok(types.iter().map(|own| taken(self.name, own)).collect::<Result<Vec<_>>>()?)
    }

    fn return_type(&self, _: &[DataType]) -> DataFusionResult<DataType> {
        Ok(self.gives.data_type())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        Ok(Arc::new(Field::new(self.name, self.gives.data_type(), true)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let settings = arguments.config_options.extensions.get::<Settings>();
        let Some(names) = settings.and_then(|settings| settings.catalog.as_ref()?.upgrade()) else {
            let text = format!("not supported: {} outside of a query", self.name);
            return Err(Error::Unsupported(text).into());
        };
        let is_volatile = self.signature.volatility == Volatility::Volatile;
        let is_constant = arguments.args.iter().all(|own| matches!(own, ColumnarValue::Scalar(_)));
        let rows = if is_constant && !is_volatile { 1 } else { arguments.number_rows };
        let columns = arguments
            .args
            .iter()
            .map(|own| Ok(values(&own.to_array(rows)?)))
            .collect::<DataFusionResult<Vec<Vec<CatalogValue>>>>()?;
        let mut results = Vec::with_capacity(rows);
        for row in 0..rows {
            let own: Vec<CatalogValue> = columns.iter().map(|column| column[row].clone()).collect();
            let is_null = self.is_strict && own.contains(&CatalogValue::Null);
            results.push(if is_null { CatalogValue::Null } else { (self.of_row)(&own, names.as_ref())? });
        }
        let array = self.gives.array(results);
        Ok(if is_constant && !is_volatile { ScalarValue::try_from_array(&array, 0)?.into() } else { array.into() })
    }
}
