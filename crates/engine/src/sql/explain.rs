//! The grammar of EXPLAIN: PostgreSQL's spellings, `EXPLAIN ANALYZE …` and `EXPLAIN (ANALYZE, FORMAT json) …`, of any statement. The
//! formats that are DataFusion's own (indent, pgjson, graphviz) are left to its parser.

use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{Expr, UtilityOption};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;
use gingham_storage::SqlState;

/// How a plan is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlanFormat {
    /// A tree of text.
    Text,
    /// An array of one object, with PostgreSQL's names of what both tell.
    Json,
    /// A page.
    Html,
}

/// What EXPLAIN tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExplainOptions {
    /// The statement is run, and what was seen is told.
    pub(crate) analyze: bool,
    /// Operators that only hand rows on are told too.
    pub(crate) verbose: bool,
    /// The rows that were expected are told.
    pub(crate) costs: bool,
    /// Bytes that were read are told.
    pub(crate) buffers: bool,
    /// The time of each operator is told.
    pub(crate) timing: bool,
    /// The times of the whole statement are told; `None` is when it is run.
    pub(crate) summary: Option<bool>,
    /// Memory is told.
    pub(crate) memory: bool,
    /// Settings that differ from their defaults are told.
    pub(crate) settings: bool,
    /// How it is written.
    pub(crate) format: PlanFormat,
}

impl Default for ExplainOptions {
    fn default() -> Self {
        Self {
            analyze: false,
            verbose: false,
            costs: true,
            buffers: true,
            timing: true,
            summary: None,
            memory: true,
            settings: false,
            format: PlanFormat::Text,
        }
    }
}

/// Formats that DataFusion writes.
const OF_DATAFUSION: [&str; 3] = ["indent", "pgjson", "graphviz"];

/// Options that are on or off.
const NAMES: [&str; 11] = [
    "analyze",
    "analyse",
    "verbose",
    "costs",
    "buffers",
    "timing",
    "summary",
    "memory",
    "settings",
    "wal",
    "generic_plan",
];

/// Whether the parser stands at an EXPLAIN of this grammar.
pub(crate) fn starts(parser: &Parser<'_>) -> bool {
    let word = |at: usize| match &parser.peek_nth_token_ref(at).token {
        Token::Word(word) => word.value.to_ascii_lowercase(),
        Token::SingleQuotedString(text) => text.to_ascii_lowercase(),
        _ => String::new(),
    };
    if !matches!(&parser.peek_token_ref().token, Token::Word(word) if word.keyword == Keyword::EXPLAIN) {
        return false;
    }
    let mut at = 1;
    if parser.peek_nth_token_ref(1).token == Token::LParen {
        while !matches!(parser.peek_nth_token_ref(at).token, Token::RParen | Token::EOF) {
            if word(at) == "format" {
                return !OF_DATAFUSION.contains(&word(at + 1).as_str());
            }
            at += 1;
        }
        return true;
    }
    while ["analyze", "verbose"].contains(&word(at).as_str()) {
        at += 1;
    }
    word(at) != "format" || !OF_DATAFUSION.contains(&word(at + 1).as_str())
}

/// Parses what stands before the statement of an EXPLAIN that [`starts`] found.
pub(crate) fn parse(sql: &mut Parser<'_>) -> Result<ExplainOptions> {
    sql.next_token();
    let mut options = ExplainOptions::default();
    if sql.peek_token_ref().token == Token::LParen && !starts_query(&sql.peek_nth_token_ref(1).token) {
        let given = sql.parse_utility_options().map_err(datafusion::error::DataFusionError::from)?;
        given.iter().try_for_each(|option| options.set(option))?;
    } else {
        while let Some(keyword) = sql.parse_one_of_keywords(&[Keyword::ANALYZE, Keyword::VERBOSE]) {
            if keyword == Keyword::ANALYZE { options.analyze = true } else { options.verbose = true }
        }
        if sql.parse_keyword(Keyword::FORMAT) {
            options.format = format(&sql.next_token().to_string())?;
        }
    }
    if starts(sql) {
        return Err(wrong("EXPLAIN of EXPLAIN makes no sense".to_owned()));
    }
    Ok(options)
}

/// Whether a bracket opens a query, as in `EXPLAIN (SELECT 1)`.
fn starts_query(token: &Token) -> bool {
    let keywords = [Keyword::SELECT, Keyword::WITH, Keyword::VALUES, Keyword::TABLE];
    matches!(token, Token::Word(word) if keywords.contains(&word.keyword)) || *token == Token::LParen
}

fn format(name: &str) -> Result<PlanFormat> {
    match name.trim_matches(['\'', '"']).to_ascii_lowercase().as_str() {
        "text" | "tree" => Ok(PlanFormat::Text),
        "json" => Ok(PlanFormat::Json),
        "html" => Ok(PlanFormat::Html),
        other => Err(wrong(format!(
            "EXPLAIN: there is no FORMAT {other}; there are text, json and html, and DataFusion's {}",
            OF_DATAFUSION.join(", ")
        ))),
    }
}

