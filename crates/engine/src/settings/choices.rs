//! Settings that choose one of several ways.

use gingham_execution::Mode;
use std::fmt;

/// The machine that plans and choices about pipelines go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machine {
    /// The one that this runs on.
    Here,
    /// One that is the same everywhere, so that its plans are: fixed caches, [`REFERENCE_THREADS`], the scalar kernels.
    Reference,
}

/// Threads of the reference machine.
pub(crate) const REFERENCE_THREADS: usize = 2;

/// What columns of a result are called that no AS names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnNames {
    /// As they are written: `count(*)`.
    Text,
    /// As PostgreSQL calls them: `count`.
    Postgres,
}

/// Who runs what a pipeline can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Execution {
    /// Pipelines of ours.
    Compiled(Mode),
    /// DataFusion's operators.
    DataFusion,
}

impl fmt::Display for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compiled(mode) => mode.fmt(f),
            Self::DataFusion => f.write_str("datafusion"),
        }
    }
}
