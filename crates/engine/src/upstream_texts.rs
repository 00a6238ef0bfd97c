//! Errors of DataFusion that are told apart by their text alone: it has no other name for them.

use crate::suggest::instead_of_function;
use crate::type_name::type_name;
use arrow::datatypes::DataType;
use gingham_storage::{Position, SqlState};

/// A plan whose sorts DataFusion has put where it does not see any more that rows are in order.
const ORDER: &str = "does not satisfy order requirements";
/// A statement nested too deeply for the parser.
const RECURSION: &str = "recursion limit exceeded";

/// Whether planning failed since the planner lost sight of an order: it pushes sorts into the inputs of a union.
pub(crate) fn is_lost_order(text: &str) -> bool {
    text.contains(ORDER)
}

/// Whether DataFusion takes a mistake in a statement for its own.
pub(crate) fn blames_itself(text: &str) -> bool {
    let texts = [
        "trying to unnest on invalid data type",
        "in BETWEEN expression",
        "array_resize: failed to convert size",
        "array_slice got invalid stride",
    ];
    texts.iter().any(|known| text.contains(known))
}

/// What some texts of DataFusion mean that were written for its developers.
pub(crate) fn plain_words(text: &str) -> Option<String> {
    if text.contains(RECURSION) {
        return Some("the statement is nested too deeply; write it in parts".into());
    }
    if let Some((_, rest)) = text.split_once("Function '")
        && let Some((function, errors)) = rest.split_once("' failed to match any signature, errors: ")
    {
        let function = function.rsplit('\'').next().unwrap_or(function);
        let given = received(errors).map_or(String::new(), |kind| format!(" of type {}", sql_kinds(kind)));
        return Some(format!("function {function} does not take arguments{given}; cast them"));
    }
    if let Some((name, suggestion)) = text.strip_prefix("Invalid function '").and_then(|rest| rest.split_once("'.")) {
        let nearest = suggestion.split_once("Did you mean '").and_then(|(_, rest)| rest.split_once('\''));
        let nearest = nearest.map(|(nearest, _)| nearest);
        return Some(format!("function '{name}' does not exist{}", instead_of_function(name, nearest)));
    }
    // A function of ours says itself what it takes.
    if let Some((_, own)) = text.split_once(" user-defined coercion failed with: External error: ") {
        let own = own.split_once(". No function matches the given name").map_or(own, |(own, _)| own);
        return Some(own.to_owned());
    }
    if let Some((_, call)) = text.split_once("No function matches the given name and argument types '")
        && let Some((name, types)) = call.split_once("'.").and_then(|(call, _)| call.split_once('('))
    {
        return Some(match types.strip_suffix(')').unwrap_or(types) {
            "" => format!("function {name} takes arguments"),
            types => format!("function {name} does not take arguments of type {}; cast them", sql_kinds(types)),
        });
    }
    if let Some((kind, call)) = text.split_once("Array overflow on abs(") {
        return Some(format!("integer overflow: abs({call} is out of range for {}", sql_types(kind)));
    }
    if let Some((_, given)) = text.split_once("trying to unnest on invalid data type ") {
        return Some(format!("unnest takes an array, not {}", sql_types(given.trim_end_matches('.'))));
    }
    if let Some((_, types)) = text.split_once("Failed to coerce types ")
        && let Some((types, _)) = types.split_once(" in BETWEEN expression")
    {
        return Some(format!("BETWEEN does not compare {}; cast them", sql_types(types)));
    }
    // A table function's argument, as a structure of DataFusion's.
    if let Some((wanted, _)) = text.split_once(", got Literal(") {
        return Some(sql_types(wanted));
    }
    if text.contains("array_resize: failed to convert size to usize") {
        return Some("array_resize can't give an array fewer than no elements".into());
    }
    if let Some((_, parameter)) = text.split_once("Placeholder '")
        && let Some((name, _)) = parameter.split_once("' was not provided a value")
    {
        return Some(format!("parameter {name} has no value"));
    }
    if text.starts_with("Physical plan does not support logical expression") {
        let subquery = ["Subquery", "OuterReferenceColumn"].iter().any(|kind| text.contains(kind));
        return subquery.then(|| "a subquery of this kind in this place; a join says the same".into());
    }
    if let Some(extension) = text.strip_prefix("There is no registered file format with ext ") {
        return Some(format!(
            "the ending '.{extension}' does not tell the format of a file; give it as COPY … (FORMAT csv), or parquet, json or arrow"
        ));
    }
    let (_, node) = text.split_once("Unsupported ast node ")?;
    let name = node.split([' ', '{', '(']).next().unwrap_or(node);
    Some(name.to_uppercase())
}

