//! The syntax of statements that define and that the parser does not know, or knows in part: those of sequences, COMMENT ON, ALTER …
//! RENAME of anything but tables, and ALTER TABLE … ALTER COLUMN of identity columns.

use datafusion::sql::sqlparser::ast::{
    DataType, Expr, Ident, ObjectName, SequenceOptions as ColumnOptions, UnaryOperator, Value,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// A statement that defines.
#[derive(Debug, Clone)]
pub(crate) enum Define {
    /// CREATE SEQUENCE.
    CreateSequence { temporary: bool, if_not_exists: bool, name: ObjectName, options: SequenceOptions },
    /// ALTER SEQUENCE.
    AlterSequence { if_exists: bool, name: ObjectName, options: SequenceOptions },
    /// ALTER … RENAME TO.
    Rename { kind: ObjectKind, if_exists: bool, name: ObjectName, to: Ident },
    /// COMMENT ON.
    Comment { on: CommentObject, text: Option<String> },
    /// ALTER TABLE … ALTER COLUMN of an identity column or a generated one.
    AlterGenerated { if_exists: bool, table: ObjectName, column: Ident, change: GeneratedChange },
}

/// Kinds of objects that have a name of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Table,
    View,
    Index,
    Sequence,
    Schema,
}

impl ObjectKind {
    /// As SQL has it.
    pub(crate) fn keyword(self) -> &'static str {
        match self {
            Self::Table => "TABLE",
            Self::View => "VIEW",
            Self::Index => "INDEX",
            Self::Sequence => "SEQUENCE",
            Self::Schema => "SCHEMA",
        }
    }
}

/// What a comment is about.
#[derive(Debug, Clone)]
pub(crate) enum CommentObject {
    /// An object of its own.
    Object(ObjectKind, ObjectName),
    /// A table's column.
    Column(ObjectName),
    /// A table's constraint.
    Constraint(Ident, ObjectName),
}

/// What becomes of a column that is generated.
#[derive(Debug, Clone)]
pub(crate) enum GeneratedChange {
    /// SET GENERATED …, SET … and RESTART of an identity column.
    Identity { always: Option<bool>, options: SequenceOptions },
    /// DROP IDENTITY.
    DropIdentity { if_exists: bool },
    /// DROP EXPRESSION.
    DropExpression { if_exists: bool },
}

/// The options of a sequence, those that are given.
#[derive(Debug, Clone, Default)]
pub(crate) struct SequenceOptions {
    pub(crate) data_type: Option<DataType>,
    pub(crate) increment: Option<i64>,
    /// `Some(None)` is NO MINVALUE.
    pub(crate) least: Option<Option<i64>>,
    pub(crate) most: Option<Option<i64>>,
    pub(crate) start: Option<i64>,
    /// `Some(None)` begins anew where the sequence began.
    pub(crate) restart: Option<Option<i64>>,
    pub(crate) cache: Option<i64>,
    pub(crate) cycle: Option<bool>,
    /// `Some(None)` is OWNED BY NONE.
    pub(crate) owner: Option<Option<ObjectName>>,
}

impl SequenceOptions {
    /// Those of an identity column, as the parser gives them.
    pub(crate) fn of_column(options: &[ColumnOptions]) -> Result<Self, ParserError> {
        let mut own = Self::default();
        for option in options {
            let given = |value: &Expr| integer_of(value);
            match option {
                ColumnOptions::IncrementBy(value, _) => set(&mut own.increment, given(value)?, "INCREMENT")?,
                ColumnOptions::MinValue(value) => {
                    set(&mut own.least, value.as_ref().map(given).transpose()?, "MINVALUE")?;
                }
                ColumnOptions::MaxValue(value) => {
                    set(&mut own.most, value.as_ref().map(given).transpose()?, "MAXVALUE")?;
                }
                ColumnOptions::StartWith(value, _) => set(&mut own.start, given(value)?, "START")?,
                ColumnOptions::Cache(value) => set(&mut own.cache, given(value)?, "CACHE")?,
                // The parser notes NO CYCLE as true.
                ColumnOptions::Cycle(no) => set(&mut own.cycle, !no, "CYCLE")?,
            }
        }
        Ok(own)
    }

