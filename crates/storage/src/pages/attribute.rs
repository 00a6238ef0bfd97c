//! Columns as heap pages store them: values of a fixed width as ordered codes, all others as byte strings.
//!
//! A code is the value above the smallest that its type has (for floats their ordered bits), in the type's own width, so
//! that a minipage is what scans on codes take, whatever was inserted. Decimals of more than 18 digits are kept as 128-bit
//! values.

use crate::SqlState;
use crate::model::view::{CodeMeaning, float_from_order, float_order, real_from_order, real_order};
use crate::pages::bit;
use crate::{ColumnDefinition, ColumnId, Datum, Error, FloatBits, LogicalType, Result, TableDefinition, Unit};
use std::ops::Range;

/// How the values of an attribute lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeForm {
    /// Each in so many bytes: 1, 2, 4 or 8 of a code, or a value of 16.
    Fixed(usize),
    /// Byte strings.
    Variable,
}

/// A value too long for a page: where the table keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverflowReference {
    /// Its number among the table's.
    pub number: u64,
    /// Its length in bytes.
    pub length: u32,
}

impl OverflowReference {
    /// Bytes that it takes in a page, in the place of the value.
    pub const BYTES: usize = 12;

    /// The bytes.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    /// The reference in `bytes`, when these are as many as one has.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (number, length) = bytes.split_first_chunk::<8>()?;
        Some(Self { number: u64::from_le_bytes(*number), length: u32::from_le_bytes(length.try_into().ok()?) })
    }
}

/// One attribute of a record as a page takes and gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'p> {
    /// NULL.
    Null,
    /// A code, or the 128 bits of a wide value.
    Code(u128),
    /// A byte string.
    Bytes(&'p [u8]),
    /// A byte string that lies elsewhere.
    Overflow(OverflowReference),
}

impl Field<'_> {
    /// Bytes that it takes where values vary in length.
    pub(crate) fn variable_bytes(&self) -> usize {
        match self {
            Self::Null | Self::Code(_) => 0,
            Self::Bytes(bytes) => bytes.len(),
            Self::Overflow(_) => OverflowReference::BYTES,
        }
    }
}

/// A field that outlives the page it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OwnedField {
    Null,
    Code(u128),
    Bytes(Box<[u8]>),
    Overflow(OverflowReference),
}

impl From<Field<'_>> for OwnedField {
    fn from(field: Field<'_>) -> Self {
        match field {
            Field::Null => Self::Null,
            Field::Code(code) => Self::Code(code),
            Field::Bytes(bytes) => Self::Bytes(bytes.into()),
            Field::Overflow(reference) => Self::Overflow(reference),
        }
    }
}

impl OwnedField {
    /// The field, borrowed.
    pub(crate) fn field(&self) -> Field<'_> {
        match self {
            Self::Null => Field::Null,
            Self::Code(code) => Field::Code(*code),
            Self::Bytes(bytes) => Field::Bytes(bytes),
            Self::Overflow(reference) => Field::Overflow(*reference),
        }
    }
}

/// A column of a heap table.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// Number of the column.
    pub column: ColumnId,
    /// Its name, for messages.
    pub name: String,
    /// Its type.
    pub logical_type: LogicalType,
    /// Whether it may be NULL: whether pages keep presence bits for it.
    pub nullable: bool,
    /// How its values lie.
    pub kind: AttributeForm,
}

impl Attribute {
    /// The attribute of a column.
    pub fn new(column: &ColumnDefinition) -> Self {
        let logical_type = column.logical_type.clone();
        let kind = match width(&logical_type) {
            Some(width) => AttributeForm::Fixed(width),
            None => AttributeForm::Variable,
        };
        Self { column: column.id, name: column.name.clone(), logical_type, nullable: column.nullable, kind }
    }

    /// What the codes of the attribute mean.
    pub fn meaning(&self) -> CodeMeaning {
        match (&self.logical_type, self.kind) {
            (LogicalType::Float32 | LogicalType::Float64, _) => CodeMeaning::FloatOrder { base: 0 },
            (_, AttributeForm::Fixed(width @ ..=8)) => CodeMeaning::FrameOfReference { base: self.base(width) },
            _ => CodeMeaning::Value,
        }
    }

    /// The largest code of the width, 0 where there are no codes.
    pub(crate) fn max_code(&self) -> u64 {
        match self.kind {
            AttributeForm::Fixed(width @ ..=8) => u64::MAX >> (64 - 8 * width),
            _ => 0,
        }
    }

    /// The value of code 0: what the type's own width can hold least.
    pub(crate) fn base(&self, width: usize) -> i128 {
        match self.logical_type {
            LogicalType::Boolean | LogicalType::UInt(_) => 0,
            _ => -(1 << (8 * width - 1)),
        }
    }

