//! The part of the Python package `gingham` that is written in Rust: connections, results, and values on their way between
//! Arrow and Python. What analysts see is in `gingham/*.py`, on top of this module.
//!
//! | file | what |
//! |---|---|
//! | `connection` | a connection: statements, parameters, frames, loading |
//! | `tables` | frames as the tables of one statement |
//! | `result` | rows as tuples, as an Arrow stream, as NumPy arrays, as text |
//! | `rows` | where the rows of a result come from, and readers of them |
//! | `appender` | rows and frames to a table |
//! | `to_python`, `to_numpy` | values out |
//! | `from_python`, `numpy_times` | values in |
//! | `from_numpy`, `from_objects` | columns of pandas in |
//! | `notices` | what statements say besides their results |
//! | `wait` | waiting for a statement while Ctrl-C is heard |
//! | `error` | errors as DB-API's exceptions |

mod appender;
mod connection;
mod error;
mod from_numpy;
mod from_objects;
mod from_python;
mod notices;
mod numpy_times;
mod result;
mod rows;
mod tables;
mod to_numpy;
mod to_python;
mod wait;

// The same library is a driver of ADBC, which a driver manager loads by its path.
gingham_adbc::export!();

use pyo3::prelude::*;

/// The compiled part of the package `gingham`.
#[pymodule]
fn _internal(module: &Bound<'_, PyModule>) -> PyResult<()> {
    gingham::built_from(gingham_commit::COMMIT);
    module.add("version", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<connection::CoreConnection>()?;
    module.add_class::<result::CoreResult>()?;
    module.add_class::<rows::KeptRows>()?;
    module.add_class::<tables::CoreTables>()?;
    module.add_class::<appender::CoreAppender>()?;
    module.add_function(wrap_pyfunction!(connection::open, module)?)?;
    #[cfg(debug_assertions)]
    module.add_function(wrap_pyfunction!(panic_at, module)?)?;
    Ok(())
}

/// Lets the thread panic that passes a point next, after so many others; an unknown one lets none. True when one waited. For tests:
/// builds for users have no such function.
#[cfg(debug_assertions)]
#[pyfunction]
fn panic_at(point: &str, after: u32) -> bool {
    let waited = gingham::lab::disarm();
    let known = gingham::lab::PanicPoint::ALL.iter().find(|known| known.name() == point);
    known.inspect(|point| gingham::lab::panic_at(**point, after));
    waited
}
