//! The page of one record of a table in heap pages, part by part.

use super::no_record;
use crate::failure::Failure;
use crate::output::grid;
use gingham::storage::snapshot::TableSnapshot;
use indicatif::HumanBytes;

/// The pages that record `number` lies in; nothing of a table without records.
pub fn of_record(table: &TableSnapshot, number: u64) -> Result<Vec<String>, Failure> {
    let missing = || no_record(table, number);
    let Some(reader) = table.pages.as_ref().filter(|_| table.rows() > 0) else { return Ok(Vec::new()) };
    let number = usize::try_from(number).map_err(|_| missing())?;
    let found = reader.pages_of(number).map_err(gingham::Error::from)?.ok_or_else(missing)?;
    let mut lines = Vec::new();
    for page in found {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(format!("record {number}: slot {} of {}", page.slot, page.title));
        let row = |(bytes, what): &(std::ops::Range<usize>, String)| {
            let length = HumanBytes(bytes.len() as u64).to_string();
            vec![bytes.start.to_string(), (bytes.end - 1).to_string(), length, what.clone()]
        };
        let rows: Vec<_> = page.parts.iter().map(row).collect();
        lines.extend(grid(&["from", "to", "bytes", "what"], &[true, true, true, false], &rows));
    }
    Ok(lines)
}
