//! report.html: one file that needs no other, with the verdict, the plots, the figures and where they were measured.

use super::measure::{Measurement, QueryTimes};
use super::sizes::ColumnSize;
use gingham_lab::advisor::{Advice, section};
use gingham_lab::machine::Machine;
use gingham_lab::plot::{Bar, Row, bar_rows, escaped, page, ratio_rows};
use gingham_lab::statistics::median;
use gingham_lab::tpch::queries;
use gingham_lab::words::{bytes, counted, thousands};
use std::cmp::Reverse;
use std::time::Duration;

/// Columns whose bars would be shorter than this part of the longest are put together.
const LEAST_BAR: f64 = 0.05;

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
<p class="faint">Gingham {version}, {threads}, build profile <b>{profile}</b></p>
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
            threads = counted(self.threads as u64, "thread"),
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
            (
                format!("{:.1}×", 1.0 / self.measurement.geometric_mean()),
                format!("as fast as DataFusion: {:.2} of its time, geometric mean", self.measurement.geometric_mean()),
            ),
        ];
        let cards = facts.map(|(value, text)| {
            format!(r#"<div class="fact"><b>{}</b><span>{}</span></div>"#, escaped(&value), escaped(&text))
        });
        format!(r#"<div class="facts">{}</div>"#, cards.join(""))
    }

    fn times(&self) -> String {
        let queries = &self.measurement.queries;
        let times: Vec<Row> = queries.iter().map(times_of).collect();
        let ratios: Vec<Row> = queries.iter().map(ratio_of).collect();
        let rows: String = queries.iter().map(table_row).collect();
        format!(
            r#"<h2>Times of the 22 queries</h2>
<p>From the query's text to its last row: median of {rounds} after a warm-up,
from which Gingham keeps the queries' plans; DataFusion plans each time.</p>
<figure><figcaption>Milliseconds: <span class="key gingham">Gingham</span>
<span class="key other">DataFusion over Arrow in memory</span></figcaption>{bars}</figure>
<figure><figcaption>How many times as fast as DataFusion Gingham is (logarithmic):
<span class="key faster">above 1: Gingham is faster</span>
<span class="key slower">below 1: slower</span></figcaption>{ratios}</figure>
<details><summary>Table of times</summary><div class="scroll"><table>
<tr><th>query</th><th class="text"></th><th>rows</th><th>Gingham ms</th><th>of runs</th><th>DataFusion ms</th>
<th>of runs</th><th>times as fast</th></tr>
{rows}</table></div></details>"#,
            rounds = counted(self.measurement.rounds as u64, "run"),
            bars = bar_rows(&times),
            ratios = ratio_rows(&ratios),
        )
    }

    fn column_sizes(&self) -> String {
        let tables = largest_first(&self.sizes);
        let cells = |size: &&ColumnSize| {
            format!(
                r#"<tr><td class="text">{}</td><td class="text">{}</td><td class="text">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>"#,
                size.column,
                escaped(&size.sql_type),
                size.encoding,
                bytes(size.stored),
                bytes(size.native),
                bytes(size.arrow)
            )
        };
        let cells: String = tables.iter().flatten().map(cells).collect();
        let (rows, left_out) = size_rows(&tables);
        format!(
            r#"<h2>Size of each column</h2>
<p>What a column takes in Gingham's files, dictionary included, and as Arrow arrays in memory. Numbers and dates are
stored as differences from a segment's smallest value in as few bits as they need; strings that repeat become numbers
that keep their order.</p>
<figure><figcaption><span class="key gingham">in Gingham's files</span>
<span class="key other">as Arrow arrays</span></figcaption>{rows}{left_out}</figure>
<details><summary>Table of sizes and encodings</summary><div class="scroll"><table>
<tr><th class="text">column</th><th class="text">type</th><th class="text">encoding</th><th>in files</th>
<th>in memory, as queries see it</th><th>Arrow</th></tr>
{cells}</table></div></details>"#,
            rows = bar_rows(&rows),
        )
    }

    fn method(&self) -> String {
        let machine = &self.machine;
        let memory = if machine.memory == 0 { "unknown".to_string() } else { bytes(machine.memory) };
        format!(
            r#"<h2>How this was measured</h2>
<p>The generator is the crate tpchgen; the queries have the specification's validation parameters. Both engines run in
this process, use {threads} and take the query's text; DataFusion has the rows as Arrow batches in {partitions}
in memory and its default settings, but that literals such as 0.05 are decimals, as they are in Gingham. The
two run each query one after the other, in changing order. Each answer was compared with DataFusion's row by row before
anything was measured. A demo is no benchmark: the runs are few and nothing kept other programs off the machine.</p>
<div class="scroll"><table>
<tr><td class="text">Processor</td><td class="text">{processor}, {available}</td></tr>
<tr><td class="text">Memory</td><td class="text">{memory}</td></tr>
<tr><td class="text">System</td><td class="text">{system}</td></tr>
<tr><td class="text">Build</td><td class="text">Gingham {version}, profile {profile}</td></tr>
</table></div>"#,
            threads = counted(self.threads as u64, "thread"),
            partitions = counted(self.threads as u64, "partition"),
            processor = escaped(&machine.processor),
            available = counted(machine.threads as u64, "thread"),
            system = escaped(&machine.system),
            version = machine.version,
            profile = machine.profile,
        )
    }
}

