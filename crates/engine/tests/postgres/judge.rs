//! Asks both sides, tells what came of it, and makes what is worth showing small.

use crate::answer::{Answer, Cell, Kind, Outcome, Typed};
use crate::engine::Engine;
use crate::generate::Statement;
use crate::server::Server;
use crate::shrink;
use crate::world::World;

/// Why a statement over a large table is skipped that takes either side too long.
pub const SLOW: &str = "it takes too long over a large table";
/// Why a statement is skipped that memory does not suffice for where there is little.
pub const NO_MEMORY: &str = "memory does not suffice";

/// Answers of more rows are no test of names, and slow to compare.
const MOST_ROWS: usize = 1000;

/// How many statements a shrinking may ask Gingham.
const MOST_TRIES: usize = 400;

/// Why a statement is skipped whose answer follows from the order of rows.
pub const UNSURE: &str = "PostgreSQL has more than one answer";

/// What came of a statement.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Both answered the same.
    Right(Answer),
    /// Gingham gave an error, PostgreSQL an answer.
    Refused(Answer, String),
    /// Both answered, but not the same.
    Wrong(Answer, Answer),
    /// PostgreSQL says that a name is ambiguous or means nothing, and Gingham answered.
    Accepted(String, Answer),
    /// PostgreSQL gave an error, and so did Gingham, or it is not asked.
    Skipped(String),
    /// PostgreSQL gave an error, Gingham a panic or an internal error.
    Broken(String, String),
}

/// Both sides with the same tables.
pub struct Bench<'s> {
    pub server: &'s mut Server,
    pub engine: Engine,
    pub world: World,
}

/// What PostgreSQL answers by another way.
enum Second {
    Same,
    Other,
    Slow,
}

/// The codes of statements that take too long, and of too little memory.
const CANCELLED: &str = "57014";
pub const OUT_OF_MEMORY: &str = "53200";

/// PostgreSQL's codes of errors about names: ambiguous or undefined columns, tables and aliases.
const OF_NAMES: &[&str] = &["42702", "42703", "42P01", "42712", "42803", "42P09", "42P10"];

impl<'s> Bench<'s> {
    /// Makes the tables on both sides. Views that one side refuses are left out; `refused` hears of Gingham's.
    pub fn new(
        server: &'s mut Server,
        mut world: World,
        mut refused: impl FnMut(&str, String),
    ) -> Result<Self, String> {
        let views = std::mem::take(&mut world.views);
        let script = world.script();
        let patience = if world.is_large() { 1500 } else { 5000 };
        for (session, script) in [(&mut server.first, &script), (&mut server.second, &world.reversed().script())] {
            session.run(&World::before())?;
            session.run(&["SET statement_timeout = 60000".to_owned()])?;
            session.run(script)?;
            session.run(&[format!("SET statement_timeout = {patience}")])?;
        }
        let engine = Engine::with(&script)?;
        for view in views {
            let create = std::slice::from_ref(&view.create);
            if server.first.run(create).is_err() {
                continue;
            }
            server.second.run(create)?;
            match engine.run(&view.create) {
                Ok(()) => world.views.push(view),
                Err(error) => {
                    server.first.run(&[format!("DROP VIEW {}", view.name)])?;
                    refused(&view.create, error);
                }
            }
        }
        Ok(Self { server, engine, world })
    }

    /// What both sides say to a statement.
    pub fn judge(&mut self, statement: &Statement) -> Verdict {
        let sql = statement.tree.to_string();
        let table = statement.changes.as_deref();
        let expected = match self.server.first.answer(&sql, table) {
            Outcome::Answer(expected) if most_rows(&expected) > MOST_ROWS => {
                return Verdict::Skipped("too many rows".into());
            }
            Outcome::Answer(expected) => expected,
            Outcome::Error(code, _) if code == CANCELLED => return Verdict::Skipped(SLOW.into()),
            Outcome::Error(code, text) => return self.refused_by_both(&sql, table, &code, text),
        };
        let width = expected.rows.first().map_or(0, Vec::len);
        let ordered = statement.orders_all(width);
        match self.second_answer(&sql, table, &expected, ordered) {
            Second::Same => verdict(&self.world, expected, self.engine.answer(&sql, table), ordered),
            Second::Other => Verdict::Skipped(UNSURE.into()),
            Second::Slow => Verdict::Skipped(SLOW.into()),
        }
    }

