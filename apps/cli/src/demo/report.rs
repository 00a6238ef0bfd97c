//! report.html: one file that needs no other, with the verdict, the plots, the figures and where they were measured.

use super::measure::{Measurement, QueryTimes};
use super::sizes::ColumnSize;
use crate::progress::{bytes, thousands};
use gingham_lab::advisor::{Advice, section};
use gingham_lab::machine::Machine;
use gingham_lab::plot::{Bar, escaped, level_bars, page, ratio_bars, upright_bars};
use gingham_lab::statistics::median;
use gingham_lab::tpch::queries;
use std::time::Duration;

/// Everything that the report tells.
pub struct Report {
    /// Where it was measured.
    pub machine: Machine,
    /// TPC-H's scale factor.
    pub scale: f64,
    /// Threads of both engines.
    pub threads: usize,
    /// Records in all tables.
    pub rows: u64,
    /// Time to generate them.
    pub generating: Duration,
    /// Time to load them from memory, durably.
    pub loading: Duration,
    /// Bytes of the database folder.
    pub disk_bytes: u64,
    /// Times of the queries.
    pub measurement: Measurement,
    /// Sizes of the columns.
    pub sizes: Vec<ColumnSize>,
    /// The advisor's answer for the queries.
    pub advice: Advice,
}

impl Report {
    /// The outcome in two sentences.
    pub fn verdict(&self) -> String {
        let (gingham, datafusion) = self.measurement.totals();
        let faster = self.measurement.queries.iter().filter(|query| query.ratio() < 1.0).count();
        format!(
            "All 22 answers agree with DataFusion's. Gingham took {gingham:.0} ms for the 22 queries, DataFusion \
             {datafusion:.0} ms over the same rows in Arrow memory; Gingham was faster in {faster} of 22, and its time \
             is {:.2} of DataFusion's in the geometric mean.",
            self.measurement.geometric_mean()
        )
    }

    /// The page.
    pub fn html(&self) -> String {
        let body = format!(
            r#"<h1>TPC-H at scale {scale}</h1>
<p class="faint">Gingham {version}, {threads} threads, build profile <b>{profile}</b></p>
<p class="verdict">{verdict}</p>
{facts}
{times}
{sizes}
{method}
<h1>Other designs of the tables</h1>
<p>Nothing was changed: this is what <code>gingham DB advise W.sql</code> says of the 22 queries, after a few seconds.</p>
{advice}"#,
            scale = self.scale,
            version = self.machine.version,
            threads = self.threads,
            profile = self.machine.profile,
            verdict = escaped(&self.verdict()),
            facts = self.facts(),
            times = self.times(),
            sizes = self.column_sizes(),
            method = self.method(),
            advice = section(&self.advice, &[]),
        );
        page(&format!("Gingham demo: TPC-H at scale {}", self.scale), &body)
    }

