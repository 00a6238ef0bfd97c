//! What storage asks of who has the connection to where files lie: it knows no network and no runtime itself.

use bytes::Bytes;
use std::fmt::Debug;
use std::io;
use std::ops::Range;

/// What is called with the bytes of a range, or with why there are none.
pub type RangeEnded = Box<dyn FnOnce(io::Result<Bytes>) + Send>;

/// Reads ranges of files that lie elsewhere, by their names.
pub trait RangedReads: Debug + Send + Sync {
    /// Begins to read a range, and returns at once. `ended` is called once, on a thread that may block; what failed was tried again
    /// before. Fewer bytes come when the file ends before the range does.
    fn read(&self, name: &str, range: Range<u64>, ended: RangeEnded);

    /// What messages call a file.
    fn place(&self, name: &str) -> String;
}
