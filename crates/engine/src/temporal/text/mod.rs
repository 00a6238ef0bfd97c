//! Dates, times, timestamps and intervals as text, in the forms that PostgreSQL reads and writes.
//!
//! | file | what |
//! |---|---|
//! | `moment` | reading dates, times and timestamps: the form of ISO 8601 at once, others word by word |
//! | `interval` | reading intervals |
//! | `zone` | offsets of time zones |
//! | `misread` | why a text is not read |
//! | `write` | writing all of them |

mod interval;
mod misread;
mod moment;
mod write;
mod zone;

pub(super) use interval::{Fields, read_interval};
pub(super) use misread::Misread;
pub(super) use moment::{Moment, read_date, read_moment, read_time};
pub(super) use write::{write_date, write_interval, write_time, write_timestamp};
pub(super) use zone::{Zone, local_of, utc_of};
