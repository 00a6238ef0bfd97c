//! Plots of lines over a number: a mark for each result, a whisker for its interval. Across, places are in percent: a plot is as
//! wide as its place in the page, and its text stays as large as it is.

use super::axis::{Multiple, decades, drawn, even, label, level};
use super::svg::{escaped, line, open, text, text_beside};
use std::fmt::Write;

/// Height in pixels, with the room for labels above and below the lines.
const HEIGHT: f64 = 260.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 40.0;
/// A drawing of this width is stretched over the plot: lines can't have percents for their places.
const STRETCHED: f64 = 1000.0;
/// The radius of a mark.
const MARK: f64 = 3.5;
/// Pixels that a letter of a label takes.
const LETTER: f64 = 7.0;

/// A result in a plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Place on the horizontal axis.
    pub x: f64,
    /// Place on the vertical axis.
    pub y: f64,
    /// Where the true value lies, drawn as a whisker.
    pub interval: Option<(f64, f64)>,
    /// Told when the pointer rests on it.
    pub hint: String,
}

/// Results that belong together, by rising `x`.
#[derive(Debug, Clone, PartialEq)]
pub struct PlotLine {
    /// Class of the style sheet.
    pub class: &'static str,
    /// Its marks.
    pub marks: Vec<Mark>,
}

/// One panel.
#[derive(Debug, Clone, PartialEq)]
pub struct LinePlot {
    /// Its lines.
    pub lines: Vec<PlotLine>,
    /// Name of the horizontal axis.
    pub x_axis: String,
    /// Name of the vertical axis.
    pub y_axis: String,
    /// A logarithmic vertical axis, for values that are all positive.
    pub logarithmic: bool,
}

/// Places of values on both axes: percent across, pixels down.
struct Axes {
    x: (f64, f64),
    y: (f64, f64),
    logarithmic: bool,
}

impl Axes {
    fn place(&self, x: f64, y: f64) -> (f64, f64) {
        let width = (self.x.1 - self.x.0).max(f64::MIN_POSITIVE);
        let (y, low, high) = if self.logarithmic {
            (y.max(self.y.0).log10(), self.y.0.log10(), self.y.1.log10())
        } else {
            (y, self.y.0, self.y.1)
        };
        let across = 100.0 * (x - self.x.0) / width;
        (across, TOP + (HEIGHT - TOP - BOTTOM) * (high - y) / (high - low))
    }
}

