//! What a delimited file looks like, from its first megabytes: delimiter, quotes, blanks, lines before the header, header, how its
//! numbers are written, and which types its columns allow.

use crate::files::encoding::likely;
use crate::files::options::ReadOptions;
use crate::files::text::parse::FieldText;
use crate::files::text::split::{CsvField, Dialect, FieldForm, SplitOutcome};
use crate::files::values::classify::Types;
use crate::files::values::format::{NumberFormat, TextFormat};
use crate::{Error, Result};
use gingham_storage::SqlState;
use memchr::memchr;
use std::collections::HashSet;

/// Delimiters that are tried, the likeliest first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Records that the delimiter, the quotes and the blanks are judged by.
const JUDGED_RECORDS: usize = 200;
/// Most lines before the header that are passed over unasked.
const PREAMBLE_LINES: usize = 50;

/// What the caller knows already.
#[derive(Debug, Clone)]
pub(crate) struct KnownFormat<'a> {
    pub(crate) options: &'a ReadOptions,
    /// What an earlier file has; otherwise the options say it, or it is sniffed.
    pub(crate) delimiter: Option<u8>,
    pub(crate) header: Option<bool>,
    /// TPC-H's format.
    pub(crate) tbl: bool,
    /// Columns of the table, when it exists.
    pub(crate) columns: Option<&'a [String]>,
}

/// What was found.
#[derive(Debug, Clone)]
pub(crate) struct Sniffed {
    pub(crate) dialect: Dialect,
    /// How values are written.
    pub(crate) format: TextFormat,
    /// Names of the header, unique and not empty.
    pub(crate) header: Option<Vec<String>>,
    /// Fields of a record.
    pub(crate) width: usize,
    /// Where the first record (behind the header) begins.
    pub(crate) start: usize,
    /// For each column the types that all its values in the sample allow.
    pub(crate) types: Vec<Types>,
    /// Records of the sample (behind the header).
    pub(crate) records: usize,
}

/// Fields of records, `Vec` by `Vec`.
type SampleRecords = Vec<Vec<CsvField>>;

/// The beginning of a file.
#[derive(Clone, Copy)]
struct Sample<'a> {
    /// For errors.
    name: &'a str,
    bytes: &'a [u8],
    /// It is all of the file.
    whole: bool,
}

/// Looks at the beginning of a file; `whole` says that it is all of it. `name` is for errors. `None` when no record ends
/// within the sample, so that a longer one is needed.
pub(crate) fn sniff(
    name: &str,
    bytes: &[u8],
    whole: bool,
    known: &KnownFormat<'_>,
    format: &TextFormat,
) -> Result<Option<Sniffed>> {
    let sample = Sample { name, bytes, whole };
    sample.refuse_other_formats()?;
    sample.require_utf8(known.options.ignore_errors)?;
    let Some(start) = sample.behind_skipped(known.options.skip.unwrap_or(0)) else { return Ok(None) };
    let dialect = sample.dialect(start, known);
    let judged = sample.records(&dialect, start, JUDGED_RECORDS);
    let padded = known.options.null_padding;
    let start = match known.tbl || known.options.skip.is_some() {
        true => start,
        false => preamble(&sample, start, &judged, padded, format),
    };
    let mut fields = Vec::new();
    let (next, problem) = match dialect.record(bytes, start, whole, &mut fields) {
        SplitOutcome::Record { next, problem } => (next, problem),
        SplitOutcome::End => return Err(Error::invalid(SqlState::BadCopyFileFormat, format!("{name} is empty"))),
        SplitOutcome::More => return Ok(None),
    };
    if let Some(problem) = problem {
        let line = 1 + memchr::memchr_iter(b'\n', &bytes[..dialect.record_start(bytes, start)]).count();
        return Err(Error::invalid(SqlState::BadCopyFileFormat, format!("{name}:{line}: {problem}")));
    }
    let field_text = FieldText { dialect: &dialect, format };
    let text_of = |field: &CsvField| {
        let text = field_text.text(field.of(bytes), field.form).map(|text| text.trim().to_owned());
        text.map(|text| (text, field.form)).ok_or_else(|| sample.not_utf8(field.start as usize))
    };
    let first: Vec<(String, FieldForm)> = fields.iter().map(text_of).collect::<Result<_>>()?;
    let blank = first.len() == 1 && !known.tbl;
    let dialect = Dialect { blank, ..dialect };
    let rest = sample.records(&dialect, next, usize::MAX);
    if rest.is_empty() && !whole {
        return Ok(None);
    }
    let width = if padded { rest.iter().map(Vec::len).fold(first.len(), usize::max) } else { first.len() };
    let format = TextFormat { numbers: numbers(&dialect, bytes, &rest, width, known, format), ..format.clone() };
    let body = classify(bytes, &rest, width, padded, &format);
    let is_header = match known.header.or(known.options.header) {
        Some(header) => header,
        None => !known.tbl && looks_like_header(&first, &rest, bytes, &body, known, &format),
    };
    let (header, start, mut types, records) = if is_header {
        let mut names: Vec<String> = first.into_iter().map(|(text, _)| text).collect();
        names.resize(width, String::new());
        (Some(unique(names.into_iter())), next, body, rest.len())
    } else {
        let first = classify(bytes, &vec![fields], width, padded, &format);
        (None, start, body.into_iter().zip(first).map(|(a, b)| a.and(b)).collect(), rest.len() + 1)
    };
    if known.options.all_varchar {
        types.fill(Types::TEXT);
    }
    Ok(Some(Sniffed { dialect, format, header, width, start, types, records }))
}

