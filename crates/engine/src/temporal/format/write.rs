//! A value by a template.

use crate::temporal::civil::Civil;
use crate::temporal::format::pattern::{Case, Spelling, TemplateField, TemplateItem};
use crate::temporal::interval::DAY;
use arrow::datatypes::IntervalMonthDayNano;
use std::fmt::Write;

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const ROMAN: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// A value of which a template shows parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct FormattedValue {
    /// The day, or none of an interval, whose parts are in `date`.
    pub(super) days: Option<i64>,
    date: Civil,
    /// Nanoseconds of the day, or of an interval.
    time: i64,
    /// Whether the value has a zone, which is UTC.
    has_zone: bool,
}

impl FormattedValue {
    /// A day and nanoseconds of it.
    pub(super) fn moment(days: i64, time: i64, has_zone: bool) -> Self {
        Self { days: Some(days), date: Civil::of(days), time, has_zone }
    }

    /// An interval.
    pub(super) fn interval(interval: IntervalMonthDayNano) -> Self {
        let (year, month) = (i64::from(interval.months / 12), i64::from(interval.months % 12));
        let date = Civil { year, month, day: interval.days.into() };
        Self { days: None, date, time: interval.nanoseconds, has_zone: false }
    }

    /// Seconds since midnight.
    fn seconds(&self) -> i64 {
        self.time / 1_000_000_000
    }

    /// Days since the Monday of the week.
    fn weekday(&self) -> i64 {
        (self.days.unwrap_or(0) + 3).rem_euclid(7)
    }

    fn day_of_year(&self) -> i64 {
        let first = Civil { year: self.date.year, month: 1, day: 1 }.days();
        self.days.map_or(self.date.day, |days| days - first + 1)
    }

    /// The year of the week's Thursday, and days from the Monday of its first week.
    fn iso(&self) -> (i64, i64) {
        let days = self.days.unwrap_or(0);
        let year = Civil::of(days - self.weekday() + 3).year;
        let fourth = Civil { year, month: 1, day: 4 }.days();
        (year, days - (fourth - (fourth + 3).rem_euclid(7)))
    }

    /// Years as they are counted: none is 0.
    fn year(&self) -> i64 {
        if self.days.is_some() && self.date.year <= 0 { 1 - self.date.year } else { self.date.year }
    }
}

/// Puts the value behind `text`.
pub(super) fn write(shown: &FormattedValue, items: &[TemplateItem], text: &mut String) {
    for item in items {
        match item {
            TemplateItem::Literal(literal) => text.push_str(literal),
            TemplateItem::Field(spelling) => field(shown, spelling, text),
        }
    }
}

fn field(shown: &FormattedValue, spelling: &Spelling, text: &mut String) {
    match number(shown, spelling.field) {
        Some(PaddedNumber { value, width }) => {
            let digits = value.unsigned_abs();
            let sign = if value < 0 { "-" } else { "" };
            let width = if spelling.is_bare { 0 } else { width.saturating_sub(sign.len()) };
            // Writing to a String does not fail.
            let _ = write!(text, "{sign}{digits:0width$}");
            if let Some(case) = spelling.ordinal {
                text.push_str(&cased(ordinal(digits), case));
            }
        }
        None => {
            let name = name(shown, spelling.field);
            let name = match spelling.field {
                TemplateField::MonthName | TemplateField::DayName if !spelling.is_bare => format!("{name:9}"),
                TemplateField::RomanMonth if !spelling.is_bare => format!("{name:4}"),
                _ => name,
            };
            text.push_str(&cased(&name, spelling.case));
        }
    }
}

fn cased(name: &str, case: Case) -> String {
    match case {
        Case::Upper => name.to_uppercase(),
        Case::Title => name.to_owned(),
        Case::Lower => name.to_lowercase(),
    }
}

fn ordinal(number: u64) -> &'static str {
    match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}

/// A number with the digits that it is filled to.
struct PaddedNumber {
    value: i64,
    width: usize,
}

