//! The left margin of the lines behind the first: where the prompt of a line that goes on stands. The line editor knows no such
//! prompt. So its text has characters there that no statement has, which are shown as one, which the cursor does not enter, and
//! which are taken out of the text when it is run.

use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;

/// The character, of those that Unicode gives no meaning.
const MARK: char = '\u{F8F0}';

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
    if text.contains(MARK) { Cow::Owned(text.replace(MARK, "")) } else { Cow::Borrowed(text) }
}

/// The part of a line that is the margin, and the rest.
pub fn split(line: &str) -> (&str, &str) {
    line.split_at(line.len() - line.trim_start_matches(MARK).len())
}

/// A place in a text whose lines may have the margin.
#[derive(Debug, Clone, Copy)]
pub struct Place<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Place<'t> {
    /// The byte `at` of a text.
    pub fn new(text: &'t str, at: usize) -> Self {
        Self { text, at }
    }

    /// Where the place's line begins, before its margin.
    fn line(&self) -> usize {
        self.text[..self.at].rfind('\n').map_or(0, |at| at + 1)
    }

    /// Where the text of the line that begins there begins.
    fn inner(&self, line: usize) -> usize {
        line + split(&self.text[line..]).0.len()
    }

    /// The begin of the line's text.
    pub fn home(&self) -> usize {
        self.inner(self.line())
    }

    /// The place that one character before is to be gone to, when that is the margin: the end of the line before.
    pub fn left(&self) -> Option<usize> {
        let line = self.line();
        (line > 0 && self.at <= self.inner(line)).then(|| line - 1)
    }

    /// The place that the next character is to be gone to, when that is a line break: behind the next line's margin.
    pub fn right(&self) -> Option<usize> {
        self.text[self.at..].starts_with('\n').then(|| self.inner(self.at + 1))
    }

    /// The place above this one; none on the first line.
    pub fn up(&self) -> Option<usize> {
        let line = self.line();
        let above = Self { text: self.text, at: line.checked_sub(1)? };
        Some(self.in_line(above.line()))
    }

    /// The place below this one; none on the last line.
    pub fn down(&self) -> Option<usize> {
        let next = self.text[self.at..].find('\n')? + self.at + 1;
        Some(self.in_line(next))
    }

    /// The place in the line that begins there with as many characters before it as this one has.
    fn in_line(&self, line: usize) -> usize {
        let home = self.home();
        let column = self.text[home..self.at.max(home)].graphemes(true).count();
        let inner = self.inner(line);
        let text = self.text[inner..].split('\n').next().unwrap_or_default();
        text.grapheme_indices(true).nth(column).map_or(inner + text.len(), |(at, _)| inner + at)
    }
}

/// How many characters two places of a text lie apart, as far as the line editor counts.
pub fn distance(text: &str, one: usize, other: usize) -> u16 {
    let characters = text[one.min(other)..one.max(other)].graphemes(true).count();
    u16::try_from(characters).unwrap_or(u16::MAX)
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
    }

    #[test]
    fn the_cursor_stays_out_of_the_margin() {
        let text = with("abc\nde\nfghi");
        let find = |c: char| text.find(c).expect("it is there");
        let place = |c: char| Place::new(&text, find(c));
        assert_eq!(place('d').home(), find('d'));
        assert_eq!(place('e').home(), find('d'));
        assert_eq!(place('d').left(), Some(3));
        assert_eq!(place('e').left(), None);
        assert_eq!(Place::new(&text, 3).right(), Some(find('d')));
        assert_eq!(place('b').right(), None);
        assert_eq!(place('e').up(), Some(1));
        assert_eq!(place('b').up(), None);
        assert_eq!(place('i').up(), Some(find('e') + 1), "the line above is shorter");
        assert_eq!(place('b').down(), Some(find('e')));
        assert_eq!(place('i').down(), None);
        assert_eq!(distance(&text, find('d'), 3), 10);
    }
}
