//! What a delimited file looks like, from its first megabytes: delimiter, blanks, header, and which types its columns
//! allow.

use crate::load::classify::Types;
use crate::load::parse::TextOptions;
use crate::load::split::{CsvField, Dialect, FieldForm, SplitOutcome};
use crate::{Error, Result};
use gingham_storage::SqlState;
use std::collections::HashSet;

/// Delimiters that are tried, the likeliest first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Records that the delimiter and the blanks are judged by.
const JUDGED_RECORDS: usize = 200;

/// What the caller knows already.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownFormat<'a> {
    pub(super) delimiter: Option<u8>,
    pub(super) header: Option<bool>,
    /// TPC-H's format.
    pub(super) tbl: bool,
    /// Columns of the table, when it exists.
    pub(super) columns: Option<&'a [String]>,
}

/// What was found.
#[derive(Debug, Clone)]
pub(super) struct Sniffed {
    pub(super) dialect: Dialect,
    /// Names of the header, unique and not empty.
    pub(super) header: Option<Vec<String>>,
    /// Fields of a record.
    pub(super) width: usize,
    /// Where the first record (behind the header) begins.
    pub(super) start: usize,
    /// For each column the types that all its values in the sample allow.
    pub(super) types: Vec<Types>,
    /// The sample has records (behind the header).
    pub(super) has_records: bool,
}

/// Fields of records, `Vec` by `Vec`.
type SampleRecords = Vec<Vec<CsvField>>;

/// Looks at the beginning of a file; `whole` says that it is all of it. `name` is for errors. `None` when no record ends
/// within the sample, so that a longer one is needed.
pub(super) fn sniff(
    name: &str,
    sample: &[u8],
    whole: bool,
    known: &KnownFormat<'_>,
    text: &TextOptions,
) -> Result<Option<Sniffed>> {
    refuse_other_formats(name, sample)?;
    let start = if sample.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let dialect = dialect(sample, start, whole, known);
    let mut fields = Vec::new();
    let (next, problem) = match dialect.record(sample, start, whole, &mut fields) {
        SplitOutcome::Record { next, problem } => (next, problem),
        SplitOutcome::End => return Err(Error::invalid(SqlState::BadCopyFileFormat, format!("{name} is empty"))),
        SplitOutcome::More => return Ok(None),
    };
    if let Some(problem) = problem {
        return Err(Error::invalid(SqlState::BadCopyFileFormat, format!("{name}:1: {problem}")));
    }
    let first: Vec<(String, FieldForm)> = fields
        .iter()
        .map(|field| {
            let bytes = field.of(sample);
            let text = text.text(bytes, field.form).map(|text| text.trim().to_owned());
            text.map(|text| (text, field.form)).ok_or_else(|| not_utf8(name))
        })
        .collect::<Result<_>>()?;
    let width = first.len();
    let dialect = Dialect { blank: width == 1 && !known.tbl, ..dialect };
    let rest = records(&dialect, sample, next, whole, usize::MAX);
    if rest.is_empty() && !whole {
        return Ok(None);
    }
    let body = classify(sample, &rest, width, text);
    let is_header = match known.header {
        Some(header) => header,
        None => !known.tbl && looks_like_header(&first, &rest, sample, &body, known, text),
    };
    let (header, start, types, has_records) = if is_header {
        (Some(unique(first.into_iter().map(|(text, _)| text))), next, body, !rest.is_empty())
    } else {
        let first = classify(sample, &vec![fields], width, text);
        (None, start, body.into_iter().zip(first).map(|(a, b)| a.and(b)).collect(), true)
    };
    Ok(Some(Sniffed { dialect, header, width, start, types, has_records }))
}

fn not_utf8(name: &str) -> Error {
    Error::invalid(
        SqlState::CharacterNotInRepertoire,
        format!("{name}:1: the text is not UTF-8; if it is Latin-1, load it as latin1"),
    )
}

