//! FROM: tables, views, WITH queries, derived tables, LATERAL, VALUES, and joins of all kinds between them.

use super::Maker;
use super::query::Wish;
use super::scope::{Level, Scope, Source, count};
use crate::tree::{Sort, Tree, Type, parts};
use crate::world::{Columns, Table};

/// What FROM has at a place, and what `*` gives of it.
#[derive(Debug, Clone)]
pub(super) struct From {
    pub tree: Tree,
    pub sources: Vec<Source>,
    pub star: Columns,
}

impl From {
    /// Both, one after the other.
    fn with(&self, other: &Self) -> Self {
        let sources = self.sources.iter().chain(&other.sources).cloned().collect();
        let star = self.star.iter().chain(&other.star).cloned().collect();
        Self { tree: Tree::nothing(), sources, star }
    }

    fn level(&self) -> Level {
        Level::of(&self.sources, &self.star)
    }
}

/// A name that a FROM has already, with the path of the table when it stands without an alias.
type Taken = Vec<(String, Option<String>)>;

const ALIASES: &[&str] = &["x", "y", "z", "t", "u", "w"];
const ALIASES_IN_QUOTES: &[&str] = &["\"X\"", "\"a b\"", "\"select\""];
const ALIASES_OF_COLUMNS: &[&str] = &["a", "b", "k", "v", "id"];

/// What a name of FROM means.
#[derive(Clone, Copy)]
enum Named<'w> {
    Table(&'w Table),
    View,
    /// A query of WITH.
    Query,
}

impl<'w> Named<'w> {
    /// The table, when it is large.
    fn large(self) -> Option<&'w Table> {
        if let Self::Table(table) = self { Some(table).filter(|table| table.is_large()) } else { None }
    }
}

impl<'w> Maker<'w> {
    /// A list of one item or two.
    pub(super) fn from(&mut self, scope: &Scope) -> From {
        self.list_of_items(scope, Taken::new())
    }

    /// Members of FROM where an alias is taken already.
    pub(super) fn items_beside(&mut self, alias: &str) -> From {
        self.list_of_items(&Vec::new(), vec![(alias.to_owned(), None)])
    }

    fn list_of_items(&mut self, scope: &Scope, mut taken: Taken) -> From {
        let first = self.joined_item(scope, None, &mut taken);
        if !(self.features.has("comma lists") && self.random.chance(14) && self.burn(1)) {
            return first;
        }
        self.used.insert("comma lists");
        let second = self.joined_item(scope, Some(&first), &mut taken);
        let tree = Tree::Node(Sort::From, parts![first.tree.clone(), ", ", second.tree.clone()]);
        From { tree, ..first.with(&second) }
    }

    /// An item with what is joined to it; `seen` is what stands before it in the list.
    fn joined_item(&mut self, scope: &Scope, seen: Option<&From>, taken: &mut Taken) -> From {
        let mut item = self.primary(scope, seen, taken);
        let mut more = 50;
        while self.random.chance(more) && self.burn(1) {
            item = self.join(scope, seen, item, taken);
            more = 30;
        }
        item
    }

    fn join(&mut self, scope: &Scope, seen: Option<&From>, left: From, taken: &mut Taken) -> From {
        let kinds =
            [("left joins", " LEFT JOIN ", 25), ("right joins", " RIGHT JOIN ", 14), ("full joins", " FULL JOIN ", 14)];
        let kind = kinds.into_iter().find(|(feature, _, percent)| self.may(feature, *percent)).map(|(_, kind, _)| kind);
        let kind = kind.unwrap_or_else(|| *self.random.pick(&[" JOIN ", " INNER JOIN "]));
        let outer = kind.contains("RIGHT") || kind.contains("FULL");
        let before = seen.map_or(left.clone(), |seen| seen.with(&left));
        let right = if self.may("nested joins", 8) && self.burn(1) {
            let inner = self.primary(scope, None, taken);
            let inner = self.join(scope, None, inner, taken);
            let tree = parts!["(", inner.tree.clone(), ")"];
            self.with_join_alias(From { tree: Tree::Node(Sort::From, tree), ..inner }, taken)
        } else {
            self.primary(scope, (!outer).then_some(&before), taken)
        };
        let common = common(&left.star, &right.star);
        if !kind.contains("FULL") && self.may("cross joins", 6) {
            return From { tree: joined(&left, " CROSS JOIN ", &right, Tree::nothing()), ..left.with(&right) };
        }
        let usable: Vec<String> =
            common.iter().filter(|name| joinable(&left.star, &right.star, name)).cloned().collect();
        if !common.is_empty() && usable.len() == common.len() && self.may("natural joins", 12) {
            let tree = joined(&left, &format!(" NATURAL{kind}"), &right, Tree::nothing());
            return From { tree, star: merged(&left.star, &right.star, &common), ..left.with(&right) };
        }
        if !usable.is_empty() && self.may("using", 45) {
            let mut names = vec![self.random.pick(&usable).clone()];
            if usable.len() > 1 && self.random.chance(30) {
                let other = self.random.pick(&usable).clone();
                names.extend((other != names[0]).then_some(other));
            }
            let list = names.iter().map(|name| Tree::from(name.as_str())).collect();
            let using = Tree::other(parts![" USING (", Tree::list(", ", list), ")"]);
            let tree = joined(&left, kind, &right, using);
            return From { tree, star: merged(&left.star, &right.star, &names), ..left.with(&right) };
        }
        let on = self.on(scope, &left, &right, kind.contains("FULL"));
        From { tree: joined(&left, kind, &right, on), ..left.with(&right) }
    }

