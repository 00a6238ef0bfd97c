//! What came out, counted: a page for readers, and a folder of lists for whoever mends something.

use crate::correlated::is_correlated;
use crate::judge::{Finding, VERDICTS, Verdict};
use crate::reader::{CORPORA, Corpus, Record, What};
use crate::subject::only_reads;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The page has these words before the commit; `cargo xtask nightly` looks for them.
const COMMIT: &str = "Gingham was at commit `";

/// Kinds that the page lists of each verdict.
const MOST_KINDS: usize = 25;
/// Longest statement on the page, in characters.
const LONGEST: usize = 220;

/// Everything that the run found.
#[derive(Debug, Default)]
pub struct Report {
    /// Files run, by corpus.
    files: BTreeMap<Corpus, usize>,
    /// Records by corpus, whether they are queries, and verdict.
    counts: BTreeMap<(Corpus, bool, Verdict), usize>,
    /// Correlated queries among the records, by corpus and verdict.
    correlated: BTreeMap<(Corpus, Verdict), usize>,
    kinds: BTreeMap<(Verdict, String), Kind>,
    defects: BTreeMap<String, Kind>,
    /// One text for each verdict worth a list.
    lists: BTreeMap<Verdict, String>,
}

/// Findings of one kind: how many, and the shortest of them.
#[derive(Debug, Default)]
struct Kind {
    count: usize,
    corpora: BTreeMap<Corpus, usize>,
    sql: String,
    detail: String,
    place: String,
}

impl Kind {
    fn add(&mut self, corpus: Corpus, place: &str, sql: &str, detail: &str) {
        self.count += 1;
        *self.corpora.entry(corpus).or_default() += 1;
        if self.sql.is_empty() || sql.len() < self.sql.len() {
            (self.sql, self.detail, self.place) = (sql.to_owned(), detail.to_owned(), place.to_owned());
        }
    }
}

impl Report {
    /// Takes in what was found in one file.
    pub fn file(
        &mut self,
        corpus: Corpus,
        name: &str,
        records: &[Record],
        findings: &[Finding],
        defects: &[(usize, String)],
    ) {
        *self.files.entry(corpus).or_default() += 1;
        for finding in findings {
            let Some(record) = records.get(finding.record) else { continue };
            let query = match record.what {
                What::Query(_) => true,
                What::Script => only_reads(&record.sql),
                _ => false,
            };
            *self.counts.entry((corpus, query, finding.verdict)).or_default() += 1;
            if query && is_correlated(&record.sql) {
                *self.correlated.entry((corpus, finding.verdict)).or_default() += 1;
            }
            if matches!(finding.verdict, Verdict::Right | Verdict::NotRun) {
                continue;
            }
            let place = format!("{name}:{}", record.line);
            let kind = self.kinds.entry((finding.verdict, finding.kind.clone())).or_default();
            kind.add(corpus, &place, &record.sql, &finding.detail);
            let list = self.lists.entry(finding.verdict).or_default();
            let _ = writeln!(list, "## {place}: {}\n{}\n{}\n", finding.kind, record.sql, finding.detail);
        }
        for (number, text) in defects {
            let Some(record) = records.get(*number) else { continue };
            let place = format!("{name}:{}", record.line);
            let line: String = without_folder(text).replace('\n', " ").chars().take(160).collect();
            if !self.defects.contains_key(&line) {
                println!("defect: {place}: {text}\n{}", record.sql);
            }
            self.defects.entry(line).or_default().add(corpus, &place, &record.sql, text);
        }
    }