    /// Parses options until something else comes.
    fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        let mut own = Self::default();
        loop {
            let no = parser.peek_keyword(Keyword::NO);
            let second = |parser: &Parser<'_>| matches!(&parser.peek_nth_token_ref(usize::from(no)).token, Token::Word(word) if word.quote_style.is_none() && matches!(word.keyword, Keyword::MINVALUE | Keyword::MAXVALUE | Keyword::CYCLE));
            if no {
                if !second(parser) {
                    return parser.expected_ref("MINVALUE, MAXVALUE or CYCLE behind NO", parser.peek_token_ref());
                }
                parser.next_token();
            }
            if parser.parse_keyword(Keyword::MINVALUE) {
                let value = if no { None } else { Some(integer(parser)?) };
                set(&mut own.least, value, "MINVALUE")?;
            } else if parser.parse_keyword(Keyword::MAXVALUE) {
                let value = if no { None } else { Some(integer(parser)?) };
                set(&mut own.most, value, "MAXVALUE")?;
            } else if parser.parse_keyword(Keyword::CYCLE) {
                set(&mut own.cycle, !no, "CYCLE")?;
            } else if parser.parse_keyword(Keyword::AS) {
                set(&mut own.data_type, parser.parse_data_type()?, "AS")?;
            } else if parser.parse_keyword(Keyword::INCREMENT) {
                let _ = parser.parse_keyword(Keyword::BY);
                set(&mut own.increment, integer(parser)?, "INCREMENT")?;
            } else if parser.parse_keyword(Keyword::START) {
                let _ = parser.parse_keyword(Keyword::WITH);
                set(&mut own.start, integer(parser)?, "START")?;
            } else if is_word(parser, 0, "RESTART") {
                parser.next_token();
                let with = parser.parse_keyword(Keyword::WITH);
                let value = if with || is_integer(parser) { Some(integer(parser)?) } else { None };
                set(&mut own.restart, value, "RESTART")?;
            } else if parser.parse_keyword(Keyword::CACHE) {
                set(&mut own.cache, integer(parser)?, "CACHE")?;
            } else if parser.parse_keywords(&[Keyword::OWNED, Keyword::BY]) {
                let none = parser.parse_keyword(Keyword::NONE);
                let owner = if none { None } else { Some(parser.parse_object_name(false)?) };
                set(&mut own.owner, owner, "OWNED BY")?;
            } else {
                return Ok(own);
            }
        }
    }
}

fn set<T>(option: &mut Option<T>, value: T, name: &str) -> Result<(), ParserError> {
    match option.replace(value) {
        None => Ok(()),
        Some(_) => Err(ParserError::ParserError(format!("{name} is given twice"))),
    }
}

