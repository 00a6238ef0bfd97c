//! `CREATE RECURSIVE VIEW v (a) AS q`, put right among the tokens: it is `CREATE VIEW v (a) AS WITH RECURSIVE v (a) AS (q) SELECT a FROM v`.

use crate::sql::definitions::{blank, is_word, meaning};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Puts every such statement right.
pub(super) fn mend(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|token| is_word(token, "recursive")) {
        return;
    }
    let places = meaning(tokens);
    let views: Vec<RecursiveView> = (0..places.len()).filter_map(|at| RecursiveView::at(tokens, &places, at)).collect();
    views.into_iter().rev().for_each(|view| view.write_out(tokens));
}

/// Where the parts of a statement stand among the tokens.
struct RecursiveView {
    recursive: usize,
    /// The view's own name, without its schema.
    name: TokenWithSpan,
    columns: Vec<TokenWithSpan>,
    /// The first token of the query, and the one behind it.
    query: (usize, usize),
}

impl RecursiveView {
    /// The statement whose word RECURSIVE stands at a place.
    fn at(tokens: &[TokenWithSpan], places: &[usize], at: usize) -> Option<Self> {
        let token = |at: usize| places.get(at).map(|place| &tokens[*place]);
        let is = |at: usize, word: &str| token(at).is_some_and(|token| is_word(token, word));
        let before = (0..at).rev().take(4).take_while(|at| !is(at + 1, "create"));
        let is_created = before.into_iter().any(|at| is(at, "create"));
        if !is(at, "recursive") || !is(at + 1, "view") || !is_created {
            return None;
        }
        let mut next = at + 2;
        while token(next + 1)?.token == Token::Period {
            next += 2;
        }
        let name = token(next)?.clone();
        if token(next + 1)?.token != Token::LParen {
            return None;
        }
        let mut columns = Vec::new();
        next += 2;
        while token(next)?.token != Token::RParen {
            columns.push(token(next)?.clone());
            next += 1;
        }
        if !is(next + 1, "as") {
            return None;
        }
        let first = places.get(next + 2).copied()?;
        let end = tokens[first..].iter().position(|token| matches!(token.token, Token::SemiColon | Token::EOF));
        let end = end.map_or(tokens.len(), |length| first + length);
        Some(Self { recursive: places[at], name, columns, query: (first, end) })
    }

    fn write_out(self, tokens: &mut Vec<TokenWithSpan>) {
        let span = tokens[self.recursive].span;
        let word = |text: &str| TokenWithSpan { token: Token::make_word(text, None), span };
        let sign = |token: Token| TokenWithSpan { token, span };
        let parted = |tokens: Vec<TokenWithSpan>| {
            tokens.into_iter().flat_map(|token| [sign(blank()), token]).collect::<Vec<_>>()
        };
        let mut behind = vec![sign(Token::RParen), word("SELECT")];
        behind.extend(self.columns.clone());
        behind.extend([word("FROM"), self.name.clone()]);
        let mut before = vec![word("WITH"), word("RECURSIVE"), self.name, sign(Token::LParen)];
        before.extend(self.columns);
        before.extend([sign(Token::RParen), word("AS"), sign(Token::LParen)]);
        let (first, end) = self.query;
        tokens.splice(end..end, parted(behind));
        tokens.splice(first..first, parted(before));
        tokens.remove(self.recursive);
    }
}
