//! TPC-H: eight tables from the embedded generator, the 22 queries with validation parameters, and their answers.
//!
//! | file | what |
//! |---|---|
//! | `generate` | the generator's rows as Arrow batches with the types of schema.sql |
//! | `parallel` | the same on several threads, delivered in order |
//! | `files` | the same as Parquet files |
//! | `load` | the same into a Gingham database |
//! | `database` | the same as a database of its own, with right answers, for experiments |
//! | `queries` | the query texts |
//! | `answers` | results as comparable rows, golden files |
//! | `published` | the answers at scale factor 1 that the specification publishes |

pub mod answers;
mod database;
mod files;
mod generate;
mod load;
mod parallel;
pub mod published;
pub mod queries;

pub use database::TpchDatabase;
pub use files::write_parquet;
pub use generate::batches;
pub use load::{create_tables, load};
pub use parallel::{generate_all, generate_in_order};

/// One of TPC-H's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TpchTable {
    /// The 5 regions.
    Region,
    /// The 25 nations.
    Nation,
    /// 10 000 suppliers per scale factor.
    Supplier,
    /// 150 000 customers per scale factor.
    Customer,
    /// 200 000 parts per scale factor.
    Part,
    /// 800 000 offers of parts by suppliers per scale factor.
    PartSupp,
    /// 1 500 000 orders per scale factor.
    Orders,
    /// About 6 000 000 items of orders per scale factor.
    LineItem,
}

impl TpchTable {
    /// All tables, referred ones before those that refer to them.
    pub const ALL: [Self; 8] = [
        Self::Region,
        Self::Nation,
        Self::Supplier,
        Self::Customer,
        Self::Part,
        Self::PartSupp,
        Self::Orders,
        Self::LineItem,
    ];

    /// Its name in SQL and of its file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Region => "region",
            Self::Nation => "nation",
            Self::Supplier => "supplier",
            Self::Customer => "customer",
            Self::Part => "part",
            Self::PartSupp => "partsupp",
            Self::Orders => "orders",
            Self::LineItem => "lineitem",
        }
    }

    /// Its rows at `scale`; of lineitem an estimate, since an order has one to seven items.
    pub fn rows(self, scale: f64) -> u64 {
        let per_scale = match self {
            Self::Region => return 5,
            Self::Nation => return 25,
            Self::Supplier => 10_000.0,
            Self::Customer => 150_000.0,
            Self::Part => 200_000.0,
            Self::PartSupp => 800_000.0,
            Self::Orders => 1_500_000.0,
            Self::LineItem => 6_001_215.0,
        };
        (per_scale * scale) as u64
    }

    /// Parts in which to generate it: about 100 000 rows each, so that threads share the work evenly and a part's rows
    /// fit in memory many times over.
    pub fn parts(self, scale: f64) -> usize {
        (self.rows(scale) / 100_000).max(1) as usize
    }
}
