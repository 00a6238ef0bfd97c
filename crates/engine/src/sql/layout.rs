//! The texts of `layout = '…'`, `encoding = '…'` and `packing = '…'` to a table's design.
//!
//! ```text
//! layout   = form | groups(group, …)
//!          | nsm | dsm | pax         heap pages, for all columns
//!          | auto                    OPTIMIZE chooses; `is_auto`, and none of this file's designs
//! group    = (column, …) form        the columns that lie together
//!          | (*) form                those that no group names
//! form     = row | column | mempax(k)
//!          | super_tuple | dense_column                dense pages
//!          | a packing; vbp with the records of a segment in brackets when they are not 512
//! encoding = column name, …
//! packing  = column name, …          of columns in dense pages, those of dense pages
//! ```
//!
//! A packing for a layout is short for `column` with that packing. Columns are folded to lower case unless quoted.

use crate::suggest::did_you_mean;
use crate::{Error, Result};
use gingham_storage::model::{
    Deletes, HeapLayout, HeapOptions, MOST_INDEX_BITS, PAGE_SIZE, PagePacking, has_segments, is_page_size, quoted_name,
};
use gingham_storage::pages::is_page_length;
use gingham_storage::{ColumnId, Design, EncodingChoice, Group, Layout, Packing, SqlState, TableDefinition};

/// Bytes of a page that its header in the catalog takes.
const PAGE_HEADER: usize = 16;
/// Options of pages.
pub(crate) const PAGE_OPTIONS: [&str; 2] = ["page_size", "deletes"];

/// What pages are like as CREATE TABLE takes it, where it is not the usual; empty without pages.
pub(crate) fn page_options(design: &Design) -> [(&'static str, String); 2] {
    let given = |is: bool, text: String| if is { text } else { String::new() };
    let Some(heap) = &design.heap else {
        let page_size = given(design.page_size != PAGE_SIZE, design.page_size.to_string());
        return [("page_size", page_size), ("deletes", String::new())];
    };
    let usual = HeapOptions::new(heap.layout);
    [
        ("page_size", given(heap.page_bytes != usual.page_bytes, (heap.page_bytes + PAGE_HEADER).to_string())),
        ("deletes", given(heap.deletes != usual.deletes, "defer".to_owned())),
    ]
}

/// The layout that OPTIMIZE chooses.
const AUTO: &str = "auto";

/// Whether a text is the layout that OPTIMIZE chooses.
pub(crate) fn is_auto(text: &str) -> bool {
    text.trim().eq_ignore_ascii_case(AUTO)
}

/// What a layout can be: its name, and how errors list it.
fn offered() -> impl Iterator<Item = (&'static str, &'static str)> {
    let layouts = [("row", "row"), ("column", "column"), ("mempax", "mempax(k)")];
    let dense = [("super_tuple", "super_tuple"), ("dense_column", "dense_column")];
    let packings = Packing::ALL.into_iter().filter(|packing| *packing != Packing::Native);
    let packings = packings.map(|packing| (packing.name(), packing.name()));
    let pages = HeapLayout::ALL.into_iter().map(|layout| (layout.name(), layout.name()));
    layouts.into_iter().chain(dense).chain(packings).chain([("groups", "groups(…)")]).chain(pages).chain([(AUTO, AUTO)])
}

/// The design of a table whose layout is `text`; nothing is said of encodings.
pub(crate) fn design(text: &str, definition: &TableDefinition) -> Result<Design> {
    let mut reader = LayoutReader::new(text)?;
    let mut design = Design::default();
    if reader.word_is("groups") {
        reader.next();
        groups(&mut reader, definition, &mut design)?;
    } else if let Some(layout) = reader.pages() {
        design = Design::of_pages(HeapOptions::new(layout));
    } else {
        form(&mut reader)?.for_the_rest(&mut design);
    }
    reader.end()?;
    design.validate(definition)?;
    Ok(design)
}

/// Refuses a text that is not one layout for all columns, whatever the table.
pub(crate) fn check_general(text: &str) -> Result<()> {
    if is_auto(text) {
        return Ok(());
    }
    let mut reader = LayoutReader::new(text)?;
    if reader.word_is("groups") {
        return Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!(
                "gingham.layout is a layout for all columns of any table, not '{text}'; groups are written in CREATE TABLE"
            ),
        ));
    }
    if reader.pages().is_none() {
        form(&mut reader)?;
    }
    reader.end()
}

