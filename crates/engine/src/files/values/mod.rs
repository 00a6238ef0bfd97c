//! Values of files: how they are written, the types that they allow, and arrays of those types.

pub(crate) mod classify;
pub(crate) mod dates;
pub(crate) mod format;
pub(crate) mod typed;