    /// `ON …`, which sees both sides alone. PostgreSQL's FULL JOIN takes nothing but equalities between the sides.
    fn on(&mut self, scope: &Scope, left: &From, right: &From, equal: bool) -> Tree {
        let level = left.with(right).level();
        let of = |side: &From, level: &Level| -> Vec<(Tree, Type)> {
            let own = |alias: &String| side.sources.iter().any(|source| source.alias == *alias);
            let atoms = level.atoms.iter().filter(|atom| atom.qualifier.as_ref().is_some_and(own));
            atoms.map(|atom| (atom.tree.clone(), atom.kind)).collect()
        };
        let (first, second) = (of(left, &level), of(right, &level));
        let pairs: Vec<(&Tree, &Tree)> = first
            .iter()
            .flat_map(|(own, kind)| second.iter().map(move |(other, other_kind)| (own, kind, other, other_kind)))
            .filter(|(_, kind, _, other)| kind == other || kind.is_whole() && other.is_whole())
            .map(|(own, _, other, _)| (own, other))
            .collect();
        let mut conditions = Vec::new();
        if !pairs.is_empty() && (equal || self.random.chance(75)) {
            let (own, other) = *self.random.pick(&pairs);
            let is_cast = self.may("casts of join keys", 15);
            let key = |own: &Tree| match is_cast {
                true => Tree::value(Type::Text, parts!["CAST(", own.clone(), " AS TEXT)"]),
                false => own.clone(),
            };
            conditions.push(Tree::value(Type::Boolean, parts![key(own), " = ", key(other)]));
        }
        let scope: Scope = scope.iter().cloned().chain([level]).collect();
        if !equal && (conditions.is_empty() || self.random.chance(25)) {
            let size = usize::from(self.may("subqueries in from's conditions", 30));
            conditions.push(self.condition(&scope, size));
        }
        if conditions.is_empty() {
            conditions.push(Tree::value(Type::Boolean, parts!["TRUE"]));
        }
        Tree::other(parts![" ON ", Tree::list(" AND ", conditions)])
    }

    /// A join in parentheses, which may have a name that hides those inside.
    fn with_join_alias(&mut self, join: From, taken: &mut Taken) -> From {
        if !self.may("join aliases", 35) {
            return join;
        }
        let Some(alias) = self.alias(taken) else { return join };
        let tree = Tree::Node(Sort::From, parts![join.tree, " AS ", alias.as_str()]);
        let source = Source { alias, schema: None, columns: join.star.clone() };
        From { tree, sources: vec![source], star: join.star }
    }

    /// A table or what stands for one; `seen` is what LATERAL can see of this FROM.
    fn primary(&mut self, scope: &Scope, seen: Option<&From>, taken: &mut Taken) -> From {
        if self.depth > 0 && self.features.has("lateral") && seen.is_some() && self.random.chance(14) && self.burn(2) {
            self.used.insert("lateral");
            let level = seen.map(From::level).unwrap_or_default();
            let inner: Scope = scope.iter().cloned().chain([level]).collect();
            return self.derived(&inner, "LATERAL (", taken);
        }
        if self.depth > 0 && self.features.has("derived tables") && self.random.chance(14) && self.burn(2) {
            self.used.insert("derived tables");
            return self.derived(scope, "(", taken);
        }
        if self.may("values", 6) {
            return self.values_item(scope, taken);
        }
        if self.may("bare functions", 3) {
            return self.bare_function(taken);
        }
        if self.may("series", 4) {
            return self.series(scope, seen, taken);
        }
        self.named_table(taken)
    }