impl LinePlot {
    /// The plot as SVG; empty without marks.
    pub fn svg(&self) -> String {
        let marks = || self.lines.iter().flat_map(|line| &line.marks);
        if marks().next().is_none() {
            return String::new();
        }
        let reach = |mark: &Mark| mark.interval.map_or(mark.y, |interval| drawn(mark.y, interval).1.max(mark.y));
        let high = marks().map(reach).fold(f64::MIN_POSITIVE, f64::max);
        let least = marks().map(|mark| mark.y).fold(f64::INFINITY, f64::min);
        let (bounds, ticks) = if self.logarithmic { decades(least, high) } else { even(high) };
        let x = (
            marks().map(|mark| mark.x).fold(f64::INFINITY, f64::min),
            marks().map(|mark| mark.x).fold(f64::NEG_INFINITY, f64::max),
        );
        // A little air, so that the outermost marks don't lie on the frame.
        let air = ((x.1 - x.0) * 0.03).max(0.1);
        let axes = Axes { x: (x.0 - air, x.1 + air), y: bounds, logarithmic: self.logarithmic };
        let multiple = Multiple::of(bounds.1);
        let labels: Vec<String> = ticks.iter().map(|tick| label(tick / multiple.size)).collect();
        let room = LETTER * labels.iter().map(String::len).max().unwrap_or(0) as f64 + 10.0;
        let mut svg = format!(r#"<div class="plot" style="padding-left:{room}px">{}"#, open(HEIGHT));
        for (tick, label) in ticks.iter().zip(&labels) {
            let (_, at) = axes.place(x.0, *tick);
            line(&mut svg, "grid", (0.0, at), (100.0, at));
            text_beside(&mut svg, (-8.0, at + 4.0), "end", label);
        }
        for tick in level(x) {
            text(&mut svg, (axes.place(tick, bounds.1).0, HEIGHT - BOTTOM + 17.0), "middle", &label(tick));
        }
        text_beside(&mut svg, (-room, 12.0), "start", &multiple.name(&self.y_axis));
        text(&mut svg, (100.0, HEIGHT - 6.0), "end", &self.x_axis);
        self.lines.iter().for_each(|line| draw_line(&mut svg, line, &axes));
        self.lines.iter().for_each(|line| draw_marks(&mut svg, line, &axes));
        svg + "</svg></div>"
    }
}

fn draw_line(svg: &mut String, of: &PlotLine, axes: &Axes) {
    let place = |mark: &Mark| {
        let (x, y) = axes.place(mark.x, mark.y);
        format!("{:.1},{y:.1}", x * STRETCHED / 100.0)
    };
    let path: Vec<String> = of.marks.iter().map(place).collect();
    // Writing to a string can't fail.
    let _ = write!(
        svg,
        r#"<svg viewBox="0 0 {STRETCHED} {HEIGHT}" preserveAspectRatio="none" width="100%" height="{HEIGHT}"><polyline class="{}" points="{}"/></svg>"#,
        of.class,
        path.join(" ")
    );
}

/// Marks with their whiskers, each in a drawing of its own whose middle is the mark's place across.
fn draw_marks(svg: &mut String, of: &PlotLine, axes: &Axes) {
    for mark in &of.marks {
        let (x, y) = axes.place(mark.x, mark.y);
        let _ = write!(svg, r#"<svg class="mark" x="{x:.2}%"><title>{}</title>"#, escaped(&mark.hint));
        if let Some((low, high)) = mark.interval {
            let end = |end: f64| axes.place(mark.x, end.clamp(axes.y.0, axes.y.1)).1;
            // What goes on beyond the axis has no end.
            let cap = |of: f64| {
                if (axes.y.0..=axes.y.1).contains(&of) { format!("M-4 {:.1}h8", end(of)) } else { String::new() }
            };
            let path = format!("M0 {:.1}V{:.1}{}{}", end(low), end(high), cap(low), cap(high));
            // One that the mark hides would be a blot.
            if end(low) - end(high) > 2.0 * MARK {
                let _ = write!(svg, r#"<path class="whisker {}" d="{path}"/>"#, of.class);
            }
        }
        let _ = write!(svg, r#"<circle class="{}" cy="{y:.1}" r="{MARK}"/></svg>"#, of.class);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(logarithmic: bool) -> LinePlot {
        let mark = |x, y| Mark { x, y, interval: Some((y * 0.9, y * 1.1)), hint: "k < 9".to_string() };
        LinePlot {
            lines: vec![PlotLine { class: "s0", marks: vec![mark(4.0, 10.0), mark(32.0, 1000.0)] }],
            x_axis: "bits".to_string(),
            y_axis: "cycles".to_string(),
            logarithmic,
        }
    }

    #[test]
    fn marks_have_whiskers_and_hints() {
        let svg = plot(false).svg();
        // The whisker of the lower mark is shorter than the mark.
        assert_eq!((svg.matches("<circle").count(), svg.matches("whisker").count()), (2, 1));
        assert!(svg.contains("M-4 "), "it has ends: {svg}");
        assert!(svg.contains("k &lt; 9") && svg.contains(">bits<") && svg.contains(">cycles<"));
        assert!(LinePlot { lines: Vec::new(), ..plot(false) }.svg().is_empty());
    }

    #[test]
    fn labels_have_room_at_any_width() {
        let mark = |x, y| Mark { x, y, interval: None, hint: String::new() };
        let marks = vec![mark(4.0, 12_000.0), mark(32.0, 830_000.0)];
        let lines = vec![PlotLine { class: "s0", marks }];
        let svg = LinePlot { lines: lines.clone(), ..plot(false) }.svg();
        // "1 000 000" has nine letters and is too long for them: it is 1 in millions.
        assert!(
            svg.contains(">0.8<") && svg.contains(">millions of cycles<") && svg.contains("padding-left:31px"),
            "{svg}"
        );
        let large = LinePlot { lines, logarithmic: true, ..plot(true) }.svg();
        assert!(large.contains("padding-left"), "{large}");
        let outer = svg.split_once('>').map_or("", |(_, rest)| rest);
        assert!(outer.starts_with(r#"<svg role="img" height="260">"#), "no width of its own: {svg}");
        let thousands =
            LinePlot { lines: vec![PlotLine { class: "s0", marks: vec![mark(1.0, 120_000.0)] }], ..plot(false) };
        assert!(thousands.svg().contains("padding-left:59px"), "seven letters: {}", thousands.svg());
    }

    #[test]
    fn nothing_is_drawn_above_the_plot() {
        let mark = Mark { x: 1.0, y: 10.0, interval: Some((f64::NEG_INFINITY, f64::INFINITY)), hint: String::new() };
        let svg = LinePlot { lines: vec![PlotLine { class: "s0", marks: vec![mark] }], ..plot(false) }.svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("V-"), "{svg}");
    }

    #[test]
    fn logarithms_space_decades_evenly() {
        let axes = Axes { x: (0.0, 1.0), y: (1.0, 100.0), logarithmic: true };
        let y = |value| axes.place(0.0, value).1;
        assert!((y(1.0) - y(10.0) - (y(10.0) - y(100.0))).abs() < 1e-9);
    }
}
