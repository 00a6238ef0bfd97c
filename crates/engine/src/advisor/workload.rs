//! A workload: statements with weights, read from a file.
//!
//! ```text
//! -- weight: 10
//! SELECT sum(price) FROM orders WHERE day = DATE '2026-01-01';
//! UPDATE orders SET state = 'paid' WHERE id = 7;
//! ```

use crate::recording::Recorder;
use crate::sql::ignored;
use crate::sql::parse::{Statement, parse_single};
use crate::sql::split::{StatementPlace, statement_places};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::Statement as Sql;
use gingham_storage::SqlState;

/// Statements, each with how often it is run.
///
/// ```
/// use gingham::advisor::Workload;
///
/// let workload = Workload::parse("-- weight: 10\nSELECT 1;\nDELETE FROM t", "w.sql")?;
/// let weights: Vec<f64> = workload.statements.iter().map(|statement| statement.weight).collect();
/// assert_eq!(weights, [10.0, 1.0]);
/// let refused = Workload::parse("SELECT 1;\nDROP TABLE t", "w.sql").unwrap_err();
/// assert!(refused.to_string().starts_with("w.sql, line 2: DROP TABLE can't be in a workload"), "{refused}");
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Workload {
    /// In the file's order; at least one.
    pub statements: Vec<WorkloadStatement>,
    /// Where they come from, for messages.
    pub origin: String,
}

/// One statement.
///
/// ```
/// # use gingham::{Database, advisor::*};
/// # let connection = Database::in_memory()?.connect();
/// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
/// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
/// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
/// # let facts = TableFacts::of(&connection.table("t")?);
/// # let definition = facts.table.definition.clone();
/// assert_eq!((workload.statements[0].line, workload.statements[0].weight), (1, 1.0));
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct WorkloadStatement {
    /// Its text, without its `;` and the comments before it.
    pub text: String,
    /// How often it is run, in comparison with the others.
    pub weight: f64,
    /// The line of the file in which it begins, from 1.
    pub line: usize,
    /// Whether it writes.
    pub writes: bool,
    /// Its text behind as many blanks and line ends as stand before it in the file, so that errors name places of the file.
    pub(crate) placed: String,
}

impl Workload {
    /// Parses the text of a file, which messages call `origin`. Errors name the line and column of what can't be parsed, and
    /// the line of what is no query and no INSERT, UPDATE, DELETE or MERGE.
    ///
    /// ```
    /// use gingham::advisor::Workload;
    ///
    /// let broken = Workload::parse("SELECT 1;\n  SELEKT 2", "w.sql").unwrap_err();
    /// assert!(broken.to_string().contains("line 2, column 3"), "{broken}");
    /// assert!(Workload::parse("-- nothing", "w.sql").unwrap_err().to_string().contains("no statement"));
    /// ```
    pub fn parse(text: &str, origin: &str) -> Result<Self> {
        let statements = statement_places(text);
        let statements = statements.into_iter().map(|place| WorkloadStatement::at(text, &place, origin));
        let statements = statements.collect::<Result<Vec<_>>>()?;
        if statements.is_empty() {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!("{origin}: there is no statement in it"),
            ));
        }
        Ok(Self { statements, origin: origin.to_owned() })
    }
}

/// The recorded statements: those of a shape share its weight, and each has a line of its own. What this version can't parse any
/// more is left out.
pub(crate) fn recorded(recorder: &Recorder) -> Vec<WorkloadStatement> {
    let mut statements = Vec::new();
    for (_, known) in recorder.shapes() {
        let weight = known.count as f64 / known.examples.len().max(1) as f64;
        for example in known.examples {
            let line = statements.len() + 1;
            statements.extend(WorkloadStatement::recorded(&example, weight, line));
        }
    }
    statements
}

impl WorkloadStatement {
    /// A statement that was recorded; `None` when it can't be parsed, or has no place in a workload.
    fn recorded(text: &str, weight: f64, line: usize) -> Option<Self> {
        let writes = writes(&parse_single(text).ok()?)?;
        let text = text.trim().trim_end_matches(';').trim_end().to_owned();
        Some(Self { placed: text.clone(), text, weight, line, writes })
    }