/// Sets what pages are like, of a design that has any: `page_size = 16384`, `deletes = 'defer'`.
pub(crate) fn page_option(key: &str, value: &str, design: &mut Design) -> Result<()> {
    let has_dense = design.has_dense();
    let Some(heap) = &mut design.heap else {
        if key == "page_size" && has_dense {
            let bytes = value.trim().parse().ok().filter(|bytes| is_page_size(*bytes));
            design.page_size = bytes.ok_or_else(|| {
                Error::invalid(
                    SqlState::InvalidParameterValue,
                    format!(
                        "page_size of dense pages is 4096, 8192 or another multiple of 4096 up to 65536, not '{value}'"
                    ),
                )
            })?;
            return Ok(());
        }
        let dense = if key == "page_size" { ", and for super_tuple and dense_column" } else { "" };
        return Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("option '{key}' is for the layouts nsm, dsm and pax{dense}"),
        ));
    };
    if key == "page_size" {
        let bytes = value.trim().parse::<usize>().ok().and_then(|bytes| bytes.checked_sub(PAGE_HEADER));
        heap.page_bytes = bytes.filter(|bytes| is_page_length(*bytes)).ok_or_else(|| {
            Error::invalid(
                SqlState::InvalidParameterValue,
                format!("page_size is 4096, 8192 or another multiple of 4096 up to 32768, not '{value}'"),
            )
        })?;
        return Ok(());
    }
    if heap.layout != HeapLayout::Pax {
        return Err(Error::invalid(
            SqlState::InvalidParameterValue,
            "option 'deletes' is for the layout pax".to_owned(),
        ));
    }
    heap.deletes = match value.trim().to_ascii_lowercase().as_str() {
        "compact" => Deletes::Compact,
        "defer" => Deletes::Defer,
        _ => {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!("deletes is 'compact' or 'defer', not '{value}'"),
            ));
        }
    };
    Ok(())
}

/// Sets the encodings of columns, `a dictionary, b plain`, in a design.
pub(crate) fn encodings(text: &str, definition: &TableDefinition, design: &mut Design) -> Result<()> {
    let mut reader = LayoutReader::new(text)?;
    loop {
        let column = reader.column(definition)?;
        let name = reader.word("the name of an encoding")?;
        design.column_mut(column).encoding = encoding(&name)?;
        if !reader.take(&Token::Comma) {
            return reader.end();
        }
    }
}

/// The encoding of that name.
pub(crate) fn encoding(name: &str) -> Result<EncodingChoice> {
    named("encoding", name, &EncodingChoice::ALL.map(EncodingChoice::name), EncodingChoice::parse)
}

/// Sets the packings of columns, `a delta, b page_dictionary(11)`, in a design that has their layout.
pub(crate) fn packings(text: &str, definition: &TableDefinition, design: &mut Design) -> Result<()> {
    let mut reader = LayoutReader::new(text)?;
    loop {
        let column = reader.column(definition)?;
        packing(&mut reader, column, design)?;
        if !reader.take(&Token::Comma) {
            return reader.end();
        }
    }
}

/// Sets the packing of one column to that of a text.
pub(crate) fn packing_of(text: &str, column: ColumnId, design: &mut Design) -> Result<()> {
    let mut reader = LayoutReader::new(text)?;
    packing(&mut reader, column, design)?;
    reader.end()
}

