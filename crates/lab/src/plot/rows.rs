//! Plots of rows: a name, level bars with their values in words, and a remark. They are HTML and not a drawing, so that names of
//! any length and their bars stand where there is room for them: beside each other, or on a phone below each other.

use super::axis::{drawn, ratios};
use super::svg::escaped;
use crate::statistics::Quartiles;
use std::fmt::Write;

/// Letters of a name beside bars; a longer one goes on in the next line.
const NAME: usize = 36;
/// Names and remarks of more letters than this stand above their bars where there is little room.
const BESIDE: usize = 16;
/// Bars from which on rows stand in two columns where the page is wide.
const MANY: usize = 24;

/// One bar of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Class of the style sheet.
    pub class: &'static str,
    /// Length.
    pub value: f64,
    /// Where the true value lies, drawn as a whisker.
    pub interval: Option<(f64, f64)>,
    /// The value in words, behind the bar.
    pub label: String,
    /// Shown when the pointer rests on the bar.
    pub hint: String,
}

/// Bars that belong together; a row without bars is a heading.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// What they stand for.
    pub name: String,
    /// The bars, one below the other.
    pub bars: Vec<Bar>,
    /// What is said of all of them.
    pub remark: String,
}

/// Bars from 0 on, all to one scale.
pub fn bar_rows(rows: &[Row]) -> String {
    let bars = || rows.iter().flat_map(|row| &row.bars);
    let reach = |bar: &Bar| bar.interval.map_or(bar.value, |interval| drawn(bar.value, interval).1.max(bar.value));
    let largest = bars().map(reach).filter(|reach| reach.is_finite()).fold(f64::MIN_POSITIVE, f64::max);
    let labels = bars().map(|bar| letters(&bar.label)).max().unwrap_or(0);
    let mut html = open(rows, labels, bars().count() >= MANY, "");
    for row in rows {
        let lanes = row.bars.iter().map(|bar| {
            let place = |value: f64| part(value / largest);
            let span = |from: f64, to: f64| (place(from), place(to));
            let whisker = bar.interval.map(|interval| drawn(bar.value, interval)).map(|(low, high)| span(low, high));
            lane(bar, (0.0, place(bar.value)), whisker, None)
        });
        push_row(&mut html, row, &lanes.collect::<String>());
    }
    html + "</div>"
}

/// Bars that leave the line of 1 on a logarithmic axis: to the right for values above it, which are the better ones, and to the
/// left for values below.
pub fn ratio_rows(rows: &[Row]) -> String {
    let bars = || rows.iter().flat_map(|row| &row.bars);
    let ends = |bar: &Bar| {
        let (low, high) = bar.interval.map_or((bar.value, bar.value), |interval| drawn(bar.value, interval));
        // Few rounds give an interval down to 0, which a logarithm does not reach.
        (low.max(bar.value / 4.0), high.max(bar.value))
    };
    let least = bars().map(|bar| ends(bar).0).filter(|low| *low > 0.0).fold(1.0, f64::min);
    let largest = bars().map(|bar| ends(bar).1).filter(|high| high.is_finite()).fold(1.0, f64::max);
    let ((first, last), ticks) = ratios(least, largest);
    let place = |value: f64| part((value / first).ln() / (last / first).ln());
    let places: Vec<(f64, String)> = ticks.into_iter().map(|(tick, label)| (place(tick), label)).collect();
    let mut html = open(rows, 0, false, &grid(&places, Some(place(1.0))));
    push_scale(&mut html, &places);
    for row in rows {
        let lanes = row.bars.iter().map(|bar| {
            let span = |(a, b): (f64, f64)| (place(a.min(b)), place(a.max(b)));
            lane(bar, span((1.0, bar.value)), bar.interval.map(|_| span(ends(bar))), None)
        });
        push_row(&mut html, row, &lanes.collect::<String>());
    }
    html + "</div>"
}

