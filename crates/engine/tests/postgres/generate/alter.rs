//! ALTER TABLE: columns that come, go and change, and constraints over the rows that there are.

use super::Maker;
use super::scope::{Level, Scope, Source};
use crate::tree::{Tree, Type, parts};
use crate::world::{Table, literal};

/// A name that no table's column has.
const NEW: &str = "added";

impl<'w> Maker<'w> {
    /// A statement that alters a table. Of a large one no column that shows what became of it goes or changes.
    pub(super) fn alter(&mut self, table: &'w Table) -> Tree {
        let mut actions = vec![self.alteration(table)];
        if self.random.chance(25) {
            actions.push(self.alteration(table));
        }
        let actions: Vec<Tree> = actions.into_iter().map(|action| Tree::Solid(parts![action])).collect();
        Tree::other(parts!["ALTER TABLE ", table.path(), " ", Tree::list(", ", actions)])
    }

    fn alteration(&mut self, table: &'w Table) -> Tree {
        let column = self.below(table.columns.len());
        let (name, kind) = table.columns[column].clone();
        match self.below(if table.is_large() { 4 } else { 10 }) {
            0 | 1 => self.added_column(),
            2 => Tree::from(format!("ALTER COLUMN {name} SET NOT NULL")),
            3 => Tree::from(format!("ALTER COLUMN {name} SET DEFAULT {}", self.literal_of(kind))),
            4 => {
                let cascade = if self.random.chance(30) { " CASCADE" } else { "" };
                Tree::from(format!("DROP COLUMN {name}{cascade}"))
            }
            5 => Tree::from(format!("ALTER COLUMN {name} DROP NOT NULL")),
            6 if kind == Type::Integer && self.world.views.is_empty() => {
                let wanted = *self.random.pick(&["BIGINT", "DOUBLE PRECISION", "VARCHAR(4)", "SMALLINT"]);
                Tree::from(format!("ALTER COLUMN {name} TYPE {wanted}"))
            }
            7 => Tree::from(format!("ADD UNIQUE ({name})")),
            8 => {
                let source = Source { alias: table.name.to_owned(), schema: None, columns: table.columns.clone() };
                let level = Level::of(std::slice::from_ref(&source), &source.columns);
                let scope: Scope = vec![level];
                let condition = self.plain_condition(&scope);
                Tree::Solid(parts!["ADD CHECK (", condition, ")"])
            }
            _ => self.generated_column(table),
        }
    }

    fn added_column(&mut self) -> Tree {
        let kind = *self.random.pick(&self.features.types(true));
        let declared = *self.random.pick(kind.declared());
        let given = match self.below(4) {
            0 => String::new(),
            1 => format!(" NOT NULL DEFAULT {}", self.literal_of(kind)),
            2 => " NOT NULL".to_owned(),
            _ => format!(" DEFAULT {}", self.literal_of(kind)),
        };
        Tree::from(format!("ADD COLUMN {NEW} {declared}{given}"))
    }

    /// A column that is generated of a number.
    fn generated_column(&mut self, table: &Table) -> Tree {
        let whole: Vec<&String> =
            table.columns.iter().filter(|(_, kind)| *kind == Type::Integer).map(|(name, _)| name).collect();
        if whole.is_empty() {
            return Tree::from(format!("ADD COLUMN {NEW} INTEGER DEFAULT 5"));
        }
        let name = *self.random.pick(&whole);
        let expression =
            self.random.pick(&["coalesce(#, 7)", "# % 3", "CASE WHEN # > 1 THEN 1 END"]).replace('#', name);
        Tree::from(format!("ADD COLUMN {NEW} BIGINT GENERATED ALWAYS AS ({expression}) STORED"))
    }

    fn literal_of(&mut self, kind: Type) -> String {
        literal(&mut self.random, self.features, kind)
    }

    /// A condition without subqueries.
    fn plain_condition(&mut self, scope: &Scope) -> Tree {
        let depth = std::mem::replace(&mut self.depth, 0);
        let fuel = std::mem::replace(&mut self.fuel, 0);
        let condition = self.without_windows(|maker| maker.condition(scope, 1));
        (self.depth, self.fuel) = (depth, fuel);
        condition
    }
}
