//! Values of clients' settings as they are written, and as they are shown. An error names the setting, the value and the choices.

use crate::settings::client::{KnownSetting, SettingKind};
use crate::settings::parse::switch;
use crate::{Error, Result};
use gingham_storage::SqlState;

/// The value of a setting as it is kept, from what was written. Errors name what it takes.
pub(crate) fn checked(known: &KnownSetting, value: &str) -> Result<String> {
    let KnownSetting { name, kind, default } = known;
    let wrong = |choices: String| {
        let text = format!("setting '{name}' is {choices}, not '{value}'");
        Err(Error::invalid(SqlState::InvalidParameterValue, text))
    };
    let trimmed = value.trim();
    match kind {
        SettingKind::Text => Ok(value.to_owned()),
        SettingKind::Switch => match switch(trimmed) {
            Some(on) => Ok(on_off(on).to_owned()),
            None => wrong("on or off".into()),
        },
        SettingKind::OnlyDefault => match switch(trimmed) {
            Some(on) if on_off(on) == *default => Ok((*default).to_owned()),
            Some(on) => Err(Error::Unsupported(format!("setting {name} = {}", on_off(on)))),
            None => wrong("on or off".into()),
        },
        SettingKind::Integer(least, most) => match trimmed.parse::<i64>() {
            Ok(number) if (*least..=*most).contains(&number) => Ok(number.to_string()),
            _ => wrong(format!("a number from {least} to {most}")),
        },
        SettingKind::Number => match trimmed.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(trimmed.to_owned()),
            _ => wrong("a number".into()),
        },
        SettingKind::Quantity => match is_quantity(trimmed) {
            true => Ok(trimmed.to_owned()),
            false => wrong("a number with an optional unit, such as 64MB or 5s".into()),
        },
        SettingKind::Choice(choices) => {
            let word = trimmed.to_ascii_lowercase();
            match choices.contains(&word.as_str()) {
                true => Ok(word),
                false => wrong(choices.join(", ")),
            }
        }
        SettingKind::Encoding => match letters_of(trimmed).as_str() {
            "utf8" | "unicode" => Ok("UTF8".to_owned()),
            _ => Err(Error::Unsupported(format!("setting {name} = '{value}': texts come in UTF8"))),
        },
        SettingKind::DateStyle => date_style(value),
        SettingKind::SearchPath => path_of(value).map(|_| value.to_owned()),
        SettingKind::TimeZone => match trimmed.is_empty() {
            true => wrong("the name of a zone or a distance from UTC".into()),
            false => Ok(trimmed.to_owned()),
        },
        SettingKind::OwnTime(_) | SettingKind::OwnIsolation | SettingKind::OwnDurability => Ok(value.to_owned()),
        SettingKind::OfTransaction | SettingKind::Fixed => {
            Err(Error::invalid(SqlState::CantChangeRuntimeParam, format!("setting '{name}' can't be changed")))
        }
    }
}

/// What counts of the name of an encoding: its letters and digits, as in PostgreSQL.
fn letters_of(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// A switch as SHOW writes it.
fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// Digits, with a sign and a fraction perhaps, and a word.
fn is_quantity(value: &str) -> bool {
    let unit = value.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(value.len());
    let (number, unit) = value.split_at(unit);
    number.trim().parse::<f64>().is_ok_and(f64::is_finite)
        && ["", "b", "kb", "mb", "gb", "tb", "us", "ms", "s", "min", "h", "d"]
            .contains(&unit.to_ascii_lowercase().as_str())
}

/// `ISO, MDY`, of words in any order and number. Other forms of dates are not written, and parts are read in no other order.
fn date_style(value: &str) -> Result<String> {
    for word in value.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word.to_ascii_lowercase().as_str() {
            "iso" | "mdy" | "us" | "noneuro" | "noneuropean" | "default" => {}
            "sql" | "postgres" | "german" | "ymd" | "dmy" | "euro" | "european" => {
                return Err(Error::Unsupported(format!(
                    "setting DateStyle = '{value}': dates are written as ISO has them, and those like 1/2/2003 read as MDY"
                )));
            }
            _ => {
                let text = format!("setting 'DateStyle' is ISO, MDY, not '{value}'");
                return Err(Error::invalid(SqlState::InvalidParameterValue, text));
            }
        }
    }
    Ok("ISO, MDY".to_owned())
}

