//! Ways to read heap pages that only experiments use: value by value in place, and scans without zones.

pub use crate::scan::heap::HeapScan;
pub use crate::snapshot::heap::direct::{
    DirectPage, DirectPages, DirectRead, MinipageColumn, PageColumn, SlottedColumn,
};
