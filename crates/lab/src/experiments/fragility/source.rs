//! The loops of the paper's micro-benchmark as source in C and in Rust (section 2): the same loops, function for function.
//!
//! A loop goes over the records of a layout: as rows, as columns, or in chunks of k records, k being a constant of its own function or given
//! when it is called. What lies behind the last whole chunk is a shorter chunk.

use std::fmt::Write;

/// Types of the paper's three schemas (Table 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Schema {
    /// Integers of one byte.
    Char,
    /// Integers of four bytes.
    Int,
    /// Integers of eight bytes.
    Long,
}

impl Schema {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Char, Self::Int, Self::Long];

    /// The paper's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Char => "char",
            Self::Int => "int",
            Self::Long => "long",
        }
    }

    /// Bytes of a value.
    pub fn bytes(self) -> usize {
        match self {
            Self::Char => 1,
            Self::Int => 4,
            Self::Long => 8,
        }
    }

    /// Bits of the type that sums of values are made in.
    fn sum_bits(self) -> usize {
        if self == Self::Long { 64 } else { 32 }
    }
}

/// The paper's queries (figure 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MicroQuery {
    /// `SELECT MIN(a + b + …)`, by a branch.
    Min,
    /// `SELECT SUM(a * b * …)`.
    Product,
    /// The first without a branch, by masks (footnote 1).
    BranchFreeMin,
}

impl MicroQuery {
    /// The level of the factor `query`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Min => "Q1",
            Self::Product => "Q2",
            Self::BranchFreeMin => "Q1 without a branch",
        }
    }

    fn function(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Product => "product",
            Self::BranchFreeMin => "masked_min",
        }
    }
}

/// How a loop goes over its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Walk {
    /// Row by row.
    Row,
    /// Columns side by side.
    Column,
    /// In chunks of so many records, which the compiler knows.
    Chunks(usize),
    /// In chunks of as many records as the call says.
    AnyChunks,
}

impl Walk {
    /// The end of a function's name.
    pub fn name(self) -> String {
        match self {
            Self::Row => "row".to_owned(),
            Self::Column => "column".to_owned(),
            Self::Chunks(k) => format!("k{k}"),
            Self::AnyChunks => "any".to_owned(),
        }
    }
}

/// A loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Loop {
    /// The types.
    pub schema: Schema,
    /// Columns: 2 or 4.
    pub columns: usize,
    /// The query.
    pub question: MicroQuery,
    /// The way over the records.
    pub walk: Walk,
}

/// A loop that can be written in every language: a function of data, records and those of a chunk, whose result is a number of 64 bits.
pub trait LoopSource {
    /// The function's name.
    fn name(&self) -> String;
    /// The function in C.
    fn in_c(&self) -> String;
    /// The function in Rust.
    fn in_rust(&self) -> String;
}

impl LoopSource for Loop {
    fn name(&self) -> String {
        let walk = self.walk.name();
        format!("{}{}_{}_{walk}", self.schema.name(), self.columns, self.question.function())
    }

    fn in_c(&self) -> String {
        in_c(self)
    }

    fn in_rust(&self) -> String {
        in_rust(self)
    }
}

/// The languages of the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C11 with GNU's extensions.
    C,
    /// Rust, without crates.
    Rust,
}

impl Language {
    /// How a source file ends.
    pub fn extension(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Rust => "rs",
        }
    }
}

/// A whole program with these loops.
pub fn program(language: Language, loops: &[impl LoopSource]) -> String {
    let (frame, functions): (&str, String) = match language {
        Language::C => (include_str!("programs/frame.c"), loops.iter().map(LoopSource::in_c).collect()),
        Language::Rust => (include_str!("programs/frame.rs.in"), loops.iter().map(LoopSource::in_rust).collect()),
    };
    let mut table = String::new();
    for name in loops.iter().map(LoopSource::name) {
        // Writing to a string can't fail.
        let _ = match language {
            Language::C => writeln!(table, "    {{\"{name}\", {name}}},"),
            Language::Rust => writeln!(table, "    (\"{name}\", {name}),"),
        };
    }
    frame.replace("/*LOOPS*/", &functions).replace("/*TABLE*/", &table)
}

/// The address of a column's value at record `i` of a chunk that begins at `t` and has `k` records.
fn address(walk: Walk, columns: usize, column: usize) -> String {
    match (walk, column) {
        (Walk::Row, _) => format!("i * {columns} + {column}"),
        (_, 0) => "i".to_owned(),
        (_, _) => format!("i + {column} * k"),
    }
}

