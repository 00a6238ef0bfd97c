//! Names that occur once in a statement.
//!
//! DataFusion's plans tell columns apart by their names. The binder therefore gives every new column of a statement a name
//! that no other column of the statement has: the one that its user knows where that is free, else the same with a number.
//! What the user calls a column is kept beside the plan, in a [`Scope`](crate::bind::scope::Scope).

use std::collections::HashSet;

/// The names of columns that a statement's plan has so far.
#[derive(Debug, Default)]
pub(super) struct TakenNames {
    /// In small letters: DataFusion reads some names again as if they stood in SQL, where capital letters are small ones.
    taken: HashSet<String>,
}

impl TakenNames {
    /// Takes `name` as it is; false when another column has it.
    pub(super) fn take(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_lowercase())
    }

    /// Takes a name as near to `wanted` as can be. Points and double quotes, which DataFusion would take for parts of a
    /// qualified name, become underscores.
    pub(super) fn fresh(&mut self, wanted: &str) -> String {
        let plain: String = wanted.chars().map(|c| if matches!(c, '.' | '"') { '_' } else { c }).collect();
        if self.take(&plain) {
            return plain;
        }
        let mut number = 1;
        loop {
            let numbered = format!("{plain}_{number}");
            if self.take(&numbered) {
                return numbered;
            }
            number += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_when_taken() {
        let mut names = TakenNames::default();
        let given: Vec<String> = ["a", "a", "A", "a_1", "b.c", "b_c"].map(|name| names.fresh(name)).into();
        assert_eq!(given, ["a", "a_1", "A_2", "a_1_1", "b_c", "b_c_1"]);
        assert!(!names.take("B_C_1"));
    }
}
