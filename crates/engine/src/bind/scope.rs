//! What a name in a query may mean: the tables of its FROM with their columns, those of the queries around it behind them.
//!
//! The rules are PostgreSQL's. A name with a table before it means that table of the innermost query that has one of the
//! name; a name alone means a column of the innermost query that has one, of which there may be only one. A column that
//! USING merges is one column for names that stand alone and for `*`, while each table still has its own.

use crate::Result;
use crate::bind::error;
use crate::bind::outer::OuterCall;
use crate::sql::names::{fold, meant};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Column, DFSchema, DFSchemaRef};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::Ident;
use gingham_storage::DEFAULT_SCHEMA;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// A column of a plan under the name that the statement knows it by.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Named {
    /// The user's name.
    pub(crate) name: String,
    /// Another name, which counts where no column has it as its first.
    pub(crate) other: Option<String>,
    /// The plan's column, whose name occurs once in the statement.
    pub(crate) column: Column,
}

/// A member of FROM.
#[derive(Debug, Clone, Default)]
pub(super) struct FromRelation {
    /// Its alias, or the table's name; `None` for a query without an alias.
    pub(super) name: Option<String>,
    /// The schema that may stand before the name; `None` behind an alias.
    pub(super) schema: Option<String>,
    /// Whether FROM names it without its schema: then it is what the name alone means, beside one of another schema.
    pub(super) is_bare: bool,
    /// Its columns that are shown.
    pub(super) columns: Vec<Named>,
    /// The names of its columns that are not shown, too.
    pub(super) all: Vec<String>,
    /// Whether it is the rows of the round before, within a recursive query.
    pub(super) is_round: bool,
    /// Its PRIMARY KEY, when all columns of that are among `columns`.
    pub(super) key: Vec<Column>,
    /// Other names of its columns, which are meant where nothing else has them.
    pub(super) others: Vec<Named>,
    /// Whether it is a function of values: its row is the one column's value.
    pub(super) is_value: bool,
    /// A column that the table itself has not: the ids of its records.
    pub(super) ids: Option<String>,
    /// A column that is NULL where an outer join has no row of it.
    pub(super) present: Option<Column>,
}

impl FromRelation {
    /// The names of all of its columns, behind its own name if they are to be qualified.
    fn names(&self, qualified: bool) -> Vec<String> {
        let names = self.columns.iter().map(|own| &own.name).chain(&self.all);
        match self.name.as_ref().filter(|_| qualified) {
            None => names.cloned().collect(),
            Some(table) => names.map(|name| format!("{table}.{name}")).collect(),
        }
    }
}

/// The columns that one query can name.
#[derive(Debug)]
pub(super) struct NameScope {
    pub(super) relations: Vec<FromRelation>,
    /// What `*` stands for, and what names that stand alone may mean.
    pub(super) shown: Vec<Named>,
    /// The columns of the plan.
    pub(super) fields: DFSchemaRef,
    /// Where names are, once many have been looked for.
    places: OnceCell<Places>,
}

impl Clone for NameScope {
    /// A copy may get other columns: it finds out itself where they are.
    fn clone(&self) -> Self {
        let (relations, shown, fields) = (self.relations.clone(), self.shown.clone(), Arc::clone(&self.fields));
        Self { relations, shown, fields, places: OnceCell::new() }
    }
}

/// So many columns are looked through sooner than a table of their names is made.
const MANY: usize = 64;

/// Where the columns of a scope are.
#[derive(Debug)]
struct Places {
    /// Positions by name: of those that are shown, then of each relation.
    names: Vec<HashMap<String, Vec<usize>>>,
    /// Positions in the plan.
    fields: HashMap<Column, usize>,
    /// The schema that they are of, and how many columns are shown.
    schema: DFSchemaRef,
    width: usize,
}

impl Places {
    fn of(scope: &NameScope) -> Self {
        let lists = std::iter::once(&scope.shown).chain(scope.relations.iter().map(|own| &own.columns));
        let by_name = |columns: &Vec<Named>| {
            let mut places: HashMap<String, Vec<usize>> = HashMap::with_capacity(columns.len());
            for (place, own) in columns.iter().enumerate() {
                places.entry(own.name.clone()).or_default().push(place);
            }
            places
        };
        let names = lists.map(by_name).collect();
        let mut fields = HashMap::new();
        for (place, column) in scope.fields.columns().into_iter().enumerate() {
            fields.entry(column).or_insert(place);
        }
        Self { names, fields, schema: Arc::clone(&scope.fields), width: scope.shown.len() }
    }

