//! Text to statements: DataFusion's parser, with COPY, SUMMARIZE and ALTER TABLE … SET (…) in Gingham's own grammar and
//! refused statements set aside.

use crate::sql::alter_design;
use crate::sql::alter_design::AlterDesign;
use crate::sql::alter_table;
use crate::sql::copy;
use crate::sql::copy::{CopyFrom, CopyPlace, CopyToStream};
use crate::sql::define;
use crate::sql::define::Define;
use crate::sql::dialect::Gingham;
use crate::sql::explain;
use crate::sql::explain::ExplainOptions;
use crate::sql::parameters::{ParameterNames, cast_oids, numbered};
use crate::sql::places::position;
use crate::sql::session;
use crate::sql::session::SessionStatement;
use crate::sql::split::without_mark;
use crate::sql::summarize;
use crate::sql::summarize::Summarize;
use crate::sql::tokens::Tokens;
use crate::sql::walk::{SyntaxTree, Visit};
use crate::sql::{depth, into, refuse, untyped};
use crate::{Error, Result};
use datafusion::sql::parser::{DFParser, DFParserBuilder, Statement as DataFusionStatement};
use datafusion::sql::sqlparser::ast::{ObjectName, Query, SetExpr, Statement as Sql, TableFactor};
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Location, Token};
use gingham_storage::panics::guarded;
use gingham_storage::{Position, Problem, SqlState};
use std::fmt;

/// EXPLAIN of a statement.
#[derive(Debug, Clone)]
pub(crate) struct Explain {
    /// What is told.
    pub(crate) options: ExplainOptions,
    /// The statement that is explained.
    pub(crate) statement: Statement,
}

/// A parsed statement.
#[derive(Debug, Clone)]
pub(crate) enum Statement {
    /// One of DataFusion's grammar.
    Sql(Box<DataFusionStatement>),
    /// COPY t FROM 'file'.
    CopyFrom(Box<CopyFrom>),
    /// COPY … TO STDOUT.
    CopyOut(Box<CopyToStream>),
    /// EXPLAIN in a format of Gingham's.
    Explain(Box<Explain>),
    /// ALTER TABLE t SET (…), ALTER TABLE t ALTER COLUMN c SET (…).
    AlterDesign(Box<AlterDesign>),
    /// One about the session.
    Session(Box<SessionStatement>),
    /// SUMMARIZE t, SUMMARIZE SELECT ….
    Summarize(Box<Summarize>),
    /// One that defines, in a grammar of Gingham's.
    Define(Box<Define>),
    /// One that is not offered, with the error that running it gives.
    Refused(String),
}

impl Statement {
    /// The syntax tree of one of SQL's own statements; `None` for EXPLAIN, COPY and whatever else has a grammar of its own.
    pub(crate) fn tree(&self) -> Option<&Sql> {
        match self {
            Self::Sql(statement) => match &**statement {
                DataFusionStatement::Statement(tree) => Some(tree),
                _ => None,
            },
            _ => None,
        }
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sql(statement) => write!(f, "{statement}"),
            Self::CopyFrom(copy) => match &copy.from {
                CopyPlace::File(file) => write!(f, "COPY {} FROM '{file}'", copy.table),
                CopyPlace::Stream => write!(f, "COPY {} FROM STDIN", copy.table),
            },
            Self::CopyOut(copy) => write!(f, "COPY {} TO STDOUT", copy.source),
            Self::Explain(explain) => write!(f, "EXPLAIN {}", explain.statement),
            Self::Session(own) => own.fmt(f),
            Self::AlterDesign(alter) => write!(f, "ALTER TABLE {} SET (…)", alter.table),
            Self::Summarize(summarize) => match &summarize.table {
                Some(table) => write!(f, "SUMMARIZE {table}"),
                None => write!(f, "SUMMARIZE {}", summarize.query),
            },
            Self::Define(define) => write!(f, "{define:?}"),
            Self::Refused(error) => write!(f, "({error})"),
        }
    }
}