/// The kind of a mistake that DataFusion and Arrow tell by its text alone.
pub(crate) fn state_of(text: &str) -> Option<SqlState> {
    const STATES: &[(&str, SqlState)] = &[
        // Before the kinds of functions' arguments: DataFusion tells casts of ours as such.
        ("can't be cast to TIME", SqlState::CannotCoerce),
        ("Casting from ", SqlState::CannotCoerce),
        ("Invalid function '", SqlState::UndefinedFunction),
        ("failed to match any signature", SqlState::UndefinedFunction),
        ("No function matches the given name", SqlState::UndefinedFunction),
        ("Scalar subquery returned more than one row", SqlState::CardinalityViolation),
        ("a subquery that stands for a value gives", SqlState::CardinalityViolation),
        ("Invalid escape character", SqlState::InvalidEscapeSequence),
        ("Unary operator '-' only supports", SqlState::UndefinedFunction),
        ("Cannot infer common argument type", SqlState::UndefinedFunction),
        ("Cannot coerce", SqlState::UndefinedFunction),
        ("Cannot cast string", SqlState::InvalidTextRepresentation),
        ("Can't cast value", SqlState::NumericValueOutOfRange),
        ("too large to store in a Decimal", SqlState::NumericValueOutOfRange),
        ("is too large", SqlState::NumericValueOutOfRange),
        ("Overflow", SqlState::NumericValueOutOfRange),
        ("Divide by zero", SqlState::DivisionByZero),
        ("No value found for placeholder", SqlState::UndefinedParameter),
        ("was not provided a value", SqlState::UndefinedParameter),
        ("trying to unnest on invalid data type", SqlState::UndefinedFunction),
        ("in BETWEEN expression", SqlState::UndefinedFunction),
        ("array_resize: failed to convert size to usize", SqlState::InvalidParameterValue),
        ("NTILE requires a positive integer", SqlState::InvalidArgumentForNtile),
        ("regex parse error", SqlState::InvalidRegularExpression),
        ("Regular expression did not compile", SqlState::InvalidRegularExpression),
        ("Error parsing timestamp", SqlState::InvalidDatetimeFormat),
        ("invalid UTF-8 in field", SqlState::CharacterNotInRepertoire),
        ("cannot take square root of a negative number", SqlState::InvalidArgumentForPower),
        ("factorial of a negative number", SqlState::NumericValueOutOfRange),
        ("Signed integer overflow in ", SqlState::NumericValueOutOfRange),
        ("Array overflow on abs(", SqlState::NumericValueOutOfRange),
        ("negative count not allowed", SqlState::SubstringError),
        ("field position must not be zero", SqlState::InvalidParameterValue),
        ("invalid Unicode scalar value", SqlState::ProgramLimitExceeded),
        ("Unsupported date_trunc granularity", SqlState::InvalidParameterValue),
        ("Date part '", SqlState::InvalidParameterValue),
        ("Unable to parse date from ", SqlState::DatetimeFieldOverflow),
        ("Month value '", SqlState::DatetimeFieldOverflow),
        ("Day value '", SqlState::DatetimeFieldOverflow),
        ("Hour value '", SqlState::DatetimeFieldOverflow),
        ("Minute value '", SqlState::DatetimeFieldOverflow),
        ("Second value '", SqlState::DatetimeFieldOverflow),
        ("Step cannot be zero", SqlState::InvalidParameterValue),
        ("step can't be 0", SqlState::InvalidParameterValue),
        ("LIMIT must be >= 0", SqlState::InvalidRowCountInLimit),
        ("OFFSET must be >=0", SqlState::InvalidRowCountInOffset),
        ("with non-boolean predicate", SqlState::DatatypeMismatch),
        ("Aggregate function calls cannot be nested", SqlState::GroupingError),
        ("Window function calls cannot be nested", SqlState::WindowingError),
        ("Cannot infer common string type", SqlState::UndefinedFunction),
    ];
    STATES.iter().find(|(part, _)| text.contains(part)).map(|(_, state)| *state)
}

