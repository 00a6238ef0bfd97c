//! When typed text is a whole statement.

use gingham::{ScriptPart, StatementSplitter};

/// True when Enter should run `text`: it is blank, a dot command, or ends with `;` outside quotes and comments.
pub fn is_complete(text: &str) -> bool {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed.starts_with('.') {
        return true;
    }
    let mut splitter = StatementSplitter::new();
    splitter.push(trimmed);
    splitter.push("\n");
    let mut ended = false;
    while let Some(ScriptPart::Statement { .. }) = splitter.next() {
        ended = true;
    }
    ended && !splitter.is_open()
}

#[cfg(test)]
mod tests {
    use super::is_complete;

    #[test]
    fn statements_end_with_a_semicolon_outside_quotes_and_comments() {
        for complete in [
            "",
            "  ",
            ".help",
            "select 1;",
            "select ';';",
            "select 1; -- done",
            "select 1 /* a;b */ ;",
            "a;\n\n",
            "select $$;$$;",
            "select E'it\\'s';",
        ] {
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
            "select $$;",
            "select E'it\\';",
        ] {
            assert!(!is_complete(open), "{open:?}");
        }
    }
}