/// Reads a packing: of dense pages for a column that lies in them, else of memory.
fn packing(reader: &mut LayoutReader<'_>, column: ColumnId, design: &mut Design) -> Result<()> {
    let name = reader.word("the name of a packing")?;
    if !design.layout_of(column).is_dense() {
        let packing = named("packing", &name, &Packing::ALL.map(Packing::name), Packing::parse);
        design.column_mut(column).packing = Some(packing.map_err(|error| match PagePacking::parse(&name) {
            Some(_) => Error::invalid(
                SqlState::InvalidParameterValue,
                format!("packing '{name}' is for dense pages: the layouts super_tuple and dense_column"),
            ),
            None => error,
        })?);
        return Ok(());
    }
    let names: Vec<&str> = ["auto"].into_iter().chain(PagePacking::NAMES).collect();
    let chosen = named("page packing", &name, &names, |name| match name {
        "auto" => Some(None),
        name => PagePacking::parse(name).map(Some),
    })?;
    let argument = reader.argument(&name)?;
    design.column_mut(column).page_packing = match (chosen, argument) {
        (Some(PagePacking::PageDictionary(_)), Some(text)) => {
            let bits = number(&name, &text, "the bits of an index, 1 to 15")?;
            if !(1..=MOST_INDEX_BITS).contains(&bits) {
                return Err(Error::invalid(
                    SqlState::InvalidParameterValue,
                    format!("{name}({bits}): an index has 1 to {MOST_INDEX_BITS} bits"),
                ));
            }
            Some(PagePacking::PageDictionary(bits))
        }
        (_, Some(_)) => {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!(
                    "packing '{name}' takes nothing in brackets: only page_dictionary does, the bits of its indexes"
                ),
            ));
        }
        (packing, None) => packing,
    };
    Ok(())
}

