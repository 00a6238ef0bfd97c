//! Files that lie elsewhere: read by ranges, several at once, through chunks that are kept in memory and in a folder.
//!
//! | file | what |
//! |---|---|
//! | `ranged_reads` | what is asked of who has the connection |
//! | `chunks` | how a file is cut |
//! | `files` | chunks in memory: asked for, on their way, here |
//! | `requests` | which of them one request brings, and how many are under way |
//! | `folder` | chunks on a local disk |

pub(crate) mod chunks;
pub(crate) mod files;
pub(crate) mod folder;
pub(crate) mod ranged_reads;
pub(crate) mod requests;
#[cfg(test)]
mod tests;