impl SyntaxTree for Statement {
    fn walk(&mut self, visitor: &mut dyn Visit) -> Result<()> {
        match self {
            Self::Sql(statement) => statement.walk(visitor),
            Self::Explain(explain) => explain.statement.walk(visitor),
            Self::CopyOut(copy) => copy.source.walk(visitor),
            Self::Summarize(summarize) => summarize.query.walk(visitor),
            Self::Session(own) => match own.as_mut() {
                SessionStatement::Declare(declare) => declare.query.walk(visitor),
                _ => Ok(()),
            },
            Self::CopyFrom(_) | Self::AlterDesign(_) | Self::Define(_) | Self::Refused(_) => Ok(()),
        }
    }
}

/// Parses a script of any number of statements. A statement that is not offered is an error when it is run, so that
/// those before it are.
pub(crate) fn parse(sql: &str) -> Result<Vec<Statement>> {
    guarded(|| parse_all(sql)).map_err(|error| match error {
        // The parser has no place for the end.
        Error::InvalidInput(problem) if problem.text.ends_with("found: EOF") => {
            let text = problem.text.replace("found: EOF", "found the end of the text");
            Error::InvalidInput(Problem { text, ..problem }.at(end(sql)))
        }
        other => other,
    })
}

/// The place behind a text's last character.
fn end(sql: &str) -> Option<Position> {
    let sql = sql.trim_end();
    let last = sql.rsplit('\n').next().unwrap_or_default();
    let (line, column) = (sql.matches('\n').count() as u64 + 1, last.chars().count() as u64 + 1);
    position(Location { line, column })
}

fn parse_all(sql: &str) -> Result<Vec<Statement>> {
    let Tokens { tokens, materialized, ties, writes, parameters: _ } = Tokens::of(sql)?;
    let mut parser = DFParserBuilder::new(tokens).with_dialect(&Gingham).build()?;
    let mut statements = Vec::new();
    loop {
        while parser.parser.consume_token(&Token::SemiColon) {}
        if parser.parser.peek_token_ref().token == Token::EOF {
            return Ok(statements);
        }
        let mut statement = parse_one(&mut parser)?;
        materialized.put(&mut statement)?;
        ties.put(&mut statement)?;
        writes.put(&mut statement)?;
        statements.push(statement);
        let next = parser.parser.peek_token_ref();
        if !matches!(next.token, Token::EOF | Token::SemiColon) {
            let problem =
                Problem::new(SqlState::SyntaxError, format!("expected the end of the statement, found {next}"));
            return Err(Error::InvalidInput(problem.at(position(next.span.start))));
        }
    }
}

/// Parses text that must be one statement.
pub(crate) fn parse_single(sql: &str) -> Result<Statement> {
    let mut statements = parse(sql)?;
    match (statements.pop(), statements.len()) {
        (Some(statement), 0) => Ok(statement),
        (None, _) => Err(Error::invalid(SqlState::SyntaxError, "there is no statement")),
        (_, more) => Err(Error::invalid(SqlState::SyntaxError, format!("expected one statement, found {}", more + 1))),
    }
}

/// The parameters of a statement's text.
#[derive(Debug)]
pub(crate) struct TextParameters {
    /// Their names.
    pub(crate) names: ParameterNames,
    /// The numbers of PostgreSQL's types that they are cast to, where these are more than what the types are here.
    pub(crate) oids: Vec<Option<u32>>,
    /// The text with their numbers.
    pub(crate) text: String,
}

/// The parameters of a statement.
pub(crate) fn parameters(sql: &str) -> Result<TextParameters> {
    let Tokens { tokens, parameters, .. } = Tokens::of(sql)?;
    let text = numbered(without_mark(sql), &tokens);
    let oids = cast_oids(&tokens, parameters.names.len());
    Ok(TextParameters { names: parameters, oids, text })
}

