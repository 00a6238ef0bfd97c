//! Operators: the tables that pipelines probe, the groups and orders that they end in, and the interpreter.
//!
//! | file | what |
//! |---|---|
//! | `keys` | keys of groups and joins -> words: digits of one number, or of several |
//! | `place_table` | words of keys -> their places in a list of different ones |
//! | `aggregate/` | groups and their states |
//! | `join`, `inequality` | joins by keys and by inequalities |
//! | `order`, `top` | rows in an order, all of them or the first |
//! | `interpret` | steps as loops over vectors: the oracle of the code generator |
//! | `gathered` | what the threads of a pipeline gathered |

pub(crate) mod aggregate;
pub(crate) mod gathered;
pub(crate) mod inequality;
pub(crate) mod interpret;
pub(crate) mod join;
pub(crate) mod keys;
pub(crate) mod order;
mod place_table;
pub(crate) mod top;
