//! What DataFusion's dialect does not parse, put right among the tokens: `AS MATERIALIZED`, VALUES as a subquery, and
//! `OPERATOR (pg_catalog.=) ANY`.
//!
//! The parser takes `MATERIALIZED` behind AS for PostgreSQL's dialect alone, which differs in more than that: the words are taken
//! out, and noted for the query of WITH whose closing bracket it is. `(VALUES (1), (2))` in an expression is read as a
//! function's call: it becomes `(SELECT * FROM (VALUES (1), (2)))`.

use crate::Result;
use crate::sql::adjacent::join_texts;
use crate::sql::clauses;
use crate::sql::clauses::Ties;
use crate::sql::definitions;
use crate::sql::dialect::Gingham;
use crate::sql::parameters;
use crate::sql::parameters::ParameterNames;
use crate::sql::recursive_views;
use crate::sql::split::without_mark;
use crate::sql::walk::{SyntaxTree, Visit};
use crate::sql::writes::WriteWords;
use datafusion::sql::sqlparser::ast::{CteAsMaterialized, Query};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer, Word};

/// The tokens of a text.
pub(crate) struct Tokens {
    pub(crate) tokens: Vec<TokenWithSpan>,
    /// The parameters of the last statement, which are numbers among the tokens.
    pub(crate) parameters: ParameterNames,
    pub(crate) materialized: Materialized,
    pub(crate) ties: Ties,
    pub(crate) writes: WriteWords,
}

/// How queries of WITH are said to be computed, by where their closing brackets stand.
#[derive(Debug, Default)]
pub(crate) struct Materialized(Vec<(Location, CteAsMaterialized)>);

impl Tokens {
    /// Those of a statement's text.
    pub(crate) fn of(sql: &str) -> Result<Self> {
        Self::read(tokens(without_mark(sql))?)
    }

    /// Those of a text that is not the statement's: they have no line and column that an error could show.
    pub(crate) fn without_places(sql: &str) -> Result<Self> {
        let mut tokens = tokens(sql)?;
        for (token, column) in tokens.iter_mut().zip(1..) {
            let place = Location { line: 0, column };
            token.span = Span::new(place, place);
        }
        Self::read(tokens)
    }

    fn read(mut tokens: Vec<TokenWithSpan>) -> Result<Self> {
        join_texts(&mut tokens)?;
        definitions::mend(&mut tokens);
        recursive_views::mend(&mut tokens);
        let parameters = parameters::number(&mut tokens)?;
        let writes = WriteWords::take(&mut tokens);
        clauses::mend(&mut tokens)?;
        let ties = Ties::of(&tokens);
        let mut own = Self { tokens, parameters, materialized: Materialized::default(), ties, writes };
        let has = |word: Keyword| own.tokens.iter().any(|token| is_word(token, word));
        let (materialized, values) = (has(Keyword::MATERIALIZED), has(Keyword::VALUES));
        if has(Keyword::OPERATOR) {
            own.bare_operators();
        }
        if materialized {
            own.take_materialized();
        }
        if values {
            own.wrap_values();
        }
        Ok(own)
    }

    /// The positions of the tokens that mean something.
    fn words(&self) -> Vec<usize> {
        let means = |at: &usize| !matches!(self.tokens[*at].token, Token::Whitespace(_));
        (0..self.tokens.len()).filter(means).collect()
    }

    /// Takes an operator out of `OPERATOR (pg_catalog.=)` before ANY and ALL, where the parser knows operators alone.
    fn bare_operators(&mut self) {
        let words = self.words();
        let mut taken = Vec::new();
        for (at, own) in words.windows(7).enumerate() {
            let [operator, open, schema, point, _, close, next] = own else { continue };
            let is = |place: &usize, token: &Token| self.tokens[*place].token == *token;
            let compares =
                [Keyword::ANY, Keyword::ALL, Keyword::SOME].iter().any(|word| is_word(&self.tokens[*next], *word));
            let is_of_catalog = matches!(&self.tokens[*schema].token, Token::Word(word) if word.value.eq_ignore_ascii_case("pg_catalog"));
            let is_whole = is(open, &Token::LParen) && is(point, &Token::Period) && is(close, &Token::RParen);
            if compares && is_of_catalog && is_whole && is_word(&self.tokens[*operator], Keyword::OPERATOR) {
                taken.extend(words[at..at + 4].iter().copied().chain([*close]));
            }
        }
        let mut at = 0;
        self.tokens.retain(|_| {
            at += 1;
            !taken.contains(&(at - 1))
        });
    }

