//! The shape of a statement: its text with `?` for each value, in small letters, without comments, and with single blanks. A list of
//! values is one `?`, however long.

use datafusion::common::ScalarValue;

/// Words that statements of a workload begin with.
const FIRST_WORDS: [&str; 9] = ["select", "with", "values", "from", "table", "insert", "update", "delete", "merge"];

/// Writes the shape of a statement; false when it is none that a workload has.
pub(super) fn write_shape(sql: &str, shape: &mut String) -> bool {
    shape.clear();
    let bytes = sql.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        at = match byte {
            b'-' if bytes[at..].starts_with(b"--") => end_of(bytes, at, b'\n'),
            b'/' if bytes[at..].starts_with(b"/*") => end_of_comment(bytes, at),
            b'\'' => {
                value(shape);
                end_of(bytes, at + 1, b'\'')
            }
            b'"' => {
                let end = end_of(bytes, at + 1, b'"');
                shape.push_str(&sql[at..end]);
                end
            }
            b'0'..=b'9' if !continues_a_word(shape) => {
                value(shape);
                at + bytes[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'.').count()
            }
            b'$' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                value(shape);
                at + 1 + bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count()
            }
            b';' => at + 1,
            _ if byte.is_ascii_whitespace() => {
                if !shape.is_empty() && !shape.ends_with(' ') {
                    shape.push(' ');
                }
                at + 1
            }
            _ => {
                let length = sql[at..].chars().next().map_or(1, char::len_utf8);
                shape.extend(sql[at..at + length].chars().map(|c| c.to_ascii_lowercase()));
                at + length
            }
        };
    }
    shape.truncate(shape.trim_end().len());
    let word = shape.trim_start_matches('(').split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    FIRST_WORDS.contains(&word)
}

/// A value, or one more of a list.
fn value(shape: &mut String) {
    let before = shape.trim_end();
    match before.strip_suffix(',').map(str::trim_end) {
        Some(list) if list.ends_with('?') => shape.truncate(list.len()),
        _ => shape.push('?'),
    }
}

fn continues_a_word(shape: &str) -> bool {
    shape.ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Behind the next `mark`, or the end.
fn end_of(bytes: &[u8], from: usize, mark: u8) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter().position(|byte| *byte == mark).map_or(bytes.len(), |place| from + place + 1)
}

fn end_of_comment(bytes: &[u8], from: usize) -> usize {
    bytes[from..].windows(2).position(|pair| pair == b"*/").map_or(bytes.len(), |place| from + place + 2)
}

/// A statement with its parameters `$1`, `$2`, … written as values; `None` when one of them can't be.
pub(crate) fn with_values(sql: &str, values: &[ScalarValue]) -> Option<String> {
    let (mut text, mut rest) = (String::with_capacity(sql.len()), sql);
    while let Some(place) = rest.find(['$', '\'', '"']) {
        text.push_str(&rest[..place]);
        let found = rest.as_bytes()[place];
        let end = if found == b'$' {
            let digits = rest[place + 1..].bytes().take_while(u8::is_ascii_digit).count();
            match rest[place + 1..place + 1 + digits].parse::<usize>() {
                Ok(number) => text.push_str(&literal(values.get(number.checked_sub(1)?)?)?),
                Err(_) => text.push('$'),
            }
            place + 1 + digits
        } else {
            let end = end_of(rest.as_bytes(), place + 1, found);
            text.push_str(&rest[place..end]);
            end
        };
        rest = &rest[end..];
    }
    text.push_str(rest);
    Some(text)
}

/// A value as SQL.
fn literal(value: &ScalarValue) -> Option<String> {
    if value.is_null() {
        return Some("NULL".to_owned());
    }
    let data_type = value.data_type();
    if data_type.is_numeric() || matches!(value, ScalarValue::Boolean(_)) {
        return Some(value.to_string());
    }
    let array = value.to_array().ok()?;
    let texts = crate::text::as_text(&array).ok()?;
    let text = ScalarValue::try_from_array(&texts, 0).ok()?.try_as_str()??.replace('\'', "''");
    use arrow::datatypes::DataType;
    Some(match data_type {
        DataType::Date32 | DataType::Date64 => format!("DATE '{text}'"),
        DataType::Timestamp(_, None) => format!("TIMESTAMP '{text}'"),
        DataType::Timestamp(_, Some(_)) => format!("TIMESTAMP WITH TIME ZONE '{text}'"),
        DataType::Time32(_) | DataType::Time64(_) => format!("TIME '{text}'"),
        _ => format!("'{text}'"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(sql: &str) -> Option<String> {
        let mut shape = String::new();
        write_shape(sql, &mut shape).then_some(shape)
    }

    #[test]
    fn statements_that_differ_in_values_have_one_shape() {
        for (sql, expected) in [
            ("SELECT  a1, 'x''y' FROM t -- all\n WHERE b = 12.5e3;", "select a1, ?? from t where b = ?"),
            ("select * from \"T 1\" where a in (1, 2,3 , 'x')", "select * from \"T 1\" where a in (?)"),
            ("INSERT INTO t VALUES (1, 'a'), (2, 'b')", "insert into t values (?), (?)"),
            ("update t set a=$12 /* ; */ where é = DATE '2020-01-01'", "update t set a=? where é = date ?"),
            ("(SELECT 1)", "(select ?)"),
        ] {
            assert_eq!(shape(sql).as_deref(), Some(expected), "{sql}");
        }
        for other in ["CREATE TABLE t (a INT)", "BEGIN", "SET a = 1", "EXPLAIN SELECT 1", "", "--", "'unfinished"] {
            assert_eq!(shape(other), None, "{other}");
        }
    }

    #[test]
    fn parameters_are_written_as_values() {
        let values = [
            ScalarValue::from(7),
            ScalarValue::from("it's"),
            ScalarValue::Utf8(None),
            ScalarValue::Date32(Some(19_000)),
            ScalarValue::Decimal128(Some(12345), 10, 2),
        ];
        let text = "SELECT $1, '$1', \"$1\", $2, $3, $4, $5, $$x$$";
        let expected = "SELECT 7, '$1', \"$1\", 'it''s', NULL, DATE '2022-01-08', 123.45, $$x$$";
        assert_eq!(with_values(text, &values).as_deref(), Some(expected));
        assert_eq!(with_values("SELECT $6", &values), None);
    }
}
