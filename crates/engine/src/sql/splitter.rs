//! Cutting a script into statements while its text arrives: of files, pipes and prompts.

use crate::sql::split::{Scan, StatementPlace, without_mark};

/// A part of a script.
///
/// ```
/// use gingham::{ScriptPart, StatementSplitter};
///
/// let mut splitter = StatementSplitter::new();
/// splitter.push("SELECT 1;");
/// assert!(matches!(splitter.next(), Some(ScriptPart::Statement { text, line: 1 }) if text == "SELECT 1;"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptPart {
    /// A statement with the comments before it and its `;`, which the last may lack.
    Statement {
        /// Its text, without blanks around it.
        text: String,
        /// The line of the script, from 1, on which its first word stands.
        line: usize,
    },
    /// A line between statements that is a command, without blanks around it.
    Command {
        /// Its text.
        text: String,
        /// Its number, from 1.
        line: usize,
    },
}

/// Cuts a script into statements as its text arrives. No byte is looked at twice, however long a statement is and however many pieces it
/// comes in.
///
/// ```
/// use gingham::{ScriptPart, StatementSplitter};
///
/// let mut splitter = StatementSplitter::with_commands(|line| line.starts_with('.'));
/// splitter.push(".tables\nSELECT 'a;");
/// assert!(matches!(splitter.next(), Some(ScriptPart::Command { text, .. }) if text == ".tables"));
/// assert_eq!(splitter.next(), None);
/// splitter.push("b'; SELECT");
/// assert!(matches!(splitter.next(), Some(ScriptPart::Statement { text, line: 2 }) if text == "SELECT 'a;b';"));
/// assert_eq!(splitter.next(), None);
/// splitter.push(" 2");
/// assert!(matches!(splitter.finish(), Some(ScriptPart::Statement { text, .. }) if text == "SELECT 2"));
/// ```
#[derive(Debug, Default)]
pub struct StatementSplitter {
    /// What arrived and was not given, behind what was.
    text: String,
    scan: Scan,
    /// The bytes at the beginning of the text whose lines are counted, and the line breaks among them and in all text before.
    counted: usize,
    breaks: usize,
    /// Which lines between statements are commands.
    is_command: Option<fn(&str) -> bool>,
    /// Whether anything arrived.
    began: bool,
    /// Whether the text before this one, which was dropped, ends within a line that has more than blanks.
    within_line: bool,
}

impl StatementSplitter {
    /// One for a text of statements alone.
    ///
    /// ```
    /// assert_eq!(gingham::StatementSplitter::new().next(), None);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// One for a text in which a line between statements may be a command, as `is_command` tells of its beginning, without the blanks
    /// before it. The line is given when it is whole.
    ///
    /// ```
    /// let mut splitter = gingham::StatementSplitter::with_commands(|line| line.starts_with('\\'));
    /// splitter.push("\\d");
    /// assert_eq!(splitter.next(), None);
    /// splitter.push("t\n");
    /// assert!(matches!(splitter.next(), Some(gingham::ScriptPart::Command { text, line: 1 }) if text == "\\dt"));
    /// ```
    pub fn with_commands(is_command: fn(&str) -> bool) -> Self {
        Self { is_command: Some(is_command), ..Self::default() }
    }

    /// Takes more of the text. A byte order mark at its beginning is left out.
    ///
    /// ```
    /// let mut splitter = gingham::StatementSplitter::new();
    /// splitter.push("\u{feff}SELECT 1; ");
    /// assert!(matches!(splitter.next(), Some(gingham::ScriptPart::Statement { text, .. }) if text == "SELECT 1;"));
    /// ```
    pub fn push(&mut self, text: &str) {
        let text = if self.began { text } else { without_mark(text) };
        self.began = true;
        // What was given is dropped when it is the larger part, so that each byte is moved once or twice.
        let given = self.scan.start;
        if given > self.text.len() / 2 {
            self.line_of(given);
            let dropped = &self.text[..given];
            self.within_line = match dropped.rfind('\n') {
                Some(at) => !dropped[at..].trim().is_empty(),
                None => self.within_line || !dropped.trim().is_empty(),
            };
            self.text.drain(..given);
            self.scan.move_back(given);
            self.counted -= given;
        }
        self.text.push_str(text);
    }

    /// The next part that is whole: a statement up to its `;`, or a command.
    ///
    /// ```
    /// let mut splitter = gingham::StatementSplitter::new();
    /// splitter.push("SELECT 1; SELECT");
    /// assert!(splitter.next().is_some());
    /// assert!(splitter.next().is_none());
    /// ```
    #[expect(clippy::should_implement_trait, reason = "more text may follow where there is no part")]
    pub fn next(&mut self) -> Option<ScriptPart> {
        self.part(false)
    }

