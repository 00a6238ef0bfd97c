//! Texts as a terminal shows them: how wide they are, and how one is made to fit.

use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// What stands for what was cut off.
pub const ELLIPSIS: &str = "…";

/// Control characters as escapes, so that a value stays in its place and can't drive the terminal.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(escaped).collect())
}

/// The blanks that `text` lacks to be `width` wide.
pub fn padding(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(text.width()))
}

/// The text, or as many of its characters as fit `width` with an ellipsis behind them. Characters are what readers take for one: a
/// letter with its accents, an emoji with its modifiers.
pub fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if text.len() <= width || text.width() <= width {
        return Cow::Borrowed(text);
    }
    let room = width.saturating_sub(ELLIPSIS.width());
    let mut end = 0;
    for (start, character) in text.grapheme_indices(true) {
        if text[..start + character.len()].width() > room {
            break;
        }
        end = start + character.len();
    }
    Cow::Owned(format!("{}{ELLIPSIS}", &text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_splits_no_character() {
        assert_eq!(cut("comment", 7), "comment");
        assert_eq!(cut("comments", 7), "commen…");
        assert_eq!(cut("日本語文字", 6), "日本…", "a wide character that has room for half of it only is left out");
        assert_eq!(cut("日本語文字", 7), "日本語…");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}e\u{301}", 3), "e\u{301}e\u{301}…");
        assert_eq!(cut("👩‍👩‍👧‍👦 family", 4), "👩‍👩‍👧‍👦 …");
        assert_eq!(cut("👩‍👩‍👧‍👦 family", 2), "…");
        assert_eq!(cut("🇩🇪🇫🇷🇮🇹", 4), "🇩🇪…");
        for width in 1..12 {
            assert!(cut("a日b🇩🇪e\u{301}👍🏽xyz", width).width() <= width, "{width}");
        }
    }

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(visible("a\tb\u{1b}[31m"), "a\\tb\\u{1b}[31m");
    }
}