fn is_word(parser: &Parser<'_>, at: usize, wanted: &str) -> bool {
    matches!(&parser.peek_nth_token_ref(at).token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

fn is_integer(parser: &Parser<'_>) -> bool {
    matches!(&parser.peek_token_ref().token, Token::Number(..) | Token::Minus | Token::Plus)
}

fn integer(parser: &mut Parser<'_>) -> Result<i64, ParserError> {
    let minus = parser.consume_token(&Token::Minus);
    if !minus {
        let _ = parser.consume_token(&Token::Plus);
    }
    match &parser.peek_token_ref().token {
        Token::Number(text, false) => {
            let value = number(&format!("{}{text}", if minus { "-" } else { "" }));
            parser.next_token();
            value
        }
        _ => parser.expected_ref("an integer", parser.peek_token_ref()),
    }
}

fn integer_of(value: &Expr) -> Result<i64, ParserError> {
    match value {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match &**expr {
            Expr::Value(value) => match &value.value {
                Value::Number(text, _) => number(&format!("-{text}")),
                other => number(&other.to_string()),
            },
            other => number(&other.to_string()),
        },
        other => number(&other.to_string()),
    }
}

fn number(text: &str) -> Result<i64, ParserError> {
    text.parse().map_err(|_| ParserError::ParserError(format!("'{text}' is no BIGINT, which a sequence counts in")))
}

/// Whether the parser stands at such a statement.
pub(crate) fn starts(parser: &Parser<'_>) -> bool {
    let word = |at, wanted| is_word(parser, at, wanted);
    if word(0, "COMMENT") {
        return word(1, "ON");
    }
    if word(0, "CREATE") {
        return word(1, "SEQUENCE") || ((word(1, "TEMP") || word(1, "TEMPORARY")) && word(2, "SEQUENCE"));
    }
    if !word(0, "ALTER") {
        return false;
    }
    ["SEQUENCE", "VIEW", "INDEX", "SCHEMA"].iter().any(|kind| word(1, kind)) || alters_generated(parser)
}

/// Whether the parser stands at an ALTER TABLE that alters an identity column or a generated one.
fn alters_generated(parser: &Parser<'_>) -> bool {
    let word = |at, wanted| is_word(parser, at, wanted);
    if !word(1, "TABLE") {
        return false;
    }
    let mut next = if word(2, "IF") && word(3, "EXISTS") { 4 } else { 2 };
    let token = |at: usize| &parser.peek_nth_token_ref(at).token;
    while matches!(token(next), Token::Word(_)) && *token(next + 1) == Token::Period {
        next += 2;
    }
    next += 1;
    if !word(next, "ALTER") {
        return false;
    }
    next += if word(next + 1, "COLUMN") { 3 } else { 2 };
    let set = ["GENERATED", "INCREMENT", "MINVALUE", "MAXVALUE", "NO", "START", "CACHE", "CYCLE", "RESTART"];
    word(next, "RESTART")
        || (word(next, "SET") && set.iter().any(|wanted| word(next + 1, wanted)))
        || (word(next, "DROP") && (word(next + 1, "IDENTITY") || word(next + 1, "EXPRESSION")))
}

/// Parses the statement that [`starts`] found.
pub(crate) fn parse(parser: &mut Parser<'_>) -> Result<Define, ParserError> {
    if parser.parse_keyword(Keyword::COMMENT) {
        return parse_comment(parser);
    }
    if parser.parse_keyword(Keyword::CREATE) {
        let temporary = parser.parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY]).is_some();
        parser.expect_keyword(Keyword::SEQUENCE)?;
        let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
        let name = parser.parse_object_name(false)?;
        let options = SequenceOptions::parse(parser)?;
        return Ok(Define::CreateSequence { temporary, if_not_exists, name, options });
    }
    parser.expect_keyword(Keyword::ALTER)?;
    let kind = kind(parser)?;
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    if kind == ObjectKind::Table {
        return parse_generated(parser, if_exists, name);
    }
    if parser.parse_keyword(Keyword::RENAME) {
        parser.expect_keyword(Keyword::TO)?;
        let to = parser.parse_identifier()?;
        return Ok(Define::Rename { kind, if_exists, name, to });
    }
    if kind != ObjectKind::Sequence {
        return parser.expected_ref("RENAME TO, the one change that is supported here", parser.peek_token_ref());
    }
    let before = parser.peek_token_ref().span;
    let options = SequenceOptions::parse(parser)?;
    if parser.peek_token_ref().span == before {
        return parser.expected_ref("what to change of the sequence", parser.peek_token_ref());
    }
    Ok(Define::AlterSequence { if_exists, name, options })
}

fn kind(parser: &mut Parser<'_>) -> Result<ObjectKind, ParserError> {
    let all = [
        (Keyword::TABLE, ObjectKind::Table),
        (Keyword::VIEW, ObjectKind::View),
        (Keyword::INDEX, ObjectKind::Index),
        (Keyword::SEQUENCE, ObjectKind::Sequence),
        (Keyword::SCHEMA, ObjectKind::Schema),
    ];
    match all.iter().find(|(keyword, _)| parser.parse_keyword(*keyword)) {
        Some((_, kind)) => Ok(*kind),
        None => parser.expected_ref("TABLE, VIEW, INDEX, SEQUENCE or SCHEMA", parser.peek_token_ref()),
    }
}