    /// What is left at the end of the text, part by part.
    ///
    /// ```
    /// let mut splitter = gingham::StatementSplitter::new();
    /// splitter.push("SELECT 1; SELECT 2 -- and no more");
    /// assert!(splitter.finish().is_some());
    /// assert!(splitter.finish().is_some());
    /// assert!(splitter.finish().is_none());
    /// ```
    pub fn finish(&mut self) -> Option<ScriptPart> {
        if let Some(part) = self.part(true) {
            return Some(part);
        }
        let place = self.scan.rest(self.text.len())?;
        Some(self.statement(place))
    }

    /// The next whole line as it is, with its line break, where the script has something other than SQL: the rows behind
    /// `COPY … FROM STDIN;`. `at_end` gives the last one, which may lack its line break.
    ///
    /// ```
    /// let mut splitter = gingham::StatementSplitter::new();
    /// splitter.push("COPY t FROM STDIN;\n1,'\n\\.\n");
    /// assert!(splitter.next().is_some());
    /// let lines: Vec<String> = std::iter::from_fn(|| splitter.line(false)).collect();
    /// assert_eq!(lines, ["\n", "1,'\n", "\\.\n"]);
    /// ```
    pub fn line(&mut self, at_end: bool) -> Option<String> {
        let rest = &self.text[self.scan.start..];
        let length = match rest.find('\n') {
            Some(at) => at + 1,
            None if at_end && !rest.is_empty() => rest.len(),
            None => return None,
        };
        let line = rest[..length].to_owned();
        self.scan = Scan::at(self.scan.start + length);
        Some(line)
    }

    /// Whether a statement has begun and its `;` has not come: more than blanks and comments, or a comment that is not closed.
    ///
    /// ```
    /// let mut splitter = gingham::StatementSplitter::new();
    /// splitter.push("SELECT 1; /* more");
    /// assert!(splitter.next().is_some() && splitter.next().is_none());
    /// assert!(splitter.is_open());
    /// ```
    pub fn is_open(&self) -> bool {
        self.scan.is_open()
    }

    fn part(&mut self, is_whole: bool) -> Option<ScriptPart> {
        if let Some(is_command) = self.is_command
            && self.scan.pass_comments(self.text.as_bytes(), is_whole)
            && self.begins_line()
        {
            let rest = &self.text[self.scan.at..];
            let end = memchr::memchr(b'\n', rest.as_bytes()).map(|at| at + 1).or(is_whole.then_some(rest.len()));
            let line = rest[..end.unwrap_or(rest.len())].trim();
            if is_command(line) {
                let (text, first) = (line.to_owned(), self.scan.at);
                self.scan = Scan::at(first + end?);
                return Some(ScriptPart::Command { text, line: self.line_of(first) });
            }
        }
        let place = self.scan.statement(self.text.as_bytes(), is_whole)?;
        Some(self.statement(place))
    }

    fn statement(&mut self, place: StatementPlace) -> ScriptPart {
        let text = self.text[place.whole].trim().to_owned();
        ScriptPart::Statement { text, line: self.line_of(place.first) }
    }

    /// Whether nothing but blanks stands before the scan on its line.
    fn begins_line(&self) -> bool {
        let before = &self.text[..self.scan.at];
        match before.rfind('\n') {
            Some(at) => before[at..].trim().is_empty(),
            None => !self.within_line && before.trim().is_empty(),
        }
    }

    /// The line on which the byte `at` stands, which is behind all bytes that were asked for before.
    fn line_of(&mut self, at: usize) -> usize {
        if at > self.counted {
            self.breaks += memchr::memchr_iter(b'\n', &self.text.as_bytes()[self.counted..at]).count();
            self.counted = at;
        }
        self.breaks + 1
    }
}

#[cfg(test)]
mod tests {
    use super::{ScriptPart, StatementSplitter};
    use crate::sql::split::split_statements;
    use crate::sql::tokens::tokens;
    use datafusion::sql::sqlparser::tokenizer::Token;

