//! Constraints, indexes and comments of a table by name.

use crate::model::labels::{Comment, CommentSubject};
use crate::{ColumnId, IndexDefinition, KeyDefinition, TableDefinition};
use std::collections::BTreeMap;

impl TableDefinition {
    /// What COMMENT ON says of the table or a part of it.
    pub fn comment(&self, on: &CommentSubject) -> Option<&str> {
        self.comments.iter().find(|comment| comment.on == *on).map(|comment| comment.text.as_str())
    }

    /// Sets or removes a comment.
    pub fn set_comment(&mut self, on: CommentSubject, text: Option<String>) {
        self.comments.retain(|comment| comment.on != on);
        self.comments.extend(text.map(|text| Comment { on, text }));
    }

    /// The names of its constraints.
    pub fn constraint_names(&self) -> impl Iterator<Item = &String> {
        let keys = self.keys.iter().map(|key| &key.name);
        let checks = self.checks.iter().map(|check| &check.name);
        keys.chain(checks).chain(self.references.iter().map(|reference| &reference.name))
    }

    /// What no two records may have the same values of: keys, and unique indexes as such.
    pub fn unique_keys(&self) -> Vec<KeyDefinition> {
        let own = self.indexes.iter().filter(|index| index.unique && !index.of_constraint);
        let key = |index: &IndexDefinition| KeyDefinition {
            name: index.name.clone(),
            columns: index.columns.clone(),
            primary: false,
        };
        self.keys.iter().cloned().chain(own.map(key)).collect()
    }

    /// Whether a key is there for an index that was made, and is no constraint.
    pub fn is_of_index(&self, key: &str) -> bool {
        self.recorded.iter().any(|index| index.unique && index.name == key)
    }

    /// The names of its indexes: each key has one, and there are others.
    pub fn index_names(&self) -> impl Iterator<Item = &String> {
        let others = self.indexes.iter().filter(|index| !index.of_constraint).map(|index| &index.name);
        let recorded = self.recorded.iter().filter(|index| !index.unique).map(|index| &index.name);
        self.keys.iter().map(|key| &key.name).chain(others).chain(recorded)
    }

    /// Gives a number to each constraint and index that has none, and forgets numbers and comments of what is gone.
    pub(crate) fn number_parts(&mut self, next: &mut u64) {
        fn number(known: &mut BTreeMap<String, u64>, names: Vec<String>, next: &mut u64) {
            known.retain(|name, _| names.contains(name));
            for name in names {
                known.entry(name).or_insert_with(|| {
                    *next += 1;
                    *next - 1
                });
            }
        }
        let (constraints, indexes): (Vec<String>, Vec<String>) =
            (self.constraint_names().cloned().collect(), self.index_names().cloned().collect());
        if !self.comments.is_empty() {
            let columns: Vec<ColumnId> = self.columns.iter().map(|column| column.id).collect();
            self.comments.retain(|comment| match &comment.on {
                CommentSubject::Table => true,
                CommentSubject::Column(column) => columns.contains(column),
                CommentSubject::Constraint(name) => constraints.contains(name),
                CommentSubject::Index(name) => indexes.contains(name),
            });
        }
        self.not_valid.retain(|name| constraints.contains(name));
        number(&mut self.numbers.constraints, constraints, next);
        number(&mut self.numbers.indexes, indexes, next);
    }

    /// Gives a constraint, and the index that goes with a key, another name. Their numbers and comments stay.
    pub fn rename_constraint(&mut self, from: &str, to: &str) {
        let rename = |name: &mut String| {
            if name == from {
                to.clone_into(name);
            }
        };
        let is_key = self.keys.iter().any(|key| key.name == from);
        self.keys.iter_mut().for_each(|key| rename(&mut key.name));
        self.checks.iter_mut().for_each(|check| rename(&mut check.name));
        self.references.iter_mut().for_each(|reference| rename(&mut reference.name));
        self.indexes.iter_mut().filter(|index| index.of_constraint).for_each(|index| rename(&mut index.name));
        self.recorded.iter_mut().filter(|index| index.unique).for_each(|index| rename(&mut index.name));
        self.not_valid.iter_mut().for_each(rename);
        let number = self.numbers.constraints.remove(from);
        self.numbers.constraints.extend(number.map(|number| (to.to_owned(), number)));
        if is_key {
            let number = self.numbers.indexes.remove(from);
            self.numbers.indexes.extend(number.map(|number| (to.to_owned(), number)));
        }
        for comment in &mut self.comments {
            match &mut comment.on {
                CommentSubject::Constraint(name) => rename(name),
                CommentSubject::Index(name) if is_key => rename(name),
                _ => {}
            }
        }
    }

    /// Gives an index that no constraint needs another name. Its number and comment stay.
    pub fn rename_index(&mut self, from: &str, to: &str) {
        let own = self.indexes.iter_mut().filter(|index| !index.of_constraint && index.name == from);
        own.for_each(|index| to.clone_into(&mut index.name));
        let recorded = self.recorded.iter_mut().filter(|index| index.name == from);
        recorded.for_each(|index| to.clone_into(&mut index.name));
        let number = self.numbers.indexes.remove(from);
        self.numbers.indexes.extend(number.map(|number| (to.to_owned(), number)));
        for comment in &mut self.comments {
            if comment.on == CommentSubject::Index(from.to_owned()) {
                comment.on = CommentSubject::Index(to.to_owned());
            }
        }
    }
}
