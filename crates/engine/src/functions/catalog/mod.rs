//! PostgreSQL's functions about the catalog and the session: what clients ask when they connect and when they list what there is.
//!
//! | file | what |
//! |---|---|
//! | `function` | a function over the catalog of its statement, for DataFusion |
//! | `registered` | names as OIDs and back: `regclass` and its like |
//! | `objects` | visibility, definitions, comments |
//! | `privileges` | what users may do |
//! | `session` | who is connected to what |
//! | `locks` | advisory locks |
//! | `sizes` | bytes of tables |
//! | `value_types` | `pg_typeof`, `pg_column_size` |

mod function;
mod locks;
mod objects;
mod privileges;
mod registered;
mod session;
mod sizes;
mod value_types;

pub(crate) use registered::{REGISTERED, REGISTERED_NAME, REGISTERED_OR_NULL};
pub(crate) use session::started;

use crate::functions::catalog::function::CatalogFunction;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// Whether a function asks the catalog of its statement while it runs.
pub(crate) fn asks_catalog(function: &ScalarUDF) -> bool {
    function.inner().downcast_ref::<CatalogFunction>().is_some()
}

/// All of them.
pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    let own = registered::all()
        .into_iter()
        .chain(objects::all())
        .chain(privileges::all())
        .chain(session::all())
        .chain(sizes::all())
        .chain(locks::all());
    own.map(|function| Arc::new(ScalarUDF::new_from_impl(function))).chain(value_types::all()).collect()
}
