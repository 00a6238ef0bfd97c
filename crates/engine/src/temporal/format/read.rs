//! A text by a template, as to_date and to_timestamp read it.

use crate::temporal::civil::{Civil, days_of};
use crate::temporal::format::pattern::{TemplateField, TemplateItem};
use crate::temporal::format::write::MONTHS;

/// A point in time that was read: days since 1970-01-01 and nanoseconds of that day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReadMoment {
    pub(super) days: i64,
    pub(super) time: i64,
}

/// The parts that are read; what a template does not have is that of the first day of the year 1 BC.
#[derive(Debug, Default)]
struct TemplateParts {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanoseconds: i64,
    seconds_of_day: Option<i64>,
    afternoon: Option<bool>,
    before_christ: bool,
    julian: Option<i64>,
}

/// Reads `text`; what is wrong with it otherwise.
pub(super) fn read(text: &str, items: &[TemplateItem]) -> Result<ReadMoment, String> {
    let mut rest = text.trim_start();
    let mut parts = TemplateParts::default();
    for (at, item) in items.iter().enumerate() {
        match item {
            TemplateItem::Literal(literal) => rest = skipped(rest, literal),
            TemplateItem::Field(spelling) => {
                rest = rest.trim_start();
                // Digits that follow another at once are as many as the pattern has.
                let is_followed = matches!(items.get(at + 1), Some(TemplateItem::Field(_)));
                rest = parts.take(spelling.field, rest, is_followed)?;
            }
        }
    }
    parts.finish()
}

/// The text behind a literal of the template. Separators match each other, and blanks are no matter.
fn skipped<'t>(text: &'t str, literal: &str) -> &'t str {
    let mut rest = text;
    for letter in literal.chars() {
        let Some(next) = rest.chars().next() else { return rest };
        let is_separator = |letter: char| !letter.is_alphanumeric();
        if letter.is_whitespace() {
            rest = rest.trim_start();
            let next = rest.chars().next();
            if let Some(next) = next.filter(|next| is_separator(*next) && !matches!(next, '+' | '-')) {
                rest = &rest[next.len_utf8()..];
            }
        } else if is_separator(letter) {
            rest = rest.trim_start();
            if let Some(next) = rest.chars().next().filter(|next| is_separator(*next)) {
                rest = &rest[next.len_utf8()..];
            }
        } else {
            rest = &rest[next.len_utf8()..];
        }
    }
    rest
}

