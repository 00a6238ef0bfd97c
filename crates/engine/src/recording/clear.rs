//! `gingham_clear_workload()`: forgets the recorded workload.

use crate::error::invalid;
use crate::recording::recorder::Recorder;
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

/// The name of the function.
pub(crate) const CLEAR_WORKLOAD: &str = "gingham_clear_workload";

/// The function, which gives the number of shapes that there were, or fails by `refused`.
pub(crate) fn clear_workload(recorder: &Arc<Recorder>, refused: Option<String>) -> Arc<ScalarUDF> {
    let signature = Signature::nullary(Volatility::Volatile);
    Arc::new(ScalarUDF::new_from_impl(ClearWorkload { recorder: Arc::downgrade(recorder), refused, signature }))
}

#[derive(Debug)]
struct ClearWorkload {
    recorder: Weak<Recorder>,
    /// Why this session may not.
    refused: Option<String>,
    signature: Signature,
}

impl PartialEq for ClearWorkload {
    fn eq(&self, other: &Self) -> bool {
        self.recorder.ptr_eq(&other.recorder) && self.refused == other.refused
    }
}

impl Eq for ClearWorkload {}

impl Hash for ClearWorkload {
    fn hash<H: Hasher>(&self, state: &mut H) {
        CLEAR_WORKLOAD.hash(state);
    }
}

impl ScalarUDFImpl for ClearWorkload {
    fn name(&self) -> &str {
        CLEAR_WORKLOAD
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(refused) = &self.refused {
            return invalid!(InsufficientPrivilege, "{refused}");
        }
        let shapes = self.recorder.upgrade().map_or(0, |recorder| recorder.clear());
        Ok(ColumnarValue::Scalar(ScalarValue::Int64(Some(shapes as i64))))
    }
}