/// The query that a text is.
pub(crate) fn query_of(text: &str) -> Result<Query> {
    let internal = || Error::Internal(format!("{text} is a query"));
    let Statement::Sql(statement) = parse_single(text)? else { return Err(internal()) };
    let DataFusionStatement::Statement(statement) = *statement else { return Err(internal()) };
    let Sql::Query(query) = *statement else { return Err(internal()) };
    Ok(*query)
}

/// The query of a view's text. Its syntax tree has no lines and columns: they would be taken for those of the statement.
pub(crate) fn query_of_view(text: &str) -> std::result::Result<Query, String> {
    let Tokens { tokens, materialized, ties, .. } = Tokens::without_places(text).map_err(|error| error.to_string())?;
    let parsed = Parser::new(&Gingham).with_tokens_with_locations(tokens).parse_query();
    let mut query = parsed.map_err(|error| error.to_string())?;
    materialized.put(query.as_mut()).map_err(|error| error.to_string())?;
    ties.put(query.as_mut()).map_err(|error| error.to_string())?;
    Ok(*query)
}

/// `SELECT * FROM name`, whose name is where it stands in the statement's text.
pub(crate) fn all_of(name: &ObjectName) -> Result<Query> {
    let mut query = query_of("SELECT * FROM t")?;
    if let SetExpr::Select(select) = &mut *query.body
        && let Some(TableFactor::Table { name: own, .. }) = select.from.first_mut().map(|from| &mut from.relation)
    {
        own.clone_from(name);
    }
    Ok(query)
}

