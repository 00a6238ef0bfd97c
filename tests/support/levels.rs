//! Levels of `factors` that also tests use which choose their settings otherwise.

/// Layouts for `SET gingham.layout` of tables in columns.
pub const LAYOUTS: &[&str] = &[
    "column",
    "row",
    "mempax(7)",
    "mempax(100)",
    "mempax(4096)",
    "bit_packed",
    "vbp",
    "vbp(256)",
    "hbp",
    "byteslice",
    "byteslice16",
    "super_tuple",
    "dense_column",
];
/// Layouts of tables in heap pages, which not everything is offered for.
pub const PAGES: &[&str] = &["nsm", "dsm", "pax"];
pub const EXECUTIONS: &[&str] = &["auto", "fused", "staged", "vectorized", "interpreted", "datafusion"];
pub const IOS: &[&str] = &["cached", "direct"];
