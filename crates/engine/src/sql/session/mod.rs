//! The syntax of statements about the session: settings, transactions, cursors and what clients of PostgreSQL send besides. The
//! parser knows other databases' forms of them, and lacks most of PostgreSQL's.
//!
//! | file | what |
//! |---|---|
//! | `statement` | the statements, parsed |
//! | `reader` | words and names, one after the other |
//! | `settings` | SET, RESET, SHOW, DISCARD |
//! | `transactions` | BEGIN, ABORT, SET TRANSACTION, LOCK TABLE |
//! | `cursors` | DECLARE, FETCH, MOVE, CLOSE |

mod cursors;
mod reader;
mod settings;
mod statement;
mod transactions;

pub(crate) use statement::{Analyze, Count, Declare, Discarded, Fetch, SessionStatement, SetScope};

use crate::Result;
use crate::sql::session::reader::Reader;
use datafusion::sql::sqlparser::parser::Parser;

/// The statement that the parser stands at, when it is one of these.
pub(crate) fn parse(parser: &mut Parser<'_>) -> Result<Option<SessionStatement>> {
    let mut reader = Reader::of(parser);
    let parsed = match reader.word(0).as_str() {
        "SET" => settings::set(&mut reader),
        "RESET" => settings::reset(&mut reader),
        "SHOW" if settings::is_own_show(&reader) => settings::show(&mut reader),
        "DISCARD" => settings::discard(&mut reader),
        "BEGIN" | "START" => transactions::begin(&mut reader),
        "COMMIT" | "END" | "ABORT" => transactions::end(&mut reader),
        "ROLLBACK" if !transactions::is_to_savepoint(&reader) => transactions::end(&mut reader),
        "LOCK" => transactions::lock(&mut reader),
        "DECLARE" => cursors::declare(&mut reader),
        "FETCH" | "MOVE" => cursors::fetch(&mut reader),
        "CLOSE" => cursors::close(&mut reader),
        "REFRESH" if reader.word(1).is_empty() => {
            reader.take();
            Ok(SessionStatement::Refresh)
        }
        "LISTEN" | "UNLISTEN" => listen(&mut reader),
        "ANALYZE" | "ANALYSE" => analyze(&mut reader, false),
        "VACUUM" if is_vacuum_analyze(&reader) => {
            reader.take();
            analyze(&mut reader, true)
        }
        _ => return Ok(None),
    };
    parsed.map(Some)
}

/// `LISTEN channel`, `UNLISTEN channel`, `UNLISTEN *`.
fn listen(reader: &mut Reader<'_, '_>) -> Result<SessionStatement> {
    let stop = reader.word(0) == "UNLISTEN";
    reader.take();
    if !(stop && reader.eat_symbol("*")) {
        reader.name("a channel")?;
    }
    Ok(SessionStatement::Listen { stop })
}

/// Whether VACUUM is told to do ANALYZE too, by the word or as an option in brackets.
fn is_vacuum_analyze(reader: &Reader<'_, '_>) -> bool {
    reader.word(1) == "ANALYZE" || (reader.is_bracket(1) && (2..8).any(|at| reader.word(at) == "ANALYZE"))
}

/// `ANALYZE [(options)] [VERBOSE] [table [(columns)], …]`, and the same behind VACUUM, which has been passed over.
fn analyze(reader: &mut Reader<'_, '_>, vacuum: bool) -> Result<SessionStatement> {
    if !reader.eat("ANALYZE") {
        reader.eat("ANALYSE");
    }
    reader.skip_brackets();
    reader.eat("VERBOSE");
    let mut tables = Vec::new();
    while !reader.is_at_end() {
        tables.push(reader.object_name()?);
        reader.skip_brackets();
        if !reader.eat_symbol(",") {
            break;
        }
    }
    Ok(SessionStatement::Analyze(Analyze { tables, vacuum }))
}
