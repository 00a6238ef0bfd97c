//! The paper's scanners (sections 4.4 and 5.3).
//!
//! | file | what |
//! |---|---|
//! | `buffer` | the tuple buffer, and the parent that drops its tuples |
//! | `scanner` | a scanner of one file: all records, or those at the positions of a list |
//! | `paced` | a file page by page, at the rate of the disk or of a slower one |
//! | `join` | a hash join of two scans |
//! | `plan` | queries, and scanners put together to answer them |

pub mod buffer;
pub mod join;
pub mod paced;
pub mod plan;
pub mod scanner;
#[cfg(test)]
mod tests;
