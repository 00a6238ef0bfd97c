//! version(): the engine's version, and the commit where the program has told it.

use crate::settings::POSTGRESQL_VERSION;
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::sync::{Arc, OnceLock};

static COMMIT: OnceLock<&str> = OnceLock::new();

/// Notes the commit that this program was built from, for `version()`; the first one that is told counts. The engine does not
/// look for it itself, or it would be compiled again after each commit.
///
/// # Examples
///
/// ```
/// gingham::built_from(Some("7c5310ec"));
/// let batches = gingham::Database::in_memory()?.connect().query("SELECT version() AS v")?.collect_batches()?;
/// let expected = format!("Gingham {}, 7c5310ec", env!("CARGO_PKG_VERSION"));
/// assert_eq!(gingham::ScalarValue::try_from_array(batches[0].column(0), 0)?.to_string(), expected);
/// # Ok::<(), gingham::Error>(())
/// ```
pub fn built_from(commit: Option<&'static str>) {
    if let Some(commit) = commit {
        COMMIT.get_or_init(|| commit);
    }
}

/// `Gingham 0.1.0, 7c5310ec`, or what clients of PostgreSQL read: `PostgreSQL 15.0 (Gingham 0.1.0, 7c5310ec)`.
fn text(of_server: bool) -> String {
    let commit = COMMIT.get().map_or_else(String::new, |commit| format!(", {commit}"));
    let own = format!("Gingham {}{commit}", env!("CARGO_PKG_VERSION"));
    if of_server { format!("PostgreSQL {POSTGRESQL_VERSION} ({own})") } else { own }
}

/// version(), in place of DataFusion's; `of_server` as clients of PostgreSQL read it.
pub(crate) fn version(of_server: bool) -> Arc<ScalarUDF> {
    let signature = Signature::nullary(Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Version { of_server, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Version {
    of_server: bool,
    signature: Signature,
}

impl ScalarUDFImpl for Version {
    fn name(&self) -> &str {
        "version"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(ScalarValue::Utf8View(Some(text(self.of_server)))))
    }
}