    fn derived(&mut self, scope: &Scope, opening: &str, taken: &mut Taken) -> From {
        let list = self.may("alias lists", 30);
        let limit = self.may("limit", 12).then(|| self.random.between(1, 4));
        let made = self.deeper(|maker| maker.query(scope, &Wish { named: !list, limit, ..Wish::default() }));
        let tree = Tree::other(parts![opening, made.tree, ")"]);
        self.named_source(tree, made.columns, list, taken)
    }

    /// `generate_series(1, x)`: it sees what stands before it, as LATERAL does.
    fn series(&mut self, scope: &Scope, seen: Option<&From>, taken: &mut Taken) -> From {
        let level = seen.map(From::level);
        let inner: Scope = scope.iter().cloned().chain(level).collect();
        let last = self.value(Type::Integer, &inner, 0);
        let (tree, kinds) = self.functions_in_from(last);
        let columns = kinds.into_iter().map(|kind| (String::new(), kind)).collect();
        self.named_source(tree, columns, true, taken)
    }

    fn values_item(&mut self, scope: &Scope, taken: &mut Taken) -> From {
        let kinds: Vec<Type> = (0..self.random.between(1, 3)).map(|_| self.random_kind()).collect();
        let rows = self.value_rows(scope, &kinds);
        let columns = kinds.into_iter().map(|kind| (String::new(), kind)).collect();
        self.named_source(Tree::other(parts!["(", rows, ")"]), columns, true, taken)
    }

    /// `generate_series(1, 3)` without names for its columns: the one that it has is named as the function, or as its alias.
    fn bare_function(&mut self, taken: &mut Taken) -> From {
        let (first, last) = (self.random.between(0, 2), self.random.between(0, 4));
        let call = format!("generate_series({first}, {last})");
        let free = taken.iter().all(|(name, _)| name != "generate_series");
        let alias = if free && self.random.chance(50) { None } else { self.alias(taken) };
        let (tree, alias) = match alias {
            Some(alias) => (format!("{call}{}{alias}", self.random.pick(&[" AS ", " "])), alias),
            None if free => {
                taken.push(("generate_series".to_owned(), None));
                (call, "generate_series".to_owned())
            }
            None => {
                let alias = format!("z{}", taken.len());
                (format!("{call} AS {alias}"), alias)
            }
        };
        let columns = vec![(alias.clone(), Type::Integer)];
        let sources = vec![Source { alias, schema: None, columns: columns.clone() }];
        From { tree: Tree::Node(Sort::From, parts![tree]), sources, star: columns }
    }

    /// Gives something an alias; with a list, each of its columns another name.
    fn named_source(&mut self, tree: Tree, mut columns: Columns, list: bool, taken: &mut Taken) -> From {
        let alias = self.alias(taken).unwrap_or_else(|| format!("z{}", taken.len()));
        let mut names = Tree::nothing();
        if list {
            for number in 0..columns.len() {
                let name = self.column_name();
                let known = columns[..number].iter().any(|(other, _)| *other == name);
                columns[number].0 = if known { format!("n{number}") } else { name };
            }
            let all: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
            names = Tree::from(format!(" ({})", all.join(", ")));
        }
        let tree = Tree::Node(Sort::From, parts![tree, " AS ", alias.as_str(), names]);
        From { tree, sources: vec![Source { alias, schema: None, columns: columns.clone() }], star: columns }
    }

    /// An alias that this FROM does not have yet.
    fn alias(&mut self, taken: &mut Taken) -> Option<String> {
        let pool = match self.random.chance(30) {
            true if self.may("aliases of columns' names", 100) => ALIASES_OF_COLUMNS,
            false if self.may("quoted names", 4) => ALIASES_IN_QUOTES,
            _ => ALIASES,
        };
        let free: Vec<&str> =
            pool.iter().copied().filter(|name| taken.iter().all(|(other, _)| other != name)).collect();
        let alias = (!free.is_empty()).then(|| (*self.random.pick(&free)).to_owned())?;
        taken.push((alias.clone(), None));
        Some(alias)
    }

