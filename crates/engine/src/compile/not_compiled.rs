//! Why pipelines leave a part of a plan to DataFusion's operators. It is no failure: those operators do it.

use crate::type_name::type_name;
use arrow::datatypes::DataType;
use std::fmt;
use std::sync::Arc;

/// The reason why an operator or an expression is not compiled, in words for EXPLAIN and `gingham_fallbacks`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NotCompiled(Arc<str>);

/// Something compiled, or why it is not.
pub(crate) type Compiled<T> = Result<T, NotCompiled>;

impl NotCompiled {
    /// A reason in words: what it is that pipelines don't do.
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into().into())
    }

    /// An expression that has no form over integers.
    pub(super) fn expression(expression: &impl fmt::Display) -> Self {
        Self::new(format!("pipelines do not compute {expression}"))
    }

    /// An expression whose integers are of no use here: `wanted` says what it should be.
    pub(super) fn no_form(expression: &impl fmt::Display, wanted: &str) -> Self {
        Self::new(format!("{expression} is no {wanted} that pipelines compute"))
    }

    /// A column that pipelines can't carry.
    pub(super) fn column(name: &impl fmt::Display, data_type: &DataType) -> Self {
        Self::new(format!("pipelines do not carry {name}, a column of type {}", type_name(data_type)))
    }

    /// Values of more bits than the columns of pipelines' rows have.
    pub(super) fn too_wide() -> Self {
        Self::new("values of more than 64 bits between pipelines")
    }
}

impl fmt::Display for NotCompiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
