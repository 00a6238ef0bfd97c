//! Which records TABLESAMPLE gives: by a hash of their ids, so that the same seed gives the same records of an unchanged table.

use crate::error::invalid;
use crate::functions::function::{over_arrays, typed};
use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use std::sync::Arc;

/// Bits of a record's id within its block: a zone of 65,536 records, or a page.
const BLOCK_BITS: u32 = 16;

/// `sampled(id, percent, seed)`: whether a record is among so many percent of all. `by_blocks` takes whole blocks;
/// `is_repeatable` says that the seed is the statement's.
pub(crate) fn sampled(by_blocks: bool, is_repeatable: bool) -> Arc<ScalarUDF> {
    let types = TypeSignature::Exact(vec![DataType::Int64, DataType::Float64, DataType::Float64]);
    let volatility = if is_repeatable { Volatility::Immutable } else { Volatility::Volatile };
    Arc::new(ScalarUDF::new_from_impl(Sampled { by_blocks, signature: Signature::new(types, volatility) }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Sampled {
    by_blocks: bool,
    signature: Signature,
}

impl ScalarUDFImpl for Sampled {
    fn name(&self) -> &str {
        if self.by_blocks { "sampled_blocks" } else { "sampled" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        over_arrays(&arguments, |arrays| self.compute(arrays))
    }
}

impl Sampled {
    fn compute(&self, arguments: &[ArrayRef]) -> Result<ArrayRef> {
        let ids = typed::<Int64Type>(&arguments[0])?;
        let (percents, seeds) = (typed::<Float64Type>(&arguments[1])?, typed::<Float64Type>(&arguments[2])?);
        let mut kept = Vec::with_capacity(ids.len());
        for row in 0..ids.len() {
            let percent = share(percents.is_valid(row).then(|| percents.value(row)))?;
            if seeds.is_null(row) {
                return invalid!(InvalidTablesampleRepeat, "REPEATABLE of TABLESAMPLE can't be NULL");
            }
            let id = ids.value(row) as u64;
            let place = if self.by_blocks { id >> BLOCK_BITS } else { id };
            // 53 bits, which a float tells apart.
            let hash = mixed(place ^ mixed(seeds.value(row).to_bits())) >> 11;
            kept.push((hash as f64) < percent / 100.0 * (1_u64 << 53) as f64);
        }
        Ok(Arc::new(BooleanArray::from(kept)))
    }
}

/// A share of TABLESAMPLE, if it is one.
pub(crate) fn share(percent: Option<f64>) -> Result<f64> {
    match percent {
        Some(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        Some(other) => {
            invalid!(
                InvalidTablesampleArgument,
                "TABLESAMPLE takes from 0 to 100 percent of a table's records, not {other}"
            )
        }
        None => invalid!(
            InvalidTablesampleArgument,
            "TABLESAMPLE takes from 0 to 100 percent of a table's records, not NULL"
        ),
    }
}

/// Bits that look like chance (the finalizer of splitmix64).
fn mixed(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