    /// A table, a view or a WITH query by its name.
    fn named_table(&mut self, taken: &mut Taken) -> From {
        let (path, mut columns, own) = self.any_table();
        let (table, large) = (!matches!(own, Named::Query), own.large());
        let (schema, name) = path.split_once('.').map_or((None, path.as_str()), |(schema, name)| (Some(schema), name));
        let own = table.then(|| path.clone());
        // Two tables of one name can stand side by side when both are named by their paths.
        let clashes =
            |(other, at): &(String, Option<String>)| other == name && (at.is_none() || own.is_none() || *at == own);
        let bare = !taken.iter().any(clashes) && self.random.chance(45);
        if bare {
            taken.push((name.to_owned(), own));
            let schema = ["s1", "s2"].into_iter().find(|known| Some(*known) == schema);
            self.large = large.map(|table| (name.to_owned(), table)).or(self.large.take());
            let source = Source { alias: name.to_owned(), schema, columns: columns.clone() };
            return From { tree: Tree::Node(Sort::From, parts![path]), sources: vec![source], star: columns };
        }
        let alias = self.alias(taken).unwrap_or_else(|| format!("z{}", taken.len()));
        self.large = large.map(|table| (alias.clone(), table)).or(self.large.take());
        let mut names = Tree::nothing();
        if large.is_none() && self.may("alias lists", 10) {
            let fewer = self.random.chance(25);
            let renamed = if fewer { self.random.between(1, columns.len() as i64) as usize } else { columns.len() };
            for column in &mut columns[..renamed] {
                column.0 = self.column_name();
            }
            let all: Vec<&str> = columns[..renamed].iter().map(|(name, _)| name.as_str()).collect();
            names = Tree::Maybe(parts![format!(" ({})", all.join(", "))]);
        }
        let between = *self.random.pick(&[" AS ", " "]);
        let tree = Tree::Node(Sort::From, parts![path, between, alias.as_str(), names]);
        From { tree, sources: vec![Source { alias, schema: None, columns: columns.clone() }], star: columns }
    }

    /// The path and columns of something that can be named, and what it is.
    fn any_table(&mut self) -> (String, Columns, Named<'w>) {
        let world = self.world;
        if !self.ctes.is_empty() && self.random.chance(60) {
            let cte = self.random.pick(&self.ctes).clone();
            let last = self.ctes.iter().rev().find(|other| other.name == cte.name).cloned().unwrap_or(cte);
            return (last.name, last.columns, Named::Query);
        }
        if !world.views.is_empty() && self.may("views", 10) {
            let view = self.random.pick(&world.views);
            return (view.name.to_owned(), view.columns.clone(), Named::View);
        }
        let with_schema = self.may("schemas", 30);
        let hidden = |path: &String| self.ctes.iter().any(|cte| cte.name == *path);
        let small_enough = |table: &&Table| self.may_be_large || !table.is_large();
        let fits = world.tables.iter().filter(|table| table.schema.is_some() == with_schema && !hidden(&table.path()));
        let all: Vec<&Table> = fits.filter(small_enough).collect();
        let table = match all.is_empty() {
            true => world
                .tables
                .iter()
                .filter(small_enough)
                .find(|table| table.schema.is_some())
                .unwrap_or(&world.tables[1]),
            false => *self.random.pick(&all),
        };
        self.uses(table);
        (table.path(), table.columns.clone(), Named::Table(table))
    }
}

fn joined(left: &From, join: &str, right: &From, on: Tree) -> Tree {
    Tree::Node(Sort::From, parts![left.tree.clone(), join, right.tree.clone(), on])
}

/// The names of both, by which NATURAL joins.
fn common(left: &Columns, right: &Columns) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in left {
        if count(right, name) > 0 && !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// True for a name that each side has once, with types that can be compared.
fn joinable(left: &Columns, right: &Columns, name: &str) -> bool {
    let kind = |columns: &Columns| columns.iter().find(|(other, _)| other == name).map(|(_, kind)| *kind);
    let same = match (kind(left), kind(right)) {
        (Some(own), Some(other)) => own == other || own.is_whole() && other.is_whole(),
        _ => false,
    };
    same && count(left, name) == 1 && count(right, name) == 1
}

/// What `*` gives of a join by USING: its columns first, then what else both sides have.
fn merged(left: &Columns, right: &Columns, names: &[String]) -> Columns {
    let kind = |name: &String| {
        let of = |side: &Columns| side.iter().find(|(other, _)| other == name).map(|(_, kind)| *kind);
        match (of(left), of(right)) {
            (Some(Type::Integer), Some(Type::Big)) => Type::Big,
            (own, other) => own.or(other).unwrap_or(Type::Integer),
        }
    };
    let first = names.iter().map(|name| (name.clone(), kind(name)));
    let rest = left.iter().chain(right).filter(|(name, _)| !names.contains(name)).cloned();
    first.chain(rest).collect()
}