/// The names of a list such as `"$user", public`. Names that are not quoted are in small letters.
fn path_of(value: &str) -> Result<Vec<String>> {
    let wrong = || {
        let text = format!("setting 'search_path' is a list of schemas, not '{value}'");
        Error::invalid(SqlState::InvalidParameterValue, text)
    };
    let mut names = Vec::new();
    let mut rest = value.trim();
    if rest.is_empty() {
        return Ok(names);
    }
    loop {
        let behind = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (name, behind) = quoted_name(quoted).ok_or_else(wrong)?;
                names.push(name);
                behind
            }
            None => {
                let end = rest.find([',', '"']).unwrap_or(rest.len());
                let (name, behind) = rest.split_at(end);
                let name = name.trim();
                if name.is_empty() || name.contains(char::is_whitespace) {
                    return Err(wrong());
                }
                names.push(name.to_lowercase());
                behind
            }
        };
        match behind.trim_start() {
            "" => return Ok(names),
            behind => rest = behind.strip_prefix(',').ok_or_else(wrong)?.trim_start(),
        }
    }
}

/// A name up to its closing quote, and what is behind.
fn quoted_name(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' if characters.peek().is_some_and(|(_, next)| *next == '"') => {
                characters.next();
                name.push('"');
            }
            '"' => return (!name.is_empty()).then_some((name, &text[at + 1..])),
            other => name.push(other),
        }
    }
    None
}

/// The schemas of a list that was checked: `$user` is a schema that nobody has.
pub(super) fn path_schemas(value: &str) -> Vec<String> {
    let names = path_of(value).unwrap_or_default();
    names.into_iter().filter(|name| name != "$user" && name != "pg_catalog").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::client::known;

    fn kept(name: &str, value: &str) -> String {
        checked(known(name).unwrap(), value).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn values_are_kept_as_they_are_shown() {
        for (name, value, shown) in [
            ("APPLICATION_NAME", "psql ", "psql "),
            ("jit", "FALSE", "off"),
            ("extra_float_digits", " 3", "3"),
            ("extra_float_digits", "4", "setting 'extra_float_digits' is a number from -15 to 3, not '4'"),
            ("bytea_output", "ESCAPE", "escape"),
            ("bytea_output", "raw", "setting 'bytea_output' is hex, escape, not 'raw'"),
            ("client_encoding", "utf-8", "UTF8"),
            ("client_encoding", "LATIN1", "setting client_encoding = 'LATIN1': texts come in UTF8"),
            ("datestyle", "iso", "ISO, MDY"),
            ("work_mem", "64MB", "64MB"),
            (
                "work_mem",
                "much",
                "setting 'work_mem' is a number with an optional unit, such as 64MB or 5s, not 'much'",
            ),
            ("standard_conforming_strings", "on", "on"),
            ("standard_conforming_strings", "off", "setting standard_conforming_strings = off"),
            ("server_version", "16", "setting 'server_version' can't be changed"),
        ] {
            assert_eq!(kept(name, value), shown, "{name} = {value}");
        }
    }

    #[test]
    fn a_path_is_a_list_of_names() {
        for (text, names) in [
            ("", vec![]),
            ("\"$user\", public", vec!["$user", "public"]),
            ("A,b ,\"C d\"", vec!["a", "b", "C d"]),
            ("\"x\"\"y\"", vec!["x\"y"]),
        ] {
            assert_eq!(path_of(text).unwrap(), names, "{text}");
        }
        for text in ["a b", "a,", ",", "\"a", "a\"b\"", "\"\""] {
            assert!(path_of(text).is_err(), "{text}");
        }
        assert_eq!(path_schemas("\"$user\", s"), ["s"]);
    }
}
