//! Wide tables: joins made once and kept, each attribute a column of codes (ByteSlice paper, section 4.2, after "WideTable").
//!
//! | file | what |
//! |---|---|
//! | `attribute` | values to codes: frame of reference, or an order-preserving dictionary |
//! | `tpch` | TPC-H's line items with their orders, customers, parts and suppliers |
//! | `files` | the tables of CSV files |

mod attribute;
mod files;
mod tpch;

pub use attribute::{Attribute, Builder, Meaning};
pub use files::load_csv;
pub use tpch::line_items;

use super::Codes;
use crate::random::Random;

/// A table of attributes, all of the same number of rows.
#[derive(Debug, Default)]
pub struct Wide {
    /// The attributes.
    pub attributes: Vec<Attribute>,
}

impl Wide {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.attributes.first().map_or(0, |attribute| attribute.codes.rows())
    }

    /// Place of an attribute.
    ///
    /// # Panics
    /// When there is none of that name: queries are written for their tables.
    pub fn place(&self, name: &str) -> usize {
        let place = self.attributes.iter().position(|attribute| attribute.name == name);
        place.unwrap_or_else(|| panic!("the table has no attribute {name}"))
    }

    /// These attributes with codes drawn by Zipf's distribution over each one's domain, independently: small codes are frequent.
    /// What ties attributes of a row together is lost.
    pub fn skewed(&self, exponent: f64, seed: u64) -> Self {
        let skew = |attribute: &Attribute| {
            let mut random = Random::named(seed, &format!("{} {exponent}", attribute.name));
            let zipf = super::Zipf::new(attribute.domain, exponent);
            let codes = Codes::generate(attribute.width, self.rows(), || zipf.draw(&mut random));
            Attribute { codes, ..attribute.clone_meaning() }
        };
        Self { attributes: self.attributes.iter().map(skew).collect() }
    }

    /// These rows `times` times, one after the other.
    pub fn repeated(&self, times: usize) -> Self {
        let rows = self.rows();
        let repeat = |attribute: &Attribute| {
            let mut row = 0;
            let codes = Codes::generate(attribute.width, rows * times, || {
                let code = attribute.codes.get(row % rows);
                row += 1;
                code
            });
            Attribute { codes, ..attribute.clone_meaning() }
        };
        Self { attributes: self.attributes.iter().map(repeat).collect() }
    }
}
