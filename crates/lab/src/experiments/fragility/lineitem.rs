//! lineitem of TPC-H, plain and compressed (Table 4), and its queries 1 and 6 as loops over layouts of it (section 6).
//!
//! Attributes of several widths follow one another in a chunk as the columns of the micro-benchmark do, without gaps: those of a
//! record are not aligned.

use super::data::ByteColumns;
use super::source::{LoopSource, Walk};
use crate::experiment::Error;
use crate::tpch::{TpchTable, generate_in_order};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Int32Type, Int64Type};
use std::collections::HashMap;

/// Whether lineitem is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LineItemForm {
    /// The types of its definition.
    Plain,
    /// The types of Table 4.
    Compressed,
}

/// Bytes of each attribute, plain and compressed, by its place in the table. Where Table 4 says nothing they are the same.
const WIDTHS: [(&str, usize, usize); 16] = [
    ("l_orderkey", 8, 8),
    ("l_partkey", 4, 4),
    ("l_suppkey", 4, 4),
    ("l_linenumber", 4, 1),
    ("l_quantity", 8, 1),
    ("l_extendedprice", 8, 8),
    ("l_discount", 8, 1),
    ("l_tax", 8, 1),
    ("l_returnflag", 1, 1),
    ("l_linestatus", 1, 1),
    ("l_shipdate", 4, 4),
    ("l_commitdate", 4, 4),
    ("l_receiptdate", 4, 4),
    ("l_shipinstruct", 25, 1),
    ("l_shipmode", 10, 1),
    ("l_comment", 44, 4),
];

/// Places of the attributes that the queries read.
const QUANTITY: usize = 4;
const PRICE: usize = 5;
const DISCOUNT: usize = 6;
const TAX: usize = 7;
const RETURN_FLAG: usize = 8;
const LINE_STATUS: usize = 9;
const SHIP_DATE: usize = 10;

/// Days since 1970 of 1998-09-02, and of the first days of 1994 and 1995.
const LAST_SHIPPED: i64 = 10_471;
const YEAR: (i64, i64) = (8766, 9131);

impl LineItemForm {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Plain, Self::Compressed];

    /// The level of the factor `lineitem`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Compressed => "compressed",
        }
    }

    /// Name and bytes of each attribute.
    pub fn widths(self) -> [(&'static str, usize); 16] {
        WIDTHS.map(|(name, plain, compressed)| (name, if self == Self::Plain { plain } else { compressed }))
    }

    /// Bytes of a record.
    pub fn record_bytes(self) -> usize {
        self.widths().iter().map(|(_, width)| width).sum()
    }

    /// Units of a quantity's value: it is a decimal of two digits, in the domain a whole number.
    fn of_quantity(self) -> i64 {
        if self == Self::Plain { 100 } else { 1 }
    }
}

/// Generates lineitem at a scale, in a form.
pub fn line_items(form: LineItemForm, scale: f64, threads: usize) -> Result<ByteColumns, Error> {
    let mut table = ByteColumns { records: 0, columns: form.widths().map(|(_, width)| (width, Vec::new())).into() };
    // Of each attribute the texts that were seen, by their order of appearance.
    let mut known: Vec<HashMap<String, u32>> = vec![HashMap::new(); WIDTHS.len()];
    generate_in_order(TpchTable::LineItem, scale, threads, |batch| {
        table.records += batch.num_rows();
        for (place, (width, bytes)) in table.columns.iter_mut().enumerate() {
            add(form, &batch, place, *width, &mut known[place], bytes)?;
        }
        Ok(())
    })?;
    Ok(table)
}

/// Adds an attribute's values of a batch.
fn add(
    form: LineItemForm,
    batch: &RecordBatch,
    place: usize,
    width: usize,
    known: &mut HashMap<String, u32>,
    bytes: &mut Vec<u8>,
) -> Result<(), Error> {
    let array = batch.column(place);
    let mut number = |value: i64| bytes.extend_from_slice(&value.to_le_bytes()[..width]);
    match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().values().iter().for_each(|value| number(*value)),
        DataType::Int32 => array.as_primitive::<Int32Type>().values().iter().for_each(|value| number((*value).into())),
        DataType::Date32 => {
            array.as_primitive::<Date32Type>().values().iter().for_each(|value| number((*value).into()))
        }
        DataType::Decimal128(..) => {
            let units = if place == QUANTITY { 100 / form.of_quantity() } else { 1 };
            let values = array.as_primitive::<Decimal128Type>().values();
            values.iter().for_each(|value| number(*value as i64 / units));
        }
        DataType::Utf8View => {
            for text in array.as_string_view().iter().map(Option::unwrap_or_default) {
                if form == LineItemForm::Compressed && WIDTHS[place].1 > 1 {
                    let next = known.len() as u32;
                    let code =
                        known.get(text).copied().unwrap_or_else(|| *known.entry(text.to_owned()).or_insert(next));
                    bytes.extend_from_slice(&code.to_le_bytes()[..width]);
                } else {
                    let end = bytes.len() + width;
                    bytes.extend(text.bytes().take(width));
                    bytes.resize(end, b' ');
                }
            }
        }
        other => return Err(Error::Data(format!("lineitem's column {} is of type {other}", WIDTHS[place].0))),
    }
    Ok(())
}