    /// Whether the scope has the columns still.
    fn are_of(&self, scope: &NameScope) -> bool {
        let same = Arc::ptr_eq(&self.schema, &scope.fields) && self.width == scope.shown.len();
        same && self.names.len() == scope.relations.len() + 1
    }

    fn of_name(&self, relation: Option<usize>, name: &str) -> &[usize] {
        let names = &self.names[relation.map_or(0, |number| number + 1)];
        names.get(name).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The scope of a query and those around it.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) scope: NameScope,
    /// Aggregates that the query computes for those within it.
    pub(super) calls: RefCell<Vec<OuterCall>>,
    pub(super) next: Option<Rc<Level>>,
}

impl Level {
    /// The scope of a query, and of those around it.
    pub(super) fn new(scope: NameScope, next: Option<Rc<Level>>) -> Rc<Self> {
        Rc::new(Self { scope, calls: RefCell::default(), next })
    }

    /// Whether a column is the query's own, or an aggregate that it computes.
    pub(super) fn has(&self, column: &Column) -> bool {
        self.scope.fields.has_column(column) || self.computes(column)
    }

    /// Whether a column is an aggregate that the query computes for those within it.
    pub(super) fn computes(&self, column: &Column) -> bool {
        self.calls.borrow().iter().any(|call| call.column == *column)
    }
}

/// What a name was found to mean.
#[derive(Debug)]
pub(super) struct ResolvedName {
    pub(super) column: Column,
    pub(super) field: FieldRef,
    /// It is a column of a query around this one.
    pub(super) is_outer: bool,
    /// How many parts of the name it took: the others are fields of its struct.
    pub(super) parts: usize,
}

/// How a search in one scope ended.
enum Search {
    Found {
        column: Column,
        parts: usize,
    },
    Missing,
    /// The relation that the name names is here, and does not have the column.
    NoColumn {
        relation: usize,
    },
    Ambiguous,
}

impl NameScope {
    /// The scope of a query without FROM.
    pub(super) fn empty() -> Self {
        Self { relations: Vec::new(), shown: Vec::new(), fields: Arc::new(DFSchema::empty()), places: OnceCell::new() }
    }

    /// The scope of one member of FROM.
    pub(super) fn of(relation: FromRelation, plan: &LogicalPlan) -> Self {
        let shown = relation.columns.clone();
        Self { relations: vec![relation], shown, fields: Arc::clone(plan.schema()), places: OnceCell::new() }
    }

    /// The columns of two scopes side by side.
    pub(super) fn beside(mut self, other: Self, fields: DFSchemaRef) -> Self {
        self.relations.extend(other.relations);
        self.shown.extend(other.shown);
        self.fields = fields;
        self.places = OnceCell::new();
        self
    }

    /// The scope whose columns are those of another plan.
    pub(super) fn over(self, fields: DFSchemaRef) -> Self {
        Self { fields, places: OnceCell::new(), ..self }
    }

    /// Whether a member is the rows of a recursive query's round before.
    pub(super) fn reads_round(&self) -> bool {
        self.relations.iter().any(|relation| relation.is_round)
    }

    /// Where names are, where it takes long to look through all columns.
    fn places(&self) -> Option<&Places> {
        (self.shown.len() >= MANY).then(|| self.places.get_or_init(|| Places::of(self))).filter(|own| own.are_of(self))
    }

    /// What is known of a plan's column.
    pub(super) fn field(&self, column: &Column) -> Result<FieldRef> {
        if let Some(place) = self.places().and_then(|places| places.fields.get(column)) {
            return Ok(Arc::clone(&self.fields.fields()[*place]));
        }
        Ok(Arc::clone(self.fields.qualified_field_from_column(column)?.1))
    }

    /// Whether a name that stands alone means a column here.
    pub(super) fn has(&self, name: &str) -> bool {
        self.called(None, name).next().is_some()
    }

