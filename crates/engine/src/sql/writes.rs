//! What the parser's grammar lacks of INSERT and MERGE, put right among the tokens: the alias of `INSERT INTO t AS z`, OVERRIDING,
//! and of MERGE `THEN DO NOTHING` and `THEN INSERT DEFAULT VALUES`.
//!
//! The words are taken out, or others put in their place, and noted by where the statement or the clause begins; the tree that the
//! parser makes of the rest gets them back ([`WriteWords::put`]).

use crate::Result;
use crate::sql::walk::{SyntaxTree, Visit};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Insert, Merge, MergeAction, MergeInsertExpr, MergeUpdateExpr, Setting, Statement as Sql,
    TableAliasWithoutColumns, Value,
};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Whitespace, Word};

/// What was taken out of a text's tokens.
#[derive(Debug, Default)]
pub(crate) struct WriteWords {
    /// Aliases, by where their INSERT stands.
    aliases: Vec<(Location, Ident)>,
    /// Which values OVERRIDING takes, by where its INSERT stands.
    overriding: Vec<(Location, Overriding)>,
    /// Where the WHEN of each clause stands that does nothing.
    nothing: Vec<Location>,
}

/// Which of two values a column has that numbers itself: `OVERRIDING SYSTEM VALUE`, the given one, or `OVERRIDING USER VALUE`, the
/// next number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overriding {
    /// The value that is given.
    System,
    /// The column's own number.
    User,
}

/// Where an INSERT keeps what OVERRIDING says: among settings, of which no statement has any.
const OVERRIDING: &str = "overriding value";

impl Overriding {
    /// How it is kept in the syntax tree of MERGE.
    fn kept(self) -> &'static str {
        match self {
            Self::System => "overriding system value",
            Self::User => "overriding user value",
        }
    }
}

/// What OVERRIDING of an INSERT within MERGE says.
pub(crate) fn overriding_in_merge(insert: &MergeInsertExpr) -> Option<Overriding> {
    let Some(Expr::Value(value)) = &insert.insert_predicate else { return None };
    let Value::SingleQuotedString(text) = &value.value else { return None };
    [Overriding::System, Overriding::User].into_iter().find(|which| which.kept() == text)
}

/// What OVERRIDING of an INSERT says.
pub(crate) fn overriding(insert: &Insert) -> Option<Overriding> {
    let setting = insert.settings.iter().flatten().find(|setting| setting.key.value == OVERRIDING)?;
    match &setting.value {
        Expr::Value(value) if value.value == Value::Boolean(true) => Some(Overriding::System),
        _ => Some(Overriding::User),
    }
}

/// Whether a clause of MERGE does nothing with its rows: it is an UPDATE of no column, which no text can say.
pub(crate) fn does_nothing(action: &MergeAction) -> bool {
    matches!(action, MergeAction::Update(update) if update.assignments.is_empty())
}

impl WriteWords {
    /// Takes the words out of the tokens.
    pub(crate) fn take(tokens: &mut Vec<TokenWithSpan>) -> Self {
        let mut own = Self::default();
        if !tokens.iter().any(|token| is_word(&token.token, "insert") || is_word(&token.token, "merge")) {
            return own;
        }
        let places: Vec<usize> =
            (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
        let reading = Reading { tokens, places: &places };
        let mut edits = Vec::new();
        let (mut insert, mut when) = (None, None);
        for at in 0..places.len() {
            if reading.is(at, &["insert"]) {
                insert = Some(reading.location(at));
                own.alias(&reading, at, &mut edits);
                without_brackets(&reading, at, &mut edits);
            }
            if reading.is(at, &["when", "matched"]) || reading.is(at, &["when", "not", "matched"]) {
                when = Some((at, reading.location(at)));
            }
            if let Some(place) = insert
                && reading.is(at, &["overriding"])
                && reading.is(at + 2, &["value"])
                && (reading.is(at + 1, &["system"]) || reading.is(at + 1, &["user"]))
            {
                let which = if reading.is(at + 1, &["system"]) { Overriding::System } else { Overriding::User };
                own.overriding.push((place, which));
                edits.push(Edit { first: places[at], last: places[at + 2], instead: "" });
            }
            let Some((clause, place)) = when else { continue };
            if reading.is(at, &["then", "do", "nothing"]) {
                let inserts = reading.is(clause + 1, &["not"]) && !reading.is(clause + 3, &["by", "source"]);
                let instead = if inserts { "INSERT VALUES ( NULL )" } else { "DELETE" };
                own.nothing.push(place);
                edits.push(Edit { first: places[at + 1], last: places[at + 2], instead });
            } else if reading.is(at, &["then", "insert", "default", "values"]) {
                // Columns behind those that have a value take their defaults.
                edits.push(Edit { first: places[at + 2], last: places[at + 3], instead: "VALUES ( DEFAULT )" });
            }
        }
        edits.sort_by_key(|edit| edit.first);
        edits.into_iter().rev().for_each(|edit| edit.apply(tokens));
        own
    }

    /// `INSERT INTO t AS z`.
    fn alias(&mut self, reading: &Reading<'_>, insert: usize, edits: &mut Vec<Edit>) {
        if !reading.is(insert + 1, &["into"]) {
            return;
        }
        let mut at = insert + 2;
        while reading.token(at + 1) == Some(&Token::Period) {
            at += 2;
        }
        if !reading.is(at + 1, &["as"]) {
            return;
        }
        if let Some(Token::Word(Word { value, quote_style, .. })) = reading.token(at + 2) {
            let span = reading.tokens[reading.places[at + 2]].span;
            let alias = Ident { value: value.clone(), quote_style: *quote_style, span };
            self.aliases.push((reading.location(insert), alias));
            edits.push(Edit { first: reading.places[at + 1], last: reading.places[at + 2], instead: "" });
        }
    }

    /// Gives a statement back what was taken out of its text.
    pub(crate) fn put(&self, tree: &mut impl SyntaxTree) -> Result<()> {
        if self.aliases.is_empty() && self.overriding.is_empty() && self.nothing.is_empty() {
            return Ok(());
        }
        tree.walk(&mut Putting(self))
    }
}

/// `INSERT INTO t (VALUES …)` without the brackets, which the parser takes for those of a list of columns.
fn without_brackets(reading: &Reading<'_>, insert: usize, edits: &mut Vec<Edit>) {
    let mut at = insert + 2;
    while reading.token(at + 1) == Some(&Token::Period) {
        at += 2;
    }
    let open = at + 1;
    // A column may be called `values`.
    let has_rows = reading.is(open + 1, &["values"]) && reading.token(open + 2) == Some(&Token::LParen);
    let is_query = has_rows || reading.is(open + 1, &["with"]);
    if !reading.is(insert + 1, &["into"]) || reading.token(open) != Some(&Token::LParen) || !is_query {
        return;
    }
    let mut depth = 0;
    for close in open..reading.places.len() {
        match reading.token(close) {
            Some(Token::LParen) => depth += 1,
            Some(Token::RParen) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            for at in [open, close] {
                edits.push(Edit { first: reading.places[at], last: reading.places[at], instead: "" });
            }
            return;
        }
    }
}

/// Tokens without the blanks between them.
struct Reading<'t> {
    tokens: &'t [TokenWithSpan],
    places: &'t [usize],
}

