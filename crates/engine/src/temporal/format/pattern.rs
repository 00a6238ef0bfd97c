//! Templates of dates and times: `YYYY-MM-DD HH24:MI`, `FMMonth DDth`.

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// Text that stands for itself.
    Literal(String),
    /// A pattern, in whose place a part of a value is put.
    Field(Spelling),
}

/// A field and how it is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spelling {
    pub(super) field: Field,
    /// How a name's letters are written.
    pub(super) case: Case,
    /// FM: without blanks and zeros that only fill.
    pub(super) is_bare: bool,
    /// TH or th behind it.
    pub(super) ordinal: Option<Case>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Upper,
    Title,
    Lower,
}

/// The part of a value that a pattern stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Hour12,
    Hour24,
    Minute,
    Second,
    SecondOfDay,
    Millisecond,
    Microsecond,
    /// So many digits of the second's fraction.
    Fraction(usize),
    /// AM or PM, with points if so.
    Half {
        dotted: bool,
    },
    /// The last digits of a year; with a comma behind its thousands.
    Year {
        digits: usize,
        comma: bool,
    },
    IsoYear {
        digits: usize,
    },
    Era {
        dotted: bool,
    },
    MonthName,
    MonthShort,
    Month,
    RomanMonth,
    DayName,
    DayShort,
    DayOfYear,
    IsoDayOfYear,
    Day,
    DayOfWeek,
    IsoDayOfWeek,
    WeekOfMonth,
    WeekOfYear,
    IsoWeek,
    Century,
    Julian,
    Quarter,
    ZoneName,
    ZoneOffset,
}

/// The patterns: those that begin another one come behind it. Where a pattern is a name, its letters say how names are
/// written.
const PATTERNS: [(&str, Field); 45] = [
    ("HH24", Field::Hour24),
    ("HH12", Field::Hour12),
    ("HH", Field::Hour12),
    ("MI", Field::Minute),
    ("SSSSS", Field::SecondOfDay),
    ("SSSS", Field::SecondOfDay),
    ("SS", Field::Second),
    ("MS", Field::Millisecond),
    ("US", Field::Microsecond),
    ("FF1", Field::Fraction(1)),
    ("FF2", Field::Fraction(2)),
    ("FF3", Field::Fraction(3)),
    ("FF4", Field::Fraction(4)),
    ("FF5", Field::Fraction(5)),
    ("FF6", Field::Fraction(6)),
    ("A.M.", Field::Half { dotted: true }),
    ("P.M.", Field::Half { dotted: true }),
    ("AM", Field::Half { dotted: false }),
    ("PM", Field::Half { dotted: false }),
    ("Y,YYY", Field::Year { digits: 4, comma: true }),
    ("YYYY", Field::Year { digits: 4, comma: false }),
    ("YYY", Field::Year { digits: 3, comma: false }),
    ("YY", Field::Year { digits: 2, comma: false }),
    ("Y", Field::Year { digits: 1, comma: false }),
    ("IYYY", Field::IsoYear { digits: 4 }),
    ("IYY", Field::IsoYear { digits: 3 }),
    ("IY", Field::IsoYear { digits: 2 }),
    ("IDDD", Field::IsoDayOfYear),
    ("ID", Field::IsoDayOfWeek),
    ("IW", Field::IsoWeek),
    ("I", Field::IsoYear { digits: 1 }),
    ("B.C.", Field::Era { dotted: true }),
    ("A.D.", Field::Era { dotted: true }),
    ("BC", Field::Era { dotted: false }),
    ("AD", Field::Era { dotted: false }),
    ("MONTH", Field::MonthName),
    ("MON", Field::MonthShort),
    ("MM", Field::Month),
    ("RM", Field::RomanMonth),
    ("DAY", Field::DayName),
    ("DY", Field::DayShort),
    ("DDD", Field::DayOfYear),
    ("DD", Field::Day),
    ("D", Field::DayOfWeek),
    ("WW", Field::WeekOfYear),
];

/// More patterns, of which none begins another one.
const OTHERS: [(&str, Field); 6] = [
    ("W", Field::WeekOfMonth),
    ("CC", Field::Century),
    ("J", Field::Julian),
    ("Q", Field::Quarter),
    ("TZ", Field::ZoneName),
    ("OF", Field::ZoneOffset),
];

/// The parts of a template.
pub(super) fn items(template: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut literal = String::new();
    let mut rest = template;
    let mut is_bare = false;
    while let Some(letter) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix('"') {
            let end = after.find('"').unwrap_or(after.len());
            literal.push_str(&after[..end]);
            rest = after.get(end + 1..).unwrap_or_default();
            continue;
        }
        if starts(rest, "FM") || starts(rest, "FX") {
            is_bare = is_bare || starts(rest, "FM");
            rest = &rest[2..];
            continue;
        }
        let found = PATTERNS.iter().chain(&OTHERS).find(|(pattern, _)| starts(rest, pattern));
        let Some((pattern, field)) = found else {
            literal.push(letter);
            rest = &rest[letter.len_utf8()..];
            continue;
        };
        if !literal.is_empty() {
            items.push(Item::Literal(std::mem::take(&mut literal)));
        }
        let (written, after) = rest.split_at(pattern.len());
        let ordinal = match after.get(..2) {
            Some("TH") => Some(Case::Upper),
            Some("th") => Some(Case::Lower),
            _ => None,
        };
        rest = if ordinal.is_some() { &after[2..] } else { after };
        items.push(Item::Field(Spelling { field: *field, case: case_of(written), is_bare, ordinal }));
        is_bare = false;
    }
    if !literal.is_empty() {
        items.push(Item::Literal(literal));
    }
    items
}

/// Whether a text begins with a pattern, in letters of any case.
fn starts(text: &str, pattern: &str) -> bool {
    text.get(..pattern.len()).is_some_and(|start| start.eq_ignore_ascii_case(pattern))
}

fn case_of(written: &str) -> Case {
    let mut letters = written.chars().filter(char::is_ascii_alphabetic).map(|letter| letter.is_ascii_uppercase());
    match (letters.next(), letters.next()) {
        (Some(true), Some(false)) => Case::Title,
        (Some(false), _) => Case::Lower,
        _ => Case::Upper,
    }
}
