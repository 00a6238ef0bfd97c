//! The line behind a result that counts its rows and tells what was left out.

use indicatif::HumanCount;

/// What a screen shows of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shown {
    /// How many rows are shown, where some are not.
    pub rows: Option<u64>,
    /// How many columns are shown, and how many there are, where some are not.
    pub columns: Option<(usize, usize)>,
}

impl Shown {
    /// True when nothing was left out.
    pub fn is_all(self) -> bool {
        self == Self::default()
    }

    /// `(3 rows)`, `(600,572 rows, 40 shown)`, `(3 rows, 16 columns, 7 shown)`.
    pub fn line(self, rows: u64) -> String {
        let mut line = format!("({}", counted(rows, "row"));
        if let Some(shown) = self.rows {
            line += &format!(", {} shown", HumanCount(shown));
        }
        if let Some((shown, columns)) = self.columns {
            line += if self.rows.is_some() { "; " } else { ", " };
            line += &format!("{}, {} shown", counted(columns as u64, "column"), HumanCount(shown as u64));
        }
        line + ")"
    }
}

/// `1 row`, `2,000 rows`.
fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", HumanCount(count), if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::Shown;

    #[test]
    fn counts_tell_what_is_shown() {
        assert_eq!(Shown::default().line(1), "(1 row)");
        assert_eq!(Shown::default().line(1234), "(1,234 rows)");
        assert_eq!(Shown { rows: Some(40), columns: None }.line(600_572), "(600,572 rows, 40 shown)");
        assert_eq!(Shown { rows: None, columns: Some((7, 16)) }.line(3), "(3 rows, 16 columns, 7 shown)");
        assert_eq!(
            Shown { rows: Some(40), columns: Some((7, 16)) }.line(41),
            "(41 rows, 40 shown; 16 columns, 7 shown)"
        );
    }
}
