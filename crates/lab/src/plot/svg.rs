//! Drawing as SVG text. Colours are classes that the page's style sheet sets, so that the plots follow its light and dark
//! themes.

use std::fmt::Write;

/// Text with the characters that mean something to HTML replaced.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Begins a drawing of that size.
pub(super) fn open(width: f64, height: f64) -> String {
    format!(r#"<svg viewBox="0 0 {width} {height}" role="img">"#)
}

/// A straight line.
pub(super) fn line(svg: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let ((x1, y1), (x2, y2)) = (from, to);
    // Writing to a string can't fail.
    let _ = write!(svg, r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#);
}

/// A label.
pub(super) fn text(svg: &mut String, at: (f64, f64), anchor: &str, content: &str) {
    text_of_class(svg, "label", at, anchor, content);
}

/// A text of some class.
pub(super) fn text_of_class(svg: &mut String, class: &str, at: (f64, f64), anchor: &str, content: &str) {
    let ((x, y), content) = (at, escaped(content));
    let _ = write!(svg, r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{content}</text>"#);
}

/// A rectangle that tells the pointer `hint`.
pub(super) fn rectangle(svg: &mut String, class: &str, hint: &str, corner: (f64, f64), size: (f64, f64)) {
    let ((x, y), (width, height)) = (corner, size);
    let _ = write!(
        svg,
        r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"><title>{}</title></rect>"#,
        escaped(hint)
    );
}

/// The least of 1, 2, 5 times a power of ten that is not below `least`.
pub(super) fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= least).unwrap_or(10.0);
    factor * power
}

/// A tick's number without needless digits.
pub(super) fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!(round_step(0.3), 0.5);
        assert_eq!(round_step(1.0), 1.0);
        assert_eq!(round_step(11.0), 20.0);
        assert_eq!(round_step(60.0), 100.0);
        assert_eq!(trimmed(0.5), "0.5");
        assert_eq!(trimmed(20.0), "20");
    }
}
