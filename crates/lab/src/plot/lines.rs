//! Plots of lines over a number: a mark for each result, a whisker for its interval.

use super::svg::{escaped, line, open, round_step, text, trimmed};
use std::fmt::Write;

/// Size in the SVG's own units; two panels stand side by side in the page's column.
const SIZE: (f64, f64) = (500.0, 300.0);
/// Room for the labels: left, top, right, bottom.
const LEFT: f64 = 52.0;
const TOP: f64 = 22.0;
const RIGHT: f64 = 10.0;
const BOTTOM: f64 = 38.0;

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

/// Places of values on both axes.
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
        (
            LEFT + (SIZE.0 - LEFT - RIGHT) * (x - self.x.0) / width,
            TOP + (SIZE.1 - TOP - BOTTOM) * (high - y) / (high - low),
        )
    }
}

impl LinePlot {
    /// The plot as SVG; empty without marks.
    pub fn svg(&self) -> String {
        let marks = || self.lines.iter().flat_map(|line| &line.marks);
        if marks().next().is_none() {
            return String::new();
        }
        let reach = |mark: &Mark| mark.interval.map_or(mark.y, |(_, high)| high.min(4.0 * mark.y));
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
        let mut svg = open(SIZE.0, SIZE.1);
        for tick in ticks {
            let (_, at) = axes.place(x.0, tick);
            line(&mut svg, "grid", (LEFT, at), (SIZE.0 - RIGHT, at));
            text(&mut svg, (LEFT - 6.0, at + 4.0), "end", &trimmed(tick));
        }
        for tick in x_ticks(x) {
            text(&mut svg, (axes.place(tick, bounds.1).0, SIZE.1 - BOTTOM + 16.0), "middle", &trimmed(tick));
        }
        text(&mut svg, (LEFT, 12.0), "start", &self.y_axis);
        text(&mut svg, (SIZE.0 - RIGHT, SIZE.1 - 6.0), "end", &self.x_axis);
        self.lines.iter().for_each(|line| draw(&mut svg, line, &axes));
        svg + "</svg>"
    }
}

fn draw(svg: &mut String, of: &PlotLine, axes: &Axes) {
    let places: Vec<(f64, f64)> = of.marks.iter().map(|mark| axes.place(mark.x, mark.y)).collect();
    let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    // Writing to a string can't fail.
    let _ = write!(svg, r#"<polyline class="{}" points="{}"/>"#, of.class, path.join(" "));
    for (mark, (x, y)) in of.marks.iter().zip(places) {
        if let Some((low, high)) = mark.interval {
            let ends = [low, high].map(|end| axes.place(mark.x, end.clamp(axes.y.0, axes.y.1)));
            line(svg, "whisker", ends[0], ends[1]);
        }
        let hint = escaped(&mark.hint);
        let _ =
            write!(svg, r#"<circle class="{}" cx="{x:.1}" cy="{y:.1}" r="3"><title>{hint}</title></circle>"#, of.class);
    }
}

/// Bounds and ticks of an axis from 0.
fn even(high: f64) -> ((f64, f64), Vec<f64>) {
    let step = round_step(high / 5.0);
    // A whisker that rises over the last line by a hair needs no other line.
    let count = (high / step - 0.02).ceil().max(1.0) as u32;
    ((0.0, f64::from(count) * step), (0..=count).map(|tick| f64::from(tick) * step).collect())
}

/// Bounds and ticks of a logarithmic axis.
fn decades(low: f64, high: f64) -> ((f64, f64), Vec<f64>) {
    let low = low.max(high * 1e-9);
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let last = last.max(first + 1);
    let ticks = (first..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)));
    let bounds = (10_f64.powi(first), 10_f64.powi(last));
    // Two or three decades have room for the digits between.
    let all: Vec<f64> = ticks.filter(|tick| (bounds.0..=bounds.1 * 1.001).contains(tick)).collect();
    let shown = if all.len() > 10 { all.into_iter().step_by(3).collect() } else { all };
    (bounds, shown)
}

/// Ticks within the marks' range.
fn x_ticks((low, high): (f64, f64)) -> Vec<f64> {
    if high <= low {
        return vec![low];
    }
    // Widths are multiples of 4 more often than of 5.
    let step = match (high - low) / 8.0 {
        step if (2.0..=4.0).contains(&step) => 4.0,
        step => round_step(step),
    };
    let first = (low / step).ceil() as i64;
    (first..).map(|tick| tick as f64 * step).take_while(|tick| *tick <= high * 1.000_001).collect()
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
        assert_eq!((svg.matches("<circle").count(), svg.matches("whisker").count()), (2, 2));
        assert!(svg.contains("k &lt; 9") && svg.contains(">bits<") && svg.contains(">cycles<"));
        assert!(LinePlot { lines: Vec::new(), ..plot(false) }.svg().is_empty());
    }

    #[test]
    fn axes_reach_over_what_is_drawn() {
        assert_eq!(even(1.1).0, (0.0, 1.5));
        assert_eq!(decades(10.0, 1100.0).0, (10.0, 10_000.0));
        assert_eq!(decades(10.0, 10.0).0, (10.0, 100.0));
        assert_eq!(x_ticks((4.0, 32.0)), [4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0, 32.0]);
        assert_eq!(x_ticks((0.0, 2.0)), [0.0, 0.5, 1.0, 1.5, 2.0]);
        assert_eq!(x_ticks((3.0, 3.0)), [3.0]);
    }

    #[test]
    fn logarithms_space_decades_evenly() {
        let axes = Axes { x: (0.0, 1.0), y: (1.0, 100.0), logarithmic: true };
        let y = |value| axes.place(0.0, value).1;
        assert!((y(1.0) - y(10.0) - (y(10.0) - y(100.0))).abs() < 1e-9);
    }
}