    fn at(file: &str, place: &StatementPlace, origin: &str) -> Result<Self> {
        let before = &file[..place.first];
        let line = 1 + before.matches('\n').count();
        let column = before.chars().rev().take_while(|c| *c != '\n').count();
        let text = file[place.first..place.whole.end].trim_end().trim_end_matches(';').trim_end().to_owned();
        let placed = format!("{}{}{text}", "\n".repeat(line - 1), " ".repeat(column));
        let weight = weight(&file[place.whole.start..place.first], origin, line)?;
        let statement = parse_single(&placed).map_err(|error| error.about(origin))?;
        let writes = writes(&statement).ok_or_else(|| {
            Error::invalid(SqlState::InvalidParameterValue, format!(
                "{origin}, line {line}: {} can't be in a workload, which has queries, INSERT, UPDATE, DELETE and MERGE",
                kind(&text)
            ))
        })?;
        Ok(Self { text, weight, line, writes, placed })
    }
}

/// The weight that the last comment of the form `-- weight: 10` gives; 1 without one.
fn weight(comments: &str, origin: &str, line: usize) -> Result<f64> {
    let given = comments.lines().rev().find_map(|line| line.trim().strip_prefix("--")?.trim().strip_prefix("weight:"));
    let Some(given) = given.map(str::trim) else { return Ok(1.0) };
    given.parse().ok().filter(|weight: &f64| weight.is_finite() && *weight > 0.0).ok_or_else(|| {
        Error::invalid(
            SqlState::InvalidParameterValue,
            format!("{origin}: the weight of the statement in line {line} is a number above 0, not '{given}'"),
        )
    })
}

/// Whether a statement writes; `None` when it has no place in a workload.
fn writes(statement: &Statement) -> Option<bool> {
    match statement.tree()? {
        // It would write several tables, of which a design is measured for one.
        Sql::Query(query) if ignored::has_changes(query.with.as_ref()) => None,
        Sql::Query(query) => Some(ignored::changes(query)),
        Sql::Insert(_) | Sql::Update(_) | Sql::Delete(_) | Sql::Merge(_) => Some(true),
        _ => None,
    }
}

/// The first words of a statement: what it is.
fn kind(text: &str) -> String {
    let two = matches!(
        text.split_whitespace().next().unwrap_or_default().to_ascii_uppercase().as_str(),
        "CREATE" | "DROP" | "ALTER" | "TRUNCATE" | "OPTIMIZE"
    );
    let words: Vec<String> = text.split_whitespace().take(1 + usize::from(two)).map(str::to_ascii_uppercase).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_keep_their_weights_and_lines() {
        let text =
            "-- weight: 2\n-- weight: 3.5\nSELECT 1;\n\n/* ; */ -- weight: 7\n  SELECT ';' ; insert into t values (1)";
        let workload = Workload::parse(text, "w").unwrap();
        let found: Vec<_> = workload
            .statements
            .iter()
            .map(|statement| (statement.text.as_str(), statement.weight, statement.line, statement.writes))
            .collect();
        assert_eq!(
            found,
            [("SELECT 1", 3.5, 3, false), ("SELECT ';'", 1.0, 6, false), ("insert into t values (1)", 1.0, 6, true)]
        );
    }

    #[test]
    fn what_has_no_place_in_a_workload_is_refused_by_line() {
        for (text, kind) in [
            ("create table t (a int)", "CREATE TABLE"),
            ("COPY t FROM 'f.csv'", "COPY"),
            ("SET gingham.threads = 1", "SET"),
            ("begin", "BEGIN"),
            ("COMMIT", "COMMIT"),
            ("ALTER TABLE t SET (layout = 'row')", "ALTER TABLE"),
            ("EXPLAIN SELECT 1", "EXPLAIN"),
            ("VACUUM", "VACUUM"),
        ] {
            let error = Workload::parse(&format!("SELECT 1;\n{text}"), "w.sql").unwrap_err().to_string();
            assert!(error.starts_with(&format!("w.sql, line 2: {kind} can't be in a workload")), "{error}");
        }
        for weight in ["0", "-1", "nan", "inf", "many", ""] {
            let error = Workload::parse(&format!("-- weight: {weight}\nSELECT 1"), "w").unwrap_err().to_string();
            assert!(error.contains("line 2") && error.contains("number above 0"), "{error}");
        }
        let error = Workload::parse("SELECT 1;\n\n   SELEKT 2", "w.sql").unwrap_err().to_string();
        assert!(error.starts_with("w.sql: ") && error.contains("line 3, column 4"), "{error}");
    }
}
