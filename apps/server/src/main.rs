//! The program `gingham-server`: a database behind PostgreSQL's protocol. The engine does the work; this translates.
//!
//! | file | what |
//! |---|---|
//! | `options` | the command line |
//! | `serve` | the server from its start to its end |
//! | `publishing` | publishing while the database is served |
//! | `server` | what all connections share |
//! | `connection/` | one client's messages |
//! | `backend/` | what answers them |
//! | `users`, `tls` | who may come, and how connections are encrypted |
//! | `errors` | errors as clients take them |
//! | `statement_log` | what is written down of statements |
//! | `metrics` | what Prometheus is told |
//! | `failure` | why the program ends early |

mod backend;
mod connection;
mod errors;
mod failure;
mod metrics;
mod options;
mod publishing;
mod serve;
mod server;
mod statement_log;
mod tls;
mod users;

use clap::Parser;
use failure::Failure;
use options::{Command, Options, UserCommand};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use users::User;

fn main() -> ExitCode {
    gingham::built_from(gingham_commit::COMMIT);
    let options = Options::parse();
    let done = match options.command {
        Command::Serve(options) => serve::serve(&options),
        Command::User(options) => change_users(options.command),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn change_users(command: UserCommand) -> Result<(), Failure> {
    match command {
        UserCommand::Add { name, role, users } => {
            let mut known = if users.exists() { users::read(&users)? } else { Vec::new() };
            let user = User::new(&name, role, &password()?)?;
            match known.iter_mut().find(|known| known.name == name) {
                Some(known) => *known = user,
                None => known.push(user),
            }
            Ok(users::write(&users, &known)?)
        }
        UserCommand::List { users } => {
            for user in users::read(&users)? {
                let _ = writeln!(std::io::stdout(), "{}\t{}", user.name, user.role);
            }
            Ok(())
        }
        UserCommand::Remove { name, users } => {
            let mut known = users::read(&users)?;
            let before = known.len();
            known.retain(|user| user.name != name);
            if known.len() == before {
                return Err(Failure(format!("{} has no user '{name}'", users.display())));
            }
            Ok(users::write(&users, &known)?)
        }
    }
}

/// The password: from the terminal, twice and unseen, or a line of standard input.
fn password() -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure(format!("reading the password: {error}"));
    if std::io::stdin().is_terminal() {
        let first = rpassword::prompt_password("password: ").map_err(failed)?;
        let again = rpassword::prompt_password("once more: ").map_err(failed)?;
        return if first == again { Ok(first) } else { Err(Failure("the passwords differ".into())) };
    }
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(failed)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
