//! What a rescue has saved and what it could not.

use crate::TableName;

/// What is in the new database, and what is not.
#[derive(Debug, Default)]
pub struct RescueReport {
    /// Which commit was read, when it is not the latest or was found in another way than by a sound meta page.
    pub notes: Vec<String>,
    /// Tables that have all of their records, with how many they are.
    pub whole: Vec<(TableName, u64)>,
    /// Tables that lack records.
    pub partial: Vec<PartialTable>,
    /// Tables that are not in the new database.
    pub lost: Vec<LostTable>,
    /// Indexes, references and views that are not in it, or were made anew, each with the reason.
    pub changed: Vec<String>,
}

/// A table that lacks records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialTable {
    /// Its name.
    pub name: TableName,
    /// Records that it has.
    pub rows: u64,
    /// Records that it lacks, where that is known.
    pub lost: Option<u64>,
    /// What of it could not be read.
    pub why: String,
}

/// A table that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostTable {
    /// Its name, where anything tells it, or otherwise its number.
    pub name: String,
    /// What of it could not be read.
    pub why: String,
}

impl RescueReport {
    /// Whether the new database has all tables, with all of their records.
    pub fn is_whole(&self) -> bool {
        self.partial.is_empty() && self.lost.is_empty()
    }
}