    /// What a page keeps for an integer. Fails for one that the type does not have.
    pub(crate) fn code_of_integer(&self, value: i128) -> Result<u128> {
        let AttributeForm::Fixed(width) = self.kind else { return Err(self.wrong(&Datum::Integer(value))) };
        if width == 16 {
            return Ok(value as u128);
        }
        match u64::try_from(value - self.base(width)) {
            Ok(code) if code <= self.max_code() && (self.logical_type != LogicalType::Boolean || code < 2) => {
                Ok(code.into())
            }
            _ => Err(self.wrong(&Datum::Integer(value))),
        }
    }

    /// What a page keeps for a value. Fails for NULL where there may be none and for values of another type.
    pub fn field<'v>(&self, value: &'v Datum) -> Result<Field<'v>> {
        Ok(match (value, &self.logical_type, self.kind) {
            (Datum::Null, ..) if self.nullable => Field::Null,
            (Datum::Null, ..) => {
                return Err(Error::constraint(
                    SqlState::NotNullViolation,
                    format!("column '{}' is NOT NULL, the value is NULL", self.name),
                ));
            }
            (Datum::Float(value), LogicalType::Float32, _) => Field::Code(real_order(value.get() as f32).into()),
            (Datum::Float(value), LogicalType::Float64, _) => Field::Code(float_order(value.get()).into()),
            (Datum::Integer(value), LogicalType::Float32 | LogicalType::Float64, _) => {
                return Err(self.wrong(&Datum::Integer(*value)));
            }
            (Datum::Integer(value), ..) => Field::Code(self.code_of_integer(*value)?),
            (Datum::Bytes(bytes), LogicalType::Binary, _) => Field::Bytes(bytes),
            (Datum::Bytes(bytes), _, AttributeForm::Variable) if std::str::from_utf8(bytes).is_ok() => {
                Field::Bytes(bytes)
            }
            (other, ..) => return Err(self.wrong(other)),
        })
    }

    /// The value that a field stands for. One that lies elsewhere must be fetched first.
    pub fn datum(&self, field: &Field<'_>) -> Result<Datum> {
        Ok(match (field, &self.logical_type, self.kind) {
            (Field::Null, ..) => Datum::Null,
            (Field::Code(code), LogicalType::Float32, _) => {
                Datum::Float(FloatBits::new(real_from_order(*code as u32).into()))
            }
            (Field::Code(code), LogicalType::Float64, _) => {
                Datum::Float(FloatBits::new(float_from_order(*code as u64)))
            }
            (Field::Code(code), _, AttributeForm::Fixed(16)) => Datum::Integer(*code as i128),
            (Field::Code(code), _, AttributeForm::Fixed(width)) => Datum::Integer(*code as i128 + self.base(width)),
            (Field::Bytes(bytes), _, AttributeForm::Variable) => Datum::Bytes((*bytes).into()),
            (other, ..) => {
                return Err(Error::invalid(
                    SqlState::DatatypeMismatch,
                    format!("column '{}': {other:?} is no value of it", self.name),
                ));
            }
        })
    }

    fn wrong(&self, value: &Datum) -> Error {
        Error::invalid(
            SqlState::DatatypeMismatch,
            format!("column '{}': {value:?} is no {}", self.name, self.logical_type),
        )
    }

    /// The attribute's class in a page: a number for its kind, as docs/formats/heap.md lists them.
    pub(crate) fn class(&self) -> u16 {
        match self.kind {
            AttributeForm::Fixed(width) => width.trailing_zeros() as u16,
            AttributeForm::Variable => 5,
        }
    }
}

/// Bytes of a value of the type, where all take as many.
fn width(logical_type: &LogicalType) -> Option<usize> {
    Some(match logical_type {
        LogicalType::Boolean => 1,
        LogicalType::Int(bits) | LogicalType::UInt(bits) => usize::from(*bits) / 8,
        LogicalType::Decimal { precision: ..=9, .. } | LogicalType::Float32 | LogicalType::Date => 4,
        LogicalType::Decimal { precision: ..=18, .. } | LogicalType::Float64 | LogicalType::Timestamp(..) => 8,
        LogicalType::Decimal { .. } => 16,
        LogicalType::Time(Unit::Second | Unit::Millisecond) => 4,
        LogicalType::Time(_) => 8,
        LogicalType::Char(_) | LogicalType::UntrimmedChar(_) | LogicalType::Varchar(_) | LogicalType::Binary => {
            return None;
        }
    })
}

/// The attributes of a table's pages, and where they lie in an NSM record.
#[derive(Debug, Clone, PartialEq)]
pub struct PageSchema {
    /// The table's name, for messages.
    pub(crate) table: String,
    /// The attributes, in order.
    pub(crate) attributes: Vec<Attribute>,
    /// NSM: the presence bit of each attribute that has one.
    pub(crate) presence: Vec<Option<usize>>,
    /// NSM: where the value of a fixed attribute lies in a record; the number of a variable one among these.
    pub(crate) places: Vec<usize>,
    /// NSM: bytes of a record before its offsets.
    pub(crate) fixed_bytes: usize,
    /// Number of variable attributes.
    pub(crate) variables: usize,
    /// The shape that pages name in their heads, 0 of DSM's.
    pub(crate) shape: u32,
    /// Where records have the attributes of the table; `None` where these are the schema's own.
    pub(crate) sources: Option<Box<[AttributeSource]>>,
}

