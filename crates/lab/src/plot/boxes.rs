//! Plots of boxes: smallest, quartiles and largest of several values.

use super::svg::{line, open, rectangle, round_step, text, trimmed};
use crate::statistics::Quartiles;

/// Size in the SVG's own units, and room for labels.
const SIZE: (f64, f64) = (1000.0, 300.0);
const LEFT: f64 = 56.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 26.0;

/// Boxes side by side over a linear axis from 0 on, which `unit` names. What lies above `most` is cut off.
pub fn upright_boxes(boxes: &[(String, Quartiles)], unit: &str, most: f64) -> String {
    let largest = boxes.iter().map(|(_, of)| of.largest).fold(f64::MIN_POSITIVE, f64::max).min(most);
    let step = round_step(largest / 5.0);
    let top = (largest / step).ceil() * step;
    let y = |value: f64| TOP + (SIZE.1 - TOP - BOTTOM) * (1.0 - value.clamp(0.0, top) / top);
    let mut svg = open(SIZE.0, SIZE.1);
    let mut tick = 0.0;
    while tick <= top + step / 2.0 {
        line(&mut svg, "grid", (LEFT, y(tick)), (SIZE.0, y(tick)));
        text(&mut svg, (LEFT - 8.0, y(tick) + 4.0), "end", &trimmed(tick));
        tick += step;
    }
    text(&mut svg, (0.0, 10.0), "start", unit);
    let slot = (SIZE.0 - LEFT) / boxes.len().max(1) as f64;
    for (place, (label, of)) in boxes.iter().enumerate() {
        let (left, right) = (LEFT + slot * (place as f64 + 0.2), LEFT + slot * (place as f64 + 0.8));
        let middle = (left + right) / 2.0;
        let hint = format!(
            "{label}: {:.0} to {:.0}, half of them {:.0} to {:.0}, the middle one {:.0}",
            of.smallest, of.largest, of.first, of.third, of.median
        );
        line(&mut svg, "whisker", (middle, y(of.smallest)), (middle, y(of.first)));
        line(&mut svg, "whisker", (middle, y(of.third)), (middle, y(of.largest)));
        // A box too low to see is still there.
        let height = (y(of.first) - y(of.third)).max(1.0);
        rectangle(&mut svg, "s0", &hint, (left, y(of.third)), (right - left, height));
        line(&mut svg, "axis", (left, y(of.median)), (right, y(of.median)));
        text(&mut svg, (middle, SIZE.1 - 8.0), "middle", label);
    }
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_span_the_quartiles_and_are_cut() {
        let of = |values: &[f64]| Quartiles::of(values).unwrap();
        let svg = upright_boxes(
            &[("a".into(), of(&[0.0, 25.0, 50.0, 75.0, 100.0])), ("b".into(), of(&[40.0, 900.0]))],
            "%",
            100.0,
        );
        assert_eq!(svg.matches("<rect").count(), 2);
        // 252 units for 100: half of the values lie between 25 and 75.
        assert!(svg.contains(r#"height="126.0""#), "{svg}");
        // What is above 100 ends at the top.
        assert!(!svg.contains("y1=\"-") && !svg.contains("y2=\"-") && svg.contains("b: 40 to 900"), "{svg}");
    }
}