/// The queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TpchQuery {
    /// Query 1: sums of eight groups at most.
    Q1,
    /// Query 6: a sum of what three conditions leave.
    Q6,
}

impl TpchQuery {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Q1, Self::Q6];

    /// The level of the factor `query`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Q1 => "Q1",
            Self::Q6 => "Q6",
        }
    }
}

/// The sums of query 1, by group.
type Groups = [[i64; 6]; 8];

/// A number that depends on all sums and on where they stand.
fn digest(groups: &Groups) -> i64 {
    groups.iter().flatten().fold(0, |digest: i64, sum| digest.wrapping_mul(31).wrapping_add(*sum))
}

/// The right answer of a query: by plain loops over the columns.
pub fn answer(form: LineItemForm, table: &ByteColumns, question: TpchQuery) -> i64 {
    let value = |place: usize, record: usize| {
        let (width, bytes) = &table.columns[place];
        let mut word = [0; 8];
        word[..*width].copy_from_slice(&bytes[record * width..][..*width]);
        // All of these attributes are positive.
        i64::from_le_bytes(word)
    };
    let (mut revenue, mut groups) = (0, Groups::default());
    for record in 0..table.records {
        let [quantity, price, discount, shipped] =
            [QUANTITY, PRICE, DISCOUNT, SHIP_DATE].map(|place| value(place, record));
        match question {
            TpchQuery::Q6 => {
                let within = (YEAR.0..YEAR.1).contains(&shipped) && (5..=7).contains(&discount);
                if within && quantity < 24 * form.of_quantity() {
                    revenue += price * discount;
                }
            }
            TpchQuery::Q1 if shipped <= LAST_SHIPPED => {
                let [flag, status, tax] = [RETURN_FLAG, LINE_STATUS, TAX].map(|place| value(place, record));
                let group = i64::from(flag == i64::from(b'N')) * 2
                    + i64::from(flag == i64::from(b'R')) * 4
                    + i64::from(status == i64::from(b'O'));
                let net = price * (100 - discount);
                let added = [quantity, price, net, net * (100 + tax), discount, 1];
                groups[group as usize].iter_mut().zip(added).for_each(|(sum, value)| *sum += value);
            }
            TpchQuery::Q1 => {}
        }
    }
    match question {
        TpchQuery::Q1 => digest(&groups),
        TpchQuery::Q6 => revenue,
    }
}

/// A query as a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TpchLoop {
    /// Over what.
    pub form: LineItemForm,
    /// The query.
    pub question: TpchQuery,
    /// The way over the records.
    pub walk: Walk,
}

impl TpchLoop {
    /// The attributes that it reads: their names in the source, and places.
    fn read(&self) -> &'static [(&'static str, usize)] {
        match self.question {
            TpchQuery::Q1 => &[
                ("quantity", QUANTITY),
                ("price", PRICE),
                ("discount", DISCOUNT),
                ("tax", TAX),
                ("flag", RETURN_FLAG),
                ("status", LINE_STATUS),
                ("shipped", SHIP_DATE),
            ],
            TpchQuery::Q6 => {
                &[("quantity", QUANTITY), ("price", PRICE), ("discount", DISCOUNT), ("shipped", SHIP_DATE)]
            }
        }
    }

    /// For each attribute that is read its name, bits, and bytes before it in a record.
    fn attributes(&self) -> Vec<(&'static str, usize, usize)> {
        let widths = self.form.widths();
        let before = |place: usize| widths[..place].iter().map(|(_, width)| width).sum();
        self.read().iter().map(|(name, place)| (*name, widths[*place].1 * 8, before(*place))).collect()
    }

    /// The byte at which an attribute of record `i` lies, from `t` on, in a chunk of `k` records.
    fn place(&self, bits: usize, before: usize) -> String {
        match self.walk {
            Walk::Row => format!("i * {} + {before}", self.form.record_bytes()),
            _ => format!("k * {before} + i * {}", bits / 8),
        }
    }
}

impl LoopSource for TpchLoop {
    fn name(&self) -> String {
        let walk = self.walk.name();
        format!("{}_{}_{walk}", self.form.name(), self.question.name())
    }