/// Where the records of a page have an attribute of their table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AttributeSource {
    /// At this place among the page's.
    Place(usize),
    /// Nowhere: the column came later, and all of them have this value.
    Initial(OwnedField),
}

impl PageSchema {
    /// The schema of a table.
    pub fn new(definition: &TableDefinition) -> Self {
        Self::of(definition.name.to_string(), definition.columns.iter().map(Attribute::new).collect())
    }

    /// The schema of these attributes.
    pub(crate) fn of(table: String, attributes: Vec<Attribute>) -> Self {
        let mut bits = 0;
        let mut presence = Vec::with_capacity(attributes.len());
        for attribute in &attributes {
            presence.push(attribute.nullable.then_some(bits));
            bits += usize::from(attribute.nullable);
        }
        let (mut at, mut variables) = (bit::bytes(bits), 0);
        let mut places = Vec::with_capacity(attributes.len());
        for attribute in &attributes {
            match attribute.kind {
                AttributeForm::Fixed(width) => {
                    places.push(at);
                    at += width;
                }
                AttributeForm::Variable => {
                    places.push(variables);
                    variables += 1;
                }
            }
        }
        Self { table, attributes, presence, places, fixed_bytes: at, variables, shape: 0, sources: None }
    }

    /// The attributes, in order.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// The place that a page of this schema has for an attribute of its table; `None` where it has none.
    pub(crate) fn place_of(&self, attribute: usize) -> Option<usize> {
        match &self.sources {
            None => Some(attribute),
            Some(sources) => match sources.get(attribute)? {
                AttributeSource::Place(place) => Some(*place),
                AttributeSource::Initial(_) => None,
            },
        }
    }

    /// What the records of a page without an attribute of their table have there.
    pub(crate) fn initial(&self, attribute: usize) -> Field<'_> {
        match self.sources.as_ref().and_then(|sources| sources.get(attribute)) {
            Some(AttributeSource::Initial(field)) => field.field(),
            _ => Field::Null,
        }
    }

    /// Whether the table has no attribute at a place of the page: its column was dropped.
    pub(crate) fn is_dropped(&self, place: usize) -> bool {
        self.sources.as_ref().is_some_and(|sources| !sources.contains(&AttributeSource::Place(place)))
    }

    /// The places of the attributes.
    pub(crate) fn places(&self) -> Range<usize> {
        0..self.attributes.len()
    }

    /// The schema of the DSM relation of one attribute: record ids beside its values.
    pub fn of_pairs(&self, attribute: usize) -> Self {
        let id = Attribute {
            column: 0,
            name: "record id".to_owned(),
            logical_type: LogicalType::UInt(64),
            nullable: false,
            kind: AttributeForm::Fixed(8),
        };
        Self::of(self.table.clone(), vec![id, self.attributes[attribute].clone()])
    }

    /// Refuses fields that the attributes can't have: another number of them, a kind that is not theirs, NULL where there
    /// may be none.
    pub(crate) fn check(&self, fields: &[Field<'_>]) -> Result<()> {
        if fields.len() != self.attributes.len() {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!("table {} has {} columns, the record {}", self.table, self.attributes.len(), fields.len()),
            ));
        }
        fields.iter().enumerate().try_for_each(|(at, field)| self.check_field(at, field))
    }

    /// [`Self::check`] of some fields, each of another attribute.
    pub(crate) fn check_changes(&self, changes: &[(usize, Field<'_>)]) -> Result<()> {
        for (at, (attribute, field)) in changes.iter().enumerate() {
            self.check_field(*attribute, field)?;
            if changes[..at].iter().any(|(other, _)| other == attribute) {
                let name = &self.attributes[*attribute].name;
                return Err(Error::invalid(
                    SqlState::DuplicateColumn,
                    format!("column '{name}' of table {} is changed twice", self.table),
                ));
            }
        }
        Ok(())
    }

    /// [`Self::check`] of one field.
    fn check_field(&self, attribute: usize, field: &Field<'_>) -> Result<()> {
        let own = self.attributes.get(attribute);
        let fits = own.is_some_and(|own| match (field, own.kind) {
            (Field::Null, _) => own.nullable,
            (Field::Code(code), AttributeForm::Fixed(width)) => width == 16 || *code >> (8 * width) == 0,
            (Field::Bytes(_) | Field::Overflow(_), AttributeForm::Variable) => true,
            _ => false,
        });
        if fits {
            return Ok(());
        }
        let name = own.map_or("?", |own| own.name.as_str());
        Err(Error::invalid(
            SqlState::ProgramLimitExceeded,
            format!("column '{name}' of table {}: {field:?} does not fit it", self.table),
        ))
    }
}
