//! Operators that the parser does not know: `LIKE ANY (…)`, `BETWEEN SYMMETRIC`, and the words behind a number that
//! [`clauses`](crate::sql::clauses) makes operators of.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Ident, UnaryOperator, Value};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// What stands before the first value of BETWEEN SYMMETRIC.
pub(crate) const SYMMETRIC: &str = "SYMMETRIC";
/// The operator behind the number of FETCH … WITH TIES.
pub(crate) const WITH_TIES: &str = "ROWS WITH TIES";
/// How tightly LIKE and BETWEEN bind.
pub(super) const LIKE: u8 = 22;

/// Whether an operator is the end of a frame with what it leaves out.
pub(crate) fn is_exclusion(operator: &str) -> bool {
    operator.contains("EXCLUDE")
}

fn is_word(parser: &Parser<'_>, at: usize, word: &str) -> bool {
    matches!(&parser.peek_nth_token_ref(at).token, Token::Word(own) if own.quote_style.is_none() && own.value.eq_ignore_ascii_case(word))
}

fn is_any(parser: &Parser<'_>, at: usize, words: &[&str]) -> bool {
    words.iter().any(|word| is_word(parser, at, word))
}

/// The operator that a parser stands at.
enum Infix {
    /// How many words come before ANY or ALL, and what they are.
    LikeEach(usize, &'static str),
    Between(usize),
    Ties,
    Exclusion,
    /// IN with a list whose first value is a query in brackets, and whether NOT stands before it.
    Among(bool),
}

impl Infix {
    fn at(parser: &Parser<'_>) -> Option<Self> {
        let negated = usize::from(is_word(parser, 0, "not"));
        let Token::Word(word) = &parser.peek_nth_token_ref(negated).token else { return None };
        if word.quote_style.is_some() {
            return None;
        }
        match word.keyword {
            Keyword::LIKE | Keyword::ILIKE => {
                let is_each = is_any(parser, negated + 1, &["any", "some", "all"])
                    && parser.peek_nth_token_ref(negated + 2).token == Token::LParen;
                let operator = match (negated, word.keyword) {
                    (0, Keyword::LIKE) => "LIKE",
                    (0, _) => "ILIKE",
                    (_, Keyword::LIKE) => "NOT LIKE",
                    (_, _) => "NOT ILIKE",
                };
                is_each.then_some(Self::LikeEach(negated + 1, operator))
            }
            Keyword::BETWEEN => {
                is_any(parser, negated + 1, &["symmetric", "asymmetric"]).then_some(Self::Between(negated + 1))
            }
            Keyword::IN => {
                let is_open = |at: usize| parser.peek_nth_token_ref(negated + at).token == Token::LParen;
                (is_open(1) && is_open(2)).then_some(Self::Among(negated > 0))
            }
            Keyword::ROW | Keyword::ROWS if is_word(parser, 1, "with") && is_word(parser, 2, "ties") => {
                Some(Self::Ties)
            }
            Keyword::ROW | Keyword::PRECEDING | Keyword::FOLLOWING if is_word(parser, 1, "exclude") => {
                Some(Self::Exclusion)
            }
            _ => None,
        }
    }
}

/// How tightly the operator binds that a parser stands at; `None` for others.
pub(super) fn precedence(parser: &Parser<'_>) -> Option<u8> {
    Some(match Infix::at(parser)? {
        Infix::LikeEach(..) => LIKE,
        Infix::Between(_) | Infix::Among(_) => LIKE,
        // Words behind a whole number or a distance.
        Infix::Ties | Infix::Exclusion => 1,
    })
}

/// The operator that a parser stands at, with its operands; `None` for others.
pub(super) fn parse(parser: &mut Parser<'_>, left: &Expr) -> Option<Result<Expr, ParserError>> {
    let left = Box::new(left.clone());
    let nothing = || Box::new(Expr::value(Value::Null));
    Some(match Infix::at(parser)? {
        Infix::LikeEach(words, operator) => like_each(parser, left, words, operator),
        Infix::Between(words) => between(parser, left, words),
        Infix::Among(negated) => {
            let list = among(parser, negated)?;
            Ok(Expr::InList { expr: left, list, negated })
        }
        Infix::Ties => {
            (0..3).for_each(|_| drop(parser.next_token()));
            Ok(Expr::BinaryOp { left, op: BinaryOperator::Custom(WITH_TIES.into()), right: nothing() })
        }
        Infix::Exclusion => {
            let mut words = Vec::new();
            while !is_word(parser, 0, "null") && words.len() < 4 {
                words.push(parser.next_token().token.to_string().to_uppercase());
            }
            let closed = parser.expect_keyword(Keyword::NULL);
            let op = BinaryOperator::Custom(words.join(" "));
            closed.map(|_| Expr::BinaryOp { left, op, right: nothing() })
        }
    })
}

/// The values of an IN that are several; `None`, and nothing is taken, where there is one query in brackets.
fn among(parser: &mut Parser<'_>, negated: bool) -> Option<Vec<Expr>> {
    let list = parser.maybe_parse(|parser| {
        (0..2 + usize::from(negated)).for_each(|_| drop(parser.next_token()));
        let list = parser.parse_comma_separated(Parser::parse_expr)?;
        parser.expect_token(&Token::RParen)?;
        if list.len() > 1 { Ok(list) } else { parser.expected_ref("several values", parser.peek_token_ref()) }
    });
    list.ok().flatten()
}

fn like_each(parser: &mut Parser<'_>, left: Box<Expr>, words: usize, operator: &str) -> Result<Expr, ParserError> {
    (0..words).for_each(|_| drop(parser.next_token()));
    let compare_op = BinaryOperator::Custom(operator.into());
    let (is_all, is_some) = (is_word(parser, 0, "all"), is_word(parser, 0, "some"));
    parser.next_token();
    parser.expect_token(&Token::LParen)?;
    let is_query = is_any(parser, 0, &["select", "with", "values"]);
    let right = if is_query { Expr::Subquery(parser.parse_query()?) } else { parser.parse_expr()? };
    parser.expect_token(&Token::RParen)?;
    let right = Box::new(right);
    Ok(match is_all {
        true => Expr::AllOp { left, compare_op, right },
        false => Expr::AnyOp { left, compare_op, right, is_some },
    })
}

fn between(parser: &mut Parser<'_>, expr: Box<Expr>, words: usize) -> Result<Expr, ParserError> {
    (0..words).for_each(|_| drop(parser.next_token()));
    let is_symmetric = is_word(parser, 0, "symmetric");
    parser.next_token();
    let low = parser.parse_subexpr(LIKE)?;
    parser.expect_keyword(Keyword::AND)?;
    let high = Box::new(parser.parse_subexpr(LIKE)?);
    let low = match is_symmetric {
        true => Expr::Prefixed { prefix: Ident::new(SYMMETRIC), value: Box::new(low) },
        false => low,
    };
    Ok(Expr::Between { expr, negated: words == 2, low: Box::new(low), high })
}

/// GROUPING SETS within GROUPING SETS; `None` where a parser stands at something else.
pub(super) fn grouping_sets(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let is_set = is_word(parser, 0, "grouping")
        && is_word(parser, 1, "sets")
        && parser.peek_nth_token_ref(2).token == Token::LParen;
    is_set.then(|| {
        (0..3).for_each(|_| drop(parser.next_token()));
        let sets = parser.parse_comma_separated(|parser| {
            if !parser.consume_token(&Token::LParen) {
                return Ok(vec![parser.parse_expr()?]);
            }
            if parser.consume_token(&Token::RParen) {
                return Ok(Vec::new());
            }
            let set = parser.parse_comma_separated(Parser::parse_expr)?;
            parser.expect_token(&Token::RParen)?;
            Ok(set)
        })?;
        parser.expect_token(&Token::RParen)?;
        Ok(Expr::GroupingSets(sets))
    })
}

/// A column that is called `interval`, where no text follows; `None` where a parser stands at something else.
pub(super) fn interval_column(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    if !is_word(parser, 0, "interval") {
        return None;
    }
    let is_end = match &parser.peek_nth_token_ref(1).token {
        Token::Comma | Token::RParen | Token::DoubleColon | Token::EOF | Token::SemiColon | Token::Eq => true,
        Token::Word(word) => matches!(word.keyword, Keyword::FROM | Keyword::AS) && word.quote_style.is_none(),
        _ => false,
    };
    is_end.then(|| {
        parser.next_token();
        Ok(Expr::Identifier(Ident::new("interval")))
    })
}

/// `|/ x`, `||/ x`, `@ x` and `~ x`; `None` where a parser stands at something else. As all operators without a place of their own,
/// they bind weaker than a sum.
pub(super) fn sign(parser: &mut Parser<'_>, precedence: u8) -> Option<Result<Expr, ParserError>> {
    let op = match parser.peek_token_ref().token {
        Token::PGSquareRoot => UnaryOperator::PGSquareRoot,
        Token::PGCubeRoot => UnaryOperator::PGCubeRoot,
        Token::AtSign => UnaryOperator::PGAbs,
        Token::Tilde => UnaryOperator::BitwiseNot,
        _ => return None,
    };
    parser.next_token();
    Some(parser.parse_subexpr(precedence).map(|value| Expr::UnaryOp { op, expr: Box::new(value) }))
}
