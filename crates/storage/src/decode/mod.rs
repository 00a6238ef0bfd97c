//! Column views as Arrow arrays.
//!
//! | file | what |
//! |---|---|
//! | `arrays` | codes -> Arrow arrays |
//! | `access` | slices behind a view, checked |
//! | `gather` | codes that lie in chunks or packed, brought together |

pub(crate) mod access;
pub(crate) mod arrays;
pub(crate) mod gather;

pub use arrays::{Selection, array_of_integers, decode, lookup};
