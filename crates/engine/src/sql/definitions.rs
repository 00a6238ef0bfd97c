//! What the parser lacks of CREATE TABLE, put right among the tokens.
//!
//! `LIKE t INCLUDING …` becomes a column whose type says so, wherever it stands in the list; the options of an identity column, which
//! may stand in any order, get the one that the parser wants; UNLOGGED becomes TRANSIENT, which it knows; columns that are called
//! `key` or `index` are put in quotes, without which they would be MySQL's keys.

use datafusion::sql::sqlparser::ast::{DataType, Ident, ObjectName};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The type that stands for LIKE.
const LIKE: &str = "gingham_like";

/// `LIKE t INCLUDING …` in a list of columns.
#[derive(Debug, Clone)]
pub(crate) struct LikeTable {
    /// The table.
    pub(crate) name: ObjectName,
    /// What is taken over besides columns, their types and NOT NULL: each word and whether it is INCLUDING, in their order.
    pub(crate) options: Vec<(String, bool)>,
}

/// The LIKE that a column's type stands for.
pub(crate) fn like_of(data_type: &DataType) -> Option<LikeTable> {
    let DataType::Custom(name, words) = data_type else { return None };
    if name.to_string() != LIKE {
        return None;
    }
    let (table, options) = words.split_first()?;
    let name = Parser::new(&crate::sql::dialect::Gingham).try_with_sql(table).ok()?.parse_object_name(false).ok()?;
    let option = |text: &String| {
        let (how, what) = text.split_once(' ')?;
        Some((what.to_owned(), how == "INCLUDING"))
    };
    Some(LikeTable { name, options: options.iter().filter_map(option).collect() })
}

/// Puts right what the parser would not take.
pub(crate) fn mend(tokens: &mut Vec<TokenWithSpan>) {
    let has = |wanted: &str| tokens.iter().any(|token| is_word(token, wanted));
    let (like, identity, unlogged) = (has("LIKE"), has("IDENTITY"), has("UNLOGGED"));
    let (create, key, index) = (has("CREATE"), has("KEY"), has("INDEX"));
    if create && has("DATA") {
        mend_data(tokens);
    }
    if like {
        mend_like(tokens);
    }
    if identity {
        mend_identity(tokens);
    }
    if unlogged {
        mend_unlogged(tokens);
    }
    if create && (key || index) {
        quote_keys(tokens);
    }
}

pub(super) fn is_word(token: &TokenWithSpan, wanted: &str) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

