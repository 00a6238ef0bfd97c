//! Offsets of time zones: of those with a name, at an instant or at a local time.

use crate::temporal::civil::{Civil, days_of};
use crate::temporal::text::misread::Misread;
use chrono::{DateTime, MappedLocalTime, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::Tz;

/// A time zone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Zone {
    /// Seconds east of Greenwich.
    Offset(i64),
    /// One whose offset depends on the time.
    Named(Tz),
}

/// Names of zones that PostgreSQL knows, with their minutes east of Greenwich.
const ABBREVIATIONS: [(&str, i64); 38] = [
    ("acdt", 630),
    ("acst", 570),
    ("adt", -180),
    ("aedt", 660),
    ("aest", 600),
    ("akdt", -480),
    ("akst", -540),
    ("art", -180),
    ("ast", -240),
    ("awst", 480),
    ("brst", -120),
    ("brt", -180),
    ("cadt", 630),
    ("eat", 180),
    ("eest", 180),
    ("eet", 120),
    ("fnt", -120),
    ("gst", 240),
    ("hkt", 480),
    ("hst", -600),
    ("idt", 180),
    ("ist", 120),
    ("jst", 540),
    ("kst", 540),
    ("lhdt", 660),
    ("met", 60),
    ("mest", 120),
    ("ndt", -150),
    ("nst", -210),
    ("npt", 345),
    ("nzdt", 780),
    ("nzst", 720),
    ("pkt", 300),
    ("pht", 480),
    ("sgt", 480),
    ("uzt", 300),
    ("west", 60),
    ("wet", 0),
];

impl Zone {
    /// A zone's name, or its offset: `+02`, `-08:30`, `+0530`, `Z`, `UTC`, `Europe/Berlin`.
    pub(crate) fn read(text: &str) -> Result<Self, Misread> {
        if let Some(sign) = text.chars().next().filter(|sign| matches!(sign, '+' | '-')) {
            let seconds = offset(&text[1..]).ok_or(Misread::Form)?;
            if seconds >= 16 * 3600 {
                return Err(Misread::Range);
            }
            return Ok(Self::Offset(if sign == '-' { -seconds } else { seconds }));
        }
        match text.to_ascii_lowercase().as_str() {
            "z" | "utc" | "gmt" | "zulu" | "ut" => Ok(Self::Offset(0)),
            "est" => Ok(Self::Offset(-5 * 3600)),
            "edt" => Ok(Self::Offset(-4 * 3600)),
            "cst" => Ok(Self::Offset(-6 * 3600)),
            "mst" | "pdt" => Ok(Self::Offset(-7 * 3600)),
            "cdt" => Ok(Self::Offset(-5 * 3600)),
            "mdt" => Ok(Self::Offset(-6 * 3600)),
            "pst" => Ok(Self::Offset(-8 * 3600)),
            "cet" | "bst" => Ok(Self::Offset(3600)),
            "cest" => Ok(Self::Offset(2 * 3600)),
            // Moscow's clock was changed, and the names with it.
            "msk" | "msd" => named("Europe/Moscow").map(Self::Named).ok_or(Misread::Form),
            other => match ABBREVIATIONS.iter().find(|(name, _)| *name == other) {
                Some((_, minutes)) => Ok(Self::Offset(minutes * 60)),
                None => named(text).map(Self::Named).or_else(|| posix(text)).ok_or(Misread::Form),
            },
        }
    }
}

/// `UTC-8`, as POSIX writes a zone: its hours are west of Greenwich.
fn posix(text: &str) -> Option<Zone> {
    let at = text.find(['+', '-']).filter(|at| *at >= 3)?;
    let (name, west) = text.split_at(at);
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphabetic());
    let seconds = offset(&west[1..]).filter(|seconds| is_name && *seconds < 168 * 3600)?;
    Some(Zone::Offset(if west.starts_with('-') { seconds } else { -seconds }))
}

/// A zone of the IANA's database; letters may be small or large.
fn named(text: &str) -> Option<Tz> {
    if let Ok(zone) = text.parse::<Tz>() {
        return Some(zone);
    }
    let mut upper = true;
    let usual: String = text
        .chars()
        .map(|letter| {
            let shown = if upper { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() };
            upper = !letter.is_ascii_alphabetic();
            shown
        })
        .collect();
    usual.parse().ok()
}