    /// The columns of a name: of a relation, or of those that are shown.
    fn named_so<'a>(&'a self, relation: Option<usize>, name: &'a str) -> impl Iterator<Item = &'a Named> {
        let columns = relation.map_or(&self.shown, |number| &self.relations[number].columns);
        let known = self.places().map(|places| places.of_name(relation, name));
        let all = known.is_none().then(|| columns.iter().filter(move |own| own.name == name));
        let known = known.into_iter().flatten().map(|place| &columns[*place]);
        known.chain(all.into_iter().flatten())
    }

    /// The columns of a name, or else those that it is the other name of.
    fn called<'a>(&'a self, relation: Option<usize>, name: &'a str) -> impl Iterator<Item = &'a Named> {
        let mut named = self.named_so(relation, name).peekable();
        let is_other = named.peek().is_none();
        let columns = relation.map_or(&self.shown, |number| &self.relations[number].columns);
        let others = columns.iter().filter(move |own| is_other && own.other.as_deref() == Some(name));
        named.chain(others)
    }

    /// The relations that the parts before the last of a qualified name mean: `t`, `schema.t` or `catalog.schema.t`.
    pub(super) fn named(&self, qualifier: &[String]) -> Vec<usize> {
        let means = |relation: &FromRelation| match qualifier {
            [table] => relation.name.as_ref() == Some(table),
            [schema, table] | [_, schema, table] => {
                relation.name.as_ref() == Some(table) && relation.schema.as_ref() == Some(schema)
            }
            _ => false,
        };
        let found: Vec<usize> = (0..self.relations.len()).filter(|number| means(&self.relations[*number])).collect();
        let bare: Vec<usize> = found.iter().copied().filter(|number| self.relations[*number].is_bare).collect();
        if found.len() > 1 && bare.len() == 1 { bare } else { found }
    }

    fn search(&self, parts: &[String]) -> Search {
        for qualifiers in (1..parts.len().min(4)).rev() {
            match self.named(&parts[..qualifiers]).as_slice() {
                [] => {}
                [relation] => {
                    let mut own = self.called(Some(*relation), &parts[qualifiers]);
                    return match (own.next(), own.next()) {
                        (Some(own), None) => Search::Found { column: own.column.clone(), parts: qualifiers + 1 },
                        (Some(_), Some(_)) => Search::Ambiguous,
                        (None, _) => Search::NoColumn { relation: *relation },
                    };
                }
                _ => return Search::Ambiguous,
            }
        }
        let Some(first) = parts.first() else { return Search::Missing };
        let is_struct =
            |own: &Named| self.field(&own.column).is_ok_and(|field| matches!(field.data_type(), DataType::Struct(_)));
        let mut own = self.called(None, first).filter(|own| parts.len() == 1 || is_struct(own));
        let Some(found) = own.next() else { return Search::Missing };
        if own.any(|other| other.column != found.column) {
            return Search::Ambiguous;
        }
        Search::Found { column: found.column.clone(), parts: 1 }
    }

    /// The column that one of its members' other names means.
    fn search_others(&self, parts: &[String]) -> Search {
        let Some((name, qualifier)) = parts.split_last() else { return Search::Missing };
        let relations: Vec<usize> =
            if qualifier.is_empty() { (0..self.relations.len()).collect() } else { self.named(qualifier) };
        let others = relations.iter().flat_map(|at| &self.relations[*at].others);
        let mut found = others.filter(|own| own.name == *name);
        match (found.next(), found.next()) {
            (None, _) => Search::Missing,
            (Some(own), None) => Search::Found { column: own.column.clone(), parts: parts.len() },
            (Some(_), Some(_)) => Search::Ambiguous,
        }
    }

    /// The parts of a name with the name of a column that differs in the case of letters alone; `None` where there is none.
    fn without_case(&self, idents: &[Ident], parts: &[String]) -> Result<Option<Vec<String>>> {
        let qualified = (1..parts.len().min(4)).rev().find_map(|qualifiers| {
            let found = self.named(&parts[..qualifiers]);
            found.first().map(|relation| (qualifiers, &self.relations[*relation].columns))
        });
        let (at, columns) = qualified.unwrap_or((0, &self.shown));
        let Some(ident) = idents.get(at) else { return Ok(None) };
        let name = meant(ident, columns.iter().map(|own| own.name.as_str()))?;
        Ok((name != parts[at]).then(|| {
            let mut parts = parts.to_vec();
            parts[at] = name;
            parts
        }))
    }