fn parse_comment(parser: &mut Parser<'_>) -> Result<Define, ParserError> {
    parser.expect_keyword(Keyword::ON)?;
    let on = if parser.parse_keyword(Keyword::COLUMN) {
        CommentObject::Column(parser.parse_object_name(false)?)
    } else if parser.parse_keyword(Keyword::CONSTRAINT) {
        let name = parser.parse_identifier()?;
        parser.expect_keyword(Keyword::ON)?;
        CommentObject::Constraint(name, parser.parse_object_name(false)?)
    } else {
        CommentObject::Object(kind(parser)?, parser.parse_object_name(false)?)
    };
    parser.expect_keyword(Keyword::IS)?;
    let text = if parser.parse_keyword(Keyword::NULL) { None } else { Some(parser.parse_literal_string()?) };
    // An empty one is none, as in PostgreSQL.
    Ok(Define::Comment { on, text: text.filter(|text| !text.is_empty()) })
}

fn parse_generated(parser: &mut Parser<'_>, if_exists: bool, table: ObjectName) -> Result<Define, ParserError> {
    parser.expect_keyword(Keyword::ALTER)?;
    let _ = parser.parse_keyword(Keyword::COLUMN);
    let column = parser.parse_identifier()?;
    if parser.parse_keyword(Keyword::DROP) {
        let identity = parser.parse_keyword(Keyword::IDENTITY);
        if !identity {
            parser.next_token();
        }
        let missing = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let change = match identity {
            true => GeneratedChange::DropIdentity { if_exists: missing },
            false => GeneratedChange::DropExpression { if_exists: missing },
        };
        return Ok(Define::AlterGenerated { if_exists, table, column, change });
    }
    let (mut always, mut options) = (None, SequenceOptions::default());
    loop {
        if parser.parse_keyword(Keyword::SET) {
            if parser.parse_keyword(Keyword::GENERATED) {
                let is_always = parser.parse_keyword(Keyword::ALWAYS);
                if !is_always {
                    parser.expect_keywords(&[Keyword::BY, Keyword::DEFAULT])?;
                }
                set(&mut always, is_always, "GENERATED")?;
                continue;
            }
        } else if !is_word(parser, 0, "RESTART") {
            let change = GeneratedChange::Identity { always, options };
            return Ok(Define::AlterGenerated { if_exists, table, column, change });
        }
        options.merge(SequenceOptions::parse(parser)?)?;
    }
}

impl SequenceOptions {
    /// Adds others, none of which may be given already.
    fn merge(&mut self, other: Self) -> Result<(), ParserError> {
        fn add<T>(own: &mut Option<T>, other: Option<T>, name: &str) -> Result<(), ParserError> {
            other.map_or(Ok(()), |value| set(own, value, name))
        }
        let Self { data_type, increment, least, most, start, restart, cache, cycle, owner } = other;
        add(&mut self.data_type, data_type, "AS")?;
        add(&mut self.increment, increment, "INCREMENT")?;
        add(&mut self.least, least, "MINVALUE")?;
        add(&mut self.most, most, "MAXVALUE")?;
        add(&mut self.start, start, "START")?;
        add(&mut self.restart, restart, "RESTART")?;
        add(&mut self.cache, cache, "CACHE")?;
        add(&mut self.cycle, cycle, "CYCLE")?;
        add(&mut self.owner, owner, "OWNED BY")
    }
}

impl Define {
    /// What the statement is called.
    pub(crate) fn command(&self) -> &'static str {
        match self {
            Self::CreateSequence { .. } => "CREATE SEQUENCE",
            Self::AlterSequence { .. } => "ALTER SEQUENCE",
            Self::Comment { .. } => "COMMENT",
            Self::AlterGenerated { .. } => "ALTER TABLE",
            Self::Rename { kind, .. } => match kind {
                ObjectKind::Table => "ALTER TABLE",
                ObjectKind::View => "ALTER VIEW",
                ObjectKind::Index => "ALTER INDEX",
                ObjectKind::Sequence => "ALTER SEQUENCE",
                ObjectKind::Schema => "ALTER SCHEMA",
            },
        }
    }
}