/// The packings that columns in dense pages were given, as `WITH (packing = '…')` takes them; empty when there are none.
pub(crate) fn page_packings(design: &Design, definition: &TableDefinition) -> String {
    let texts = design.columns.iter().filter_map(|own| {
        let column = definition.column_by_id(own.column)?;
        Some(format!("{} {}", quoted_name(&column.name), own.page_packing?))
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// What `parse` finds under a name, in any case; errors say which names there are.
fn named<T>(kind: &str, name: &str, names: &[&str], parse: impl Fn(&str) -> Option<T>) -> Result<T> {
    let name = name.trim().to_ascii_lowercase();
    parse(&name).ok_or_else(|| {
        Error::invalid(
            SqlState::InvalidParameterValue,
            format!(
                "{kind} '{name}' does not exist (the {kind}s are: {}){}",
                names.join(", "),
                did_you_mean(&name, names.iter().copied())
            ),
        )
    })
}

/// How columns lie, or how one is packed.
enum ColumnForm {
    Layout(Layout),
    Packing(Packing, Option<u16>),
}

impl ColumnForm {
    /// Makes it that of the columns that no group names.
    fn for_the_rest(self, design: &mut Design) {
        match self {
            Self::Layout(layout) => design.layout = layout,
            Self::Packing(packing, segment_bits) => {
                design.packing = packing;
                design.segment_bits = segment_bits.unwrap_or(design.segment_bits);
            }
        }
    }
}

/// `row`, `mempax(100)`, `vbp(256)`.
fn form(reader: &mut LayoutReader<'_>) -> Result<ColumnForm> {
    let name = reader.word("a layout")?;
    let argument = reader.argument(&name)?;
    if let Some(packing) = Packing::parse(&name).filter(|packing| *packing != Packing::Native) {
        let segment_bits = match argument {
            Some(_) if !has_segments(packing) => {
                return Err(Error::invalid(
                    SqlState::InvalidParameterValue,
                    format!("packing '{name}' takes nothing in brackets: only vbp has segments, of 256 or 512 records"),
                ));
            }
            Some(text) => Some(number(&name, &text, "the records of a segment, 256 or 512")?),
            None => None,
        };
        return Ok(ColumnForm::Packing(packing, segment_bits));
    }
    match (name.as_str(), argument) {
        ("row", None) => Ok(ColumnForm::Layout(Layout::Row)),
        ("column", None) => Ok(ColumnForm::Layout(Layout::Column)),
        ("super_tuple", None) => Ok(ColumnForm::Layout(Layout::SuperTuple)),
        ("dense_column", None) => Ok(ColumnForm::Layout(Layout::DenseColumn)),
        ("mempax", Some(text)) => Ok(ColumnForm::Layout(Layout::MemPax(number(
            "mempax",
            &text,
            "the records of a chunk, such as mempax(64)",
        )?))),
        ("mempax", None) => Err(Error::invalid(
            SqlState::InvalidParameterValue,
            "mempax needs the records of a chunk in brackets, such as mempax(64)".to_owned(),
        )),
        ("row" | "column" | "super_tuple" | "dense_column", Some(_)) => Err(takes_nothing(&name)),
        _ => Err(unknown(&name)),
    }
}

fn takes_nothing(name: &str) -> Error {
    Error::invalid(
        SqlState::InvalidParameterValue,
        format!("layout '{name}' takes nothing in brackets; groups are parted by commas"),
    )
}

fn unknown(name: &str) -> Error {
    let list = offered().map(|(_, shown)| shown).collect::<Vec<_>>().join(", ");
    Error::invalid(
        SqlState::InvalidParameterValue,
        match name {
            "native" => "native is a packing; the layout of columns in native packing is 'column'".to_owned(),
            "groups" => "groups(…) can't stand within groups(…)".to_owned(),
            AUTO => "layout 'auto' is for a whole table, and stands alone".to_owned(),
            _ => {
                let suggestion = did_you_mean(name, offered().map(|(name, _)| name));
                format!("layout '{name}' does not exist (the layouts are: {list}){suggestion}")
            }
        },
    )
}

fn number<N: std::str::FromStr>(name: &str, text: &str, what: &str) -> Result<N> {
    text.parse()
        .map_err(|_| Error::invalid(SqlState::InvalidParameterValue, format!("{name}({text}): '{text}' is not {what}")))
}

/// `((a, b) row, (c) byteslice, (*) column)`.
fn groups(reader: &mut LayoutReader<'_>, definition: &TableDefinition, design: &mut Design) -> Result<()> {
    reader.expect(Token::Open, "'(' after groups")?;
    let mut rest_named = false;
    loop {
        reader.expect(Token::Open, "'(' before the columns of a group")?;
        if reader.take(&Token::Star) {
            reader.expect(Token::Close, "')' after '*'")?;
            if rest_named {
                return Err(Error::invalid(SqlState::InvalidParameterValue, "the group (*) is there twice".to_owned()));
            }
            rest_named = true;
            form(reader)?.for_the_rest(design);
        } else {
            group(reader, definition, design)?;
        }
        if !reader.take(&Token::Comma) {
            return reader.expect(Token::Close, "',' or ')' after a group");
        }
    }
}

/// `a, b) row`.
fn group(reader: &mut LayoutReader<'_>, definition: &TableDefinition, design: &mut Design) -> Result<()> {
    let mut columns: Vec<ColumnId> = Vec::new();
    loop {
        let column = reader.column(definition)?;
        if columns.contains(&column) || design.groups.iter().any(|group| group.columns.contains(&column)) {
            let name = definition.column_by_id(column).map_or("", |column| &column.name);
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!("column '{name}' is in the groups twice"),
            ));
        }
        columns.push(column);
        if !reader.take(&Token::Comma) {
            break;
        }
    }
    reader.expect(Token::Close, "',' or ')' after a column")?;
    let layout = match form(reader)? {
        ColumnForm::Layout(layout) => layout,
        ColumnForm::Packing(packing, segment_bits) => {
            if columns.len() > 1 {
                let names = columns.iter().filter_map(|id| definition.column_by_id(*id));
                let names: Vec<&str> = names.map(|column| column.name.as_str()).collect();
                let single: Vec<String> = names.iter().map(|column| format!("({column}) {packing}")).collect();
                return Err(Error::invalid(
                    SqlState::InvalidParameterValue,
                    format!(
                        "the group ({}) can't be {packing}, which packs a column by itself: write {}",
                        names.join(", "),
                        single.join(", ")
                    ),
                ));
            }
            let column = design.column_mut(columns[0]);
            (column.packing, column.segment_bits) = (Some(packing), segment_bits);
            Layout::Column
        }
    };
    design.groups.push(Group { columns, layout });
    Ok(())
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// Folded to lower case.
    Word(String),
    Quoted(String),
    Open,
    Close,
    Comma,
    Star,
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Word(word) => write!(f, "'{word}'"),
            Self::Quoted(name) => write!(f, "'\"{name}\"'"),
            Self::Open => f.write_str("'('"),
            Self::Close => f.write_str("')'"),
            Self::Comma => f.write_str("','"),
            Self::Star => f.write_str("'*'"),
        }
    }
}