impl Reading<'_> {
    fn token(&self, at: usize) -> Option<&Token> {
        self.places.get(at).map(|place| &self.tokens[*place].token)
    }

    /// Whether these words stand at a place.
    fn is(&self, at: usize, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(more, word)| self.token(at + more).is_some_and(|token| is_word(token, word)))
    }

    fn location(&self, at: usize) -> Location {
        self.tokens[self.places[at]].span.start
    }
}

fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(own) if own.quote_style.is_none() && own.value.eq_ignore_ascii_case(word))
}

/// Tokens that go, the last of them too, and the words that come in their place.
struct Edit {
    first: usize,
    last: usize,
    instead: &'static str,
}

impl Edit {
    fn apply(self, tokens: &mut Vec<TokenWithSpan>) {
        let span = tokens[self.first].span;
        let token = |word: &str| match word {
            "(" => Token::LParen,
            ")" => Token::RParen,
            word => Token::make_word(word, None),
        };
        let blank = || Token::Whitespace(Whitespace::Space);
        let instead = self.instead.split(' ').filter(|word| !word.is_empty());
        let instead: Vec<TokenWithSpan> =
            instead.flat_map(|word| [token(word), blank()]).map(|token| TokenWithSpan { token, span }).collect();
        tokens.splice(self.first..=self.last, instead);
    }
}

struct Putting<'w>(&'w WriteWords);

impl Putting<'_> {
    fn insert(&self, insert: &mut Insert) {
        let place = insert.insert_token.0.span.start;
        if let Some((_, alias)) = self.0.aliases.iter().find(|(own, _)| *own == place) {
            insert.table_alias = Some(TableAliasWithoutColumns { explicit: true, alias: alias.clone() });
        }
        if let Some((_, which)) = self.0.overriding.iter().find(|(own, _)| *own == place) {
            let value = Expr::value(Value::Boolean(*which == Overriding::System));
            insert.settings.get_or_insert_default().push(Setting { key: Ident::with_quote('"', OVERRIDING), value });
        }
    }

    fn merge(&self, merge: &mut Merge) {
        for clause in &mut merge.clauses {
            if let MergeAction::Insert(insert) = &mut clause.action {
                let place = insert.insert_token.0.span.start;
                let which = self.0.overriding.iter().find(|(own, _)| *own == place).map(|(_, which)| *which);
                // An INSERT of MERGE has no WHERE of its own.
                let kept = which.map(|which| Value::SingleQuotedString(which.kept().to_owned()));
                insert.insert_predicate = kept.map(Expr::value).or(insert.insert_predicate.take());
            }
            if self.0.nothing.contains(&clause.when_token.0.span.start) {
                clause.action = MergeAction::Update(MergeUpdateExpr {
                    update_token: clause.when_token.clone(),
                    assignments: Vec::new(),
                    update_predicate: None,
                    delete_predicate: None,
                });
            }
        }
    }
}

impl Visit for Putting<'_> {
    fn statement(&mut self, statement: &mut Sql) -> Result<()> {
        match statement {
            Sql::Insert(insert) => self.insert(insert),
            Sql::Merge(merge) => self.merge(merge),
            _ => {}
        }
        Ok(())
    }
}
