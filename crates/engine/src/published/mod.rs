//! Databases published to a folder or an object store: sent, opened from anywhere, swept. docs/publish.md says how it is used.
//!
//! | file | what |
//! |---|---|
//! | `place` | the folder or store that a URL means, and its objects |
//! | `cloud` | the stores that a build may have |
//! | `threads` | where requests run |
//! | `reads` | ranges of objects, tried again when they fail |
//! | `newest` | which manifest is the newest |
//! | `send` | publishing |
//! | `open` | a published database opened, and brought up to date |
//! | `sweep` | objects that nobody needs any more |
//! | `ages` | `90s`, `24h`, `7d` |

mod ages;
mod cloud;
mod newest;
mod open;
mod place;
mod reads;
mod send;
mod sweep;
#[cfg(test)]
mod tests;
mod threads;

pub use ages::age;
pub(crate) use open::{PublishedSource, UrlOptions};
pub use place::is_url;
pub(crate) use send::publish;
pub use send::{PublishOptions, PublishReport};
pub use sweep::SweepReport;
pub(crate) use sweep::sweep;