/// The statement that a parser stands at.
pub(crate) fn parse_one(parser: &mut DFParser<'_>) -> Result<Statement> {
    if let Some(error) = refuse::refusal(&parser.parser) {
        while !matches!(parser.parser.peek_token_ref().token, Token::EOF | Token::SemiColon) {
            parser.parser.next_token();
        }
        return Ok(Statement::Refused(error));
    }
    if let Some(mut own) = session::parse(&mut parser.parser)? {
        if let SessionStatement::Declare(declare) = &mut own {
            depth::limit(&mut declare.query)?;
        }
        return Ok(Statement::Session(Box::new(own)));
    }
    if copy::starts(&parser.parser) {
        return copy::parse(&mut parser.parser);
    }
    if explain::starts(&parser.parser) {
        let options = explain::parse(&mut parser.parser)?;
        return Ok(match parse_one(parser)? {
            Statement::Refused(error) => Statement::Refused(error),
            statement => Statement::Explain(Box::new(Explain { options, statement })),
        });
    }
    if define::starts(&parser.parser) {
        let define = define::parse(&mut parser.parser).map_err(datafusion::error::DataFusionError::from)?;
        return Ok(Statement::Define(Box::new(define)));
    }
    if alter_table::starts(&parser.parser) {
        let mut statement = alter_table::parse(&mut parser.parser).map_err(datafusion::error::DataFusionError::from)?;
        depth::limit(&mut statement)?;
        return Ok(Statement::Sql(Box::new(DataFusionStatement::Statement(Box::new(statement)))));
    }
    if alter_design::starts(&parser.parser) {
        let alter = alter_design::parse(&mut parser.parser).map_err(datafusion::error::DataFusionError::from)?;
        return Ok(Statement::AlterDesign(Box::new(alter)));
    }
    if summarize::starts(&parser.parser) {
        let mut summarize = summarize::parse(&mut parser.parser, query_of("SELECT * FROM t")?)?;
        depth::limit(&mut summarize.query)?;
        return Ok(Statement::Summarize(Box::new(summarize)));
    }
    if untyped::starts(&parser.parser) {
        let mut statement = untyped::parse(&mut parser.parser).map_err(datafusion::error::DataFusionError::from)?;
        depth::limit(&mut statement)?;
        return Ok(Statement::Sql(Box::new(DataFusionStatement::Statement(Box::new(statement)))));
    }
    let mut statement = into::as_create(parser.parse_statement()?)?;
    depth::limit(&mut statement)?;
    Ok(Statement::Sql(Box::new(statement)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_by_name_and_only_when_run() {
        let cases = [
            ("notify channel", "NOTIFY is not supported"),
            ("GRANT SELECT ON t TO joe", "GRANT is not supported"),
            ("CREATE FULLTEXT INDEX i ON t (a)", "CREATE FULLTEXT INDEX is not supported"),
            ("CREATE OR REPLACE FUNCTION f() RETURNS INT AS $$ a; b $$", "CREATE OR REPLACE FUNCTION is not supported"),
            ("CREATE MATERIALIZED VIEW v AS SELECT 1", "CREATE MATERIALIZED VIEW is not supported"),
            ("DROP TRIGGER s ON t", "DROP TRIGGER is not supported"),
            ("ALTER DOMAIN d RENAME TO e", "ALTER DOMAIN is not supported"),
            ("REINDEX", "REINDEX is not supported"),
        ];
        for (sql, expected) in cases {
            let statements = parse(&format!("SELECT 1; {sql}; SELECT 2")).expect(sql);
            assert_eq!(statements.len(), 3, "{sql}");
            let Statement::Refused(error) = &statements[1] else { panic!("{sql} was parsed") };
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn ordinary_statements_are_parsed() {
        for sql in [
            "SELECT 1",
            "(SELECT 1)",
            "VALUES (1), (2)",
            "WITH x AS (SELECT 1) SELECT * FROM x",
            "CREATE TABLE t (a INT PRIMARY KEY) WITH (layout = 'column')",
            "CREATE TEMP TABLE t AS SELECT 1 AS a",
            "CREATE EXTERNAL TABLE e STORED AS PARQUET LOCATION 'x'",
            "CREATE OR REPLACE VIEW v AS SELECT 1",
            "DROP TABLE IF EXISTS a, b",
            "ALTER TABLE t ADD COLUMN b INT",
            "ALTER TABLE t ALTER a SET GENERATED ALWAYS SET START 5 RESTART",
            "ALTER TABLE IF EXISTS s.t ALTER COLUMN a DROP IDENTITY IF EXISTS",
            "ALTER VIEW v RENAME TO w",
            "CREATE UNLOGGED TABLE t (LIKE u INCLUDING ALL, a INT GENERATED BY DEFAULT AS IDENTITY (START 3 INCREMENT 2))",
            "CREATE TEMP SEQUENCE s AS smallint INCREMENT BY -1 NO MINVALUE MAXVALUE 7 START 3 CACHE 5 NO CYCLE OWNED BY t.a",
            "ALTER SEQUENCE s RESTART WITH -3 OWNED BY NONE",
            "DROP SEQUENCE IF EXISTS s, u",
            "COMMENT ON CONSTRAINT c ON t IS NULL",
            "INSERT INTO t VALUES (1)",
            "EXPLAIN SELECT 1",
            "OPTIMIZE t",
            "OPTIMIZE TABLE s.t",
            "VACUUM",
            "COPY t FROM 'x.csv'",
            "COPY (SELECT 1) TO 'x.csv'",
            "PREPARE p AS SELECT $1",
            "SHOW TABLES",
            "DESCRIBE t",
            "SUMMARIZE s.t",
            "SUMMARIZE (SELECT 1)",
            "SUMMARIZE WITH x AS (SELECT 1) SELECT * FROM x",
            "TRUNCATE t",
            "BEGIN IMMEDIATE TRANSACTION",
            "END",
            "ROLLBACK TO SAVEPOINT s",
            "RELEASE s",
        ] {
            let statement = parse_single(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            assert!(!matches!(statement, Statement::Refused(_)), "{sql}");
        }
    }

    #[test]
    fn scripts() {
        assert_eq!(parse("").unwrap().len(), 0);
        assert_eq!(parse(" ; ;; -- nothing\n").unwrap().len(), 0);
        assert_eq!(parse("SELECT ';'; SELECT 2;").unwrap().len(), 2);
        assert!(parse("SELECT 1 SELECT 2").is_err());
        assert!(parse_single("SELECT 1; SELECT 2").is_err());
        assert!(parse_single("").is_err());
    }
}
