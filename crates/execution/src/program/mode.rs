//! How stages run.

/// Records below which making code takes longer than it saves: 100 to 300 µs a loop against a few ns a record.
pub(crate) const FEW_ROWS: usize = 100_000;

/// How stages run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Interpreted until it is known that many records come, then staged.
    Auto,
    /// By generated code, one loop for each pipeline that can be one.
    Fused,
    /// By generated code, with boundaries where they pay.
    Staged,
    /// By generated code, with a boundary behind every step.
    Vectorized,
    /// Step by step, without generated code.
    Interpreted,
}