    fn parts(splitter: &mut StatementSplitter, pieces: &[&str]) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        let pair = |part| match part {
            ScriptPart::Statement { text, line } => (line, text),
            ScriptPart::Command { text, line } => (line, format!("command {text}")),
        };
        for piece in pieces {
            splitter.push(piece);
            found.extend(std::iter::from_fn(|| splitter.next()).map(pair));
        }
        found.extend(std::iter::from_fn(|| splitter.finish()).map(pair));
        found
    }

    #[test]
    fn commands_begin_lines_between_statements() {
        let text = ".one\nselect 1; .no;\n-- note\n  \\two x\nselect\n.5; /* a\n.b */ \n.three";
        let expected = [
            (1, "command .one"),
            (2, "select 1;"),
            (2, ".no;"),
            (4, "command \\two x"),
            (5, "select\n.5;"),
            (8, "command .three"),
        ];
        let expected = expected.map(|(line, text)| (line, text.to_owned()));
        let is_command = |line: &str| line.starts_with(['.', '\\']);
        let whole = parts(&mut StatementSplitter::with_commands(is_command), &[text]);
        assert_eq!(whole, expected);
        let bytes: Vec<&str> = (0..text.len()).map(|at| &text[at..=at]).collect();
        assert_eq!(parts(&mut StatementSplitter::with_commands(is_command), &bytes), expected);
    }

    /// Pieces of a long statement are looked at once: the text of this test took minutes where each piece was looked at from the
    /// statement's beginning.
    #[test]
    fn lines_are_counted_over_all_that_was_dropped() {
        let mut splitter = StatementSplitter::new();
        let mut pieces = vec!["select '"];
        pieces.resize(50_000, "a line; of a text\n");
        pieces.push("' as one;\n select 2;\n\nselect 3");
        let found = parts(&mut splitter, &pieces);
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 50_001, 50_003]);
        assert!(!splitter.is_open());
    }

    /// Numbers in no order, the same for each seed.
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % end
        }
    }

    const PIECES: &[&str] = &[
        ";", ";", ";", "'", "'", "''", "\"", "\"\"", "`", "E'", "e'", " E'", "\\", "\\'", "\\\\", "$$", "$$", "$t$",
        "$t$", "$_1$", "$1", "$", "//", "--", "/*", "*/", "/", "*", "-", "\n", " ", "a", "e", "é", "1", "1e", "_",
        "select ", ", ", "(", ")", "N'", "x'",
    ];

    /// The statements as the tokenizer has them, or `None` where it takes a text for unfinished or wrong.
    fn by_tokens(sql: &str) -> Option<Vec<String>> {
        let mut found = vec![String::new()];
        let mut means = vec![false];
        let tokens = tokens(sql).ok()?;
        // A token's text is what lies between its place and that of the next one.
        let starts: Vec<usize> = tokens
            .iter()
            .map(|token| {
                let place = token.span.start;
                let line: usize = sql.split_inclusive('\n').take(place.line as usize - 1).map(str::len).sum();
                line + sql[line..].chars().take(place.column as usize - 1).map(char::len_utf8).sum::<usize>()
            })
            .chain([sql.len()])
            .collect();
        for (token, pair) in tokens.iter().zip(starts.windows(2)) {
            let last = found.len() - 1;
            found[last].push_str(&sql[pair[0]..pair[1]]);
            match token.token {
                Token::SemiColon => {
                    found.push(String::new());
                    means.push(false);
                }
                Token::Whitespace(_) => {}
                _ => means[last] = true,
            }
        }
        let statements = found.into_iter().zip(means).filter(|(_, means)| *means);
        Some(statements.map(|(text, _)| text.trim().to_owned()).collect())
    }

    /// The statements of a text that arrives in pieces.
    fn in_pieces(sql: &str, random: &mut Random) -> Vec<String> {
        let (mut splitter, mut found, mut rest) = (StatementSplitter::new(), Vec::new(), sql);
        let text = |part| match part {
            ScriptPart::Statement { text, .. } | ScriptPart::Command { text, .. } => text,
        };
        while !rest.is_empty() {
            let mut end = 1 + random.below(rest.len().min(5));
            while !rest.is_char_boundary(end) {
                end += 1;
            }
            splitter.push(&rest[..end]);
            rest = &rest[end..];
            found.extend(std::iter::from_fn(|| splitter.next()).map(text));
        }
        found.extend(std::iter::from_fn(|| splitter.finish()).map(text));
        found
    }

    #[test]
    fn texts_are_cut_where_the_tokenizer_has_semicolons() {
        let (mut random, mut compared) = (Random(7), 0);
        for _ in 0..60_000 {
            let sql: String = (0..1 + random.below(14)).map(|_| PIECES[random.below(PIECES.len())]).collect();
            let whole = split_statements(&sql);
            assert_eq!(in_pieces(&sql, &mut random), whole, "{sql:?}");
            if let Some(expected) = by_tokens(&sql) {
                assert_eq!(whole, expected, "{sql:?}");
                compared += usize::from(sql.contains(';'));
            }
        }
        assert!(compared > 5000, "{compared} texts were compared");
    }
}
