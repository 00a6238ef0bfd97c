//! What typed text looks like: colours of keywords, texts, numbers and comments, and before each line that goes on a prompt that tells
//! within what.

use crate::prompt::margin;
use crate::prompt::words::KEYWORDS;
use crate::tokens::{Kind, Open, open, tokens};

const KEYWORD: &str = "\x1b[1;34m";
const TEXT: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[36m";
const COMMENT: &str = "\x1b[2m";
const COMMAND: &str = "\x1b[35m";
const PLAIN: &str = "\x1b[0m";

/// Whether colours are wanted: `NO_COLOR` says that they are not.
pub fn wants_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A text with its lines' margins as it is shown, as wide as it is.
pub fn shown(text: &str, colours: bool) -> String {
    let plain = margin::without(text);
    let coloured = if colours { coloured(&plain) } else { plain.clone().into_owned() };
    let mut shown = String::with_capacity(coloured.len() + 64);
    let (mut end, mut lines) = (0, text.split('\n'));
    for (number, line) in coloured.split('\n').enumerate() {
        let of_text = lines.next().unwrap_or_default();
        let (margin, inner) = margin::split(of_text);
        if number > 0 {
            shown.push('\n');
            // A line that was pasted has none.
            if margin.chars().count() == margin::PROMPT.len() {
                shown.push_str(continued(open(&plain[..end])));
            } else {
                shown.extend(margin.chars().map(|_| ' '));
            }
            end += 1;
        }
        shown.push_str(line);
        end += inner.len();
    }
    shown
}

/// The prompt of a line that goes on within something.
fn continued(open: Open) -> &'static str {
    match open {
        Open::Text => "      '> ",
        Open::Quoted => "      \"> ",
        Open::Dollars => "      $> ",
        Open::Comment => "      *> ",
        Open::Parenthesis => "      (> ",
        Open::Statement | Open::Nothing => "      -> ",
    }
}

/// A text with colours, which begin anew on each line.
fn coloured(text: &str) -> String {
    if text.starts_with(['.', '\\']) {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        return format!("{COMMAND}{}{PLAIN}{}", &text[..end], &text[end..]);
    }
    let mut coloured = String::with_capacity(text.len() * 2);
    for token in tokens(text) {
        let part = &text[token.at];
        let colour = match token.kind {
            Kind::Word if KEYWORDS.binary_search(&part.to_ascii_uppercase().as_str()).is_ok() => KEYWORD,
            Kind::Text => TEXT,
            Kind::Number => NUMBER,
            Kind::Comment => COMMENT,
            Kind::Word | Kind::Quoted | Kind::Blank | Kind::Other => {
                coloured.push_str(part);
                continue;
            }
        };
        coloured.push_str(colour);
        coloured.push_str(&part.replace('\n', &format!("{PLAIN}\n{colour}")));
        coloured.push_str(PLAIN);
    }
    coloured
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_go_on_say_within_what() {
        let lines = ["select (1,", "2), 'a", "b', /* c", "d */ \"e", "f\", $$", "g$$", ";"];
        let text = margin::with(&lines.join("\n"));
        let expected = ["select (1,", "      (> 2), 'a", "      '> b', /* c", "      *> d */ \"e", "      \"> f\", $$"];
        let shown = shown(&text, false);
        assert!(shown.starts_with(&expected.join("\n")), "{shown}");
        assert!(shown.ends_with("\n      $> g$$\n      -> ;"), "{shown}");
    }

    #[test]
    fn colours_leave_the_text_as_it_is() {
        let text = margin::with("SELECT 'a\nb' AS x, 1.5 -- c\n, \"from\" FROM t;");
        let coloured = shown(&text, true);
        let mut plain = coloured.clone();
        for code in [KEYWORD, TEXT, NUMBER, COMMENT, PLAIN] {
            assert!(coloured.contains(code));
            plain = plain.replace(code, "");
        }
        assert_eq!(plain, shown(&text, false));
        assert!(coloured.contains(&format!("{TEXT}'a{PLAIN}\n      '> {TEXT}b'{PLAIN}")), "{coloured:?}");
        assert!(!coloured.contains(&format!("{KEYWORD}from")));
        assert!(shown(".tables x", true).starts_with(COMMAND));
    }
}
