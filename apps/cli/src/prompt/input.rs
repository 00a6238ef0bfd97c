//! When typed text is a whole statement: outside quotes and comments, it ends with `;`.

/// What a scan of the text is inside of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    /// Until this quote.
    Quote(u8),
    /// Until the end of the line.
    LineComment,
    /// Until as many `*/` as there were `/*`.
    BlockComment(u32),
}

/// True when Enter should run `text`: it is blank, a dot command, or ends with `;`.
pub fn is_complete(text: &str) -> bool {
    let trimmed = text.trim();
    trimmed.is_empty() || trimmed.starts_with('.') || ends_statement(trimmed.as_bytes())
}

fn ends_statement(text: &[u8]) -> bool {
    let mut inside = Inside::Nothing;
    let mut last = b' ';
    let mut at = 0;
    while at < text.len() {
        let (byte, next) = (text[at], text.get(at + 1).copied());
        at += 1;
        match (inside, byte, next) {
            (Inside::Nothing, b'\'' | b'"' | b'`', _) => inside = Inside::Quote(byte),
            (Inside::Nothing, b'-', Some(b'-')) => inside = Inside::LineComment,
            (Inside::Nothing, b'/', Some(b'*')) => {
                inside = Inside::BlockComment(1);
                at += 1;
            }
            (Inside::Nothing, b' ' | b'\t' | b'\n' | b'\r', _) => {}
            (Inside::Nothing, _, _) => last = byte,
            (Inside::Quote(quote), _, _) if byte == quote => {
                inside = Inside::Nothing;
                last = byte;
            }
            (Inside::LineComment, b'\n', _) => inside = Inside::Nothing,
            (Inside::BlockComment(depth), b'/', Some(b'*')) => {
                inside = Inside::BlockComment(depth + 1);
                at += 1;
            }
            (Inside::BlockComment(depth), b'*', Some(b'/')) => {
                inside = if depth == 1 { Inside::Nothing } else { Inside::BlockComment(depth - 1) };
                at += 1;
            }
            _ => {}
        }
    }
    last == b';' && matches!(inside, Inside::Nothing | Inside::LineComment)
}

#[cfg(test)]
mod tests {
    use super::is_complete;

    #[test]
    fn statements_end_with_a_semicolon_outside_quotes_and_comments() {
        for complete in
            ["", "  ", ".help", "select 1;", "select ';';", "select 1; -- done", "select 1 /* a;b */ ;", "a;\n\n"]
        {
            assert!(is_complete(complete), "{complete:?}");
        }
        for open in [
            "select 1",
            "select ';",
            "select 1 -- ;",
            "select 'it''s;",
            "/* ;",
            "/* /* */ ;",
            "select \"a;",
            "select 1; select 2",
            "select 1; /* more",
        ] {
            assert!(!is_complete(open), "{open:?}");
        }
    }
}
