//! WITH RECURSIVE, of so few rounds that the rows stay few.

use super::Maker;
use super::query::Wish;
use super::scope::{Level, Scope, Source};
use crate::tree::{Tree, Type, parts};
use crate::world::Columns;

impl Maker<'_> {
    /// `name (n, c1, …) AS (… UNION …)`, and its columns.
    pub(super) fn recursive(&mut self, name: &str) -> (Tree, Columns) {
        let kinds: Vec<Type> = (0..self.random.between(1, 2)).map(|_| self.random_kind()).collect();
        let of = |letter: &str| -> Columns {
            kinds.iter().enumerate().map(|(number, kind)| (format!("{letter}{}", number + 1), *kind)).collect()
        };
        let names = |columns: &Columns| {
            let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
            names.join(", ")
        };
        let (own, others) = (of("c"), of("d"));
        let first = self.deeper(|maker| maker.query(&Vec::new(), &Wish { kinds: Some(&kinds), ..Wish::default() }));
        let shown = own.iter().map(|(name, kind)| format!(", CAST(f.{name} AS {})", kind.sql()));
        let first = parts![
            format!("SELECT 0{} FROM (", shown.collect::<String>()),
            first.tree,
            format!(") AS f ({})", names(&own))
        ];
        let columns: Columns = [("n".to_owned(), Type::Integer)].into_iter().chain(own.clone()).collect();
        let mut sources = vec![Source { alias: name.to_owned(), schema: None, columns: columns.clone() }];
        let mut from = Tree::from(name);
        if self.random.chance(70) {
            let joined =
                self.deeper(|maker| maker.query(&Vec::new(), &Wish { kinds: Some(&kinds), ..Wish::default() }));
            let kind = *self.random.pick(&[" JOIN ", " JOIN ", " LEFT JOIN ", " CROSS JOIN "]);
            let on = if kind == " CROSS JOIN " { String::new() } else { format!(" ON {name}.c1 = j.d1") };
            from = Tree::other(parts![name, kind, "(", joined.tree, format!(") AS j ({}){on}", names(&others))]);
            sources.push(Source { alias: "j".into(), schema: None, columns: others });
        }
        let star = sources.iter().flat_map(|source| source.columns.clone()).collect();
        let scope: Scope = vec![Level::of(&sources, &star)];
        let mut step = parts![format!("SELECT {name}.n + 1")];
        for kind in &kinds {
            let value = self.value(*kind, &scope, 1);
            step.extend(parts![", CAST(", value, format!(" AS {})", kind.sql())]);
        }
        step.extend(parts![" FROM ", from, format!(" WHERE {name}.n < {}", self.random.between(1, 2))]);
        if self.random.chance(40) {
            let condition = self.condition(&scope, 1);
            step.push(Tree::Maybe(parts![" AND (", condition, ")"]));
        }
        let all = if self.random.chance(50) { " ALL " } else { " " };
        let heading = format!("{name} ({}) AS (", names(&columns));
        let tree = parts![heading, Tree::other(first), format!(" UNION{all}"), Tree::other(step), ")"];
        (Tree::other(tree), columns)
    }
}