/// `02`, `0230`, `02:30`, `02:30:15` in seconds.
fn offset(text: &str) -> Option<i64> {
    let parts: Vec<&str> = text.split(':').collect();
    let digits = |text: &str| (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(());
    parts.iter().try_for_each(|part| digits(part))?;
    let number = |text: &str| text.parse::<i64>().ok();
    let (hours, minutes, seconds) = match parts.as_slice() {
        [hours] if hours.len() <= 2 => (number(hours)?, 0, 0),
        [both] if both.len() <= 4 => {
            let (hours, minutes) = both.split_at(both.len() - 2);
            (number(hours)?, number(minutes)?, 0)
        }
        [hours, minutes] if hours.len() <= 2 => (number(hours)?, number(minutes)?, 0),
        [hours, minutes, seconds] if hours.len() <= 2 => (number(hours)?, number(minutes)?, number(seconds)?),
        _ => return None,
    };
    (minutes < 60 && seconds < 60).then_some(hours * 3600 + minutes * 60 + seconds)
}

const MICROS: i64 = 1_000_000;

/// The instant, in microseconds, of a local time. A time that a zone's clock leaves out is told by the offset before the
/// gap, one that it shows twice is the second, as PostgreSQL has it.
pub(crate) fn utc_of(local: i64, zone: Zone) -> i64 {
    let seconds = match zone {
        Zone::Offset(seconds) => seconds,
        Zone::Named(zone) => match naive(local) {
            Some(time) => local_offset(time, zone),
            None => 0,
        },
    };
    local.saturating_sub(seconds * MICROS)
}

/// The local time, in microseconds, of an instant.
pub(crate) fn local_of(instant: i64, zone: Zone) -> i64 {
    let seconds = match zone {
        Zone::Offset(seconds) => seconds,
        Zone::Named(zone) => match naive(instant) {
            Some(time) => i64::from(zone.offset_from_utc_datetime(&time).fix().local_minus_utc()),
            None => 0,
        },
    };
    instant.saturating_add(seconds * MICROS)
}

/// The last year that the library has each zone's changes of. Rules are taken to stay as they are then.
const LAST_YEAR: i64 = 2037;

/// A time for the library: of a later year, the same time of an earlier one whose days fall on the same weekdays.
fn naive(micros: i64) -> Option<NaiveDateTime> {
    const DAY: i64 = 86_400 * MICROS;
    let date = Civil::of(micros.div_euclid(DAY));
    let mut micros = micros;
    if date.year > LAST_YEAR {
        // The calendar repeats after 400 years, and within them after 28 where no century ends.
        let mut year = 2000 + (date.year - 2000).rem_euclid(400);
        let first = |year| Civil { year, month: 1, day: 1 }.days();
        let alike =
            |year: i64, other: i64| days_of(year, 2) == days_of(other, 2) && (first(year) - first(other)) % 7 == 0;
        year = (LAST_YEAR - 27..=LAST_YEAR).find(|other| alike(year, *other)).unwrap_or(LAST_YEAR);
        micros -= (first(date.year) - first(year)) * DAY;
    }
    DateTime::from_timestamp_micros(micros).map(|time| time.naive_utc())
}

fn local_offset(time: NaiveDateTime, zone: Tz) -> i64 {
    let offset = match zone.offset_from_local_datetime(&time) {
        MappedLocalTime::Single(offset) | MappedLocalTime::Ambiguous(_, offset) => offset.fix(),
        MappedLocalTime::None => {
            let before = time.checked_sub_signed(TimeDelta::days(1)).unwrap_or(time);
            zone.offset_from_utc_datetime(&before).fix()
        }
    };
    offset.local_minus_utc().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_and_names() {
        for (text, seconds) in
            [("+02", 7200), ("-0830", -30_600), ("+5:30", 19_800), ("Z", 0), ("utc", 0), ("PST", -28_800)]
        {
            assert_eq!(Zone::read(text), Ok(Zone::Offset(seconds)), "{text}");
        }
        assert!(matches!(Zone::read("europe/berlin"), Ok(Zone::Named(_))));
        assert_eq!(Zone::read("Nowhere/Atall"), Err(Misread::Form));
        assert_eq!(Zone::read("+17"), Err(Misread::Range));
    }

    #[test]
    fn gaps_and_overlaps_have_an_answer() {
        let berlin = Zone::read("Europe/Berlin").unwrap();
        let micros = |text: &str| text.parse::<NaiveDateTime>().unwrap().and_utc().timestamp_micros();
        for (local, utc) in [
            ("2024-01-01T12:00:00", "2024-01-01T11:00:00"),
            ("2024-03-31T02:30:00", "2024-03-31T01:30:00"),
            ("2024-10-27T02:30:00", "2024-10-27T01:30:00"),
        ] {
            assert_eq!(utc_of(micros(local), berlin), micros(utc), "{local}");
        }
        assert_eq!(local_of(micros("2024-07-01T10:00:00"), berlin), micros("2024-07-01T12:00:00"));
    }
}