fn refuse_other_formats(name: &str, sample: &[u8]) -> Result<()> {
    let what = match sample {
        [b'P', b'A', b'R', b'1', ..] => "is a Parquet file; load it as parquet",
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => "is an Arrow IPC file; load it as arrow",
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [b'P', b'K', 3, 4, ..] | [b'B', b'Z', b'h', ..] => {
            "is compressed; unpack it first"
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "is UTF-16; convert it to UTF-8 first",
        [] => "is empty",
        _ if sample[..sample.len().min(4096)].contains(&0) => "is not text",
        _ if is_classic(sample) => "ends its lines with a carriage return alone; convert it to newlines first",
        _ => return Ok(()),
    };
    Err(Error::invalid(SqlState::BadCopyFileFormat, format!("{name} {what}")))
}

/// Lines as old Macintoshes wrote them.
fn is_classic(sample: &[u8]) -> bool {
    let returns = memchr::memchr_iter(b'\r', sample).filter(|at| at + 1 < sample.len());
    !sample.contains(&b'\n') && returns.count() > 0
}

/// Up to `most` records that can be read, from `start` on.
fn records(dialect: &Dialect, sample: &[u8], start: usize, whole: bool, most: usize) -> SampleRecords {
    let (mut at, mut all) = (start, Vec::new());
    while all.len() < most {
        let mut fields = Vec::new();
        match dialect.record(sample, at, whole, &mut fields) {
            SplitOutcome::Record { next, problem } => {
                at = next;
                if problem.is_none() {
                    all.push(fields);
                }
            }
            SplitOutcome::More | SplitOutcome::End => break,
        }
    }
    all
}

fn dialect(sample: &[u8], start: usize, whole: bool, known: &KnownFormat<'_>) -> Dialect {
    if known.tbl {
        let delimiter = known.delimiter.unwrap_or(b'|');
        return Dialect { delimiter, quotes: false, trim: false, terminated: true, blank: false };
    }
    let with = |delimiter| Dialect { delimiter, quotes: true, trim: false, terminated: false, blank: false };
    let delimiter = known.delimiter.unwrap_or_else(|| {
        let judged = |delimiter: &u8| consistency(&records(&with(*delimiter), sample, start, whole, JUDGED_RECORDS));
        // The first of equals wins, so the candidates are compared in reverse.
        DELIMITERS.iter().rev().copied().max_by_key(judged).unwrap_or(b',')
    });
    let judged = records(&with(delimiter), sample, start, whole, JUDGED_RECORDS);
    Dialect { trim: has_blanks(&judged, sample), ..with(delimiter) }
}

/// How well a delimiter explains the records: of those with the most frequent number of fields (more than one) the
/// share in percent, then that number.
fn consistency(records: &SampleRecords) -> (usize, usize) {
    let mut counts: Vec<usize> = records.iter().map(Vec::len).collect();
    counts.sort_unstable();
    let best = counts.chunk_by(|a, b| a == b).filter(|run| run[0] > 1).max_by_key(|run| (run.len(), run[0]));
    best.map_or((0, 0), |run| (run.len() * 100 / counts.len(), run[0]))
}

/// Whether blanks follow the delimiters, in the first record or in most places.
fn has_blanks(records: &SampleRecords, sample: &[u8]) -> bool {
    let blank = |field: &CsvField| field.form != FieldForm::Bare || field.of(sample).starts_with(b" ");
    let inner = |record: &Vec<CsvField>| {
        record.iter().skip(1).filter(|field| field.start < field.end).copied().collect::<Vec<_>>()
    };
    if let Some(first) = records.first().map(inner)
        && first.iter().any(|field| field.form == FieldForm::Bare)
        && first.iter().all(blank)
    {
        return true;
    }
    let bare: Vec<CsvField> = records.iter().flat_map(inner).filter(|field| field.form == FieldForm::Bare).collect();
    bare.iter().filter(|field| blank(field)).count() * 2 > bare.len()
}

/// For each of `width` columns the types that the values of `records` allow; records of another width don't count.
pub(super) fn classify(buffer: &[u8], records: &SampleRecords, width: usize, text: &TextOptions) -> Vec<Types> {
    let mut types = vec![Types::ANY; width];
    for record in records.iter().filter(|record| record.len() == width) {
        narrow(buffer, record, &mut types, text);
    }
    types
}

/// Takes away the types that a record's values don't allow.
pub(super) fn narrow(buffer: &[u8], record: &[CsvField], types: &mut [Types], text: &TextOptions) {
    for (field, types) in record.iter().zip(types) {
        let bytes = field.of(buffer);
        if !types.is_text() && !text.is_null(bytes, field.form, false) {
            *types = types.and(Types::of(bytes.trim_ascii(), text.dates.as_ref()));
        }
    }
}

/// Whether the first record names the columns rather than being one.
fn looks_like_header(
    first: &[(String, FieldForm)],
    rest: &SampleRecords,
    sample: &[u8],
    body: &[Types],
    known: &KnownFormat<'_>,
    text: &TextOptions,
) -> bool {
    let is_column = |name: &str| {
        known.columns.is_some_and(|columns| columns.iter().any(|column| column.eq_ignore_ascii_case(name)))
    };
    if first.iter().all(|(name, _)| is_column(name)) {
        return true;
    }
    let texts = first.iter().filter(|(name, _)| !name.is_empty());
    if !texts.clone().all(|(name, _)| Types::of(name.as_bytes(), text.dates.as_ref()).is_text()) {
        return false;
    }
    if body
        .iter()
        .zip(first)
        .any(|(types, (name, _))| !name.is_empty() && *types != Types::ANY && !types.is_text_column())
    {
        return true;
    }
    // All text: a header has no gaps, no repetition, and names that are not values of their columns.
    let distinct = texts.clone().map(|(name, _)| name).collect::<HashSet<_>>().len() == first.len();
    let is_value = |column: usize, name: &str| {
        rest.iter()
            .filter_map(|record| record.get(column))
            .any(|field| field.of(sample).trim_ascii() == name.as_bytes())
    };
    distinct
        && known.columns.is_none_or(|columns| {
            columns.iter().any(|column| first.iter().any(|(name, _)| name.eq_ignore_ascii_case(column)))
        })
        && !first.iter().enumerate().any(|(column, (name, _))| is_value(column, name))
}

/// Names made unique, empty ones given a name.
fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for (index, name) in names.enumerate() {
        let name = if name.is_empty() { format!("column{}", index + 1) } else { name };
        let candidates = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name}_{number}")));
        for candidate in candidates {
            if seen.insert(candidate.clone()) {
                all.push(candidate);
                break;
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(text: &str) -> Sniffed {
        sniff("f.csv", text.as_bytes(), true, &KnownFormat::default(), &TextOptions::default())
            .expect("a CSV file")
            .expect("records")
    }

    fn types(sniffed: &Sniffed) -> Vec<String> {
        sniffed.types.iter().map(|types| types.chosen().to_string()).collect()
    }

    #[test]
    fn delimiters_are_found() {
        for (text, delimiter, width) in [
            ("a,b\n1,2\n", b',', 2),
            ("a;b\n1,5;2\n2,5;3\n", b';', 2),
            ("a\tb c\n1\t2\n", b'\t', 2),
            ("a|b|c\n1|2|3\n", b'|', 3),
            ("\"x,y\";b\n\"1,2,3\";2\n", b';', 2),
            ("name\nAnna\nBob\n", b',', 1),
        ] {
            let sniffed = look(text);
            assert_eq!((sniffed.dialect.delimiter, sniffed.width), (delimiter, width), "{text}");
        }
    }

    #[test]
    fn headers_are_told_from_records() {
        assert_eq!(look("a,b\n1,x\n").header, Some(vec!["a".into(), "b".into()]));
        assert_eq!(look("1,x\n2,y\n").header, None);
        assert_eq!(look("name,city\nAnna,Rome\nBob,Oslo\n").header, Some(vec!["name".into(), "city".into()]));
        assert_eq!(look("Anna,Rome\nBob,Oslo\nAnna,Bern\n").header, None);
        assert_eq!(look(",n\na,1\nb,2\n").header, Some(vec!["column1".into(), "n".into()]));
        assert_eq!(look("a,a,A\n1,2,3\n").header, Some(vec!["a".into(), "a_2".into(), "A".into()]));
        assert_eq!(look("a,b\n").header, Some(vec!["a".into(), "b".into()]));
        assert!(!look("a,b\n").has_records);
        assert_eq!(look("1,2\n").header, None);
    }

    #[test]
    fn a_table_that_exists_names_its_header() {
        let columns = ["name".to_owned(), "city".to_owned()];
        let known = KnownFormat { columns: Some(&columns), ..KnownFormat::default() };
        let look = |text: &str| {
            sniff("f", text.as_bytes(), true, &known, &TextOptions::default()).expect("a file").expect("records").header
        };
        assert!(look("City,Name\nRome,Anna\n").is_some());
        assert!(look("Rome,Anna\nOslo,Bob\n").is_none());
    }

    #[test]
    fn blanks_after_commas_are_dropped_where_they_are_the_rule() {
        let sniffed = look("age, workclass, n\n39, State-gov, 1\n50, , 2\n");
        assert!(sniffed.dialect.trim);
        assert_eq!(sniffed.header, Some(vec!["age".into(), "workclass".into(), "n".into()]));
        assert_eq!(types(&sniffed), ["BIGINT", "VARCHAR", "BIGINT"]);
        assert!(!look("a,b\nx,y\nx, y\nz,y\n").dialect.trim);
    }

    #[test]
    fn a_byte_order_mark_is_no_text() {
        let sniffed = look("\u{feff}a,b\n1,2\n");
        assert_eq!((sniffed.header, sniffed.start), (Some(vec!["a".into(), "b".into()]), 7));
    }

    #[test]
    fn a_blank_line_is_a_record_of_one_column() {
        let found = look("a\n1\n\n2\n");
        assert!(found.dialect.blank);
        assert!(!look("a,b\n1,2\n\n3,4\n").dialect.blank);
        let known = KnownFormat { tbl: true, ..KnownFormat::default() };
        let tbl = sniff("f", b"1|\n\n2|\n", true, &known, &TextOptions::default()).expect("a file").expect("records");
        assert!(!tbl.dialect.blank);
    }

    #[test]
    fn a_sample_without_a_whole_record_is_too_short() {
        let look = |text: &str, whole| {
            sniff("f", text.as_bytes(), whole, &KnownFormat::default(), &TextOptions::default()).expect("a file")
        };
        for text in ["a,b", "a,b\n1,xxx", "a,\"b\n\n"] {
            assert!(look(text, false).is_none(), "{text}");
        }
        assert!(look("a,b\n1,xxx", true).is_some());
    }

    #[test]
    fn other_formats_are_named() {
        let error = |bytes: &[u8]| {
            sniff("f", bytes, true, &KnownFormat::default(), &TextOptions::default()).expect_err("refused").to_string()
        };
        assert_eq!(error(b""), "f is empty");
        assert_eq!(error(b"\n\n"), "f is empty");
        assert_eq!(error(b"PAR1...."), "f is a Parquet file; load it as parquet");
        assert_eq!(error(b"\x1f\x8b.."), "f is compressed; unpack it first");
        assert_eq!(error(b"\xff\xfea\0"), "f is UTF-16; convert it to UTF-8 first");
        assert!(error(b"caf\xe9,b\n1,2\n").contains("latin1"));
    }
}