impl Sample<'_> {
    /// Refuses bytes that are not UTF-8, by their line, unless they are to be passed over where they are values.
    fn require_utf8(&self, ignore_errors: bool) -> Result<()> {
        match std::str::from_utf8(self.bytes) {
            // The last character may go on behind the sample.
            Err(error) if error.error_len().is_some() && !ignore_errors => Err(self.not_utf8(error.valid_up_to())),
            _ => Ok(()),
        }
    }

    /// The error of bytes that are not UTF-8 at some place.
    fn not_utf8(&self, place: usize) -> Error {
        let line = 1 + memchr::memchr_iter(b'\n', &self.bytes[..place]).count();
        Error::invalid(
            SqlState::CharacterNotInRepertoire,
            format!(
                "{}:{line}: the text is not UTF-8; perhaps its encoding is {}: say it (encoding)",
                self.name,
                likely(self.bytes)
            ),
        )
    }

    fn refuse_other_formats(&self) -> Result<()> {
        let what = match self.bytes {
            [b'P', b'A', b'R', b'1', ..] => "is a Parquet file; say so (format)".to_owned(),
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] => "is an Arrow IPC file; say so (format)".to_owned(),
            [] => "is empty".to_owned(),
            bytes if bytes[..bytes.len().min(4096)].contains(&0) => match likely(bytes) {
                encoding if encoding.starts_with("utf-16") => {
                    format!("is not UTF-8; perhaps its encoding is {encoding}: say it (encoding)")
                }
                _ => "is not text".to_owned(),
            },
            bytes if is_classic(bytes) => {
                "ends its lines with a carriage return alone; convert it to newlines first".to_owned()
            }
            _ => return Ok(()),
        };
        Err(Error::invalid(SqlState::BadCopyFileFormat, format!("{} {what}", self.name)))
    }

    /// Where the text begins behind a mark and so many lines; `None` where they go on behind the sample.
    fn behind_skipped(&self, lines: u64) -> Option<usize> {
        let mut start = if self.bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        for _ in 0..lines {
            match memchr(b'\n', &self.bytes[start..]) {
                Some(end) => start += end + 1,
                None if self.whole => return Some(self.bytes.len()),
                None => return None,
            }
        }
        Some(start)
    }

    /// Up to `most` records that can be read, from `start` on.
    fn records(&self, dialect: &Dialect, start: usize, most: usize) -> SampleRecords {
        self.cut(dialect, start, most).0
    }

    /// Up to `most` records that can be read, from `start` on, and the number of those that can't.
    fn cut(&self, dialect: &Dialect, start: usize, most: usize) -> (SampleRecords, usize) {
        let (mut at, mut all, mut bad) = (start, Vec::new(), 0);
        while all.len() + bad < most {
            let mut fields = Vec::new();
            match dialect.record(self.bytes, at, self.whole, &mut fields) {
                SplitOutcome::Record { next, problem } => {
                    at = next;
                    match problem {
                        None => all.push(fields),
                        Some(_) => bad += 1,
                    }
                }
                SplitOutcome::More | SplitOutcome::End => break,
            }
        }
        (all, bad)
    }

    fn dialect(&self, start: usize, known: &KnownFormat<'_>) -> Dialect {
        let options = known.options;
        let given = known.delimiter.or(options.delimiter);
        let comment = options.comment;
        if known.tbl {
            let quote = options.quote.flatten();
            return Dialect { terminated: true, comment, ..Dialect::of(given.unwrap_or(b'|'), quote) };
        }
        let quote = options.quote.unwrap_or(Some(b'"'));
        let with = |delimiter| {
            let plain = Dialect { comment, ..Dialect::of(delimiter, quote) };
            Dialect { escape: options.escape.unwrap_or(plain.escape), ..plain }
        };
        let delimiter = given.unwrap_or_else(|| {
            let judged = |delimiter: &u8| consistency(&self.records(&with(*delimiter), start, JUDGED_RECORDS));
            // The first of equals wins, so the candidates are compared in reverse.
            DELIMITERS.iter().rev().copied().max_by_key(judged).unwrap_or(b',')
        });
        let mut dialect = with(delimiter);
        let (mut judged, mut bad) = self.cut(&dialect, start, JUDGED_RECORDS);
        if options.quote.is_none() {
            let single = Dialect { quote: Some(b'\''), escape: options.escape.unwrap_or(b'\''), ..dialect };
            let (others, others_bad) = self.cut(&single, start, JUDGED_RECORDS);
            if others_bad == 0 && are_quoted(&others, self.bytes) && consistency(&others) >= consistency(&judged) {
                (dialect, judged, bad) = (single, others, 0);
            }
        }
        if options.escape.is_none() && bad > 0 {
            let escaped = Dialect { escape: b'\\', ..dialect };
            let (others, still_bad) = self.cut(&escaped, start, JUDGED_RECORDS);
            if still_bad < bad && consistency(&others) >= consistency(&judged) {
                (dialect, judged) = (escaped, others);
            }
        }
        Dialect { trim: has_blanks(&judged, self.bytes), ..dialect }
    }
}