    /// What Gingham says to what PostgreSQL gives an error for.
    fn refused_by_both(&mut self, sql: &str, table: Option<&str>, code: &str, text: String) -> Verdict {
        match self.engine.answer(sql, table) {
            Outcome::Answer(typed) if OF_NAMES.contains(&code) => Verdict::Accepted(text, typed.answer),
            Outcome::Error(_, own) if is_fault(&own) => Verdict::Broken(text, own),
            _ => Verdict::Skipped(text),
        }
    }

    /// Whether PostgreSQL answers the same with its rows in another order, and by other plans.
    fn second_answer(&mut self, sql: &str, table: Option<&str>, expected: &Answer, ordered: bool) -> Second {
        let widest = |rows: &[Vec<Cell>]| vec![Kind::Number; rows.first().map_or(0, Vec::len)];
        match self.server.second.answer(sql, table) {
            Outcome::Answer(answer) => {
                let kinds = widest(&answer.rows);
                let kinds_after = widest(answer.after.as_deref().unwrap_or_default());
                let same = Typed { answer, kinds, kinds_after }.agrees(expected, ordered);
                if same { Second::Same } else { Second::Other }
            }
            Outcome::Error(code, _) if code == CANCELLED => Second::Slow,
            Outcome::Error(..) => Second::Other,
        }
    }

    /// The statement and its tables, made as small as they can be while `same` holds of the verdict.
    pub fn shrunk(mut self, statement: &Statement, same: &dyn Fn(&Verdict) -> bool) -> (Statement, World, Verdict) {
        let mut statement = statement.clone();
        let mut verdict = self.judge(&statement);
        let mut tries = 0;
        'again: loop {
            for tree in shrink::smaller(&statement.tree) {
                let smaller = Statement { tree, ..statement.clone() };
                let found = self.judge(&smaller);
                tries += usize::from(!matches!(found, Verdict::Skipped(_)));
                if same(&found) && keeps_order(&smaller, &found) {
                    (statement, verdict) = (smaller, found);
                    continue 'again;
                }
                if tries > MOST_TRIES {
                    break 'again;
                }
            }
            break;
        }
        let (world, verdict) = self.shrunk_world(&statement, verdict, same);
        (statement, world, verdict)
    }

    fn shrunk_world(
        self,
        statement: &Statement,
        mut verdict: Verdict,
        same: &dyn Fn(&Verdict) -> bool,
    ) -> (World, Verdict) {
        let Self { server, mut world, .. } = self;
        'again: loop {
            for smaller in world.smaller() {
                let views = smaller.views.len();
                let Ok(mut bench) = Bench::new(server, smaller, |_, _| {}) else { continue };
                if bench.world.views.len() != views {
                    continue;
                }
                let found = bench.judge(statement);
                if same(&found) {
                    (world, verdict) = (bench.world, found);
                    continue 'again;
                }
            }
            break;
        }
        (world, verdict)
    }
}

/// False for a statement whose LIMIT no longer follows an order of all rows.
fn keeps_order(statement: &Statement, verdict: &Verdict) -> bool {
    let (Verdict::Right(answer) | Verdict::Refused(answer, _) | Verdict::Wrong(answer, _)) = verdict else {
        return true;
    };
    let width = answer.rows.first().map_or(0, Vec::len);
    statement.changes.is_some() || statement.tree.order().is_none() || statement.orders_all(width)
}

fn verdict(world: &World, expected: Answer, found: Outcome<Typed>, ordered: bool) -> Verdict {
    match found {
        Outcome::Answer(typed) if typed.agrees(&expected, ordered) => Verdict::Right(expected),
        Outcome::Answer(typed) => Verdict::Wrong(expected, typed.answer),
        Outcome::Error(code, _) if code == CANCELLED && world.is_large() => Verdict::Skipped(SLOW.into()),
        Outcome::Error(code, _) if code == OUT_OF_MEMORY && world.way.memory.is_some() => {
            Verdict::Skipped(NO_MEMORY.into())
        }
        Outcome::Error(_, text) => Verdict::Refused(expected, text),
    }
}

/// The rows that an answer has, or the table after it.
fn most_rows(answer: &Answer) -> usize {
    answer.rows.len().max(answer.after.as_ref().map_or(0, Vec::len))
}

/// True for an error that nobody's statement should give: a panic, or what the engine says of itself.
pub fn is_fault(error: &str) -> bool {
    error.contains("panicked") || error.contains("internal error")
}
