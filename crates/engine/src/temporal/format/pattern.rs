//! Templates of dates and times: `YYYY-MM-DD HH24:MI`, `FMMonth DDth`.

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TemplateItem {
    /// Text that stands for itself.
    Literal(String),
    /// A pattern, in whose place a part of a value is put.
    Field(Spelling),
}

/// A field and how it is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spelling {
    pub(super) field: TemplateField,
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
pub(super) enum TemplateField {
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
const PATTERNS: [(&str, TemplateField); 45] = [
    ("HH24", TemplateField::Hour24),
    ("HH12", TemplateField::Hour12),
    ("HH", TemplateField::Hour12),
    ("MI", TemplateField::Minute),
    ("SSSSS", TemplateField::SecondOfDay),
    ("SSSS", TemplateField::SecondOfDay),
    ("SS", TemplateField::Second),
    ("MS", TemplateField::Millisecond),
    ("US", TemplateField::Microsecond),
    ("FF1", TemplateField::Fraction(1)),
    ("FF2", TemplateField::Fraction(2)),
    ("FF3", TemplateField::Fraction(3)),
    ("FF4", TemplateField::Fraction(4)),
    ("FF5", TemplateField::Fraction(5)),
    ("FF6", TemplateField::Fraction(6)),
    ("A.M.", TemplateField::Half { dotted: true }),
    ("P.M.", TemplateField::Half { dotted: true }),
    ("AM", TemplateField::Half { dotted: false }),
    ("PM", TemplateField::Half { dotted: false }),
    ("Y,YYY", TemplateField::Year { digits: 4, comma: true }),
    ("YYYY", TemplateField::Year { digits: 4, comma: false }),
    ("YYY", TemplateField::Year { digits: 3, comma: false }),
    ("YY", TemplateField::Year { digits: 2, comma: false }),
    ("Y", TemplateField::Year { digits: 1, comma: false }),
    ("IYYY", TemplateField::IsoYear { digits: 4 }),
    ("IYY", TemplateField::IsoYear { digits: 3 }),
    ("IY", TemplateField::IsoYear { digits: 2 }),
    ("IDDD", TemplateField::IsoDayOfYear),
    ("ID", TemplateField::IsoDayOfWeek),
    ("IW", TemplateField::IsoWeek),
    ("I", TemplateField::IsoYear { digits: 1 }),
    ("B.C.", TemplateField::Era { dotted: true }),
    ("A.D.", TemplateField::Era { dotted: true }),
    ("BC", TemplateField::Era { dotted: false }),
    ("AD", TemplateField::Era { dotted: false }),
    ("MONTH", TemplateField::MonthName),
    ("MON", TemplateField::MonthShort),
    ("MM", TemplateField::Month),
    ("RM", TemplateField::RomanMonth),
    ("DAY", TemplateField::DayName),
    ("DY", TemplateField::DayShort),
    ("DDD", TemplateField::DayOfYear),
    ("DD", TemplateField::Day),
    ("D", TemplateField::DayOfWeek),
    ("WW", TemplateField::WeekOfYear),
];

/// More patterns, of which none begins another one.
const OTHERS: [(&str, TemplateField); 6] = [
    ("W", TemplateField::WeekOfMonth),
    ("CC", TemplateField::Century),
    ("J", TemplateField::Julian),
    ("Q", TemplateField::Quarter),
    ("TZ", TemplateField::ZoneName),
    ("OF", TemplateField::ZoneOffset),
];

/// The parts of a template.
pub(super) fn items(template: &str) -> Vec<TemplateItem> {
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
            items.push(TemplateItem::Literal(std::mem::take(&mut literal)));
        }
        let (written, after) = rest.split_at(pattern.len());
        let ordinal = match after.get(..2) {
            Some("TH") => Some(Case::Upper),
            Some("th") => Some(Case::Lower),
            _ => None,
        };
        rest = if ordinal.is_some() { &after[2..] } else { after };
        items.push(TemplateItem::Field(Spelling { field: *field, case: case_of(written), is_bare, ordinal }));
        is_bare = false;
    }
    if !literal.is_empty() {
        items.push(TemplateItem::Literal(literal));
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
