//! Which names mean what at a place of a statement, by PostgreSQL's rules: so that what is written is mostly valid, and
//! means something else to whoever resolves names differently.

use crate::tree::{Tree, Type};
use crate::world::Columns;

/// An item of FROM by its name.
#[derive(Debug, Clone)]
pub struct Source {
    /// The name that qualifies its columns.
    pub alias: String,
    /// Its schema, for a table that stands without an alias.
    pub schema: Option<&'static str>,
    pub columns: Columns,
}

/// What an expression can be made of: a column by some name, or an expression that GROUP BY has.
#[derive(Debug, Clone)]
pub struct Atom {
    pub tree: Tree,
    pub kind: Type,
    /// The column's name; `None` for an expression.
    pub name: Option<String>,
    /// The alias before it.
    pub qualifier: Option<String>,
}

/// The names of one query.
#[derive(Debug, Clone, Default)]
pub struct Level {
    pub atoms: Vec<Atom>,
    /// All columns that can be named without a qualifier, ambiguous ones too: they hide those of outer queries.
    pub names: Vec<String>,
    /// All qualifiers, which hide those of outer queries.
    pub aliases: Vec<String>,
    /// The query's names before its rows are grouped, for one whose rows are.
    pub inner: Option<Box<Level>>,
    /// Terms that order all of the query's rows as far as anyone can tell them apart; none when there are no such.
    pub total: Vec<Tree>,
}

/// The names at a place, outermost query first.
pub type Scope = Vec<Level>;

impl Level {
    /// The names of a FROM with these sources, whose `*` gives `star`.
    pub fn of(sources: &[Source], star: &Columns) -> Self {
        let mut level = Self {
            names: star.iter().map(|(name, _)| name.clone()).collect(),
            aliases: sources.iter().map(|source| source.alias.clone()).collect(),
            ..Self::default()
        };
        for (name, kind) in star {
            if count(star, name) == 1 {
                level.atoms.push(Atom::column(None, "", name, *kind));
            }
        }
        // What can't be named can't order rows, so that there is no order of all of them.
        let mut unnamed = false;
        for source in sources {
            let alone = !twice(&level.aliases, &source.alias);
            let path = source.schema.map(|schema| format!("{schema}.{}", source.alias));
            unnamed |= !alone && path.is_none();
            for (name, kind) in &source.columns {
                if count(&source.columns, name) > 1 {
                    unnamed = true;
                    continue;
                }
                for written in alone.then_some(&source.alias).into_iter().chain(&path) {
                    level.atoms.push(Atom::column(Some(&source.alias), written, name, *kind));
                }
            }
        }
        if !unnamed {
            let named = level.atoms.iter().filter(|atom| atom.qualifier.is_some());
            level.total = named.map(|atom| atom.tree.clone()).collect();
        }
        level
    }
}

fn twice(all: &[String], name: &str) -> bool {
    all.iter().filter(|other| *other == name).count() > 1
}

/// How many columns have a name.
pub fn count(columns: &Columns, name: &str) -> usize {
    columns.iter().filter(|(other, _)| other == name).count()
}

impl Atom {
    fn column(alias: Option<&str>, written: &str, name: &str, kind: Type) -> Self {
        let text = if written.is_empty() { name.to_owned() } else { format!("{written}.{name}") };
        let tree = Tree::value(kind, vec![Tree::from(text)]);
        Self { tree, kind, name: Some(name.to_owned()), qualifier: alias.map(str::to_owned) }
    }
}

/// What can be named at a place: atoms of the innermost query, and of those around it that nothing hides.
pub fn visible(scope: &Scope) -> (Vec<&Atom>, Vec<&Atom>) {
    let Some((own, outer)) = scope.split_last() else { return (Vec::new(), Vec::new()) };
    let (mut names, mut aliases) = (own.names.clone(), own.aliases.clone());
    let mut found = Vec::new();
    for level in outer.iter().rev() {
        let hidden = |atom: &&Atom| match (&atom.name, &atom.qualifier) {
            (None, _) => true,
            (Some(name), None) => names.contains(name),
            (Some(_), Some(alias)) => aliases.contains(alias),
        };
        found.extend(level.atoms.iter().filter(|atom| !hidden(atom)));
        names.extend(level.names.iter().cloned());
        aliases.extend(level.aliases.iter().cloned());
    }
    (own.atoms.iter().collect(), found)
}
