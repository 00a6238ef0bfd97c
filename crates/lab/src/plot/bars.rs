//! Plots of bars.

use super::svg::{line, open, rectangle, round_step, text, text_of_class, trimmed};

/// Width of every plot of bars in the SVG's own units; the page scales it to its column.
const WIDTH: f64 = 1000.0;
/// Room for the labels of a vertical axis.
const LEFT: f64 = 56.0;

/// One bar of a group: its class, its value, and what the pointer is told.
pub struct Bar {
    /// Class of the style sheet.
    pub class: &'static str,
    /// Length.
    pub value: f64,
    /// Where the true value lies, drawn as a whisker.
    pub interval: Option<(f64, f64)>,
    /// Shown when the pointer rests on the bar.
    pub hint: String,
}

/// Groups of upright bars side by side over a linear axis. `unit` names the axis.
pub fn upright_bars(groups: &[(String, Vec<Bar>)], unit: &str) -> String {
    const HEIGHT: f64 = 300.0;
    const TOP: f64 = 22.0;
    const BOTTOM: f64 = 26.0;
    let reach = |bar: &Bar| bar.interval.map_or(bar.value, |(_, high)| high);
    let largest = groups.iter().flat_map(|(_, bars)| bars).map(reach).fold(f64::MIN_POSITIVE, f64::max);
    let step = round_step(largest / 5.0);
    let top = (largest / step).ceil() * step;
    let y = |value: f64| TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - value / top);
    let mut svg = open(WIDTH, HEIGHT);
    let mut tick = 0.0;
    while tick <= top + step / 2.0 {
        let at = y(tick);
        line(&mut svg, "grid", (LEFT, at), (WIDTH, at));
        text(&mut svg, (LEFT - 8.0, at + 4.0), "end", &trimmed(tick));
        tick += step;
    }
    // From the edge on: an axis may be named by more than a unit.
    text(&mut svg, (0.0, 10.0), "start", unit);
    let slot = (WIDTH - LEFT) / groups.len().max(1) as f64;
    for (place, (label, bars)) in groups.iter().enumerate() {
        let left = LEFT + slot * (place as f64 + 0.12);
        let width = slot * 0.76 / bars.len().max(1) as f64;
        for (number, bar) in bars.iter().enumerate() {
            // A bar too short to see is still there.
            let height = (y(0.0) - y(bar.value)).max(1.0);
            let corner = (left + width * number as f64, y(0.0) - height);
            rectangle(&mut svg, bar.class, &bar.hint, corner, (width - 1.0, height));
            if let Some((low, high)) = bar.interval {
                let middle = corner.0 + (width - 1.0) / 2.0;
                line(&mut svg, "whisker", (middle, y(low.max(0.0))), (middle, y(high)));
            }
        }
        text(&mut svg, (LEFT + slot * (place as f64 + 0.5), HEIGHT - 8.0), "middle", label);
    }
    svg + "</svg>"
}

/// Bars that leave the line of 1 on a logarithmic axis: down for values below 1, up for values above.
pub fn ratio_bars(values: &[(String, f64, String)]) -> String {
    const HEIGHT: f64 = 220.0;
    const TOP: f64 = 12.0;
    const BOTTOM: f64 = 26.0;
    let logs = || values.iter().map(|(_, value, _)| value.log2());
    let low = logs().fold(-1.0, f64::min).floor();
    let high = logs().fold(1.0, f64::max).ceil();
    let y = |log: f64| TOP + (HEIGHT - TOP - BOTTOM) * (high - log) / (high - low);
    let mut svg = open(WIDTH, HEIGHT);
    for tick in low as i32..=high as i32 {
        let at = y(f64::from(tick));
        line(&mut svg, if tick == 0 { "axis" } else { "grid" }, (LEFT, at), (WIDTH, at));
        let label = if tick < 0 { format!("1/{}", 1_u64 << -tick) } else { (1_u64 << tick).to_string() };
        text(&mut svg, (LEFT - 8.0, at + 4.0), "end", &label);
    }
    let slot = (WIDTH - LEFT) / values.len().max(1) as f64;
    for (place, (label, value, hint)) in values.iter().enumerate() {
        let (from, to) = (y(0.0), y(value.log2()));
        let class = if *value <= 1.0 { "faster" } else { "slower" };
        let corner = (LEFT + slot * (place as f64 + 0.2), from.min(to));
        rectangle(&mut svg, class, hint, corner, (slot * 0.6, (from - to).abs().max(1.0)));
        text(&mut svg, (LEFT + slot * (place as f64 + 0.5), HEIGHT - 8.0), "middle", label);
    }
    svg + "</svg>"
}

/// Rows of level bars, each row with a label before and a remark behind. Rows without bars are headings.
pub fn level_bars(rows: &[(String, Vec<Bar>, String)]) -> String {
    const ROW: f64 = 19.0;
    const LABEL: f64 = 150.0;
    const REMARK: f64 = 190.0;
    let largest = rows.iter().flat_map(|(_, bars, _)| bars).map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
    let mut svg = open(WIDTH, ROW * rows.len() as f64 + 4.0);
    for (place, (label, bars, remark)) in rows.iter().enumerate() {
        let top = ROW * place as f64;
        if bars.is_empty() {
            text_of_class(&mut svg, "heading", (0.0, top + 15.0), "start", label);
            continue;
        }
        text(&mut svg, (LABEL - 8.0, top + 13.0), "end", label);
        let height = (ROW - 5.0) / bars.len() as f64;
        let mut longest: f64 = 0.0;
        for (number, bar) in bars.iter().enumerate() {
            let width = ((WIDTH - LABEL - REMARK) * bar.value / largest).max(1.0);
            let corner = (LABEL, top + 2.0 + height * number as f64);
            rectangle(&mut svg, bar.class, &bar.hint, corner, (width, height));
            longest = longest.max(width);
        }
        text(&mut svg, (LABEL + longest + 8.0, top + 13.0), "start", remark);
    }
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_bar_fills_the_axis_and_text_is_escaped() {
        let bar = |value| Bar { class: "gingham", value, interval: None, hint: "a < b".to_string() };
        let svg = upright_bars(&[("1".to_string(), vec![bar(100.0), bar(50.0)])], "ms");
        assert_eq!(svg.matches("<rect").count(), 2);
        // 300 high, 22 above and 26 below the bars.
        assert!(svg.contains(r#"height="252.0""#) && svg.contains(r#"height="126.0""#), "{svg}");
        assert!(svg.contains("a &lt; b") && !svg.contains("a < b"));
    }

    #[test]
    fn ratios_leave_the_line_of_one() {
        let svg = ratio_bars(&[("1".into(), 0.5, String::new()), ("2".into(), 2.0, String::new())]);
        // The axis is from 1/2 to 2 over 182 units: one doubling each way.
        assert_eq!(svg.matches(r#"height="91.0""#).count(), 2);
        assert!(svg.contains("class=\"faster\"") && svg.contains("class=\"slower\"") && svg.contains(">1/2<"));
    }
}
