//! Drawing as SVG text. Colours are classes that the page's style sheet sets, so that the plots follow its light and dark
//! themes. A drawing has no size of its own: places across are in percent of its width, all else in pixels, so that its text is
//! as large on a phone as on a screen.

use std::fmt::Write;

/// Stands between thousands in a page: a line does not break there.
const GROUP: &str = "\u{202f}";

/// Text with the characters that mean something to HTML replaced, and no line's end within a number.
pub fn escaped(text: &str) -> String {
    verbatim(&kept_together(text))
}

/// Text of which every letter stays as it is, such as a statement that a reader copies.
pub fn verbatim(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A text in which the blanks between thousands are such as don't end a line.
fn kept_together(text: &str) -> String {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    // Of Q1 123 and 0.5 100 the first is no part of a number that goes on.
    let begins = |at: usize| {
        let digits = bytes[..at].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let before = at.checked_sub(digits + 1).map(|before| bytes[before]);
        (1..=3).contains(&digits) && !before.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"._".contains(&byte))
    };
    let group = |at: usize| bytes[at] == b' ' && (1..=3).all(|next| digit(at + next)) && !digit(at + 4) && begins(at);
    let mut kept = String::with_capacity(text.len());
    for (at, letter) in text.char_indices() {
        if letter == ' ' && group(at) { kept.push_str(GROUP) } else { kept.push(letter) }
    }
    kept
}

/// Begins a drawing of that height, as wide as its place.
pub(super) fn open(height: f64) -> String {
    format!(r#"<svg role="img" height="{height}">"#)
}

/// A straight line from one place to another, both in percent across.
pub(super) fn line(svg: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let ((x1, y1), (x2, y2)) = (from, to);
    // Writing to a string can't fail.
    let _ = write!(svg, r#"<line class="{class}" x1="{x1:.2}%" y1="{y1:.1}" x2="{x2:.2}%" y2="{y2:.1}"/>"#);
}

/// A label at a place in percent across.
pub(super) fn text(svg: &mut String, at: (f64, f64), anchor: &str, content: &str) {
    let ((x, y), content) = (at, escaped(content));
    let _ = write!(svg, r#"<text class="label" x="{x:.2}%" y="{y:.1}" text-anchor="{anchor}">{content}</text>"#);
}

/// A label so many pixels left of the drawing, where it has room, or right of its left edge.
pub(super) fn text_beside(svg: &mut String, at: (f64, f64), anchor: &str, content: &str) {
    let ((x, y), content) = (at, escaped(content));
    let _ = write!(svg, r#"<text class="label" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{content}</text>"#);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_one_line() {
        assert_eq!(escaped("a < b & \"c\""), "a &lt; b &amp; &quot;c&quot;");
        assert_eq!(escaped("103 418 902 of 1 000"), "103\u{202f}418\u{202f}902 of 1\u{202f}000");
        assert_eq!(verbatim("x < '1 000'"), "x &lt; '1 000'");
        for as_it_is in ["7 of 22", "10 2000", "Q1 123 4", "0.5 100", "ä 100", "100 ä", "12 34", ""] {
            assert_eq!(escaped(as_it_is), as_it_is);
        }
    }
}
