//! Rules between DataFusion and the answers that this engine owes: `fixes` mend what it does otherwise than SQL says, and
//! can go once it does so no more (`tests/engine/upstream.rs` fails then); `shortcuts` spare time and are right either way;
//! `cancellation` stops its operators; `in_order` keeps the order of the rows of the program's data.

pub(crate) mod cancellation;
pub(crate) mod fixes;
pub(crate) mod in_order;
pub(crate) mod shortcuts;