impl ExplainOptions {
    fn set(&mut self, option: &UtilityOption) -> Result<()> {
        let name = option.name.value.to_ascii_lowercase();
        let text = option.arg.as_ref().map(|value: &Expr| value.to_string().trim_matches('\'').to_ascii_lowercase());
        if name == "format" {
            self.format = format(text.as_deref().unwrap_or_default())?;
            return Ok(());
        }
        if name == "serialize" {
            // Rows are made, and thrown away.
            return match text.as_deref() {
                Some("none" | "off") => Ok(()),
                _ => Err(Error::Unsupported("EXPLAIN with SERIALIZE is not supported; leave it out".to_owned())),
            };
        }
        if !NAMES.contains(&name.as_str()) {
            return Err(wrong(format!(
                "EXPLAIN: there is no option '{name}'; there are ANALYZE, VERBOSE, COSTS, BUFFERS, TIMING, SUMMARY, MEMORY, SETTINGS and FORMAT, and more with FORMAT indent"
            )));
        }
        let is_on = match text.as_deref() {
            None | Some("true" | "on" | "1") => true,
            Some("false" | "off" | "0") => false,
            Some(other) => return Err(wrong(format!("EXPLAIN: {name} is on or off, not '{other}'"))),
        };
        match name.as_str() {
            "analyze" | "analyse" => self.analyze = is_on,
            "verbose" => self.verbose = is_on,
            "costs" => self.costs = is_on,
            "buffers" => self.buffers = is_on,
            "timing" => self.timing = is_on,
            "summary" => self.summary = Some(is_on),
            "memory" => self.memory = is_on,
            "settings" => self.settings = is_on,
            "wal" | "generic_plan" if is_on => {
                return Err(Error::Unsupported(format!(
                    "EXPLAIN with {} is not supported; leave it out",
                    name.to_uppercase()
                )));
            }
            _ => {}
        }
        Ok(())
    }
}

fn wrong(text: String) -> Error {
    Error::invalid(SqlState::SyntaxError, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::Gingham;
    use crate::sql::tokens::Tokens;

    /// The options of an EXPLAIN; `None` for DataFusion's.
    fn read(sql: &str) -> Result<Option<ExplainOptions>> {
        let mut parser = Parser::new(&Gingham).with_tokens_with_locations(Tokens::of(sql)?.tokens);
        if starts(&parser) { parse(&mut parser).map(Some) } else { Ok(None) }
    }

    fn options(sql: &str) -> ExplainOptions {
        read(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).unwrap_or_else(|| panic!("{sql} is DataFusion's"))
    }

    #[test]
    fn postgresqls_spellings_are_taken() {
        let plain = ExplainOptions::default();
        for sql in [
            "EXPLAIN SELECT 1",
            "EXPLAIN (SELECT 1)",
            "explain format text select 1",
            "EXPLAIN (COSTS) SELECT 1",
            "EXPLAIN FORMAT tree UPDATE t SET a = 1",
        ] {
            assert_eq!(options(sql), plain, "{sql}");
        }
        let run = ExplainOptions { analyze: true, ..plain };
        for sql in [
            "EXPLAIN ANALYZE SELECT 1",
            "EXPLAIN (ANALYZE) DELETE FROM t",
            "EXPLAIN (ANALYZE true, FORMAT text) SELECT 1",
        ] {
            assert_eq!(options(sql), run, "{sql}");
        }
        let sql = "EXPLAIN (ANALYZE on, VERBOSE 1, COSTS off, TIMING false, BUFFERS 0, SUMMARY off, SETTINGS, MEMORY off, WAL off, SERIALIZE none, FORMAT 'JSON') SELECT 1";
        let all = ExplainOptions {
            analyze: true,
            verbose: true,
            costs: false,
            buffers: false,
            timing: false,
            summary: Some(false),
            memory: false,
            settings: true,
            format: PlanFormat::Json,
        };
        assert_eq!(options(sql), all);
    }

    #[test]
    fn datafusions_formats_are_its_parsers() {
        for sql in [
            "EXPLAIN FORMAT indent SELECT 1",
            "EXPLAIN (ANALYZE, FORMAT pgjson) SELECT 1",
            "EXPLAIN ANALYZE VERBOSE FORMAT indent SELECT 1",
        ] {
            assert!(read(sql).expect(sql).is_none(), "{sql}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            ("EXPLAIN (FORMAT xml) SELECT 1", "there is no FORMAT xml; there are text, json and html"),
            ("EXPLAIN (ANALYSES) SELECT 1", "there is no option 'analyses'"),
            ("EXPLAIN (TIMING perhaps) SELECT 1", "timing is on or off, not 'perhaps'"),
            ("EXPLAIN (WAL) SELECT 1", "EXPLAIN with WAL is not supported"),
            ("EXPLAIN EXPLAIN SELECT 1", "EXPLAIN of EXPLAIN makes no sense"),
        ];
        for (sql, expected) in cases {
            let error = read(sql).expect_err(sql).to_string();
            assert!(error.contains(expected), "{sql}: {error}");
        }
    }
}