/// A parser's message without the place that it ends in, and the place.
pub(crate) fn parser_place(text: &str) -> (&str, Option<Position>) {
    let place = text.rsplit_once(" at Line: ").and_then(|(before, place)| {
        let (line, column) = place.split_once(", Column: ")?;
        Some((before, Position { line: line.parse().ok()?, column: column.trim().parse().ok()? }))
    });
    place.map_or((text, None), |(before, position)| (before, Some(position)))
}

/// Types as SQL writes them instead of Arrow, outside quotes.
pub(crate) fn sql_types(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let (mut quoted, mut begin) = (false, 0);
    for (at, _) in text.match_indices('\'') {
        // The sign of "isn't" quotes nothing.
        if !quoted && text[..at].ends_with('n') && text[at + 1..].starts_with("t ") {
            continue;
        }
        let part = &text[begin..at];
        if quoted {
            plain.push_str(part)
        } else {
            push_sql_types(&mut plain, part)
        }
        plain.push('\'');
        (quoted, begin) = (!quoted, at + 1);
    }
    let part = &text[begin..];
    if quoted {
        plain.push_str(part)
    } else {
        push_sql_types(&mut plain, part)
    }
    plain
}

/// The type that a function was given, by what it says of each of its signatures; those that are about the number of arguments
/// name none.
fn received(errors: &str) -> Option<&str> {
    let told = errors.split("but received ").skip(1).map(|given| {
        let end = [" (DataType", ",Error", ". ", "\n"].iter().filter_map(|end| given.find(end)).min();
        given[..end.unwrap_or(given.len())].trim_end_matches('.')
    });
    told.filter(|kind| !kind.starts_with(|c: char| c.is_ascii_digit()) && !kind.starts_with("a ")).last()
}

/// Appends a text without quotes, its types as SQL writes them.
fn push_sql_types(plain: &mut String, text: &str) {
    let mut rest = text;
    while let Some(begin) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
        plain.push_str(&rest[..begin]);
        rest = &rest[begin..];
        let word = &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len())];
        let behind = &rest[word.len()..];
        // With what stands behind it in brackets, such as Timestamp(ns, "+00:00").
        let long = brackets(behind).map(|length| &rest[..word.len() + length]);
        let found = long.and_then(|long| Some((long, sql_type(long)?)));
        let found = found.or_else(|| Some((word, sql_type(word).filter(|_| is_whole(word, behind))?)));
        let (taken, name) = found.unwrap_or_else(|| (word, word.to_owned()));
        plain.push_str(&name);
        rest = &rest[taken.len()..];
    }
    plain.push_str(rest);
}

/// The length of what stands in brackets at the start of a text, with them.
fn brackets(text: &str) -> Option<usize> {
    if !text.starts_with('(') {
        return None;
    }
    let (mut depth, mut quoted) = (0usize, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Whether a word names a type where it stands: some are words of English, too.
fn is_whole(word: &str, behind: &str) -> bool {
    const BEHIND: [&str; 10] = [",", ")", "]", " and", " or", " to ", " =", " --", " in ", " is "];
    !matches!(word, "Null" | "Binary") || behind.is_empty() || BEHIND.iter().any(|begin| behind.starts_with(begin))
}

/// The name in SQL of one of Arrow's types, by its name there or by DataFusion's for its kind; `None` for other texts.
fn sql_type(text: &str) -> Option<String> {
    if let Ok(data_type) = text.parse::<DataType>() {
        return Some(type_name(&data_type));
    }
    let name = match text {
        "Decimal128" | "Decimal256" => "DECIMAL",
        "Time(s)" => "TIME(0)",
        "Time(ms)" => "TIME(3)",
        "Time(µs)" => "TIME(6)",
        "Time(ns)" => "TIME(9)",
        _ => {
            let decimal = text.strip_prefix("Decimal(")?.strip_suffix(')')?;
            return Some(format!("DECIMAL({})", decimal.replace(' ', "")));
        }
    };
    Some(name.to_owned())
}

/// Types that stand alone, a comma between two, as SQL writes them: DataFusion's names for their kinds among them, which in other
/// places are words of English.
fn sql_kinds(types: &str) -> String {
    let kind = |kind: &str| match kind.trim() {
        "String" => "VARCHAR".to_owned(),
        "Date" => "DATE".to_owned(),
        "Binary" => "BINARY".to_owned(),
        "Null" => "NULL".to_owned(),
        other => sql_types(other),
    };
    let (mut kinds, mut begin, mut depth) = (Vec::new(), 0, 0i32);
    for (at, c) in types.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                kinds.push(kind(&types[begin..at]));
                begin = at + 1;
            }
            _ => {}
        }
    }
    kinds.push(kind(&types[begin..]));
    kinds.join(", ")
}

