//! Splits Rust source into code and comments, line by line, so that a word in a string or a comment is not taken for
//! code. Not a parser: just strings, characters and comments.

/// One line of a source file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Code, without comments and without what strings hold.
    pub code: String,
    /// Comments, without code.
    pub comment: String,
}

#[derive(Clone, Copy)]
enum State {
    Code,
    LineComment,
    BlockComment(u32),
    String,
    RawString(usize),
}

/// The lines of `source`.
pub fn lines(source: &str) -> Vec<Line> {
    let characters: Vec<char> = source.chars().collect();
    let mut lines = vec![Line::default()];
    let mut state = State::Code;
    let mut at = 0;
    while at < characters.len() {
        let rest = &characters[at..];
        if rest[0] == '\n' {
            if matches!(state, State::LineComment) {
                state = State::Code;
            }
            lines.push(Line::default());
            at += 1;
            continue;
        }
        let Some(line) = lines.last_mut() else { break };
        let (next, taken) = step(state, rest, characters[..at].last().copied());
        let shown = rest[..taken].iter();
        match (state, next) {
            (State::Code, State::Code | State::String | State::RawString(_)) => line.code.extend(shown),
            (State::LineComment | State::BlockComment(_), _) | (_, State::LineComment | State::BlockComment(_)) => {
                line.comment.extend(shown);
            }
            _ => {}
        }
        state = next;
        at += taken;
    }
    lines
}

/// The state after the next characters of `rest`, which does not begin with a line's end, and how many they are.
fn step(state: State, rest: &[char], before: Option<char>) -> (State, usize) {
    let pair = (rest[0], rest.get(1).copied().unwrap_or(' '));
    match state {
        State::Code => match pair {
            ('/', '/') => (State::LineComment, 2),
            ('/', '*') => (State::BlockComment(1), 2),
            ('"', _) => (State::String, 1),
            ('r', '"' | '#') if !before.is_some_and(is_word_except_byte) => raw_string(rest),
            ('\'', _) => (State::Code, character_literal(rest)),
            _ => (State::Code, 1),
        },
        State::LineComment => (state, 1),
        State::BlockComment(depth) => match pair {
            ('/', '*') => (State::BlockComment(depth + 1), 2),
            ('*', '/') if depth == 1 => (State::Code, 2),
            ('*', '/') => (State::BlockComment(depth - 1), 2),
            _ => (state, 1),
        },
        State::String => match pair {
            ('\\', next) if next != '\n' => (state, 2.min(rest.len())),
            ('"', _) => (State::Code, 1),
            _ => (state, 1),
        },
        State::RawString(hashes) => {
            let closes = rest[0] == '"' && rest.len() > hashes && rest[1..=hashes].iter().all(|c| *c == '#');
            if closes { (State::Code, 1 + hashes) } else { (state, 1) }
        }
    }
}

/// True for a character of a name; `b`, which may stand before a raw string's `r`, is none here.
fn is_word_except_byte(character: char) -> bool {
    character != 'b' && (character.is_alphanumeric() || character == '_')
}

/// `r"`, `r##"`, or the name `r`.
fn raw_string(rest: &[char]) -> (State, usize) {
    let hashes = rest[1..].iter().take_while(|c| **c == '#').count();
    if rest.get(1 + hashes) == Some(&'"') { (State::RawString(hashes), 2 + hashes) } else { (State::Code, 1) }
}

/// Length of a character literal such as `'"'` or `'\n'`; 1 for the quote of a lifetime.
fn character_literal(rest: &[char]) -> usize {
    match rest {
        [_, '\\', _, tail @ ..] => tail.iter().take(10).position(|c| *c == '\'').map_or(1, |position| position + 4),
        [_, _, '\'', ..] => 3,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(source: &str) -> String {
        lines(source).into_iter().map(|line| line.code).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn comments_and_strings_are_not_code() {
        assert_eq!(code("a // b\nc"), "a \nc");
        assert_eq!(code("a /* b /* c */ d\n e */ f"), "a \n f");
        assert_eq!(code(r#"f("un\"safe")+1"#), "f(\")+1");
        assert_eq!(code("f(r#\"a \" b\"#) + g(br\"x\")"), "f(r#\") + g(br\")");
        assert_eq!(code("f('\"') + g('\\'') + h::<'a>()"), "f('\"') + g('\\'') + h::<'a>()");
        assert_eq!(code("for r in x {}"), "for r in x {}");
    }

    #[test]
    fn comments_are_kept_apart() {
        let lines = lines("x(); // why\n/* one\ntwo */ y();");
        assert_eq!(lines[0].comment, "// why");
        assert_eq!(lines[1].comment, "/* one");
        assert_eq!(lines[2].comment, "two */");
        assert_eq!(lines[2].code, " y();");
    }
}