fn in_c(of: &Loop) -> String {
    let Loop { schema, columns, question, walk } = *of;
    let (name, of_value, of_sum) = (of.name(), schema.bytes() * 8, schema.sum_bits());
    let value = |column| format!("t[{}]", address(walk, columns, column));
    let (start, work) = match question {
        MicroQuery::Product => {
            let factors: Vec<String> =
                (0..columns).map(|column| format!("(uint64_t)(int64_t){}", value(column))).collect();
            ("uint64_t found = 0;".to_owned(), format!("found += {};", factors.join(" * ")))
        }
        MicroQuery::Min | MicroQuery::BranchFreeMin => {
            let summands: Vec<String> =
                (0..columns).map(|column| format!("(int{of_sum}_t){}", value(column))).collect();
            let least = match question {
                MicroQuery::Min => "if (sum < found) found = sum;",
                _ => "found = found ^ ((sum ^ found) & -(sum < found));",
            };
            (
                format!("int{of_sum}_t found = INT{of_sum}_MAX;"),
                format!("int{of_sum}_t sum = {}; {least}", summands.join(" + ")),
            )
        }
    };
    let inner = |count: &str| format!("for (size_t i = 0; i < {count}; i++) {{ {work} }}");
    let body = match walk {
        Walk::Row => format!("const T *t = data; {}", inner("n")),
        Walk::Column => format!("const T *t = data; k = n; {}", inner("n")),
        Walk::Chunks(_) | Walk::AnyChunks => {
            let constant = if let Walk::Chunks(k) = walk { format!("const size_t k = {k}; ") } else { String::new() };
            format!(
                "{constant}size_t whole = n / k;\n    \
                 for (size_t c = 0; c < whole; c++) {{ const T *t = (const T *)data + c * k * {columns}; {} }}\n    \
                 {{ const T *t = (const T *)data + whole * k * {columns}; const size_t last = n - whole * k; {{ const size_t k = last; {} }} }}",
                inner("k"),
                inner("k")
            )
        }
    };
    let any = if matches!(walk, Walk::Chunks(_)) { "size_t unused" } else { "size_t k" };
    let unused = match walk {
        Walk::Chunks(_) => "(void)unused; ",
        Walk::Row => "(void)k; ",
        _ => "",
    };
    format!(
        "LOOP {name}(const void *data, size_t n, {any}) {{\n    typedef int{of_value}_t T; {unused}\n    {start}\n    {body}\n    return (int64_t)found;\n}}\n\n"
    )
}

fn in_rust(of: &Loop) -> String {
    let Loop { schema, columns, question, walk } = *of;
    let (name, of_value, of_sum) = (of.name(), schema.bytes() * 8, schema.sum_bits());
    let value = |column| format!("*t.add({})", address(walk, columns, column));
    let (start, work) = match question {
        MicroQuery::Product => {
            let factor = |column| format!("({} as i64 as u64)", value(column));
            let product =
                (1..columns).fold(factor(0), |product, column| format!("{product}.wrapping_mul({})", factor(column)));
            ("let mut found = 0_u64;".to_owned(), format!("found = found.wrapping_add({product});"))
        }
        MicroQuery::Min | MicroQuery::BranchFreeMin => {
            let summands: Vec<String> =
                (0..columns).map(|column| format!("({} as i{of_sum})", value(column))).collect();
            let sum = summands[1..].iter().fold(summands[0].clone(), |sum, next| format!("{sum}.wrapping_add{next}"));
            let least = match question {
                MicroQuery::Min => "if sum < found { found = sum; }".to_owned(),
                _ => format!("found ^= (sum ^ found) & -((sum < found) as i{of_sum});"),
            };
            (format!("let mut found = i{of_sum}::MAX;"), format!("let sum = {sum}; {least}"))
        }
    };
    let inner = |count: &str| format!("let mut i = 0; while i < {count} {{ {work} i += 1; }}");
    let body = match walk {
        Walk::Row => format!("let t = data.cast::<T>(); {}", inner("n")),
        Walk::Column => format!("let t = data.cast::<T>(); let k = n; {}", inner("n")),
        Walk::Chunks(_) | Walk::AnyChunks => {
            let constant =
                if let Walk::Chunks(k) = walk { format!("const K: usize = {k}; let k = K; ") } else { String::new() };
            format!(
                "{constant}let whole = n / k;\n    let mut c = 0;\n    \
                 while c < whole {{ let t = data.cast::<T>().add(c * k * {columns}); {} c += 1; }}\n    \
                 let t = data.cast::<T>().add(whole * k * {columns}); let k = n - whole * k; {}",
                inner("k"),
                inner("k")
            )
        }
    };
    let any = if matches!(walk, Walk::Row | Walk::Column | Walk::Chunks(_)) { "_" } else { "k" };
    format!(
        "#[inline(never)]\nunsafe fn {name}(data: *const c_void, n: usize, {any}: usize) -> i64 {{\n    type T = i{of_value};\n    {start}\n    {body}\n    found as i64\n}}\n\n"
    )
}
