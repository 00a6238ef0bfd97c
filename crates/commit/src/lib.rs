//! The version of the programs that are built from a checkout, with its commit.
//!
//! This is a crate of its own so that a commit makes few others be built anew: a crate that names the commit is compiled again
//! after each, and the engine takes minutes. Programs depend on this crate and hand the commit to the engine when they start. A
//! source archive has no `.git`, and what is built of it tells the version alone.
//!
//! | file | what |
//! |---|---|
//! | `checkout` | the commit, from git's files: a part of the build script, which is tested here |

#[cfg(test)]
mod checkout;

/// The first digits of the commit that this was built from; `None` outside of a checkout.
pub const COMMIT: Option<&str> = option_env!("GINGHAM_COMMIT");

/// The version, with the commit in brackets where there is one: `0.1.0 (7c5310ec)`.
pub const VERSION: &str = env!("GINGHAM_VERSION");