/// Lines as old Macintoshes wrote them.
fn is_classic(sample: &[u8]) -> bool {
    let returns = memchr::memchr_iter(b'\r', sample).filter(|at| at + 1 < sample.len());
    !sample.contains(&b'\n') && returns.count() > 0
}

/// How well a delimiter explains the records: of those with the most frequent number of fields (more than one) the
/// share in percent, then that number.
fn consistency(records: &SampleRecords) -> (usize, usize) {
    most_frequent_width(records).map_or((0, 0), |(width, times)| (times * 100 / records.len(), width))
}

/// The most frequent number of fields beyond one, and how many records have it.
fn most_frequent_width(records: &[Vec<CsvField>]) -> Option<(usize, usize)> {
    let mut counts: Vec<usize> = records.iter().map(Vec::len).collect();
    counts.sort_unstable();
    let best = counts.chunk_by(|a, b| a == b).filter(|run| run[0] > 1).max_by_key(|run| (run.len(), run[0]))?;
    Some((best[0], best.len()))
}

/// Whether nearly all texts behind the first record stand between quotes.
fn are_quoted(records: &SampleRecords, sample: &[u8]) -> bool {
    let texts = records.iter().skip(1).flatten().filter(|field| field.of(sample).iter().any(u8::is_ascii_alphabetic));
    let (quoted, all) =
        texts.fold((0, 0), |(quoted, all), field| (quoted + usize::from(field.form != FieldForm::Bare), all + 1));
    quoted * 10 > all * 9
}

/// Where the header or the first record begins: behind lines with fewer fields than nearly all records have, such as a title.
fn preamble(sample: &Sample<'_>, start: usize, judged: &SampleRecords, padded: bool, format: &TextFormat) -> usize {
    let Some((width, times)) = most_frequent_width(judged) else { return start };
    // A title in a sheet of cells has nothing behind its first one.
    let is_title = |record: &[CsvField]| width > 2 && filled(record) <= 1;
    let lines = judged.iter().take_while(|record| record.len() < width || is_title(record)).count();
    if lines == judged.len() || lines == 0 || lines > PREAMBLE_LINES || times * 10 < (judged.len() - lines) * 9 {
        return start;
    }
    let is_text = |field: &CsvField| Types::of(field.of(sample.bytes).trim_ascii(), format).is_text();
    let headed = judged[lines].iter().all(|field| field.start == field.end || is_text(field));
    let is_narrow = judged[..lines].iter().all(|record| record.len() < width);
    let is_sure = if is_narrow && !padded {
        // Such lines are no records. Where one lacks a single field, it may be a header without a name for the first column.
        headed || judged[..lines].iter().all(|record| filled(record) + 1 < width)
    } else {
        // They may be records, unless what is behind them is a header.
        let body = classify(sample.bytes, &judged[lines + 1..].to_vec(), width, padded, format);
        headed && body.iter().any(|types| *types != Types::ANY && !types.is_text_column())
    };
    if !is_sure {
        return start;
    }
    judged[lines].first().map_or(start, |field| {
        let line = sample.bytes[..field.start as usize].iter().rposition(|byte| *byte == b'\n');
        line.map_or(start, |end| end + 1)
    })
}

