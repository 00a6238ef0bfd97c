//! Cutting a script into statements without parsing them.

use std::ops::Range;

/// Where a statement of a script lies, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatementPlace {
    /// From what follows the statement before, comments among it, to behind its `;`, which the last may lack.
    pub(crate) whole: Range<usize>,
    /// Where its first word begins.
    pub(crate) first: usize,
}

/// The statements of `sql`, each with its `;`; the last may lack it.
pub(crate) fn split_statements(sql: &str) -> Vec<String> {
    statement_places(sql).into_iter().map(|place| sql[place.whole].trim().to_owned()).collect()
}

/// Where the statements of `sql` lie.
pub(crate) fn statement_places(sql: &str) -> Vec<StatementPlace> {
    let mut places = Vec::new();
    let bytes = sql.as_bytes();
    let (mut start, mut at, mut first) = (0, 0, None);
    while at < bytes.len() {
        let next = skip(bytes, at);
        if bytes[at] == b';' {
            places.extend(first.take().map(|first| StatementPlace { whole: start..next, first }));
            start = next;
        } else if !bytes[at].is_ascii_whitespace() && !is_comment(bytes, at) {
            first = first.or(Some(at));
        }
        at = next;
    }
    places.extend(first.map(|first| StatementPlace { whole: start..bytes.len(), first }));
    places
}

/// The bytes of `sql` up to behind the last `;` that ends a statement.
pub(crate) fn finished_bytes(sql: &str) -> usize {
    let bytes = sql.as_bytes();
    let (mut at, mut finished) = (0, 0);
    while at < bytes.len() {
        let next = skip(bytes, at);
        if bytes[at] == b';' {
            finished = next;
        }
        at = next;
    }
    finished
}

fn is_comment(bytes: &[u8], at: usize) -> bool {
    bytes[at..].starts_with(b"--") || bytes[at..].starts_with(b"/*")
}

/// Where the token that begins at `at` ends: a comment, a quoted text, or one byte. All ends are ASCII, so that a
/// character is never cut.
fn skip(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    if rest.starts_with(b"--") {
        return rest.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end + 1);
    }
    if rest.starts_with(b"/*") {
        return skip_block_comment(bytes, at);
    }
    match rest[0] {
        // A doubled quote ends one quoted text and begins the next, which comes to the same.
        quote @ (b'\'' | b'"' | b'`') => {
            rest[1..].iter().position(|byte| *byte == quote).map_or(bytes.len(), |end| at + end + 2)
        }
        b'$' => skip_dollar_quoted(bytes, at),
        _ => at + 1,
    }
}

/// Block comments nest.
fn skip_block_comment(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// `$$ … $$` and `$tag$ … $tag$`; a `$1` is no quote.
fn skip_dollar_quoted(bytes: &[u8], at: usize) -> usize {
    let name = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let end = at + 1 + name;
    if bytes.get(end) != Some(&b'$') || bytes[at + 1].is_ascii_digit() {
        return at + 1;
    }
    let tag = &bytes[at..=end];
    bytes[end + 1..]
        .windows(tag.len())
        .position(|window| window == tag)
        .map_or(bytes.len(), |found| end + 1 + found + tag.len())
}

#[cfg(test)]
mod tests {
    use super::{finished_bytes, split_statements, statement_places};

    #[test]
    fn semicolons_in_quotes_and_comments_do_not_count() {
        let cases: &[(&str, &[&str])] = &[
            ("select 1; select 2;", &["select 1;", "select 2;"]),
            ("select ';''--'; select \"a;b\"", &["select ';''--';", "select \"a;b\""]),
            ("-- nothing; here\n /* ; /* ; */ */ ;;", &[]),
            ("select 1 -- one;\n+ 2; x", &["select 1 -- one;\n+ 2;", "x"]),
            ("select $1; select $$a;b$$; select $t$;$$;$t$", &["select $1;", "select $$a;b$$;", "select $t$;$$;$t$"]),
            ("select 'unfinished; ", &["select 'unfinished;"]),
            ("selecté; ü", &["selecté;", "ü"]),
            ("", &[]),
        ];
        for (sql, expected) in cases {
            assert_eq!(split_statements(sql), *expected, "{sql}");
        }
        for (sql, finished) in [
            ("select 1; select 2", 9),
            ("select ';", 0),
            ("select 1 -- ;", 0),
            ("/* ; */;", 8),
            ("a; b; 'c;", 5),
            ("", 0),
        ] {
            assert_eq!(finished_bytes(sql), finished, "{sql}");
        }
        let places = statement_places("-- one\nselect 1;\n/* two */ select 2");
        let found: Vec<_> = places.into_iter().map(|place| (place.whole, place.first)).collect();
        assert_eq!(found, [(0..16, 7), (16..35, 27)]);
    }
}