    fn in_c(&self) -> String {
        let loads = |attributes: Vec<(&str, usize, usize)>| -> String {
            let load = |(name, bits, before): (&str, usize, usize)| {
                let place = self.place(bits, before);
                format!(
                    "int{bits}_t {name}_; __builtin_memcpy(&{name}_, t + {place}, {}); int64_t {name} = {name}_; ",
                    bits / 8
                )
            };
            attributes.into_iter().map(load).collect()
        };
        let (attributes, units) = (self.attributes(), self.form.of_quantity());
        let (start, work, end) = match self.question {
            TpchQuery::Q6 => (
                "int64_t found = 0;",
                format!(
                    "{}if (shipped >= {} && shipped < {} && discount >= 5 && discount <= 7 && quantity < {}) found += price * discount;",
                    loads(attributes),
                    YEAR.0,
                    YEAR.1,
                    24 * units
                ),
                "return found;",
            ),
            TpchQuery::Q1 => (
                "int64_t sums[8][6] = {{0}};",
                format!(
                    "{}if (shipped <= {LAST_SHIPPED}) {{ int64_t *s = sums[(flag == 'N') * 2 + (flag == 'R') * 4 + (status == 'O')]; \
                     int64_t net = price * (100 - discount); s[0] += quantity; s[1] += price; s[2] += net; s[3] += net * (100 + tax); \
                     s[4] += discount; s[5] += 1; }}",
                    loads(attributes)
                ),
                "uint64_t found = 0; for (int g = 0; g < 8; g++) for (int s = 0; s < 6; s++) found = found * 31 + (uint64_t)sums[g][s]; \
                 return (int64_t)found;",
            ),
        };
        let inner = |count: &str| format!("for (size_t i = 0; i < {count}; i++) {{ {work} }}");
        let record = self.form.record_bytes();
        let body = match self.walk {
            Walk::Row => format!("const char *t = data; (void)k_; {}", inner("n")),
            Walk::Column => format!("const char *t = data; (void)k_; const size_t k = n; {}", inner("n")),
            Walk::Chunks(_) | Walk::AnyChunks => {
                let k = if let Walk::Chunks(k) = self.walk { k.to_string() } else { "k_".to_owned() };
                format!(
                    "(void)k_; const size_t k = {k}, whole = n / k;\n    \
                     for (size_t c = 0; c < whole; c++) {{ const char *t = (const char *)data + c * k * {record}; {} }}\n    \
                     {{ const char *t = (const char *)data + whole * k * {record}; const size_t last = n - whole * k; {{ const size_t k = last; {} }} }}",
                    inner("k"),
                    inner("k")
                )
            }
        };
        format!(
            "LOOP {}(const void *data, size_t n, size_t k_) {{\n    {start}\n    {body}\n    {end}\n}}\n\n",
            self.name()
        )
    }

    fn in_rust(&self) -> String {
        let load = |(name, bits, before): (&str, usize, usize)| {
            format!("let {name} = t.add({}).cast::<i{bits}>().read_unaligned() as i64; ", self.place(bits, before))
        };
        let loads: String = self.attributes().into_iter().map(load).collect();
        let units = self.form.of_quantity();
        let (start, work, end) = match self.question {
            TpchQuery::Q6 => (
                "let mut found = 0_i64;",
                format!(
                    "{loads}if shipped >= {} && shipped < {} && discount >= 5 && discount <= 7 && quantity < {} {{ found = \
                     found.wrapping_add(price.wrapping_mul(discount)); }}",
                    YEAR.0,
                    YEAR.1,
                    24 * units
                ),
                "found",
            ),
            TpchQuery::Q1 => (
                "let mut sums = [[0_i64; 6]; 8];",
                format!(
                    "{loads}if shipped <= {LAST_SHIPPED} {{ let s = sums.get_unchecked_mut(((flag == 78) as usize) * 2 + ((flag == 82) as usize) * 4 + \
                     (status == 79) as usize); let net = price.wrapping_mul(100 - discount); s[0] += quantity; s[1] += price; s[2] += net; \
                     s[3] += net.wrapping_mul(100 + tax); s[4] += discount; s[5] += 1; }}"
                ),
                "sums.iter().flatten().fold(0_i64, |found, sum| found.wrapping_mul(31).wrapping_add(*sum))",
            ),
        };
        let inner = |count: &str| format!("let mut i = 0; while i < {count} {{ {work} i += 1; }}");
        let record = self.form.record_bytes();
        let body = match self.walk {
            Walk::Row => format!("let t = data.cast::<u8>(); {}", inner("n")),
            Walk::Column => format!("let t = data.cast::<u8>(); let k = n; {}", inner("n")),
            Walk::Chunks(_) | Walk::AnyChunks => {
                let k = if let Walk::Chunks(k) = self.walk { k.to_string() } else { "k_".to_owned() };
                format!(
                    "let k: usize = {k}; let whole = n / k;\n    let mut c = 0;\n    \
                     while c < whole {{ let t = data.cast::<u8>().add(c * k * {record}); {} c += 1; }}\n    \
                     let t = data.cast::<u8>().add(whole * k * {record}); let k = n - whole * k; {}",
                    inner("k"),
                    inner("k")
                )
            }
        };
        format!(
            "#[inline(never)]\nunsafe fn {}(data: *const c_void, n: usize, k_: usize) -> i64 {{\n    {start}\n    {body}\n    {end}\n}}\n\n",
            self.name()
        )
    }
}