/// The number of a field; `None` for a name.
fn number(shown: &FormattedValue, field: TemplateField) -> Option<PaddedNumber> {
    let seconds = shown.seconds();
    let nanoseconds = shown.time % 1_000_000_000;
    let (value, width) = match field {
        TemplateField::Hour12 => (if seconds / 3600 % 12 == 0 { 12 } else { seconds / 3600 % 12 }, 2),
        TemplateField::Hour24 => (seconds / 3600, 2),
        TemplateField::Minute => (seconds / 60 % 60, 2),
        TemplateField::Second => (seconds % 60, 2),
        TemplateField::SecondOfDay => (seconds, 1),
        TemplateField::Millisecond => (nanoseconds / 1_000_000, 3),
        TemplateField::Microsecond => (nanoseconds / 1000, 6),
        TemplateField::Fraction(digits) => (nanoseconds / 10i64.pow(9 - digits as u32), digits),
        TemplateField::Year { digits, comma: false } => {
            (shown.year() % 10i64.pow(if digits == 4 { 18 } else { digits as u32 }), digits)
        }
        TemplateField::IsoYear { digits } => {
            let year = shown.iso().0;
            (year % 10i64.pow(if digits == 4 { 18 } else { digits as u32 }), digits)
        }
        TemplateField::Month => (shown.date.month, 2),
        TemplateField::DayOfYear => (shown.day_of_year(), 3),
        TemplateField::IsoDayOfYear => (shown.iso().1 + 1, 3),
        TemplateField::Day => (shown.date.day, 2),
        TemplateField::DayOfWeek => ((shown.weekday() + 1) % 7 + 1, 1),
        TemplateField::IsoDayOfWeek => (shown.weekday() + 1, 1),
        TemplateField::WeekOfMonth => ((shown.date.day - 1) / 7 + 1, 1),
        TemplateField::WeekOfYear => ((shown.day_of_year() - 1) / 7 + 1, 2),
        TemplateField::IsoWeek => (shown.iso().1 / 7 + 1, 2),
        TemplateField::Century => (century(shown), 2),
        TemplateField::Julian => (shown.days.unwrap_or(shown.time / DAY) + 2_440_588, 1),
        TemplateField::Quarter => ((shown.date.month + 2) / 3, 1),
        _ => return None,
    };
    Some(PaddedNumber { value, width })
}

fn century(shown: &FormattedValue) -> i64 {
    let year = shown.date.year;
    match shown.days {
        None => year / 100,
        Some(_) if year > 0 => (year + 99) / 100,
        Some(_) => -((100 - year) / 100),
    }
}

fn name(shown: &FormattedValue, field: TemplateField) -> String {
    let of = |names: &[&str], at: i64| names.get(at as usize).map_or(String::new(), |name| (*name).to_owned());
    let short = |name: String| name.chars().take(3).collect::<String>();
    let dots = |dotted: bool, name: &str| match dotted {
        true => name.chars().flat_map(|letter| [letter, '.']).collect(),
        false => name.to_owned(),
    };
    match field {
        TemplateField::Half { dotted } => dots(dotted, if shown.seconds() / 3600 % 24 >= 12 { "PM" } else { "AM" }),
        TemplateField::Era { dotted } => dots(dotted, if shown.date.year > 0 { "AD" } else { "BC" }),
        TemplateField::Year { comma: true, .. } => format!("{},{:03}", shown.year() / 1000, shown.year() % 1000),
        TemplateField::MonthName => of(&MONTHS, shown.date.month - 1),
        TemplateField::MonthShort => short(of(&MONTHS, shown.date.month - 1)),
        TemplateField::RomanMonth => of(&ROMAN, shown.date.month - 1),
        TemplateField::DayName => of(&DAYS, (shown.weekday() + 1) % 7),
        TemplateField::DayShort => short(of(&DAYS, (shown.weekday() + 1) % 7)),
        TemplateField::ZoneName if shown.has_zone => "UTC".to_owned(),
        TemplateField::ZoneOffset => "+00".to_owned(),
        _ => String::new(),
    }
}
