//! DECLARE, FETCH, MOVE and CLOSE.

use crate::sql::session::reader::Reader;
use crate::sql::session::statement::{Count, Declare, Fetch, SessionStatement};
use crate::{Error, Result};

/// `DECLARE name [BINARY] [ASENSITIVE | INSENSITIVE] [[NO] SCROLL] CURSOR [{WITH | WITHOUT} HOLD] FOR query`.
pub(super) fn declare(reader: &mut Reader<'_, '_>) -> Result<SessionStatement> {
    reader.take();
    let name = reader.name("the name of a cursor")?;
    let mut scroll = None;
    loop {
        match () {
            () if reader.eat("BINARY") || reader.eat("ASENSITIVE") || reader.eat("INSENSITIVE") => {}
            () if reader.eat_all(&["NO", "SCROLL"]) => scroll = Some(false),
            () if reader.eat("SCROLL") => scroll = Some(true),
            () => break,
        }
    }
    reader.expect("CURSOR")?;
    let hold = reader.eat_all(&["WITH", "HOLD"]);
    if !hold {
        reader.eat_all(&["WITHOUT", "HOLD"]);
    }
    reader.expect("FOR")?;
    Ok(SessionStatement::Declare(Box::new(Declare { name, hold, scroll, query: reader.query()? })))
}

/// `FETCH [direction] [FROM | IN] cursor`.
pub(super) fn fetch(reader: &mut Reader<'_, '_>) -> Result<SessionStatement> {
    let moves = reader.word(0) == "MOVE";
    reader.take();
    let count = count(reader)?;
    if !reader.eat("FROM") {
        reader.eat("IN");
    }
    Ok(SessionStatement::Fetch(Fetch { cursor: reader.name("the name of a cursor")?, count, moves }))
}

fn count(reader: &mut Reader<'_, '_>) -> Result<Count> {
    // A cursor may have the name of a direction: `FETCH next` is of cursor "next" when the statement ends behind it.
    if let Some(count) = reader.integer()? {
        return Ok(Count::Relative(count));
    }
    let word = reader.word(0);
    let is_direction =
        ["NEXT", "PRIOR", "FIRST", "LAST", "ABSOLUTE", "RELATIVE", "ALL", "FORWARD", "BACKWARD"].contains(&&*word);
    if !is_direction {
        return Ok(Count::Relative(1));
    }
    reader.take();
    let needed = |number: Option<i64>, reader: &Reader<'_, '_>| -> Result<i64> {
        number.ok_or_else(|| reader.expected("a number of rows"))
    };
    match word.as_str() {
        "NEXT" => Ok(Count::Relative(1)),
        "PRIOR" => Ok(Count::Relative(-1)),
        "FIRST" => Ok(Count::Absolute(1)),
        "LAST" => Ok(Count::Absolute(-1)),
        "ABSOLUTE" => {
            let number = reader.integer()?;
            Ok(Count::Absolute(needed(number, reader)?))
        }
        "RELATIVE" => {
            let number = reader.integer()?;
            Ok(Count::OneRelative(needed(number, reader)?))
        }
        "ALL" => Ok(Count::ForwardAll),
        "FORWARD" if reader.eat("ALL") => Ok(Count::ForwardAll),
        "FORWARD" => Ok(Count::Relative(reader.integer()?.unwrap_or(1))),
        _ if reader.eat("ALL") => Ok(Count::BackwardAll),
        _ => {
            let rows = reader.integer()?.unwrap_or(1);
            let rows = rows.checked_neg().ok_or_else(|| Error::Unsupported("FETCH of so many rows".into()))?;
            Ok(Count::Relative(rows))
        }
    }
}

/// `CLOSE name`, `CLOSE ALL`.
pub(super) fn close(reader: &mut Reader<'_, '_>) -> Result<SessionStatement> {
    reader.take();
    Ok(SessionStatement::Close(if reader.eat("ALL") { None } else { Some(reader.name("the name of a cursor")?) }))
}