    /// The name that the statement has for a column of this scope.
    pub(super) fn name_of(&self, column: &Column) -> Option<&str> {
        let named = self.shown.iter().chain(self.relations.iter().flat_map(|relation| &relation.columns));
        named.filter(|own| own.column == *column).map(|own| own.name.as_str()).next()
    }

    /// Every name that a column may be called by here, as an error shows it.
    fn candidates(&self, qualified: bool) -> Vec<String> {
        let shown = self.shown.iter().filter(|_| !qualified).map(|shown| shown.name.clone());
        shown.chain(self.relations.iter().flat_map(|relation| relation.names(qualified))).collect()
    }
}

/// The column that a name means in `scope`, or in one of those around it.
pub(super) fn resolve(idents: &[Ident], scope: &NameScope, outer: Option<&Rc<Level>>) -> Result<ResolvedName> {
    let parts: Vec<String> = idents.iter().map(fold).collect();
    let mut own = Some(scope);
    let mut next = outer;
    let mut is_outer = false;
    let mut candidates = Vec::new();
    while let Some(scope) = own {
        match scope.search(&parts) {
            Search::Found { column, parts } => {
                let field = scope.field(&column)?;
                return Ok(ResolvedName { column, field, is_outer, parts });
            }
            Search::Ambiguous => return Err(error::ambiguous(idents)),
            Search::NoColumn { relation } => {
                if let Some(found) = resolve_others(idents, &parts, (scope, is_outer), None)? {
                    return Ok(found);
                }
                return Err(error::no_column(idents, scope.relations[relation].names(true)));
            }
            Search::Missing => candidates.extend(scope.candidates(parts.len() > 1)),
        }
        is_outer = true;
        own = next.map(|level| &level.scope);
        next = next.and_then(|level| level.next.as_ref());
    }
    match resolve_others(idents, &parts, (scope, false), outer)? {
        Some(found) => Ok(found),
        None => Err(error::no_column(idents, candidates)),
    }
}

/// The column that a name means by another name of a member's column, in `scope`, or in one of those around it.
fn resolve_others(
    idents: &[Ident],
    parts: &[String],
    (scope, is_outer): (&NameScope, bool),
    outer: Option<&Rc<Level>>,
) -> Result<Option<ResolvedName>> {
    let (mut own, mut next, mut is_outer) = (Some(scope), outer, is_outer);
    while let Some(scope) = own {
        match scope.search_others(parts) {
            Search::Found { column, parts } => {
                let field = scope.field(&column)?;
                return Ok(Some(ResolvedName { column, field, is_outer, parts }));
            }
            Search::Ambiguous => return Err(error::ambiguous(idents)),
            Search::NoColumn { .. } | Search::Missing => {}
        }
        is_outer = true;
        own = next.map(|level| &level.scope);
        next = next.and_then(|level| level.next.as_ref());
    }
    Ok(None)
}

/// The column that a name means which no column has: one whose name differs in the case of letters alone. `None` where there is none.
///
/// # Errors
///
/// Two columns have such a name.
pub(super) fn resolve_without_case(
    idents: &[Ident],
    scope: &NameScope,
    outer: Option<&Rc<Level>>,
) -> Result<Option<ResolvedName>> {
    let parts: Vec<String> = idents.iter().map(fold).collect();
    let (mut own, mut next, mut is_outer) = (Some(scope), outer, false);
    while let Some(scope) = own {
        if let Some(parts) = scope.without_case(idents, &parts)? {
            return match scope.search(&parts) {
                Search::Found { column, parts } => {
                    let field = scope.field(&column)?;
                    Ok(Some(ResolvedName { column, field, is_outer, parts }))
                }
                Search::Ambiguous => Err(error::ambiguous(idents)),
                Search::NoColumn { .. } | Search::Missing => Ok(None),
            };
        }
        is_outer = true;
        own = next.map(|level| &level.scope);
        next = next.and_then(|level| level.next.as_ref());
    }
    Ok(None)
}

/// The schema that may stand before a table's name in the rest of the statement.
pub(super) fn schema_name(schema: Option<&str>, is_temporary: bool) -> Option<String> {
    match schema {
        Some(schema) => Some(schema.to_owned()),
        None => (!is_temporary).then(|| DEFAULT_SCHEMA.to_owned()),
    }
}