/// The times of a query on both engines.
fn times_of(query: &QueryTimes) -> Row {
    let bar = |class, engine, times: &[f64]| Bar {
        class,
        value: median(times),
        interval: None,
        label: milliseconds(median(times)),
        hint: format!("Query {} on {engine}: {} ms", query.number, milliseconds(median(times))),
    };
    let bars = vec![bar("gingham", "Gingham", &query.gingham), bar("other", "DataFusion", &query.datafusion)];
    Row { name: query.number.to_string(), bars, remark: String::new() }
}

fn ratio_of(query: &QueryTimes) -> Row {
    let times = query.times_as_fast();
    let class = if times >= 1.0 { "faster" } else { "slower" };
    let hint = format!("Query {}: {times:.2} times as fast as DataFusion", query.number);
    let bar = Bar { class, value: times, interval: None, label: String::new(), hint };
    Row { name: query.number.to_string(), bars: vec![bar], remark: format!("{times:.1}×") }
}

/// Milliseconds as far as they are worth telling.
fn milliseconds(time: f64) -> String {
    match time {
        time if time >= 999.5 => thousands(time.round() as u64),
        time if time >= 99.95 => format!("{time:.0}"),
        time if time >= 9.995 => format!("{time:.1}"),
        time => format!("{time:.2}"),
    }
}

/// The columns table by table, both with the largest first.
fn largest_first(sizes: &[ColumnSize]) -> Vec<Vec<&ColumnSize>> {
    let mut tables: Vec<Vec<&ColumnSize>> =
        sizes.chunk_by(|a, b| a.table == b.table).map(|of_table| of_table.iter().collect()).collect();
    tables.iter_mut().for_each(|columns| columns.sort_by_key(|size| Reverse(longer(size))));
    tables.sort_by_key(|columns| Reverse(columns.iter().map(|size| longer(size)).sum::<u64>()));
    tables
}

/// The longer of a column's bars.
fn longer(size: &ColumnSize) -> u64 {
    size.arrow.max(size.stored)
}

