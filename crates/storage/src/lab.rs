//! Ways to read heap pages and dense pages that only experiments use: value by value in place, and scans without zones. What tests
//! refuse in the system's place, and where they let threads panic.

pub use crate::io::direct::refuse_direct;
pub use crate::io::reads::refuse_ring;
pub use crate::panics::{PanicPoint, disarm, panic_at};
pub use crate::scan::heap::HeapScan;
pub use crate::segment::dense::cursor::{CursorPlace, DenseEntries, DenseVisitor};
pub use crate::segment::dense::stream::{DenseFile, DenseStream, FilePage};
pub use crate::snapshot::heap::direct::{
    DirectPage, DirectPages, DirectRead, MinipageColumn, PageColumn, SlottedColumn,
};
