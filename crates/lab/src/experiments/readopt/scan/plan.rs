//! Queries (section 4.4), and scanners put together to answer them.

use super::buffer::{Parent, TupleBuffer};
use super::paced::{PacedStream, SlowDisk};
use super::scanner::{ScanPredicate, ScannedField, Scanner};
use crate::experiments::readopt::stored::StoredFile;
use gingham::storage::{Error, Result};
use std::time::{Duration, Instant};

/// `SELECT columns FROM table WHERE column >= value AND …`
#[derive(Debug, Clone)]
pub struct ScanQuery {
    /// The columns, from 0 on: those of the predicates first.
    pub columns: Vec<usize>,
    /// The predicates of the first columns.
    pub predicates: Vec<ScanPredicate>,
    /// Words of a value.
    pub words: usize,
}

/// The time and the bytes of a scan.
#[derive(Debug, Clone, Copy, Default)]
pub struct ScanCost {
    /// From its start to its end.
    pub elapsed: Duration,
    /// The part of it that was not spent on waiting for the disk.
    pub computed: Duration,
    /// Bytes of the pages.
    pub bytes: u64,
}

/// Answers a query over the files of a table, and gives the tuples to `parent`.
pub fn scan(
    files: &[StoredFile],
    query: &ScanQuery,
    disk: Option<&SlowDisk>,
    parent: &mut impl Parent,
) -> Result<ScanCost> {
    let start = Instant::now();
    let mut scanners = scanners(files, query, disk)?;
    let mut buffer = TupleBuffer::new(query.columns.len() * query.words);
    while let Some((first, others)) = scanners.split_first_mut() {
        let more = first.fill(&mut buffer)?;
        others.iter_mut().try_for_each(|scanner| scanner.extend(&mut buffer))?;
        parent.take(&buffer);
        buffer.positions.clear();
        if !more {
            break;
        }
    }
    scanners.iter_mut().try_for_each(Scanner::finish)?;
    let elapsed = start.elapsed();
    let waited: Duration = scanners.iter().map(|scanner| scanner.stream().waited()).sum();
    let bytes = scanners.iter().map(|scanner| scanner.stream().bytes()).sum();
    Ok(ScanCost { elapsed, computed: elapsed.saturating_sub(waited), bytes })
}

/// A scanner for each file that the query needs: those with predicates first, in their order, as all let through the same part.
fn scanners<'f>(files: &'f [StoredFile], query: &ScanQuery, disk: Option<&'f SlowDisk>) -> Result<Vec<Scanner<'f>>> {
    let mut needed: Vec<(usize, Vec<ScannedField>)> = Vec::new();
    for (place, column) in query.columns.iter().enumerate() {
        let own = |file: &StoredFile| file.columns.iter().position(|own| own == column);
        let found = files.iter().enumerate().find_map(|(place, file)| Some((place, own(file)?)));
        let missing = || Error::Internal(format!("column {column} lies in no file"));
        let (file, field) = found.ok_or_else(missing)?;
        let predicate = query.predicates.get(place).cloned();
        let field = ScannedField { field, offset: place * query.words, words: query.words, predicate };
        match needed.iter_mut().find(|(known, _)| *known == file) {
            Some((_, fields)) => fields.push(field),
            None => needed.push((file, vec![field])),
        }
    }
    let scanner = |(file, fields): (usize, Vec<ScannedField>)| {
        Ok(Scanner::new(PacedStream::start(&files[file].pages, disk)?, fields))
    };
    needed.into_iter().map(scanner).collect()
}