/// The number of fields up to the last one that is not empty.
fn filled(record: &[CsvField]) -> usize {
    record.iter().rposition(|field| field.start < field.end).map_or(0, |last| last + 1)
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

/// How numbers are written: with decimal commas where a column is one of numbers only so, and none has points.
fn numbers(
    dialect: &Dialect,
    sample: &[u8],
    records: &SampleRecords,
    width: usize,
    known: &KnownFormat<'_>,
    format: &TextFormat,
) -> NumberFormat {
    let given = known.options.decimal_separator.is_some() || known.options.thousands.is_some();
    if given || known.tbl || dialect.delimiter == b',' {
        return format.numbers;
    }
    let judged: SampleRecords = records.iter().take(JUDGED_RECORDS * 5).cloned().collect();
    let with = |numbers| classify(sample, &judged, width, true, &TextFormat { numbers, ..format.clone() });
    let (points, commas) = (with(format.numbers), with(NumberFormat::COMMA));
    let pairs = || points.iter().zip(&commas);
    let only_commas = pairs().any(|(point, comma)| point.is_text() && comma.is_double());
    let only_points = pairs().any(|(point, comma)| point.is_double() && comma.is_text());
    if only_commas && !only_points { NumberFormat::COMMA } else { format.numbers }
}

/// For each of `width` columns the types that the values of `records` allow; records of another width don't count, unless those
/// with fewer fields are padded.
fn classify(buffer: &[u8], records: &SampleRecords, width: usize, padded: bool, format: &TextFormat) -> Vec<Types> {
    let mut types = vec![Types::ANY; width];
    for record in records.iter().filter(|record| record.len() == width || padded && record.len() < width) {
        narrow(buffer, record, &mut types, format);
    }
    types
}

/// Takes away the types that a record's values don't allow.
pub(crate) fn narrow(buffer: &[u8], record: &[CsvField], types: &mut [Types], format: &TextFormat) {
    for (field, types) in record.iter().zip(types) {
        let bytes = field.of(buffer);
        if !types.is_text() && !format.is_null(bytes, field.form != FieldForm::Bare, false) {
            *types = types.and(Types::of(bytes.trim_ascii(), format));
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
    format: &TextFormat,
) -> bool {
    let is_column = |name: &str| {
        known.columns.is_some_and(|columns| columns.iter().any(|column| column.eq_ignore_ascii_case(name)))
    };
    if first.iter().all(|(name, _)| is_column(name)) {
        return true;
    }
    let texts = first.iter().filter(|(name, _)| !name.is_empty());
    if !texts.clone().all(|(name, _)| Types::of(name.as_bytes(), format).is_text()) {
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

/// Names made unique, whatever their case, and empty ones given a name.
fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for (index, name) in names.enumerate() {
        let name = if name.is_empty() { format!("column{}", index + 1) } else { name };
        let candidates = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name}_{number}")));
        for candidate in candidates {
            if seen.insert(candidate.to_lowercase()) {
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
        with(&ReadOptions::default(), text)
    }

    fn with(options: &ReadOptions, text: &str) -> Sniffed {
        let format = TextFormat::new(options).expect("a format");
        sniff("f.csv", text.as_bytes(), true, &known(options), &format).expect("a CSV file").expect("records")
    }

    fn known(options: &ReadOptions) -> KnownFormat<'_> {
        KnownFormat { options, delimiter: None, header: None, tbl: false, columns: None }
    }

    fn types(sniffed: &Sniffed) -> Vec<String> {
        sniffed.types.iter().map(|types| types.chosen().logical_type.to_string()).collect()
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
        assert_eq!(look("a,a,A\n1,2,3\n").header, Some(vec!["a".into(), "a_2".into(), "A_3".into()]));
        assert_eq!(look("a,b\n").header, Some(vec!["a".into(), "b".into()]));
        assert_eq!(look("a,b\n").records, 0);
        assert_eq!(look("1,2\n").header, None);
    }

    #[test]
    fn a_table_that_exists_names_its_header() {
        let columns = ["name".to_owned(), "city".to_owned()];
        let options = ReadOptions::default();
        let known = KnownFormat { columns: Some(&columns), ..known(&options) };
        let look = |text: &str| {
            sniff("f", text.as_bytes(), true, &known, &TextFormat::default()).expect("a file").expect("records").header
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
        let options = ReadOptions::default();
        let known = KnownFormat { tbl: true, ..known(&options) };
        let tbl = sniff("f", b"1|\n\n2|\n", true, &known, &TextFormat::default()).expect("a file").expect("records");
        assert!(!tbl.dialect.blank);
    }

    #[test]
    fn a_sample_without_a_whole_record_is_too_short() {
        let look = |text: &str, whole| {
            let options = ReadOptions::default();
            sniff("f", text.as_bytes(), whole, &known(&options), &TextFormat::default()).expect("a file")
        };
        for text in ["a,b", "a,b\n1,xxx", "a,\"b\n\n"] {
            assert!(look(text, false).is_none(), "{text}");
        }
        assert!(look("a,b\n1,xxx", true).is_some());
    }

    #[test]
    fn other_formats_are_named() {
        let error = |bytes: &[u8]| {
            let options = ReadOptions::default();
            sniff("f", bytes, true, &known(&options), &TextFormat::default()).expect_err("refused").to_string()
        };
        assert_eq!(error(b""), "f is empty");
        assert_eq!(error(b"\n\n"), "f is empty");
        assert_eq!(error(b"PAR1...."), "f is a Parquet file; say so (format)");
        assert_eq!(error(b"a\0,\0b\0\n\0"), "f is not UTF-8; perhaps its encoding is utf-16le: say it (encoding)");
        assert!(error(b"caf\xe9,b\n1,2\n").contains("encoding is latin1"));
    }

    #[test]
    fn quotes_and_escapes_are_found() {
        let found = look("name,n\n'O\'Hara, Ann',1\n'x',2\n".replace("O'Hara", "O''Hara").as_str());
        assert_eq!((found.dialect.quote, found.width), (Some(b'\''), 2));
        let found = look("name,n\n\"a \\\"b\\\", c\",1\n\"d\",2\n");
        assert_eq!((found.dialect.escape, found.width), (b'\\', 2));
        assert_eq!(look("it's,n\nhere's,1\n").dialect.quote, Some(b'"'));
    }

    #[test]
    fn lines_before_the_header_are_passed_over() {
        let names = |text: &str| look(text).header.unwrap_or_default();
        assert_eq!(
            names("Sales of 2024\nmade by hand, in May\n\nshop,month,amount\nA,1,2\nB,2,3\n"),
            ["shop", "month", "amount"]
        );
        assert_eq!(names("Sales,,\n,,\nshop,month,amount\nA,1,2\nB,2,3\n"), ["shop", "month", "amount"]);
        // A header that lacks a name is none that can be passed over.
        assert_eq!(look("x,y\n1,2,3\n4,5,6\n").width, 2);
        assert_eq!(names("a,b\n1,2\n3,4\n"), ["a", "b"]);
        // Records that are empty but for their first field are no titles where no header follows.
        assert_eq!(look("A,,\nB,,\nC,D,E\nF,G,H\nI,J,K\n").records, 5);
        assert_eq!(look("1,,\n2,,\n3,4,5\n6,7,8\n").records, 4);
        let options = ReadOptions { skip: Some(2), ..ReadOptions::default() };
        assert_eq!(with(&options, "1,2\n3,4\na,b\n5,6\n").header, Some(vec!["a".into(), "b".into()]));
    }

    #[test]
    fn decimal_commas_are_found() {
        let found = look("shop;amount\nA;7,5\nB;1.234,50\n");
        assert_eq!(types(&found), ["VARCHAR", "DOUBLE"]);
        assert_eq!(found.format.numbers, NumberFormat::COMMA);
        assert_eq!(types(&look("a;b\n7,5;1.5\n8,5;2.5\n")), ["VARCHAR", "DOUBLE"]);
        assert_eq!(types(&look("a;b\n7;1.500\n8;2.500\n")), ["BIGINT", "DOUBLE"]);
    }

    #[test]
    fn records_are_padded_where_that_is_said() {
        let options = ReadOptions { null_padding: true, ..ReadOptions::default() };
        let found = with(&options, "a,b\n1\n2,x,3\n4,y\n");
        assert_eq!((found.width, types(&found)), (3, vec!["BIGINT".into(), "VARCHAR".into(), "BIGINT".into()]));
        assert_eq!(found.header, Some(vec!["a".into(), "b".into(), "column3".into()]));
    }
}
