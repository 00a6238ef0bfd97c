//! Clauses of queries that the parser does not know, put right among the tokens: it is given a form that it knows, which means the
//! same and is read again as the same where a view's text is kept.
//!
//! | what is written | what the parser is given |
//! |---|---|
//! | `FETCH FIRST n ROWS ONLY` | `LIMIT n` |
//! | `FETCH FIRST n ROWS WITH TIES` | `LIMIT n ROWS WITH TIES`, whose last words are an operator behind `n` |
//! | `… FOLLOWING EXCLUDE TIES)` | `… FOLLOWING EXCLUDE TIES NULL FOLLOWING)`: an operator as well |
//! | `TABLE t` as a query | `SELECT * FROM t` |
//! | `ROWS FROM (f(), g())` | a function of that name |
//! | `GROUP BY DISTINCT a` | `GROUP BY "(distinct)"(), a` |
//! | `trim(LEADING FROM a)` | `trim(LEADING ' ' FROM a)` |
//! | `substring(a SIMILAR b ESCAPE c)` | `substring(a FROM b FOR c)` |
//! | `'1 day'::interval PRECEDING` | `('1 day'::interval) PRECEDING` |
//! | `ORDER BY a USING >` | `ORDER BY a DESC` |
//! | `(t).*`, `FROM ONLY t` | `t.*`, `FROM t` |
//! | `FOR NO KEY UPDATE`, `FOR KEY SHARE` | `FOR UPDATE`, `FOR SHARE` |
//! | `U&'…' UESCAPE '…'`, `N'…'` | the text |

use crate::sql::infix::WITH_TIES;
use crate::sql::operators::take;
use crate::sql::places::position;
use crate::sql::unicode;
use crate::sql::walk::{SyntaxTree, Visit};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Fetch, LimitClause, Query};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};
use gingham_storage::{Problem, SqlState};

/// What `ROWS FROM` is called among the functions of FROM.
pub(crate) const ROWS_FROM: &str = "(rows from)";
/// What stands first in `GROUP BY DISTINCT`.
pub(crate) const DISTINCT_SETS: &str = "(distinct)";

/// The tokens of a script, and what becomes of them.
struct Mending<'t> {
    tokens: &'t [TokenWithSpan],
    /// Positions of those that mean something.
    words: Vec<usize>,
    edits: Vec<(usize, TokenEdit)>,
}

/// Whether a script has a FETCH … WITH TIES.
#[derive(Debug, Default)]
pub(crate) struct Ties(bool);

impl Ties {
    /// Looks for one.
    pub(super) fn of(tokens: &[TokenWithSpan]) -> Self {
        let is_ties =
            |token: &TokenWithSpan| matches!(&token.token, Token::Word(own) if own.value.eq_ignore_ascii_case("ties"));
        Self(tokens.iter().any(is_ties))
    }

    /// Says it in the statement's queries, where it is an operator behind the limit.
    pub(crate) fn put(&self, tree: &mut impl SyntaxTree) -> Result<()> {
        if self.0 { tree.walk(&mut SayingTies) } else { Ok(()) }
    }
}

struct SayingTies;

impl Visit for SayingTies {
    fn query(&mut self, query: &mut Query) -> Result<()> {
        let Some(LimitClause::LimitOffset { limit, offset, .. }) = &mut query.limit_clause else { return Ok(()) };
        let Some(Expr::BinaryOp { left, op: BinaryOperator::Custom(operator), .. }) = limit else { return Ok(()) };
        if operator == WITH_TIES {
            query.fetch = Some(Fetch { with_ties: true, percent: false, quantity: Some(take(left)) });
            *limit = None;
            if offset.is_none() {
                query.limit_clause = None;
            }
        }
        Ok(())
    }
}

/// What becomes of a token.
enum TokenEdit {
    Before(Vec<Token>),
    Instead(Vec<Token>),
    Behind(Vec<Token>),
}