/// The positions of the tokens that mean something.
pub(super) fn meaning(tokens: &[TokenWithSpan]) -> Vec<usize> {
    (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect()
}

/// `CREATE TABLE t AS q WITH DATA`, which says nothing, and `WITH NO DATA`: of `q` come no rows.
fn mend_data(tokens: &mut Vec<TokenWithSpan>) {
    let places = meaning(tokens);
    let word = |at: usize, wanted: &str| places.get(at).is_some_and(|place| is_word(&tokens[*place], wanted));
    let mut edits = Vec::new();
    for at in 0..places.len() {
        let without = word(at + 1, "NO");
        let last = at + 1 + usize::from(without);
        let is_end =
            places.get(last + 1).is_none_or(|place| matches!(tokens[*place].token, Token::SemiColon | Token::EOF));
        if !word(at, "WITH") || !word(last, "DATA") || !is_end {
            continue;
        }
        let is_mark = |at: &usize| tokens[places[*at]].token == Token::SemiColon;
        let start = (0..at).rev().find(is_mark).map_or(0, |mark| mark + 1);
        if !word(start, "CREATE") {
            continue;
        }
        let Some(query) = (start..at).find(|at| word(*at, "AS")) else { continue };
        edits.push((places[query], places[at], places[last], without));
    }
    for (query, first, last, without) in edits.into_iter().rev() {
        let span = tokens[first].span;
        let written = |text: &str| TokenWithSpan { token: Token::make_word(text, None), span };
        let sign = |token: Token| TokenWithSpan { token, span };
        if !without {
            tokens.drain(first..=last);
            continue;
        }
        let zero = Token::Number("0".to_owned(), false);
        let behind = [sign(Token::RParen), written("AS"), sign(quoted("of no data")), written("LIMIT"), sign(zero)];
        let before = [written("SELECT"), sign(Token::Mul), written("FROM"), sign(Token::LParen)];
        let parted = |words: Vec<TokenWithSpan>| words.into_iter().flat_map(|own| [sign(blank()), own, sign(blank())]);
        let behind: Vec<_> = parted(behind.into()).collect();
        let before: Vec<_> = parted(before.into()).collect();
        tokens.splice(first..=last, behind);
        tokens.splice(query + 1..query + 1, before);
    }
}

/// Quotes KEY and INDEX where a column of that name begins: `(key INTEGER, …)`.
fn quote_keys(tokens: &mut [TokenWithSpan]) {
    let places = meaning(tokens);
    for at in 1..places.len() {
        let begins = matches!(tokens[places[at - 1]].token, Token::LParen | Token::Comma);
        let name = ["key", "index"].into_iter().find(|name| is_word(&tokens[places[at]], name));
        let has_type = places.get(at + 1).is_some_and(|next| matches!(tokens[*next].token, Token::Word(_)));
        if let Some(name) = name.filter(|_| begins && has_type) {
            tokens[places[at]].token = quoted(name);
        }
    }
}

fn mend_like(tokens: &mut Vec<TokenWithSpan>) {
    let places = meaning(tokens);
    let mut made: Vec<(usize, usize, Vec<Token>)> = Vec::new();
    for at in 1..places.len() {
        let token = |at: usize| places.get(at).map(|place| &tokens[*place]);
        let begins = matches!(tokens[places[at - 1]].token, Token::LParen | Token::Comma);
        if !begins || !is_word(&tokens[places[at]], "LIKE") {
            continue;
        }
        let mut name = String::new();
        let mut next = at + 1;
        while let Some(Token::Word(word)) = token(next).map(|token| &token.token) {
            name +=
                &Ident { value: word.value.clone(), quote_style: word.quote_style, span: tokens[places[next]].span }
                    .to_string();
            next += 1;
            if token(next).is_none_or(|token| token.token != Token::Period) {
                break;
            }
            name.push('.');
            next += 1;
        }
        let mut words = vec![name];
        while let (Some(how), Some(what)) = (token(next), token(next + 1)) {
            let including = is_word(how, "INCLUDING");
            let Token::Word(what) = &what.token else { break };
            if !including && !is_word(how, "EXCLUDING") {
                break;
            }
            let how = if including { "INCLUDING" } else { "EXCLUDING" };
            words.push(format!("{how} {}", what.value.to_ascii_uppercase()));
            next += 2;
        }
        let is_end = token(next).is_some_and(|token| matches!(token.token, Token::RParen | Token::Comma));
        if words[0].is_empty() || !is_end {
            continue;
        }
        let mut column = vec![quoted("like"), Token::make_word(LIKE, None), Token::LParen];
        for (position, word) in words.into_iter().enumerate() {
            column.extend((position > 0).then_some(Token::Comma));
            column.push(Token::SingleQuotedString(word));
        }
        column.push(Token::RParen);
        made.push((places[at], places[next - 1], column));
    }
    for (first, last, column) in made.into_iter().rev() {
        let span = tokens[first].span;
        let column = column.into_iter().flat_map(|token| [token, blank()]);
        tokens.splice(first..=last, column.map(|token| TokenWithSpan { token, span }));
    }
}

fn quoted(name: &str) -> Token {
    Token::Word(Word { value: name.to_owned(), quote_style: Some('"'), keyword: Keyword::NoKeyword })
}

pub(super) fn blank() -> Token {
    Token::Whitespace(datafusion::sql::sqlparser::tokenizer::Whitespace::Space)
}

/// The order in which the parser wants the options of an identity column.
const ORDER: [&str; 6] = ["INCREMENT", "MINVALUE", "MAXVALUE", "START", "CACHE", "CYCLE"];

fn mend_identity(tokens: &mut [TokenWithSpan]) {
    let places = meaning(tokens);
    for at in 1..places.len() {
        let is_list = is_word(&tokens[places[at]], "IDENTITY")
            && is_word(&tokens[places[at - 1]], "AS")
            && places.get(at + 1).is_some_and(|place| tokens[*place].token == Token::LParen);
        if !is_list {
            continue;
        }
        let inside: Vec<usize> =
            places[at + 2..].iter().copied().take_while(|place| tokens[*place].token != Token::RParen).collect();
        let mut options: Vec<(usize, Vec<TokenWithSpan>)> = Vec::new();
        for place in &inside {
            let token = tokens[*place].clone();
            let rank = ORDER.iter().position(|word| is_word(&token, word));
            let is_behind_no = options.last().is_some_and(|(_, last)| last.len() == 1 && is_word(&last[0], "NO"));
            match options.last_mut() {
                Some((own, last)) if is_behind_no => {
                    *own = rank.unwrap_or(ORDER.len());
                    last.push(token);
                }
                _ if rank.is_some() || is_word(&token, "NO") => {
                    options.push((rank.unwrap_or(ORDER.len()), vec![token]))
                }
                Some((_, last)) => last.push(token),
                None => options.push((ORDER.len(), vec![token])),
            }
        }
        options.sort_by_key(|(rank, _)| *rank);
        for (place, token) in inside.into_iter().zip(options.into_iter().flat_map(|(_, tokens)| tokens)) {
            tokens[place] = token;
        }
    }
}

fn mend_unlogged(tokens: &mut [TokenWithSpan]) {
    let places = meaning(tokens);
    for at in 1..places.len().saturating_sub(1) {
        let between = is_word(&tokens[places[at - 1]], "CREATE") && is_word(&tokens[places[at + 1]], "TABLE");
        if between && is_word(&tokens[places[at]], "UNLOGGED") {
            tokens[places[at]].token = Token::make_keyword("TRANSIENT");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    fn mended(sql: &str) -> String {
        let mut tokens = Tokenizer::new(&crate::sql::dialect::Gingham, sql).tokenize_with_location().unwrap();
        mend(&mut tokens);
        tokens
            .iter()
            .map(|token| token.token.to_string())
            .collect::<String>()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn clauses_of_create_table() {
        let like = "CREATE TABLE t (a INT, LIKE s.u INCLUDING all EXCLUDING Indexes, b INT)";
        assert_eq!(
            mended(like),
            "CREATE TABLE t (a INT, \"like\" gingham_like ( 's.u' , 'INCLUDING ALL' , 'EXCLUDING INDEXES' ) , b INT)"
        );
        let query = "SELECT a LIKE b, (c LIKE 'x') FROM t";
        assert_eq!(mended(query), query);
        let identity = "a INT GENERATED ALWAYS AS IDENTITY (START WITH 5 NO CYCLE INCREMENT BY -1)";
        let together = "aINTGENERATEDALWAYSASIDENTITY(INCREMENTBY-1STARTWITH5NOCYCLE)";
        assert_eq!(mended(identity).replace(' ', ""), together);
        assert_eq!(mended("CREATE UNLOGGED TABLE t (a INT)"), "CREATE TRANSIENT TABLE t (a INT)");
    }
}