    fn facts(&self) -> String {
        let seconds = self.loading.as_secs_f64();
        let arrow = self.sizes.iter().map(|size| size.arrow).sum();
        let facts = [
            (thousands(self.rows), "records in 8 tables".to_string()),
            (format!("{:.2} s", self.generating.as_secs_f64()), "to generate them".to_string()),
            (
                format!("{seconds:.2} s"),
                format!("to load them, {:.2} million records a second", self.rows as f64 / seconds / 1e6),
            ),
            (bytes(self.disk_bytes), format!("on disk; {} as Arrow arrays", bytes(arrow))),
            (format!("{:.2}", self.measurement.geometric_mean()), "of DataFusion's time, geometric mean".to_string()),
        ];
        let cards = facts.map(|(value, text)| format!(r#"<div class="fact"><b>{value}</b><span>{text}</span></div>"#));
        format!(r#"<div class="facts">{}</div>"#, cards.join(""))
    }

    fn times(&self) -> String {
        let queries = &self.measurement.queries;
        let groups: Vec<_> = queries
            .iter()
            .map(|query| {
                let bar = |class, engine, times: &[f64]| Bar {
                    class,
                    value: median(times),
                    interval: None,
                    hint: format!("Query {} on {engine}: {:.2} ms", query.number, median(times)),
                };
                let bars =
                    vec![bar("gingham", "Gingham", &query.gingham), bar("other", "DataFusion", &query.datafusion)];
                (query.number.to_string(), bars)
            })
            .collect();
        let ratios: Vec<_> = queries
            .iter()
            .map(|query| {
                let hint = format!("Query {}: {:.2} of DataFusion's time", query.number, query.ratio());
                (query.number.to_string(), query.ratio(), hint)
            })
            .collect();
        let rows: String = queries.iter().map(table_row).collect();
        format!(
            r#"<h2>Times of the 22 queries</h2>
<p>From the query's text to its last row: median of {rounds} after a warm-up,
from which Gingham keeps the queries' plans; DataFusion plans each time.</p>
<figure><figcaption><span class="key" style="--colour:var(--gingham)">Gingham</span>
<span class="key" style="--colour:var(--other)">DataFusion over Arrow in memory</span></figcaption>{bars}</figure>
<figure><figcaption>Gingham's time as a part of DataFusion's (logarithmic):
<span class="key" style="--colour:var(--faster)">below 1: Gingham is faster</span>
<span class="key" style="--colour:var(--slower)">above 1: slower</span></figcaption>{ratios}</figure>
<details><summary>Table of times</summary><div class="scroll"><table>
<tr><th>query</th><th class="text"></th><th>rows</th><th>Gingham ms</th><th>of runs</th><th>DataFusion ms</th>
<th>of runs</th><th>ratio</th></tr>
{rows}</table></div></details>"#,
            rounds = match self.measurement.rounds {
                1 => "1 run".to_string(),
                rounds => format!("{rounds} runs"),
            },
            bars = upright_bars(&groups, "ms"),
            ratios = ratio_bars(&ratios),
        )
    }

    fn column_sizes(&self) -> String {
        let mut plot = Vec::new();
        let mut rows = String::new();
        for of_table in self.sizes.chunk_by(|a, b| a.table == b.table) {
            plot.push((of_table[0].table.to_string(), Vec::new(), String::new()));
            for size in of_table {
                let bar = |class, what, value| Bar {
                    class,
                    value: value as f64,
                    interval: None,
                    hint: format!("{}: {} {what}", size.column, bytes(value)),
                };
                let bars = vec![
                    bar("gingham", "in Gingham's files", size.stored),
                    bar("other", "as Arrow arrays", size.arrow),
                ];
                let part = size.stored as f64 / size.arrow.max(1) as f64;
                let remark = format!("{} of {} ({part:.2})", bytes(size.stored), bytes(size.arrow));
                plot.push((size.column.clone(), bars, remark));
                rows += &format!(
                    r#"<tr><td class="text">{}</td><td class="text">{}</td><td class="text">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>"#,
                    size.column,
                    escaped(&size.sql_type),
                    size.encoding,
                    bytes(size.stored),
                    bytes(size.native),
                    bytes(size.arrow)
                );
            }
        }
        format!(
            r#"<h2>Size of each column</h2>
<p>What a column takes in Gingham's files, dictionary included, and as Arrow arrays in memory. Numbers and dates are
stored as differences from a segment's smallest value in as few bits as they need; strings that repeat become numbers
that keep their order.</p>
<figure><figcaption><span class="key" style="--colour:var(--gingham)">in Gingham's files</span>
<span class="key" style="--colour:var(--other)">as Arrow arrays</span></figcaption>{}</figure>
<details><summary>Table of sizes and encodings</summary><div class="scroll"><table>
<tr><th class="text">column</th><th class="text">type</th><th class="text">encoding</th><th>in files</th>
<th>in memory, as queries see it</th><th>Arrow</th></tr>
{rows}</table></div></details>"#,
            level_bars(&plot)
        )
    }

    fn method(&self) -> String {
        let machine = &self.machine;
        let memory = if machine.memory == 0 { "unknown".to_string() } else { bytes(machine.memory) };
        format!(
            r#"<h2>How this was measured</h2>
<p>The generator is the crate tpchgen; the queries have the specification's validation parameters. Both engines run in
this process, use {threads} threads and take the query's text; DataFusion has the rows as Arrow batches in {threads}
partitions in memory and its default settings, but that literals such as 0.05 are decimals, as they are in Gingham. The
two run each query one after the other, in changing order. Each answer was compared with DataFusion's row by row before
anything was measured. A demo is no benchmark: the runs are few and nothing kept other programs off the machine.</p>
<div class="scroll"><table>
<tr><td class="text">Processor</td><td class="text">{processor}, {available} threads</td></tr>
<tr><td class="text">Memory</td><td class="text">{memory}</td></tr>
<tr><td class="text">System</td><td class="text">{system}</td></tr>
<tr><td class="text">Build</td><td class="text">Gingham {version}, profile {profile}</td></tr>
</table></div>"#,
            threads = self.threads,
            processor = escaped(&machine.processor),
            available = machine.threads,
            system = escaped(&machine.system),
            version = machine.version,
            profile = machine.profile,
        )
    }
}

fn table_row(query: &QueryTimes) -> String {
    let range = |times: &[f64]| {
        let smallest = times.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = times.iter().copied().fold(0.0, f64::max);
        format!("{smallest:.1} – {largest:.1}")
    };
    format!(
        r#"<tr><td>{}</td><td class="text">{}</td><td>{}</td><td>{:.2}</td><td>{}</td><td>{:.2}</td><td>{}</td><td class="{}">{:.2}</td></tr>
"#,
        query.number,
        queries::title(query.number),
        thousands(query.rows as u64),
        median(&query.gingham),
        range(&query.gingham),
        median(&query.datafusion),
        range(&query.datafusion),
        if query.ratio() <= 1.0 { "faster" } else { "slower" },
        query.ratio()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_whole_and_needs_no_other_file() {
        let query = |number| QueryTimes { number, rows: 4, gingham: vec![1.0, 3.0, 2.0], datafusion: vec![4.0; 3] };
        let size = |table, column: &str| ColumnSize {
            table,
            column: column.to_string(),
            sql_type: "BIGINT".to_string(),
            encoding: "frame of reference, 3 bits".to_string(),
            stored: 1000,
            native: 2000,
            arrow: 8000,
        };
        let report = Report {
            machine: Machine::here(),
            scale: 0.1,
            threads: 2,
            rows: 866_602,
            generating: Duration::from_millis(1000),
            loading: Duration::from_millis(2000),
            disk_bytes: 30_000_000,
            measurement: Measurement { queries: (1..=22).map(query).collect(), rounds: 3 },
            sizes: vec![size("nation", "n_nationkey"), size("orders", "o_orderkey")],
            advice: Advice::default(),
        };
        assert!(report.verdict().contains("44 ms") && report.verdict().contains("22 of 22"));
        assert!(report.verdict().contains("0.50 of DataFusion's"));
        let html = report.html();
        assert_eq!(html.matches("<svg").count(), 3);
        assert_eq!(html.matches("<svg").count(), html.matches("</svg>").count());
        assert!(html.contains("n_nationkey") && html.contains("866 602"));
        assert!(!html.contains("src=") && !html.contains("href=") && !html.contains("@import"));
    }
}