    fn take_materialized(&mut self) {
        let words = self.words();
        let mut taken = Vec::new();
        for (at, place) in words.iter().enumerate() {
            if !is_word(&self.tokens[*place], Keyword::AS) {
                continue;
            }
            let next = |more: usize| words.get(at + more).map(|place| &self.tokens[*place]);
            let is_not = next(1).is_some_and(|token| is_word(token, Keyword::NOT));
            let first = 1 + usize::from(is_not);
            let is_said = next(first).is_some_and(|token| is_word(token, Keyword::MATERIALIZED))
                && next(first + 1).is_some_and(|token| token.token == Token::LParen);
            let Some(closing) = is_said.then(|| self.closing(&words[at + first + 1..])).flatten() else { continue };
            let how = if is_not { CteAsMaterialized::NotMaterialized } else { CteAsMaterialized::Materialized };
            self.materialized.0.push((self.tokens[closing].span.start, how));
            taken.extend(&words[at + 1..=at + first]);
        }
        let mut at = 0;
        self.tokens.retain(|_| {
            at += 1;
            !taken.contains(&(at - 1))
        });
    }

    /// The bracket that closes the one that `words` begin with.
    fn closing(&self, words: &[usize]) -> Option<usize> {
        let mut open = 0_usize;
        words.iter().copied().find(|place| {
            match self.tokens[*place].token {
                Token::LParen => open += 1,
                Token::RParen => open = open.saturating_sub(1),
                _ => {}
            }
            open == 0
        })
    }

    fn wrap_values(&mut self) {
        let words = self.words();
        let mut added: Vec<(usize, bool)> = Vec::new();
        for (at, pair) in words.windows(3).enumerate() {
            let [open, values, first] = pair else { continue };
            let is_values = self.tokens[*open].token == Token::LParen
                && is_word(&self.tokens[*values], Keyword::VALUES)
                && self.tokens[*first].token == Token::LParen;
            let before = at.checked_sub(1).map(|before| &self.tokens[words[before]]);
            if !is_values || before.is_none_or(|before| !comes_before_an_expression(before)) {
                continue;
            }
            if let Some(closing) = self.closing(&words[at..]) {
                added.extend([(*values, true), (closing, false)]);
            }
        }
        if added.is_empty() {
            return;
        }
        let before = std::mem::take(&mut self.tokens);
        for (at, token) in before.into_iter().enumerate() {
            for (_, opens) in added.iter().filter(|(place, _)| *place == at) {
                let span = token.span;
                let like = |own: Token| TokenWithSpan { token: own, span };
                let blank = || Token::Whitespace(datafusion::sql::sqlparser::tokenizer::Whitespace::Space);
                let text = match opens {
                    true => vec![word("SELECT"), blank(), Token::Mul, blank(), word("FROM"), blank(), Token::LParen],
                    false => vec![Token::RParen],
                };
                self.tokens.extend(text.into_iter().map(like));
            }
            self.tokens.push(token);
        }
    }
}

pub(super) fn tokens(sql: &str) -> Result<Vec<TokenWithSpan>> {
    let read = Tokenizer::new(&Gingham, sql).tokenize_with_location();
    Ok(read.map_err(|error| datafusion::error::DataFusionError::from(ParserError::from(error)))?)
}

fn word(text: &str) -> Token {
    Token::make_word(text, None)
}

fn is_word(token: &TokenWithSpan, keyword: Keyword) -> bool {
    matches!(&token.token, Token::Word(Word { keyword: own, quote_style: None, .. }) if *own == keyword)
}

/// Whether what follows a token is a value, so that brackets there are no member of FROM and no function's arguments.
fn comes_before_an_expression(token: &TokenWithSpan) -> bool {
    use Keyword::*;
    match &token.token {
        Token::Word(Word { keyword, quote_style: None, .. }) => [
            ALL, AND, ANY, BETWEEN, BY, CASE, DISTINCT, ELSE, EXISTS, HAVING, IN, LIKE, NOT, OFFSET, ON, OR, RETURNING,
            SELECT, SET, SOME, THEN, WHEN, WHERE,
        ]
        .contains(keyword),
        Token::Eq | Token::Neq | Token::Lt | Token::Gt | Token::LtEq | Token::GtEq => true,
        Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::Mod | Token::StringConcat => true,
        Token::Comma | Token::LParen => true,
        _ => false,
    }
}

impl Materialized {
    /// Says it in a statement.
    pub(crate) fn put(&self, tree: &mut impl SyntaxTree) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { tree.walk(&mut Saying(self)) }
    }
}

struct Saying<'m>(&'m Materialized);

impl Visit for Saying<'_> {
    fn query(&mut self, query: &mut Query) -> Result<()> {
        for own in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            let place = own.closing_paren_token.0.span.start;
            let said = self.0.0.iter().find(|(closing, _)| *closing == place);
            own.materialized = said.map(|(_, how)| *how).or(own.materialized.take());
        }
        Ok(())
    }
}
