//! When typed text is a whole statement.

use crate::script::is_command;
use gingham::StatementSplitter;

/// True when Enter should run `text`: it has no statement that is not ended by `;` outside of quotes and comments.
pub fn is_complete(text: &str) -> bool {
    if matches!(text.trim().to_ascii_lowercase().as_str(), "quit" | "exit" | "help") {
        return true;
    }
    let mut splitter = StatementSplitter::with_commands(is_command);
    splitter.push(text.trim());
    splitter.push("\n");
    while splitter.next().is_some() {}
    !splitter.is_open()
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
            "\\d t",
            "quit",
            "-- a comment",
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
            "/* more",
            "select $$;",
            "select E'it\\';",
        ] {
            assert!(!is_complete(open), "{open:?}");
        }
    }
}