/// Whether a recursive query finds no rows of the last round, which another part of it has taken.
pub(crate) fn is_read_twice(text: &str) -> bool {
    text.contains("Unexpected empty work table")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_of_sql() {
        let cases = [
            ("Interval(MonthDayNano) = Int64", "INTERVAL = BIGINT"),
            ("got Timestamp(ns, \"+00:00\")!", "got TIMESTAMP(9) WITH TIME ZONE '+00:00'!"),
            ("Timestamp(µs) and Time64(µs)", "TIMESTAMP(6) and TIME(6)"),
            ("(Null --> Float64)", "(NULL --> DOUBLE)"),
            ("a List(Int64) of Decimal128(3, 1), Decimal(4, 2)", "a BIGINT[] of DECIMAL(3,1), DECIMAL(4,2)"),
            ("Struct(\"c0\": Int64, \"c1\": Utf8View)", "STRUCT(c0 BIGINT, c1 VARCHAR)"),
            ("Binary operator 'Int64' of List and Union", "Binary operator 'Int64' of List and Union"),
            ("Dictionary(Int32, Utf8)", "VARCHAR"),
            ("Date32, Utf8 (", "DATE, VARCHAR ("),
            (
                "There isn't a common type to coerce Timestamp(ns, \"+00:00\") and 'Utf8'",
                "There isn't a common type to coerce TIMESTAMP(9) WITH TIME ZONE '+00:00' and 'Utf8'",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(sql_types(text), expected, "{text}");
        }
        assert_eq!(sql_kinds("String, Date,Time(µs), List(Int64)"), "VARCHAR, DATE, TIME(6), BIGINT[]");
    }

    #[test]
    fn functions_tell_what_they_do_not_take() {
        let cases = [
            (
                "No function matches the given name and argument types 'abs(Interval(MonthDayNano))'. You might",
                "function abs does not take arguments of type INTERVAL; cast them",
            ),
            (
                "Function 'substr' user-defined coercion failed with: Internal error: Function 'substr' failed to match any \
                 signature, errors: Coercion failed, but received Decimal(2, 1) (DataType: Decimal128(2, 1)).",
                "function substr does not take arguments of type DECIMAL(2,1); cast them",
            ),
            (
                "Function 'approx' failed to match any signature, errors: Error during planning: Function 'approx' expects \
                 Numeric but received String,Error during planning: Function 'approx' expects 3 arguments but received 2",
                "function approx does not take arguments of type VARCHAR; cast them",
            ),
            (
                "Function 'sum' failed to match any signature, errors: Coercion failed, but received String (DataType: Utf8).",
                "function sum does not take arguments of type VARCHAR; cast them",
            ),
            (
                "Function 'generate_series' failed to match any signature, errors: Function 'generate_series' expects 3 \
                 arguments but received 2,Error during planning: Function 'generate_series' requires Int64, but received \
                 Timestamp(ns, \"+00:00\") (DataType: Timestamp(ns, \"+00:00\")).",
                "function generate_series does not take arguments of type TIMESTAMP(9) WITH TIME ZONE '+00:00'; cast them",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(plain_words(text).as_deref(), Some(expected), "{text}");
        }
    }
}
