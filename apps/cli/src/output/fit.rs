//! Which columns of a table have room on a screen, and how wide they are.
//!
//! Wide columns give way first, the widest before others, but none below [`LEAST`]; numbers, dates and the like are never cut, as a part
//! of one reads as another. When that does not do, columns in the middle are left out: the first ones tell the rows
//! apart, and the last ones are often what was computed.

/// No column is made narrower than this while there are columns that could be left out.
const LEAST: usize = 20;
/// What a column takes besides its text: a line and two blanks.
const FRAME: usize = 3;

/// What a column would take, and how it may be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Width of its name.
    pub name: usize,
    /// Width of the widest of its values.
    pub values: usize,
    /// Whether values may be cut.
    pub is_text: bool,
    /// The width that the user wants.
    pub fixed: Option<usize>,
}

impl Column {
    fn natural(&self) -> usize {
        self.fixed.unwrap_or(self.name.max(self.values))
    }

    fn least(&self) -> usize {
        match (self.fixed, self.is_text) {
            (Some(width), _) => width,
            (None, true) => self.natural().min(LEAST),
            (None, false) => self.values.max(self.name.min(LEAST)),
        }
    }
}

/// A column of the table as it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn {
    /// Its place in the result; none for the one that stands for those left out.
    pub column: Option<usize>,
    /// Its width.
    pub width: usize,
}

/// The gap where columns are left out.
const GAP: Drawn = Drawn { column: None, width: 1 };

/// Fits columns to a screen of that many characters, if there is one.
pub fn fit(columns: &[Column], screen: Option<usize>) -> Vec<Drawn> {
    let mut drawn: Vec<Drawn> =
        (0..columns.len()).map(|column| Drawn { column: Some(column), width: columns[column].natural() }).collect();
    let Some(screen) = screen else { return drawn };
    if taken(&drawn) <= screen {
        return drawn;
    }
    for (drawn, column) in drawn.iter_mut().zip(columns) {
        drawn.width = column.least();
    }
    if taken(&drawn) > screen {
        leave_out(&mut drawn, screen);
    }
    shrink(&mut drawn, screen);
    widen(&mut drawn, columns, screen);
    drawn
}

/// What a table with these columns takes of a line.
fn taken(drawn: &[Drawn]) -> usize {
    drawn.iter().map(|drawn| drawn.width + FRAME).sum::<usize>() + 1
}

/// Keeps as many columns as have room from both ends, and always the first.
fn leave_out(drawn: &mut Vec<Drawn>, screen: usize) {
    let room = screen.saturating_sub(taken(&[GAP]));
    let (mut left, mut right) = (1, drawn.len());
    let mut used = drawn[0].width + FRAME;
    let mut of_right = true;
    let mut missed = 0;
    while left < right && missed < 2 {
        let next = if of_right { right - 1 } else { left };
        let width = drawn[next].width + FRAME;
        if used + width > room {
            missed += 1;
        } else {
            (used, missed) = (used + width, 0);
            if of_right { right -= 1 } else { left += 1 }
        }
        of_right = !of_right;
    }
    if left < right {
        drawn.splice(left..right, [GAP]);
    }
}

/// Makes the widest columns narrower until all have room, as far as there is room at all: the last resort.
fn shrink(drawn: &mut [Drawn], screen: usize) {
    while taken(drawn) > screen {
        match drawn.iter_mut().max_by_key(|drawn| drawn.width) {
            Some(widest) if widest.width > 1 => widest.width -= 1,
            _ => return,
        }
    }
}

/// Gives the room that is left to the columns that are cut, the narrowest first.
fn widen(drawn: &mut [Drawn], columns: &[Column], screen: usize) {
    let mut left = screen.saturating_sub(taken(drawn));
    while left > 0 {
        let is_cut = |drawn: &&mut Drawn| drawn.column.is_some_and(|column| drawn.width < columns[column].natural());
        match drawn.iter_mut().filter(is_cut).min_by_key(|drawn| drawn.width) {
            Some(narrowest) => narrowest.width += 1,
            None => return,
        }
        left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(width: usize) -> Column {
        Column { name: 4, values: width, is_text: true, fixed: None }
    }

    fn number(width: usize) -> Column {
        Column { name: 4, values: width, is_text: false, fixed: None }
    }

    /// The widths of the columns, `…` for the gap.
    fn fitted(columns: &[Column], screen: usize) -> String {
        let drawn = fit(columns, Some(screen));
        assert!(taken(&drawn) <= screen, "{drawn:?}");
        let shown = |drawn: &Drawn| drawn.column.map_or("…".to_owned(), |at| format!("{at}:{}", drawn.width));
        drawn.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn wide_columns_give_way_first_then_those_in_the_middle() {
        let columns = [number(5), text(100), text(30), number(10)];
        assert_eq!(fitted(&columns, 200), "0:5 1:100 2:30 3:10");
        assert_eq!(fitted(&columns, 120), "0:5 1:62 2:30 3:10");
        assert_eq!(fitted(&columns, 80), "0:5 1:26 2:26 3:10");
        assert_eq!(fitted(&columns, 68), "0:5 1:20 2:20 3:10");
        assert_eq!(fitted(&columns, 60), "0:5 1:31 … 3:10");
        assert_eq!(fitted(&vec![number(8); 10], 60), "0:8 1:8 2:8 … 8:8 9:8");
        assert_eq!(fitted(&vec![number(8); 10], 20), "0:8 …");
    }

    #[test]
    fn a_number_is_cut_when_nothing_else_helps() {
        assert_eq!(fitted(&[number(38), text(10)], 30), "0:22 …");
        assert_eq!(fitted(&[number(8)], 8), "0:4");
        assert_eq!(fit(&[number(8)], Some(2)), [Drawn { column: Some(0), width: 1 }]);
    }

    #[test]
    fn names_give_way_and_widths_of_the_users_do_not() {
        let named = Column { name: 60, ..number(7) };
        assert_eq!(fitted(&[named.clone(), number(10)], 60), "0:43 1:10");
        assert_eq!(fitted(&[named, text(30), text(30)], 80), "0:24 1:23 2:23");
        let fixed = Column { fixed: Some(40), ..text(5) };
        assert_eq!(fitted(&[fixed, text(50)], 80), "0:40 1:33");
    }
}