    /// Records of a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.counts.iter().filter(|((.., of), _)| *of == verdict).map(|(_, count)| count).sum()
    }

    /// Crashes, panics and internal errors.
    pub fn defects(&self) -> usize {
        self.defects.values().map(|kind| kind.count).sum()
    }

    /// The page for readers.
    pub fn page(&self, command: &str, commit: Option<&str>, postgres: Option<&str>) -> String {
        let mut page = String::from(HEAD);
        if let Some(commit) = commit {
            let _ = writeln!(page, "{COMMIT}{commit}`.");
        }
        let _ = match postgres {
            Some(version) => writeln!(page, "Made by `{command}`; PostgreSQL {version} was asked.\n"),
            None => writeln!(page, "Made by `{command}`; PostgreSQL was not installed, so that nothing is decided.\n"),
        };
        self.table(&mut page);
        self.section(&mut page, Verdict::RefusedWrongly, "Refused wrongly", "Gingham's message");
        self.section(&mut page, Verdict::Wrong, "Wrong", "what differs");
        self.section(&mut page, Verdict::AcceptedWrongly, "Accepted wrongly", "PostgreSQL's message");
        self.reasons(&mut page);
        let _ = writeln!(page, "## Defects\n\nPanics, crashes and internal errors: {}.\n", self.defects());
        let defects: Vec<(&str, &Kind)> = self.defects.iter().map(|(text, kind)| (text.as_str(), kind)).collect();
        listed(&mut page, "what happened", defects);
        page
    }

    fn table(&self, page: &mut String) {
        let _ = writeln!(
            page,
            "| corpus | files | records | right | wrong | refused wrongly | accepted wrongly | dialect | undecided | not run |"
        );
        let _ = writeln!(page, "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|");
        for corpus in CORPORA {
            let Some(files) = self.files.get(&corpus) else { continue };
            let mut row = |word: &str, count: &dyn Fn(Verdict) -> Option<usize>| {
                let counts: Vec<usize> = VERDICTS.iter().map(|verdict| count(*verdict).unwrap_or_default()).collect();
                let (all, folder) = (counts.iter().sum::<usize>(), corpus.folder());
                let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
                let _ = writeln!(page, "| {folder} | {files} | {all} {word} | {} |", counts.join(" | "));
            };
            row("queries", &|verdict| self.counts.get(&(corpus, true, verdict)).copied());
            row("correlated queries among them", &|verdict| self.correlated.get(&(corpus, verdict)).copied());
            row("statements", &|verdict| self.counts.get(&(corpus, false, verdict)).copied());
        }
        page.push('\n');
    }

    /// Things that PostgreSQL's own tests ask for and Gingham does not have, by Gingham's message.
    fn reasons(&self, page: &mut String) {
        let kinds = self
            .kinds
            .iter()
            .filter(|((of, _), kind)| *of == Verdict::Dialect && kind.corpora.contains_key(&Corpus::Postgres));
        let kinds: Vec<(&str, &Kind)> = kinds.map(|((_, kind), found)| (kind.as_str(), found)).collect();
        if kinds.is_empty() {
            return;
        }
        let _ = writeln!(page, "## What PostgreSQL alone has\n\nIts own tests ask for it: {} kinds.\n", kinds.len());
        listed(page, "Gingham's message", kinds);
    }

    fn section(&self, page: &mut String, verdict: Verdict, title: &str, head: &str) {
        let kinds = self.kinds.iter().filter(|((of, _), _)| *of == verdict);
        let kinds: Vec<(&str, &Kind)> = kinds.map(|((_, kind), found)| (kind.as_str(), found)).collect();
        let _ = writeln!(page, "## {title}\n\n{} records of {} kinds.\n", self.count(verdict), kinds.len());
        listed(page, head, kinds);
    }

    /// Writes the lists into `folder`.
    pub fn write_lists(&self, folder: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        for (verdict, list) in &self.lists {
            let name = format!("{verdict:?}.txt").to_ascii_lowercase();
            std::fs::write(folder.join(name), list)?;
        }
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        kinds.sort_by_key(|((verdict, _), kind)| (*verdict, std::cmp::Reverse(kind.count)));
        let mut text = String::new();
        for ((verdict, name), kind) in kinds {
            let _ = writeln!(
                text,
                "{verdict:?} {}: {name}\n  {}\n  {}\n  {}\n",
                kind.count,
                kind.place,
                kind.sql.replace('\n', "\n  "),
                kind.detail
            );
        }
        for (name, kind) in &self.defects {
            let _ = writeln!(
                text,
                "defect {}: {name}\n  {}\n  {}\n",
                kind.count,
                kind.place,
                kind.sql.replace('\n', "\n  ")
            );
        }
        std::fs::write(folder.join("kinds.txt"), text)
    }
}

/// The most frequent kinds as a table.
fn listed(page: &mut String, head: &str, mut kinds: Vec<(&str, &Kind)>) {
    if kinds.is_empty() {
        return;
    }
    kinds.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.count));
    let _ = writeln!(page, "| records | {head} | example |\n|---:|---|---|");
    for (text, kind) in kinds.iter().take(MOST_KINDS) {
        let detail =
            if kind.detail.starts_with("Gingham: ") && kind.detail.contains('\n') { kind.detail.as_str() } else { "" };
        let example = format!(
            "`{}` ({}){}{}",
            cell(&kind.sql),
            kind.place,
            if detail.is_empty() { "" } else { " " },
            cell(detail)
        );
        let _ = writeln!(page, "| {} | {} | {example} |", kind.count, cell(text));
    }
    page.push('\n');
}

/// The text of a panic without the folder in which cargo keeps the sources of others, which differs from machine to machine.
fn without_folder(text: &str) -> String {
    let Some((before, rest)) = text.split_once("panicked at ") else { return text.to_owned() };
    match rest.split_once("/registry/src/").and_then(|(_, rest)| rest.split_once('/')) {
        Some((_, rest)) => format!("{before}panicked at {rest}"),
        None => text.to_owned(),
    }
}

/// Text that fits into a cell of a table.
fn cell(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('`', "'");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}

const HEAD: &str = "\
# What other projects' SQL tests say

This page is generated; it is not to be edited. `cargo xtask corpora` runs the sqllogictest files of SQLite, DuckDB and
DataFusion on Gingham. Where Gingham does not do what a file says, PostgreSQL is given the same statements, and decides.
Of PostgreSQL's own regression tests, scripts for psql, every statement is given to both:

| verdict | meaning |
|---|---|
| right | Gingham does what the file says; of PostgreSQL's own tests, what PostgreSQL does. |
| wrong | PostgreSQL answers other rows. Rows are compared as bags, sort keys in their order, floats to nine digits. |
| refused wrongly | PostgreSQL accepts what Gingham refuses. |
| accepted wrongly | PostgreSQL refuses, as the file does, what Gingham accepts. |
| dialect | PostgreSQL refuses as well, or answers as Gingham does, or knows the statement by DuckDB's words only. Of its own tests: about what PostgreSQL alone has, or refused by both with codes of other classes. |
| undecided | Both answers may be right, an earlier statement was taken by one of the two only, or PostgreSQL took too long. |
| not run | The file's time was over. |

PostgreSQL is helped over three gaps: subqueries in FROM get the aliases that its newer releases do without, DuckDB's names
of types (`tinyint`, `double`, `blob` and others) are domains there, and `range` is a function.

How many random statements were asked beside PostgreSQL, [the oracles](oracles.md#random-statements-beside-postgresql) say.

";
