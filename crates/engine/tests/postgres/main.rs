//! Gingham against PostgreSQL. Names of columns and tables decide what a statement means, and a model of that in our own
//! words would have our own mistakes; PostgreSQL has the rules that users know. So random statements about small tables
//! whose columns all have the same names are asked of both.
//!
//! ```text
//! cargo test --test postgres                                          the stored statements, without PostgreSQL
//! GINGHAM_POSTGRES=2000 cargo test --test postgres new -- --nocapture      so many new ones, of a seed that is printed
//! GINGHAM_POSTGRES=2000 GINGHAM_SEED=7 …                              the same ones again
//! GINGHAM_POSTGRES=2000 GINGHAM_POSTGRES_BLESS=1 …                    stores them in tests/postgres/ instead of those there
//! GINGHAM_BLESS=1 cargo test --test postgres replay                   takes away marks of refusals that are no more
//! ```
//!
//! New statements need the programs of PostgreSQL 15 (`GINGHAM_POSTGRES_BIN` says where, when not in Debian's place).
//! `GINGHAM_POSTGRES_ONLY` and `GINGHAM_POSTGRES_WITHOUT` choose features of the generator by name, `GINGHAM_POSTGRES_DEPTH`
//! is how deep subqueries nest, `GINGHAM_POSTGRES_SHRINK` how many wrong answers are made small (0: nothing is shown), and
//! `GINGHAM_POSTGRES_TRACE=1` prints the tables, and each statement before it is asked.
//!
//! | file | what |
//! |---|---|
//! | `tree`, `shrink` | statements, and smaller ones |
//! | `world/`, `generate/` | random schemas and statements |
//! | `server`, `engine`, `answer` | both sides, and what they answer |
//! | `judge`, `report` | what came of it |
//! | `refusals` | the reasons for refusals |
//! | `stored`, `replay`, `new` | the stored statements, and new ones |
//! | `values/` | random expressions over values of every type |

#[path = "../random/generator.rs"]
mod generator;
#[path = "../../../../tests/support/levels.rs"]
mod levels;

mod answer;
mod engine;
mod generate;
mod judge;
mod new;
mod refusals;
mod replay;
mod report;
mod server;
mod shrink;
mod stored;
mod tree;
mod values;
mod world;
