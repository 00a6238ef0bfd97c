//! Statements as trees of text. A part of a tree knows what may take its place, and no more, so that one shrinker does for
//! every kind of statement.

use std::fmt::{self, Display, Formatter, Write};

/// Types of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    Integer,
    Big,
    Double,
    Text,
    Boolean,
    Date,
    Decimal,
    /// CHAR(n).
    Char,
    Bytes,
    /// DECIMALs of up to 38 digits.
    Wide,
    Timestamp,
    /// No column has it.
    Interval,
}

impl Type {
    /// Those that every generator knows.
    pub const PLAIN: [Self; 7] =
        [Self::Integer, Self::Big, Self::Double, Self::Text, Self::Boolean, Self::Date, Self::Decimal];

    /// The type's name in both dialects.
    pub fn sql(self) -> &'static str {
        match self {
            Self::Integer => "INTEGER",
            Self::Big => "BIGINT",
            Self::Double => "DOUBLE PRECISION",
            Self::Text => "VARCHAR",
            Self::Boolean => "BOOLEAN",
            Self::Date => "DATE",
            Self::Decimal => "DECIMAL(10,2)",
            Self::Char => "CHAR(3)",
            Self::Bytes => "BYTEA",
            Self::Wide => "DECIMAL(38,6)",
            Self::Timestamp => "TIMESTAMP",
            Self::Interval => "INTERVAL",
        }
    }

    /// What columns of it are declared as.
    pub fn declared(self) -> &'static [&'static str] {
        match self {
            Self::Integer => &["INTEGER"],
            Self::Big => &["BIGINT"],
            Self::Double => &["DOUBLE PRECISION"],
            Self::Text => &["VARCHAR"],
            Self::Boolean => &["BOOLEAN"],
            Self::Date => &["DATE"],
            Self::Decimal => &["DECIMAL(10,2)"],
            Self::Char => &["CHAR(3)", "CHAR(5)"],
            Self::Bytes => &["BYTEA"],
            Self::Wide => &["DECIMAL(38,0)", "DECIMAL(38,6)", "DECIMAL(38,10)", "DECIMAL(30,4)"],
            Self::Timestamp => &["TIMESTAMP"],
            Self::Interval => &["INTERVAL"],
        }
    }

    pub fn is_whole(self) -> bool {
        matches!(self, Self::Integer | Self::Big)
    }
}

/// What a part of a statement is: a part of the same sort inside it may take its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// A value of a type.
    Value(Type),
    /// A query with its WITH and ORDER BY, of so many columns; 0 when the number is no longer known.
    Query(usize),
    /// A SELECT, a VALUES or a set operation, without WITH and ORDER BY.
    Body(usize),
    /// One item of FROM, joins included.
    From,
    /// The items after SELECT: one list.
    Items,
    /// The terms of an ORDER BY that orders all rows: one list, which has the number of every column of the query.
    Order,
    /// Nothing takes its place.
    Other,
}

/// A statement, or a part of it.
#[derive(Debug, Clone)]
pub enum Tree {
    Text(String),
    Node(Sort, Vec<Tree>),
    /// Items, of which all but `least` can go.
    List {
        between: &'static str,
        least: usize,
        items: Vec<Tree>,
    },
    /// What can go.
    Maybe(Vec<Tree>),
    /// What stays as it is: without it, the answer would depend on an order that nothing defines.
    Solid(Vec<Tree>),
}

impl From<&str> for Tree {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Tree {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// Parts one after the other: texts and trees.
macro_rules! parts {
    ($($part:expr),* $(,)?) => { vec![$($crate::tree::Tree::from($part)),*] };
}
pub(crate) use parts;

impl Tree {
    pub fn value(kind: Type, parts: Vec<Self>) -> Self {
        Self::Node(Sort::Value(kind), parts)
    }

    pub fn other(parts: Vec<Self>) -> Self {
        Self::Node(Sort::Other, parts)
    }

    pub fn nothing() -> Self {
        Self::Text(String::new())
    }

    /// A list of one item or more.
    pub fn list(between: &'static str, items: Vec<Self>) -> Self {
        Self::List { between, least: 1, items }
    }

    /// A list that stays as long as it is.
    pub fn row(items: Vec<Self>) -> Self {
        Self::List { between: ", ", least: items.len(), items }
    }

    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Text(_) => &[],
            Self::Node(_, parts) | Self::Maybe(parts) | Self::Solid(parts) => parts,
            Self::List { items, .. } => items,
        }
    }

    pub fn parts_mut(&mut self) -> Option<&mut Vec<Self>> {
        match self {
            Self::Text(_) => None,
            Self::Node(_, parts) | Self::Maybe(parts) | Self::Solid(parts) => Some(parts),
            Self::List { items, .. } => Some(items),
        }
    }

    pub fn sort(&self) -> Sort {
        if let Self::Node(sort, _) = self { *sort } else { Sort::Other }
    }

    /// The terms of this query's own ORDER BY, when that orders all rows.
    pub fn order(&self) -> Option<&[Self]> {
        self.own(Sort::Order).first().map(|order| order.parts()[0].parts())
    }

    /// The nodes of a sort that belong to this query, not to one inside it.
    pub fn own(&self, sort: Sort) -> Vec<&Self> {
        let mut found = Vec::new();
        for part in self.parts() {
            match part.sort() {
                own if own == sort => found.push(part),
                Sort::Query(_) | Sort::Value(_) | Sort::From => {}
                _ => found.extend(part.own(sort)),
            }
        }
        found
    }

    /// True when this query's ORDER BY names each of its `width` columns by number.
    pub fn orders_all(&self, width: usize) -> bool {
        let Some(terms) = self.order() else { return false };
        let numbers: Vec<usize> = terms.iter().filter_map(ordinal).collect();
        (1..=width).all(|column| numbers.contains(&column))
    }
}

/// The column that a term of ORDER BY names by its number.
pub fn ordinal(term: &Tree) -> Option<usize> {
    let text = term.to_string();
    text.split(' ').next().and_then(|word| word.parse().ok())
}

impl Display for Tree {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::List { between, items, .. } => {
                for (number, item) in items.iter().enumerate() {
                    f.write_str(if number == 0 { "" } else { between })?;
                    item.fmt(f)?;
                }
                Ok(())
            }
            Self::Node(_, parts) | Self::Maybe(parts) | Self::Solid(parts) => {
                parts.iter().try_for_each(|part| part.fmt(f))
            }
        }
    }
}

/// How long a text of it is.
pub fn length(tree: &Tree) -> usize {
    struct Counter(usize);
    impl Write for Counter {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    let mut counter = Counter(0);
    write!(counter, "{tree}").expect("counting never fails");
    counter.0
}