/// Boxes from the first to the third quartile with whiskers to the smallest and the largest, over an axis from 0 on. What lies above
/// `most` is cut off.
pub fn box_rows(boxes: &[(String, Quartiles)], unit: &str, most: f64) -> String {
    let largest = boxes.iter().map(|(_, of)| of.largest).fold(f64::MIN_POSITIVE, f64::max).min(most);
    let ((_, top), ticks) = super::axis::even(largest);
    let place = |value: f64| part(value / top);
    let places: Vec<(f64, String)> = ticks.into_iter().map(|tick| (place(tick), super::axis::label(tick))).collect();
    let row = |(name, of): &(String, Quartiles)| {
        let hint = format!(
            "{name}: {:.0} to {:.0} {unit}, half of them {:.0} to {:.0}, the middle one {:.0}",
            of.smallest, of.largest, of.first, of.third, of.median
        );
        let bar = Bar { class: "s0", value: of.median, interval: None, label: String::new(), hint };
        Row { name: name.clone(), bars: vec![bar], remark: String::new() }
    };
    let rows: Vec<Row> = boxes.iter().map(row).collect();
    let mut html = open(&rows, 0, false, &grid(&places, None));
    push_scale(&mut html, &places);
    for (row, (_, of)) in rows.iter().zip(boxes) {
        let whisker = Some((place(of.smallest), place(of.largest)));
        let lanes =
            row.bars.iter().map(|bar| lane(bar, (place(of.first), place(of.third)), whisker, Some(place(of.median))));
        push_row(&mut html, row, &lanes.collect::<String>());
    }
    html + "</div>"
}

