//! Fixes of what DataFusion does otherwise than SQL says. Each file says what shows it, and `tests/engine/upstream.rs` asks plain
//! DataFusion for it; not of `unwaited_joins`, which would wait for ever.
//!
//! | file | what |
//! |---|---|
//! | `constant_regressions` | `regr_r2` of a constant is NULL |
//! | `equal_functions` | windows above an equality of a function are refused |
//! | `equal_windows` | window functions that became the same are refused |
//! | `joins_in_memory` | joins that look at all pairs double or lose rows where memory is refused |
//! | `lists_of_columns` | `IN` with columns in its list is taken for a constant |
//! | `one_group` | conditions about no column go below an aggregation without keys |
//! | `ordered_strings` | `string_agg` in two orders is refused |
//! | `outer_constants` | a sort is left out by a constant that outer joins make NULL |
//! | `shared_thresholds` | the first rows of a union leave out better ones |
//! | `unwaited_joins` | a join waits for a partition that nobody runs |
//! | `whole_keys` | a part of the keys of groups is said to be unique |
//! | `zeros_in_lists` | -0.0 is not found among the 0.0 of a list |

mod constant_regressions;
mod equal_functions;
mod equal_windows;
mod joins_in_memory;
mod lists_of_columns;
mod one_group;
mod ordered_strings;
mod outer_constants;
mod shared_thresholds;
mod unwaited_joins;
mod whole_keys;
mod zeros_in_lists;

pub(crate) use constant_regressions::ConstantRegressions;
pub(crate) use equal_functions::EqualFunctions;
pub(crate) use equal_windows::EqualWindows;
pub(crate) use joins_in_memory::{InMemory, JoinsInMemory};
pub(crate) use lists_of_columns::ListsOfColumns;
pub(crate) use one_group::{LimitOneGroup, UnlimitOneGroup};
pub(crate) use ordered_strings::OrderedStrings;
pub(crate) use outer_constants::OuterConstants;
pub(crate) use shared_thresholds::SharedThresholds;
pub(crate) use unwaited_joins::UnwaitedJoins;
pub(crate) use whole_keys::WholeKeys;
pub(crate) use zeros_in_lists::OneZero;
