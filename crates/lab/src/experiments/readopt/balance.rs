//! Times at the paper's balance between processor and disk.
//!
//! The paper's processor needed so long for rows of Narrow-E at 50 % that their scan was bound by computing, and just not at lower
//! percentages (section 6.2). A processor of today computes a record in a fraction of the time that 70 MB/s take to bring it, so that at
//! that rate nothing but bytes counts. The balance is had again with a faster disk: one that brings a record of those rows in just the time
//! that computing it takes at 50 %, all columns returned. From each sample's computing and bytes the time on such a disk follows.

use super::expect::{BALANCED, PAPER, SELECTIVITIES};
use super::measured::disk;
use crate::experiment::{Context, Measured, Point};

/// Units of time in which the disk brings a byte: from the results of figure 2, or those of the experiment itself where that is it.
fn time_of_a_byte(context: &Context<'_>) -> Option<f64> {
    let findings = context.of(SELECTIVITIES).unwrap_or(context.findings);
    let at = [("storage", "rows"), ("selectivity", "50"), ("columns", "10"), ("disk", disk(false))];
    let slowest = findings.get(&at)?;
    Some(slowest.summary("cpu")?.mean / slowest.summary("found_bytes")?.mean)
}

/// The results, with times at the balance.
pub fn with_balance(context: &Context<'_>) -> Vec<Point> {
    let Some(of_byte) = time_of_a_byte(context) else { return context.findings.points.clone() };
    let add = |point: &Point| {
        let mut point = point.clone();
        if let (Some(cpu), Some(bytes), true) =
            (point.metrics.get("cpu"), point.metrics.get("found_bytes"), point.metrics.contains_key(PAPER))
        {
            let times = cpu.samples.iter().zip(&bytes.samples).map(|(cpu, bytes)| cpu.max(bytes * of_byte)).collect();
            let balanced = Measured::of_all(cpu.unit.clone(), times);
            point.metrics.insert(BALANCED, balanced);
            point.facts.insert("cycles_per_byte_at_balance", of_byte);
        }
        point
    };
    context.findings.points.iter().map(add).collect()
}