/// A bar for each column that has one to be seen, the small ones of a table together, and a sentence about small tables.
fn size_rows(tables: &[Vec<&ColumnSize>]) -> (Vec<Row>, String) {
    let longest = tables.iter().flatten().map(|size| longer(size)).max().unwrap_or(0) as f64;
    let is_seen = |bytes: u64| bytes as f64 >= longest * LEAST_BAR;
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for columns in tables {
        let table = columns[0].table;
        let both = |columns: &[&ColumnSize]| -> (u64, u64) {
            (columns.iter().map(|size| size.stored).sum(), columns.iter().map(|size| size.arrow).sum())
        };
        let (stored, arrow) = both(columns);
        if !is_seen(stored.max(arrow)) {
            left_out.push(format!("{table} ({} of {})", bytes(stored), bytes(arrow)));
            continue;
        }
        let seen = columns.iter().take_while(|size| is_seen(longer(size))).count();
        rows.push(Row { name: table.to_string(), bars: Vec::new(), remark: remark((stored, arrow)) });
        rows.extend(columns[..seen].iter().map(|size| size_row(&size.column, (size.stored, size.arrow))));
        match &columns[seen..] {
            [] => {}
            [one] => rows.push(size_row(&one.column, (one.stored, one.arrow))),
            all if seen == 0 => rows.push(size_row(&format!("all {} columns", all.len()), both(all))),
            small => rows.push(size_row(&format!("{} smaller columns", small.len()), both(small))),
        }
    }
    let left_out = if left_out.is_empty() {
        String::new()
    } else {
        let names = escaped(&left_out.join(", "));
        format!(r#"<p class="faint">Too small to be seen: {names}. The table below has all columns.</p>"#)
    };
    (rows, left_out)
}

/// The bars of a column, or of several, of so many bytes in files and as Arrow arrays.
fn size_row(name: &str, (stored, arrow): (u64, u64)) -> Row {
    let bar = |class, what, value| Bar {
        class,
        value: value as f64,
        interval: None,
        label: String::new(),
        hint: format!("{name}: {} {what}", bytes(value)),
    };
    let bars = vec![bar("gingham", "in Gingham's files", stored), bar("other", "as Arrow arrays", arrow)];
    Row { name: name.to_string(), bars, remark: remark((stored, arrow)) }
}

fn remark((stored, arrow): (u64, u64)) -> String {
    format!("{} of {} ({:.2})", bytes(stored), bytes(arrow), stored as f64 / arrow.max(1) as f64)
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
        if query.times_as_fast() >= 1.0 { "faster" } else { "slower" },
        query.times_as_fast()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(table: &'static str, column: &str, stored: u64, arrow: u64) -> ColumnSize {
        let (column, sql_type) = (column.to_string(), "BIGINT".to_string());
        ColumnSize {
            table,
            column,
            sql_type,
            encoding: "frame of reference, 3 bits".to_string(),
            stored,
            native: stored,
            arrow,
        }
    }

    #[test]
    fn page_is_whole_and_needs_no_other_file() {
        let query = |number| QueryTimes { number, rows: 4, gingham: vec![1.0, 3.0, 2.0], datafusion: vec![4.0; 3] };
        let report = Report {
            machine: Machine::here(),
            scale: 0.1,
            threads: 1,
            rows: 866_602,
            generating: Duration::from_millis(1000),
            loading: Duration::from_millis(2000),
            disk_bytes: 30_000_000,
            measurement: Measurement { queries: (1..=22).map(query).collect(), rounds: 3 },
            sizes: vec![size("nation", "n_nationkey", 1000, 8000), size("orders", "o_orderkey", 1000, 8000)],
            advice: Advice::default(),
        };
        assert!(report.verdict().contains("44 ms") && report.verdict().contains("22 of 22"));
        assert!(report.verdict().contains("0.50 of DataFusion's"));
        let html = report.html();
        assert_eq!(html.matches("<figure>").count(), 3);
        assert_eq!(html.matches("<div").count(), html.matches("</div>").count());
        assert!(html.contains("n_nationkey") && html.contains("866\u{202f}602") && html.contains("2.0×"));
        assert!(html.contains("use 1 thread and") && !html.contains("1 threads"));
        assert!(!html.contains("src=") && !html.contains("href=") && !html.contains("@import"));
    }

    #[test]
    fn sizes_begin_with_the_largest_and_small_ones_are_together() {
        let sizes = [
            size("region", "r_name", 36, 192),
            size("orders", "o_shippriority", 0, 6_000),
            size("orders", "o_comment", 700_000, 1_300_000),
            size("orders", "o_flag", 10, 5_000),
            size("lineitem", "l_tax", 30_000, 964_000),
            size("lineitem", "l_comment", 487_000, 2_800_000),
            size("lineitem", "l_linenumber", 11, 7_000),
            size("customer", "c_name", 90_000, 100_000),
            size("customer", "c_address", 90_000, 100_000),
        ];
        let (rows, left_out) = size_rows(&largest_first(&sizes));
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        let expected = [
            "lineitem",
            "l_comment",
            "l_tax",
            "l_linenumber",
            "orders",
            "o_comment",
            "2 smaller columns",
            "customer",
            "all 2 columns",
        ];
        assert_eq!(names, expected);
        assert_eq!(rows[6].remark, "10 B of 11.0 kB (0.00)");
        assert!(rows[0].bars.is_empty() && rows[0].remark.starts_with("517 kB of 3.8 MB"), "{:?}", rows[0]);
        assert!(left_out.contains("Too small to be seen: region (36 B of 192 B)."), "{left_out}");
    }

    #[test]
    fn what_is_faster_is_a_larger_number() {
        let faster = QueryTimes { number: 1, rows: 1, gingham: vec![1.0], datafusion: vec![4.0] };
        let slower = QueryTimes { number: 2, rows: 1, gingham: vec![4.0], datafusion: vec![1.0] };
        let [faster, slower] = [faster, slower].map(|query| ratio_of(&query));
        assert_eq!((faster.bars[0].class, faster.remark.as_str()), ("faster", "4.0×"));
        assert_eq!((slower.bars[0].class, slower.remark.as_str()), ("slower", "0.2×"));
    }

    #[test]
    fn times_have_three_digits() {
        let shown = [0.1234, 9.994, 9.996, 99.96, 103_418.6].map(milliseconds);
        assert_eq!(shown, ["0.12", "9.99", "10.0", "100", "103 419"]);
    }
}