impl TemplateParts {
    fn take<'t>(&mut self, field: TemplateField, text: &'t str, is_followed: bool) -> Result<&'t str, String> {
        let width = |digits: usize| if is_followed { digits } else { usize::MAX };
        let (number, rest) = match field {
            TemplateField::MonthName | TemplateField::MonthShort => return self.month_name(text),
            TemplateField::DayName | TemplateField::DayShort => {
                return Ok(text.trim_start_matches(|letter: char| letter.is_alphabetic()));
            }
            TemplateField::Half { .. } | TemplateField::Era { .. } => return self.word(field, text),
            TemplateField::ZoneName | TemplateField::ZoneOffset | TemplateField::RomanMonth => {
                return Err("reading a zone or a Roman month by a template is not offered".to_owned());
            }
            TemplateField::Year { digits, .. } => digits_of(text, if is_followed { digits } else { usize::MAX })?,
            TemplateField::DayOfYear => digits_of(text, 3)?,
            TemplateField::Millisecond => digits_of(text, 3)?,
            TemplateField::Microsecond => digits_of(text, 6)?,
            TemplateField::Fraction(digits) => digits_of(text, digits)?,
            TemplateField::SecondOfDay => digits_of(text, width(5))?,
            TemplateField::Julian => digits_of(text, width(7))?,
            _ => digits_of(text, 2)?,
        };
        let value = number.value;
        match field {
            TemplateField::Year { digits, .. } => self.year = Some(full_year(value, number.digits, digits)),
            TemplateField::Month => self.month = Some(value),
            TemplateField::Day => self.day = Some(value),
            TemplateField::DayOfYear => self.day_of_year = Some(value),
            TemplateField::Hour12 | TemplateField::Hour24 => self.hour = value,
            TemplateField::Minute => self.minute = value,
            TemplateField::Second => self.second = value,
            TemplateField::SecondOfDay => self.seconds_of_day = Some(value),
            TemplateField::Millisecond => self.nanoseconds = fraction(value, number.digits),
            TemplateField::Microsecond | TemplateField::Fraction(_) => {
                self.nanoseconds = fraction(value, number.digits)
            }
            TemplateField::Julian => self.julian = Some(value),
            _ => return Err("weeks, centuries and quarters can't be read by a template".to_owned()),
        }
        Ok(rest)
    }

    fn month_name<'t>(&mut self, text: &'t str) -> Result<&'t str, String> {
        let starts = |name: &str| text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        for (at, name) in MONTHS.iter().enumerate() {
            if let Some(found) = [*name, &name[..3]].into_iter().find(|name| starts(name)) {
                self.month = Some(at as i64 + 1);
                return Ok(&text[found.len()..]);
            }
        }
        Err(format!("'{text}' does not begin with the name of a month"))
    }

    fn word<'t>(&mut self, field: TemplateField, text: &'t str) -> Result<&'t str, String> {
        let end = text.find(|letter: char| !letter.is_ascii_alphabetic() && letter != '.').unwrap_or(text.len());
        let word = text[..end].replace('.', "").to_ascii_lowercase();
        match (field, word.as_str()) {
            (TemplateField::Half { .. }, "am" | "pm") => self.afternoon = Some(word == "pm"),
            (TemplateField::Era { .. }, "bc" | "ad") => self.before_christ = word == "bc",
            _ => return Err(format!("'{text}' has no AM, PM, AD or BC where the template has it")),
        }
        Ok(&text[end..])
    }

    fn finish(self) -> Result<ReadMoment, String> {
        let year = match (self.year, self.before_christ) {
            (Some(year), true) => 1 - year,
            (Some(year), false) => year,
            (None, _) => 0,
        };
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        let days = if let Some(julian) = self.julian {
            julian - 2_440_588
        } else if let Some(day) = self.day_of_year {
            Civil { year, month: 1, day: 1 }.days() + day - 1
        } else {
            if !(1..=12).contains(&month) || day < 1 || day > days_of(year, month) {
                return Err(format!("there is no day {day} of month {month} in the year {year}"));
            }
            Civil { year, month, day }.days()
        };
        let hour = match self.afternoon {
            Some(_) if self.hour < 1 || self.hour > 12 => {
                return Err(format!("there is no hour {} of twelve", self.hour));
            }
            Some(afternoon) => self.hour % 12 + if afternoon { 12 } else { 0 },
            None => self.hour,
        };
        if hour > 24 || self.minute > 59 || self.second > 59 {
            return Err(format!("there is no time {hour}:{:02}:{:02}", self.minute, self.second));
        }
        let seconds = self.seconds_of_day.unwrap_or(hour * 3600 + self.minute * 60 + self.second);
        Ok(ReadMoment { days, time: seconds * 1_000_000_000 + self.nanoseconds })
    }
}

struct ReadDigits {
    value: i64,
    digits: usize,
}

/// Up to so many digits.
fn digits_of(text: &str, most: usize) -> Result<(ReadDigits, &str), String> {
    let (negative, digits_at) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let found = digits_at.bytes().take_while(u8::is_ascii_digit).count().min(most).min(15);
    if found == 0 {
        return Err(format!("'{text}' has no number where the template has one"));
    }
    let value: i64 = digits_at[..found].parse().map_err(|_| format!("'{text}' has too many digits"))?;
    let value = if negative { -value } else { value };
    Ok((ReadDigits { value, digits: found }, &digits_at[found..]))
}

/// A year of fewer than four digits is the one nearest to 2020.
fn full_year(year: i64, digits: usize, pattern: usize) -> i64 {
    match (pattern, digits) {
        (4, _) | (_, 4..) => year,
        (_, 1) | (_, 2) => year + if year < 70 { 2000 } else { 1900 },
        _ => year + if year < 520 { 2000 } else { 1000 },
    }
}

/// Digits of a fraction as nanoseconds.
fn fraction(value: i64, digits: usize) -> i64 {
    value * 10i64.pow(9 - digits.min(9) as u32)
}