/// Puts the clauses right.
pub(super) fn mend(tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    if !tokens.iter().any(|own| may_begin(&own.token)) {
        return Ok(());
    }
    let means = |at: &usize| !matches!(tokens[*at].token, Token::Whitespace(_));
    let words = (0..tokens.len()).filter(means).collect();
    let mut mending = Mending { tokens, words, edits: Vec::new() };
    for at in 0..mending.words.len() {
        mending.mend_at(at)?;
    }
    let edits = mending.edits;
    if !edits.is_empty() {
        apply(tokens, edits);
    }
    Ok(())
}

/// Whether a clause may begin with a token.
fn may_begin(token: &Token) -> bool {
    match token {
        Token::NationalStringLiteral(_) | Token::Period => true,
        Token::Word(Word { value, quote_style: None, .. }) => {
            const WORDS: [&str; 14] = [
                "for",
                "exclude",
                "only",
                "fetch",
                "table",
                "rows",
                "group",
                "trim",
                "similar",
                "u",
                "ties",
                "preceding",
                "following",
                "using",
            ];
            WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
        }
        _ => false,
    }
}

impl Mending<'_> {
    fn token(&self, at: usize) -> Option<&Token> {
        self.words.get(at).map(|place| &self.tokens[*place].token)
    }

    fn is(&self, at: usize, word: &str) -> bool {
        matches!(self.token(at), Some(Token::Word(Word { value, quote_style: None, .. })) if value.eq_ignore_ascii_case(word))
    }

    fn is_any(&self, at: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(at, word))
    }

    fn are(&self, at: usize, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(more, word)| self.is(at + more, word))
    }

    fn is_token(&self, at: usize, token: &Token) -> bool {
        self.token(at) == Some(token)
    }

    fn edit(&mut self, at: usize, edit: TokenEdit) {
        self.edits.push((self.words[at], edit));
    }

    fn remove(&mut self, places: std::ops::Range<usize>) {
        for at in places {
            self.edit(at, TokenEdit::Instead(Vec::new()));
        }
    }

    fn mend_at(&mut self, at: usize) -> Result<()> {
        match self.token(at) {
            Some(Token::NationalStringLiteral(text)) => {
                let text = Token::SingleQuotedString(text.clone());
                self.edit(at, TokenEdit::Instead(vec![text]));
            }
            Some(Token::LParen) => self.star_of_row(at),
            Some(Token::Word(Word { value, quote_style: None, .. })) => {
                let word = value.to_ascii_lowercase();
                match word.as_str() {
                    "exclude" => self.exclusion(at),
                    "fetch" => self.fetch(at),
                    "table" => self.table(at),
                    "rows" => self.rows_from(at),
                    "group" => self.sets(at),
                    "trim" => self.trim(at),
                    "similar" => self.similar(at),
                    "only" => self.only(at),
                    "for" => self.row_lock(at),
                    "preceding" | "following" => self.offset(at),
                    "using" => self.direction(at),
                    "u" => return self.unicode(at),
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// `FOR NO KEY UPDATE` and `FOR KEY SHARE`, which lock as FOR UPDATE and FOR SHARE do.
    fn row_lock(&mut self, at: usize) {
        if self.are(at + 1, &["no", "key", "update"]) {
            self.remove(at + 1..at + 3);
        } else if self.are(at + 1, &["key", "share"]) {
            self.remove(at + 1..at + 2);
        }
    }

    /// `ORDER BY a USING <`.
    fn direction(&mut self, at: usize) {
        let direction = match self.token(at + 1) {
            Some(Token::Lt) => "ASC",
            Some(Token::Gt) => "DESC",
            _ => return,
        };
        self.edit(at, TokenEdit::Instead(vec![word(direction)]));
        self.remove(at + 1..at + 2);
    }

    /// `'1 day'::interval PRECEDING`: the parser takes a text there for an interval.
    fn offset(&mut self, at: usize) {
        let Some(start) = at.checked_sub(3) else { return };
        let is_cast = matches!(self.token(at - 1), Some(Token::Word(_))) && self.is_token(at - 2, &Token::DoubleColon);
        if is_cast && matches!(self.token(start), Some(Token::SingleQuotedString(_))) {
            self.edit(start, TokenEdit::Before(vec![Token::LParen]));
            self.edit(at - 1, TokenEdit::Behind(vec![Token::RParen]));
        }
    }

    /// `EXCLUDE …` at the end of a frame.
    fn exclusion(&mut self, at: usize) {
        let kinds: [(&[&str], bool); 4] =
            [(&["current", "row"], true), (&["group"], true), (&["ties"], true), (&["no", "others"], false)];
        let Some((kind, leaves_out)) = kinds.into_iter().find(|(kind, _)| self.are(at + 1, kind)) else { return };
        if at < 2 || !self.is_any(at - 1, &["row", "preceding", "following"]) {
            return;
        }
        let end = at + 1 + kind.len();
        if self.is(end, "null") && self.is(end + 1, "following") {
            self.unnamed(at - 2);
            return;
        }
        if !self.is_token(end, &Token::RParen) {
            return;
        }
        if !leaves_out {
            self.remove(at..end);
            return;
        }
        self.unnamed(at - 2);
        if matches!(self.token(at - 2), Some(Token::SingleQuotedString(_))) {
            self.edit(at - 2, TokenEdit::Before(vec![Token::LParen]));
            self.edit(at - 2, TokenEdit::Behind(vec![Token::RParen]));
        }
        self.edit(end - 1, TokenEdit::Behind(vec![blank(), word("NULL"), blank(), word("FOLLOWING")]));
    }

    /// CURRENT and UNBOUNDED before an operator: names, as the parser sees it.
    fn unnamed(&mut self, at: usize) {
        if let Some(Token::Word(Word { value, quote_style: None, .. })) = self.token(at)
            && ["current", "unbounded"].iter().any(|known| value.eq_ignore_ascii_case(known))
        {
            let name = Word { value: value.clone(), quote_style: None, keyword: Keyword::NoKeyword };
            self.edit(at, TokenEdit::Instead(vec![Token::Word(name)]));
        }
    }

    /// `FETCH FIRST n ROWS ONLY`, behind a query.
    fn fetch(&mut self, at: usize) {
        let begins = at == 0 || self.is_token(at - 1, &Token::SemiColon);
        if begins || !self.is_any(at + 1, &["first", "next"]) {
            return;
        }
        let Some(rows) = self.end_of_number(at + 2) else { return };
        let with_ties = self.are(rows + 1, &["with", "ties"]);
        if !with_ties && !self.is(rows + 1, "only") {
            return;
        }
        self.edit(at, TokenEdit::Instead(vec![word("LIMIT")]));
        let number = if rows == at + 2 { vec![Token::Number("1".into(), false)] } else { Vec::new() };
        self.edit(at + 1, TokenEdit::Instead(number));
        if !with_ties {
            self.remove(rows..rows + 2);
        }
    }

    /// Where `ROWS` stands behind the number of FETCH.
    fn end_of_number(&self, from: usize) -> Option<usize> {
        let mut open = 0_usize;
        for at in from..self.words.len().min(from + 200) {
            match self.token(at)? {
                Token::LParen => open += 1,
                Token::RParen => open = open.checked_sub(1)?,
                Token::SemiColon => return None,
                _ if open == 0 && self.is(at, "percent") => return None,
                _ if open == 0 && self.is_any(at, &["row", "rows"]) => return Some(at),
                _ => {}
            }
        }
        None
    }

    /// `TABLE t` where a query may begin.
    fn table(&mut self, at: usize) {
        let name = at + 1 + usize::from(self.is(at + 1, "only"));
        let is_name = match self.token(name) {
            Some(Token::Word(word)) => {
                word.quote_style.is_some() || !["if", "as"].contains(&word.value.to_lowercase().as_str())
            }
            _ => false,
        };
        // SELECT … INTO TEMP TABLE t makes a table.
        let is_made = at > 0 && self.is_any(at - 1, &["temp", "temporary", "unlogged"]);
        if !is_name || is_made || !self.begins_query(at) {
            return;
        }
        let list = vec![word("SELECT"), blank(), Token::Mul, blank(), word("FROM")];
        self.edit(at, TokenEdit::Instead(list));
        if name > at + 1 {
            self.remove(at + 1..name);
        }
    }

    fn begins_query(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return true };
        match self.token(before) {
            Some(Token::SemiColon | Token::LParen) => true,
            // Behind the columns of INSERT, the queries of WITH, the options of EXPLAIN.
            Some(Token::RParen) => true,
            Some(Token::Word(own)) if own.quote_style.is_none() => {
                const BEFORE: [&str; 8] = ["union", "intersect", "except", "all", "distinct", "as", "for", "explain"];
                let is_explained = self.is_any(before, &["analyze", "verbose"])
                    && before.checked_sub(1).is_some_and(|before| self.is_any(before, &["explain", "analyze"]));
                self.is_any(before, &BEFORE) || is_explained || self.is_target(before)
            }
            Some(Token::Word(_)) => self.is_target(before),
            _ => false,
        }
    }

    /// Whether a name is that of the table in INSERT INTO.
    fn is_target(&self, mut at: usize) -> bool {
        if self.is_any(at, &["temp", "temporary", "unlogged", "local", "global"]) {
            return false; // SELECT … INTO TEMPORARY TABLE t
        }
        while at >= 2 && self.is_token(at - 1, &Token::Period) {
            at -= 2;
        }
        at > 0 && self.is(at - 1, "into")
    }

    fn rows_from(&mut self, at: usize) {
        if self.is(at + 1, "from") && self.is_token(at + 2, &Token::LParen) {
            self.edit(at, TokenEdit::Instead(vec![Token::make_word(ROWS_FROM, Some('"'))]));
            self.remove(at + 1..at + 2);
        }
    }

    /// `GROUP BY DISTINCT …` and `GROUP BY ALL …`.
    fn sets(&mut self, at: usize) {
        if !self.is(at + 1, "by") {
            return;
        }
        if self.is(at + 2, "distinct") {
            let marker = Token::make_word(DISTINCT_SETS, Some('"'));
            self.edit(at + 2, TokenEdit::Instead(vec![marker, Token::LParen, Token::RParen, Token::Comma]));
        } else if self.is(at + 2, "all") {
            let ends = [
                "having",
                "order",
                "limit",
                "offset",
                "fetch",
                "window",
                "qualify",
                "union",
                "intersect",
                "except",
                "for",
                "with",
            ];
            let is_alone = match self.token(at + 3) {
                None | Some(Token::RParen | Token::SemiColon | Token::EOF) => true,
                Some(_) => self.is_any(at + 3, &ends),
            };
            if !is_alone {
                self.remove(at + 2..at + 3);
            }
        }
    }

    /// `FROM ONLY t`: no table has others below it.
    fn only(&mut self, at: usize) {
        let is_before_table = at > 0 && self.is_any(at - 1, &["from", "join", "update"]);
        if is_before_table && matches!(self.token(at + 1), Some(Token::Word(_))) {
            self.remove(at..at + 1);
        }
    }

    /// `trim(LEADING FROM a)`: of blanks.
    fn trim(&mut self, at: usize) {
        if !self.is_token(at + 1, &Token::LParen) {
            return;
        }
        let side = self.is_any(at + 2, &["leading", "trailing", "both"]);
        let from = at + 2 + usize::from(side);
        if !self.is(from, "from") {
            return;
        }
        let mut text = if side { Vec::new() } else { vec![word("BOTH"), blank()] };
        text.extend([Token::SingleQuotedString(" ".into()), blank()]);
        self.edit(from, TokenEdit::Before(text));
    }

    /// `substring(a SIMILAR b ESCAPE c)`.
    fn similar(&mut self, at: usize) {
        if self.is(at + 1, "to") {
            return;
        }
        let mut open = 0_usize;
        for later in at + 1..self.words.len() {
            match self.token(later) {
                Some(Token::LParen) => open += 1,
                Some(Token::RParen) if open == 0 => return,
                Some(Token::RParen) => open -= 1,
                Some(Token::SemiColon) | None => return,
                _ if open == 0 && self.is(later, "escape") => {
                    self.edit(at, TokenEdit::Instead(vec![word("FROM")]));
                    self.edit(later, TokenEdit::Instead(vec![word("FOR")]));
                    return;
                }
                _ => {}
            }
        }
    }

    /// `(t).*` in a list.
    fn star_of_row(&mut self, at: usize) {
        let is_name = matches!(self.token(at + 1), Some(Token::Word(_)));
        let is_star = self.is_token(at + 2, &Token::RParen)
            && self.is_token(at + 3, &Token::Period)
            && self.is_token(at + 4, &Token::Mul);
        let in_list = at > 0
            && (self.is_token(at - 1, &Token::Comma)
                || self.is_any(at - 1, &["select", "distinct", "all", "returning"]));
        if is_name && is_star && in_list {
            self.remove(at..at + 1);
            self.remove(at + 2..at + 3);
        }
    }

    /// `U&'…'` and `U&"…"`, whose parts stand side by side.
    fn unicode(&mut self, at: usize) -> Result<()> {
        let place = self.words[at];
        let parts = (self.tokens.get(place + 1), self.tokens.get(place + 2));
        let (Some(TokenWithSpan { token: Token::Ampersand, .. }), Some(text)) = parts else { return Ok(()) };
        let read = |text: &str, escape| {
            let place = self.tokens[place].span.start;
            unicode::read(text, escape).map_err(|error| {
                let problem = Problem::new(SqlState::SyntaxError, format!("U&'{text}': {error}"));
                Error::InvalidInput(problem.at(position(place)))
            })
        };
        let escape = self.escape_of_unicode(at + 3)?;
        let letter = escape.unwrap_or('\\');
        let token = match &text.token {
            Token::SingleQuotedString(text) => Token::SingleQuotedString(read(text, letter)?),
            Token::Word(Word { value, quote_style: Some('"'), .. }) => {
                Token::make_word(&read(value, letter)?, Some('"'))
            }
            _ => return Ok(()),
        };
        self.edit(at, TokenEdit::Instead(vec![token]));
        self.remove(at + 1..at + 3);
        if escape.is_some() {
            self.remove(at + 3..at + 5);
        }
        Ok(())
    }

    /// The letter behind UESCAPE.
    fn escape_of_unicode(&self, at: usize) -> Result<Option<char>> {
        if !self.is(at, "uescape") {
            return Ok(None);
        }
        let letter = match self.token(at + 1) {
            Some(Token::SingleQuotedString(text)) => unicode::escape(text),
            _ => None,
        };
        let place = self.tokens[self.words[at]].span.start;
        letter.map(Some).ok_or_else(|| {
            let text = "UESCAPE takes one letter in quotes, which is no digit from 0 to F, no +, no quote and no blank";
            Error::InvalidInput(Problem::new(SqlState::SyntaxError, text).at(position(place)))
        })
    }
}

/// A text of SQL as its user would write it: without what is behind EXCLUDE for the parser.
pub(crate) fn as_written(text: String) -> String {
    if !text.contains("EXCLUDE") {
        return text;
    }
    ["CURRENT ROW", "GROUP", "TIES"]
        .iter()
        .fold(text, |text, kind| text.replace(&format!("EXCLUDE {kind} NULL FOLLOWING"), &format!("EXCLUDE {kind}")))
}

fn word(text: &str) -> Token {
    Token::make_word(text, None)
}

fn blank() -> Token {
    Token::Whitespace(Whitespace::Space)
}

fn apply(tokens: &mut Vec<TokenWithSpan>, mut edits: Vec<(usize, TokenEdit)>) {
    edits.sort_by_key(|(place, _)| *place);
    let mut edits = edits.into_iter().peekable();
    let before = std::mem::take(tokens);
    for (at, token) in before.into_iter().enumerate() {
        let span = token.span;
        let (mut first, mut own, mut behind) = (Vec::new(), vec![token.token], Vec::new());
        while let Some((_, edit)) = edits.next_if(|(place, _)| *place == at) {
            match edit {
                TokenEdit::Before(more) => first.extend(more),
                TokenEdit::Instead(other) => own = other,
                TokenEdit::Behind(more) => behind.extend(more),
            }
        }
        let all = first.into_iter().chain(own).chain(behind);
        tokens.extend(all.map(|token| TokenWithSpan { token, span }));
    }
}

#[cfg(test)]
mod tests {
    use crate::sql::parse::parse_single;

    #[test]
    fn what_is_given_to_the_parser_is_read_again() {
        for (sql, expected) in [
            ("SELECT a FROM t OFFSET 1 ROWS FETCH NEXT ROW ONLY", "SELECT a FROM t LIMIT 1 OFFSET 1 ROWS"),
            ("SELECT a FROM t FETCH FIRST (1 + 1) ROWS ONLY OFFSET 2", "SELECT a FROM t LIMIT (1 + 1) OFFSET 2"),
            (
                "SELECT a FROM t ORDER BY a FETCH FIRST 2 ROW WITH TIES",
                "SELECT a FROM t ORDER BY a FETCH FIRST 2 ROWS WITH TIES",
            ),
            ("TABLE t UNION (TABLE ONLY s.u ORDER BY 1)", "SELECT * FROM t UNION (SELECT * FROM s.u ORDER BY 1)"),
            ("INSERT INTO s.t TABLE u", "INSERT INTO s.t SELECT * FROM u"),
            ("SELECT trim(FROM a), trim(LEADING FROM a)", "SELECT TRIM(BOTH ' ' FROM a), TRIM(LEADING ' ' FROM a)"),
            ("SELECT substring(a SIMILAR b ESCAPE '#')", "SELECT SUBSTRING(a FROM b FOR '#')"),
            ("SELECT U&'d!0061t\\' UESCAPE '!', N'x', U&'\\D83D\\DE00'", "SELECT 'dat\\', 'x', '\u{1F600}'"),
            ("SELECT (t).*, (t).a FROM ONLY t", "SELECT t.*, (t).a FROM t"),
            ("SELECT 1 BETWEEN SYMMETRIC 3 AND 0", "SELECT 1 BETWEEN SYMMETRIC 3 AND 0"),
            ("SELECT a NOT ILIKE ALL (ARRAY['x'])", "SELECT a NOT ILIKE ALL(ARRAY['x'])"),
            ("SELECT a LIKE ANY (SELECT b FROM t)", "SELECT a LIKE ANY(SELECT b FROM t)"),
            (
                "SELECT sum(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES)",
                "SELECT sum(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES NULL FOLLOWING)",
            ),
            (
                "SELECT sum(a) OVER (ORDER BY a ROWS 2 PRECEDING EXCLUDE NO OTHERS)",
                "SELECT sum(a) OVER (ORDER BY a ROWS 2 PRECEDING)",
            ),
        ] {
            let parsed = parse_single(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).to_string();
            assert_eq!(parsed, expected, "{sql}");
            assert_eq!(parse_single(&parsed).expect(&parsed).to_string(), expected, "{sql}");
        }
    }

    #[test]
    fn other_statements_of_these_words_are_as_they_were() {
        for sql in ["DROP TABLE t", "CREATE TABLE t (a INT)", "SELECT * EXCLUDE (a) FROM t", "SELECT u & 1 FROM t"] {
            assert_eq!(parse_single(sql).expect(sql).to_string(), sql);
        }
        assert!(parse_single("SELECT U&'\\00'").is_err());
    }
}