/// The tokens of a text, one after the other.
struct LayoutReader<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    place: usize,
}

impl<'a> LayoutReader<'a> {
    fn new(text: &'a str) -> Result<Self> {
        let mut tokens = Vec::new();
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match first {
                '(' => simple(&mut tokens, Token::Open),
                ')' => simple(&mut tokens, Token::Close),
                ',' => simple(&mut tokens, Token::Comma),
                '*' => simple(&mut tokens, Token::Star),
                '"' => {
                    let (name, length) = quoted(rest).ok_or_else(|| {
                        Error::invalid(
                            SqlState::InvalidParameterValue,
                            format!("layout '{text}': a quote is not closed"),
                        )
                    })?;
                    tokens.push(Token::Quoted(name));
                    length
                }
                _ => {
                    let end = rest.find(|c: char| c.is_whitespace() || "(),*\"".contains(c)).unwrap_or(rest.len());
                    tokens.push(Token::Word(rest[..end].to_lowercase()));
                    end
                }
            };
            rest = rest[length..].trim_start();
        }
        Ok(Self { text, tokens, place: 0 })
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.place).cloned();
        self.place += 1;
        token
    }

    fn word_is(&self, word: &str) -> bool {
        matches!(self.tokens.get(self.place), Some(Token::Word(found)) if found == word)
    }

    /// The layout of pages that the reader stands at, read.
    fn pages(&mut self) -> Option<HeapLayout> {
        let Some(Token::Word(word)) = self.tokens.get(self.place) else { return None };
        let layout = HeapLayout::parse(word)?;
        self.place += 1;
        Some(layout)
    }

    fn take(&mut self, token: &Token) -> bool {
        let there = self.tokens.get(self.place) == Some(token);
        self.place += usize::from(there);
        there
    }

    fn expect(&mut self, token: Token, what: &str) -> Result<()> {
        if self.take(&token) { Ok(()) } else { Err(self.expected(what)) }
    }

    fn word(&mut self, what: &str) -> Result<String> {
        match self.tokens.get(self.place) {
            Some(Token::Word(word)) => {
                self.place += 1;
                Ok(word.clone())
            }
            _ => Err(self.expected(what)),
        }
    }

    /// What stands in brackets behind a name, when there are brackets.
    fn argument(&mut self, name: &str) -> Result<Option<String>> {
        if !self.take(&Token::Open) {
            return Ok(None);
        }
        let argument = self.word(&format!("a number in the brackets of {name}"))?;
        self.expect(Token::Close, &format!("')' after {name}({argument}"))?;
        Ok(Some(argument))
    }

    fn column(&mut self, definition: &TableDefinition) -> Result<ColumnId> {
        let name = match self.tokens.get(self.place) {
            Some(Token::Word(name) | Token::Quoted(name)) => name.clone(),
            _ => return Err(self.expected("the name of a column")),
        };
        self.place += 1;
        let names = definition.columns.iter().map(|column| column.name.as_str());
        definition.column(&name).map(|column| column.id).ok_or_else(|| {
            Error::invalid(
                SqlState::UndefinedColumn,
                format!(
                    "'{}' names column '{name}', which table '{}' does not have{}",
                    self.text,
                    definition.name,
                    did_you_mean(&name, names)
                ),
            )
        })
    }

    fn end(&self) -> Result<()> {
        if self.place >= self.tokens.len() { Ok(()) } else { Err(self.expected("the end")) }
    }

    fn expected(&self, what: &str) -> Error {
        let found = self.tokens.get(self.place).map_or_else(|| "its end".to_owned(), Token::to_string);
        Error::invalid(SqlState::InvalidParameterValue, format!("'{}': expected {what}, found {found}", self.text))
    }
}

fn simple(tokens: &mut Vec<Token>, token: Token) -> usize {
    tokens.push(token);
    1
}

/// The name that a quote opens, doubled quotes halved, and the bytes that it took.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut name = String::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character != '"' {
            name.push(character);
        } else if characters.next_if(|(_, next)| *next == '"').is_some() {
            name.push('"');
        } else {
            return Some((name, at + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests;
