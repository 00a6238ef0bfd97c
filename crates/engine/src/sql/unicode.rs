//! Texts and names with escapes of letters by their numbers: `U&'d\0061t\+000061'`.

/// The letter that escapes; `None` for one that can't.
pub(super) fn escape(text: &str) -> Option<char> {
    let mut letters = text.chars();
    let letter = letters.next().filter(|_| letters.next().is_none())?;
    let is_other = letter.is_ascii_hexdigit() || letter.is_whitespace() || matches!(letter, '+' | '\'' | '"');
    (!is_other).then_some(letter)
}

/// The text that is meant.
///
/// # Errors
///
/// Says what is wrong with an escape.
pub(super) fn read(text: &str, escape: char) -> Result<String, String> {
    let mut meant = String::with_capacity(text.len());
    // The first half of a pair, which stands for a letter beyond four digits.
    let mut first: Option<u32> = None;
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        let number = if letter != escape {
            u32::from(letter)
        } else if let Some(more) = rest.strip_prefix(escape) {
            rest = more;
            u32::from(escape)
        } else {
            let (digits, more) = match rest.strip_prefix('+') {
                Some(more) => (more.get(..6), more.get(6..)),
                None => (rest.get(..4), rest.get(4..)),
            };
            let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
            let wrong = || format!("{escape} is followed by four digits from 0 to F, or by + and six of them");
            let number = u32::from_str_radix(digits.ok_or_else(wrong)?, 16).map_err(|_| wrong())?;
            rest = more.unwrap_or_default();
            number
        };
        let is_second = (0xDC00..0xE000).contains(&number);
        match (first.take(), number) {
            (Some(high), low) if is_second => {
                push(&mut meant, 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))?;
            }
            (Some(_), _) => return Err("half of a letter stands alone".into()),
            (None, high) if (0xD800..0xDC00).contains(&high) => first = Some(high),
            (None, other) => push(&mut meant, other)?,
        }
    }
    if first.is_some() { Err("half of a letter stands alone".into()) } else { Ok(meant) }
}

fn push(meant: &mut String, number: u32) -> Result<(), String> {
    match char::from_u32(number).filter(|letter| *letter != '\0') {
        Some(letter) => meant.push(letter),
        None => return Err(format!("there is no letter of the number {number:X}")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{escape, read};

    #[test]
    fn escapes_are_read() {
        for (text, expected) in [
            ("d\\0061t\\+000061", Ok("data")),
            ("a\\\\b", Ok("a\\b")),
            ("\\D83D\\DE00", Ok("\u{1F600}")),
            ("ä\\00e4", Ok("ää")),
        ] {
            assert_eq!(read(text, '\\').as_deref(), expected.as_deref().map_err(|e: &String| e), "{text}");
        }
        for text in ["\\00", "\\+00006", "\\D83D", "\\DE00", "\\D83Dx", "\\zzzz", "\\+110000", "\\0000", "\\ä"] {
            assert!(read(text, '\\').is_err(), "{text}");
        }
        assert_eq!(escape("!"), Some('!'));
        for text in ["", "ab", "f", "+", " ", "'", "\""] {
            assert_eq!(escape(text), None, "{text}");
        }
    }
}
