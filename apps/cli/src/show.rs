//! Runs a query and shows its result as it comes.

use crate::failure::Failure;
use crate::interrupt::Running;
use crate::output::Display;
use crate::pager::Paged;
use crate::spinner::Spinner;
use gingham::lab::{PanicPoint, pass};
use gingham::{Connection, PlanningTimes};
use std::io::Write;
use std::time::{Duration, Instant};

/// What was shown.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// Whether the statement has rows, be they none.
    pub has_rows: bool,
    /// Records that it changed.
    pub affected: Option<u64>,
    /// The time that it took, without that of showing it.
    pub spent: Duration,
    /// What of it went by before its rows were made.
    pub planning: PlanningTimes,
}

/// Runs a statement and writes its rows; behind them their number, where `counts` or not all of them are shown. None when the reader has
/// left the pager before all was written.
pub fn show(
    connection: &Connection,
    display: &Display,
    counts: bool,
    sql: &str,
    out: &mut impl Write,
) -> Result<Option<Answer>, Failure> {
    let mut paged = Paged::new(out, display.paged());
    let answer = write(connection, display, counts, sql, &mut paged);
    let has_left = paged.close()?;
    match answer {
        Err(_) if has_left => Ok(None),
        answer => answer.map(Some),
    }
}

fn write(
    connection: &Connection,
    display: &Display,
    counts: bool,
    sql: &str,
    out: &mut Paged<'_, impl Write>,
) -> Result<Answer, Failure> {
    let running = Running::start(connection);
    let mut spinner = Some(Spinner::start(Some(connection)));
    let started = Instant::now();
    let mut result = connection.query(sql)?;
    let schema = result.schema();
    let mut next = result.next();
    let mut spent = started.elapsed();
    let has_rows = !schema.fields().is_empty();
    let mut writer = display.writer(sql, &schema);
    spinner.take_if(|_| !writer.waits());
    let mut rows = 0;
    while let Some(batch) = next {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        pass(PanicPoint::Show);
        if has_rows {
            writer.batch(out, &batch)?;
        }
        let asked = Instant::now();
        next = result.next();
        spent += asked.elapsed();
    }
    drop(running);
    drop(spinner);
    if has_rows
        && let Some(shown) = writer.finish(out)?
        && (counts || !shown.is_all())
    {
        writeln!(out, "{}", shown.line(rows))?;
    }
    Ok(Answer { has_rows, affected: result.rows_affected(), spent, planning: result.planning() })
}
