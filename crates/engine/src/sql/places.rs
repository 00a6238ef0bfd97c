//! Where a token stands in a text.

use datafusion::sql::sqlparser::tokenizer::Location;
use gingham_storage::Position;

/// The position of a place; `None` for a token that no text has.
pub(crate) fn position(place: Location) -> Option<Position> {
    let (line, column) = (u32::try_from(place.line).ok()?, u32::try_from(place.column).ok()?);
    (line > 0).then_some(Position { line, column })
}
