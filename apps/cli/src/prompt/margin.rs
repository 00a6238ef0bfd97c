//! The left margin of the lines behind the first: where the prompt of a line that goes on stands. The line editor knows no such
//! prompt. So its text begins there with blanks that no statement has, which are shown as one, which the cursor does not enter, and
//! which are taken out of the text when it is run.

use std::borrow::Cow;

/// The blank: a medium mathematical space, which is a blank for the line editor, and as wide as others.
pub const MARK: char = '\u{205F}';

/// The prompt, which is as wide as the margin.
pub const PROMPT: &str = "gingham> ";

/// A line break with the margin behind it.
pub fn line_break() -> String {
    format!("\n{}", MARK.to_string().repeat(PROMPT.len()))
}

/// A text with the margin on each line behind the first.
pub fn with(text: &str) -> String {
    without(text).replace('\n', &line_break())
}

/// A text without the margin.
pub fn without(text: &str) -> Cow<'_, str> {
    if !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = text.split('\n').map(|line| split(line).1).collect();
    Cow::Owned(lines.join("\n"))
}

/// The part of a line that is the margin, and the rest.
pub fn split(line: &str) -> (&str, &str) {
    line.split_at(line.len() - line.trim_start_matches(MARK).len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_come_and_go() {
        let text = "select 'a\nb',\n1";
        let wide = with(text);
        assert_eq!(wide.chars().count(), text.len() + 18);
        assert_eq!(without(&wide), text);
        assert_eq!(with(&wide), wide);
        assert_eq!(split(wide.lines().nth(1).unwrap_or_default()).1, "b',");
        // Within a line it is a character of the user's.
        assert_eq!(without("select '\u{205F}'"), "select '\u{205F}'");
    }
}