/// A part of the axis in percent; never beyond its ends.
fn part(of: f64) -> f64 {
    if of.is_nan() { 0.0 } else { (of * 100.0).clamp(0.0, 100.0) }
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

/// Begins a plot with room for its names, remarks and values.
fn open(rows: &[Row], labels: usize, many: bool, grid: &str) -> String {
    let longest = |text: fn(&Row) -> &str| {
        rows.iter().filter(|row| !row.bars.is_empty()).map(|row| letters(text(row))).max().unwrap_or(0)
    };
    let (names, remarks) = (longest(|row| &row.name).min(NAME), longest(|row| &row.remark));
    let above = if names + remarks > BESIDE { " above" } else { "" };
    let many = if many { " many" } else { "" };
    let scaled = if grid.is_empty() { "" } else { " scaled" };
    // Letters are wider than digits, whose width a page counts in.
    let room = |letters: usize| if letters == 0 { 0 } else { letters + letters / 6 + 2 };
    format!(
        r#"<div class="rows{above}{many}{scaled}" style="--names:{}ch;--remarks:{}ch;--labels:{}ch{grid}">"#,
        room(names),
        room(remarks),
        room(labels)
    )
}

/// Lines at the ticks, behind the bars of every row; `strong` is the line that bars leave.
fn grid(ticks: &[(f64, String)], strong: Option<f64>) -> String {
    let line =
        |colour: &str, at: f64| format!("linear-gradient(var({colour}),var({colour})) {at:.2}% 0/1px 100% no-repeat");
    let strong = strong.map(|at| line("--faint", at));
    let all: Vec<String> = strong.into_iter().chain(ticks.iter().map(|(at, _)| line("--rule", *at))).collect();
    format!(";--grid:{}", all.join(","))
}

/// The words at the ticks.
fn push_scale(html: &mut String, ticks: &[(f64, String)]) {
    let tick = |(at, label): &(f64, String)| format!(r#"<span style="left:{at:.2}%">{}</span>"#, escaped(label));
    let ticks: String = ticks.iter().map(tick).collect();
    // Writing to a string can't fail.
    let _ = write!(html, r#"<div class="row scale"><div class="lanes"><div class="lane">{ticks}</div></div></div>"#);
}

fn push_row(html: &mut String, row: &Row, lanes: &str) {
    let (name, remark) = (escaped(&row.name), escaped(&row.remark));
    let _ = if row.bars.is_empty() {
        write!(html, r#"<div class="heading"><b>{name}</b> <span>{remark}</span></div>"#)
    } else {
        let remark = if remark.is_empty() { remark } else { format!(r#"<div class="remark">{remark}</div>"#) };
        write!(html, r#"<div class="row"><div class="name">{name}</div><div class="lanes">{lanes}</div>{remark}</div>"#)
    };
}

/// A bar between two places in percent, its whisker, a line in it, and its value in words behind all.
fn lane(bar: &Bar, (from, to): (f64, f64), whisker: Option<(f64, f64)>, middle: Option<f64>) -> String {
    let piece = |class: &str, from: f64, to: f64| {
        format!(r#"<i class="{class}" style="left:{from:.2}%;width:{:.2}%"></i>"#, (to - from).max(0.0))
    };
    let mut html = format!(r#"<div class="lane" title="{}">"#, escaped(&bar.hint));
    html += &piece(&format!("bar {}", bar.class), from, to);
    if let Some((low, high)) = whisker.filter(|(low, high)| low < high) {
        html += &piece("whisker", low, high);
    }
    if let Some(at) = middle {
        html += &piece("middle", at, at);
    }
    if !bar.label.is_empty() {
        let behind = whisker.map_or(to, |(_, high)| high.max(to));
        let _ = write!(html, r#"<span style="left:{behind:.2}%">{}</span>"#, escaped(&bar.label));
    }
    html + "</div>"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, values: &[f64], interval: Option<(f64, f64)>) -> Row {
        let bar = |value: &f64| Bar {
            class: "gingham",
            value: *value,
            interval,
            label: format!("{value} ms"),
            hint: "a < b".to_string(),
        };
        Row { name: name.to_string(), bars: values.iter().map(bar).collect(), remark: String::new() }
    }

    #[test]
    fn longest_bar_fills_the_axis_and_text_is_escaped() {
        let html = bar_rows(&[row("1", &[100.0, 50.0], None)]);
        assert_eq!(html.matches(r#"class="bar gingham""#).count(), 2);
        assert!(html.contains("left:0.00%;width:100.00%") && html.contains("left:0.00%;width:50.00%"), "{html}");
        assert!(html.contains("a &lt; b") && !html.contains("a < b"));
        assert!(html.contains(">100 ms</span>"), "values are in words: {html}");
    }

    #[test]
    fn whiskers_are_drawn_and_none_leaves_the_axis() {
        let html = bar_rows(&[
            row("1", &[100.0], Some((-20.0, 125.0))),
            row("2", &[0.0], Some((f64::NEG_INFINITY, f64::INFINITY))),
        ]);
        assert!(html.contains(r#"<i class="whisker" style="left:0.00%;width:100.00%">"#), "{html}");
        assert!(html.contains(r#"<i class="bar gingham" style="left:0.00%;width:80.00%">"#), "{html}");
        for odd in ["width:-", "left:-", "NaN", "inf"] {
            assert!(!html.contains(odd), "{odd} in {html}");
        }
    }

    #[test]
    fn what_is_faster_leaves_the_line_of_one_to_the_right() {
        let html = ratio_rows(&[row("1", &[2.0], None), row("2", &[0.5], None)]);
        // The axis is from 1/2 to 2: one doubling each way.
        assert!(html.contains(r#"style="left:50.00%;width:50.00%""#), "{html}");
        assert!(html.contains(r#"style="left:0.00%;width:50.00%""#), "{html}");
        assert!(html.contains(">1/2<") && html.contains(">1<") && html.contains(">2<"));
        let few = ratio_rows(&[row("1", &[1.1], Some((0.0, f64::INFINITY)))]);
        assert!(!few.contains("width:-") && !few.contains("NaN") && !few.contains("inf"), "{few}");
    }

    #[test]
    fn boxes_span_the_quartiles_and_are_cut() {
        let of = |values: &[f64]| Quartiles::of(values).unwrap();
        let boxes =
            [("a".into(), of(&[0.0, 25.0, 50.0, 75.0, 100.0])), ("b".into(), of(&[40.0, 900.0, 1000.0, 1100.0]))];
        let html = box_rows(&boxes, "%", 100.0);
        // Half of the values lie between 25 and 75.
        assert!(html.contains(r#"<i class="bar s0" style="left:25.00%;width:50.00%">"#), "{html}");
        assert!(html.contains(r#"<i class="middle" style="left:50.00%;width:0.00%">"#), "{html}");
        // What is above 100 ends at the edge.
        assert!(html.contains(r#"<i class="whisker" style="left:40.00%;width:60.00%">"#), "{html}");
        assert!(html.contains("b: 40 to 1100 %"), "{html}");
    }

    #[test]
    fn long_names_stand_above_on_a_phone_and_headings_have_no_bar() {
        let heading = Row { name: "lineitem".into(), remark: "12 MB".into(), ..Row::default() };
        let html = bar_rows(&[heading, row("a column with a long name", &[1.0], None)]);
        assert!(
            html.contains(r#"class="rows above""#) && html.contains("<b>lineitem</b> <span>12 MB</span>"),
            "{html}"
        );
        assert!(bar_rows(&[row("22", &[1.0], None)]).contains(r#"class="rows""#));
        let many: Vec<Row> = (0..24).map(|number| row(&number.to_string(), &[1.0], None)).collect();
        assert!(bar_rows(&many).contains("rows many"));
    }
}
