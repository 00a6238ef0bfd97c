//! Rules of DataFusion kept from plans in which they have nothing to do, and one done in less time. Answers are the same
//! without them.
//!
//! | file | what |
//! |---|---|
//! | `keyed_joins` | keys of the joins of a FROM list |
//! | `passes` | another pass of the logical rules only where it may gain |
//! | `seldom` | rules for what few plans have |
//! | `select_joins` | sides of joins stay as the order of joins has them |
//! | `whole_plans` | plans that are a single operator of ours |

mod keyed_joins;
mod passes;
mod seldom;
mod select_joins;
mod whole_plans;

pub(crate) use keyed_joins::KeyedJoins;
pub(crate) use passes::in_passes;
pub(crate) use seldom::{is_needed, only_where_wanted};
pub(crate) use select_joins::SelectJoins;
pub(crate) use whole_plans::UnlessWhole;
