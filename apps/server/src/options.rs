//! The program's options.

use crate::users::role_of;
use clap::{Args, Parser, Subcommand};
use gingham::Role;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tracing::Level;

/// Serves a Gingham database to PostgreSQL's clients.
#[derive(Debug, Parser)]
#[command(name = "gingham-server", version, about, disable_help_subcommand = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serves a database until SIGTERM or Ctrl-C comes
    Serve(Box<Serve>),
    /// Lists and changes the users of a file
    User(UserOptions),
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The database's folder, made when it is missing, or the URL of a published one; `:memory:` for one that is gone at the end
    pub(crate) database: String,
    /// Where clients connect by TCP: an address and port, or `off`
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5432")]
    pub(crate) postgres: String,
    /// The folder of a socket for clients of this machine, as /tmp
    #[arg(long, value_name = "FOLDER")]
    pub(crate) socket: Option<PathBuf>,
    /// The file of users; without it everybody who can connect may do everything
    #[arg(long, value_name = "FILE")]
    pub(crate) users: Option<PathBuf>,
    /// Certificate and key (PEM): connections by TCP are encrypted
    #[arg(long, num_args = 2, value_names = ["CERTIFICATE", "KEY"])]
    pub(crate) tls: Option<Vec<PathBuf>>,
    /// Sessions at a time
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) max_connections: usize,
    /// Opens the database for reading alone
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Bytes for the cache and queries together, as 4GB; three quarters of the machine's memory otherwise
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory: Option<usize>,
    /// Folder for what was read of a published database; the user's folder for caches otherwise
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cache: Option<PathBuf>,
    /// Publishes the database at a URL, again and again
    #[arg(long, value_name = "URL")]
    pub(crate) publish: Option<String>,
    /// Time between publications: 90s, 15m
    #[arg(long, value_name = "SECONDS", default_value = "60s", value_parser = age, requires = "publish")]
    pub(crate) publish_every: Duration,
    /// Sweeps behind each publication what no state needs that was the newest within this time: 24h, 7d
    #[arg(long, value_name = "AGE", value_parser = age, requires = "publish")]
    pub(crate) publish_keep: Option<Duration>,
    /// Threads of a query; all cores otherwise
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Where Prometheus finds /metrics and others /healthz
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<SocketAddr>,
    /// How much is logged on standard error: error, warn, info or debug, which tells every statement
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(crate) log: Level,
    /// Statements that take as many milliseconds are logged with their plans
    #[arg(long, value_name = "MS")]
    pub(crate) slow: Option<u64>,
    /// Seconds that running statements have to end after SIGTERM
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) grace: u64,
}

#[derive(Debug, Args)]
pub(crate) struct UserOptions {
    #[command(subcommand)]
    pub(crate) command: UserCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Adds a user, or gives one another password or role; the password is read from the terminal or from standard input
    Add {
        /// The user's name
        name: String,
        /// What the user may do: read, write (tables) or admin (everything, also the server's files and settings)
        #[arg(long, value_parser = role_of, default_value = "read")]
        role: Role,
        /// The file of users, made when it is missing
        #[arg(long, value_name = "FILE")]
        users: PathBuf,
    },
    /// Lists the users and their roles
    List {
        /// The file of users
        #[arg(long, value_name = "FILE")]
        users: PathBuf,
    },
    /// Removes a user; a session that is there goes on
    Remove {
        /// The user's name
        name: String,
        /// The file of users
        #[arg(long, value_name = "FILE")]
        users: PathBuf,
    },
}

/// `512MB`, `4GB`, `100000`.
fn bytes(text: &str) -> Result<usize, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = match text[digits..].trim().to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "KB" | "K" => 1 << 10,
        "MB" | "M" => 1 << 20,
        "GB" | "G" => 1_usize << 30,
        _ => return Err("a size is a number with KB, MB or GB".into()),
    };
    let number = text[..digits].parse::<usize>().map_err(|_| "a size is a number with KB, MB or GB".to_owned())?;
    number.checked_mul(unit).ok_or_else(|| "it is too large".into())
}

/// A time as the engine takes it.
fn age(text: &str) -> Result<Duration, String> {
    gingham::age(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("100"), Ok(100));
        assert_eq!(bytes("4 gb"), Ok(4 << 30));
        assert!(bytes("4 TB").is_err() && bytes("MB").is_err() && bytes("99999999999999999999").is_err());
    }
}
