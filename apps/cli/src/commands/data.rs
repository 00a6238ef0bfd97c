//! Commands that bring files in and write data out.

use crate::commands::call::Call;
use crate::commands::{Action, Command, Effect, Takes, dump};
use crate::failure::Failure;
use crate::load;
use crate::read_args::ReadArgs;
use crate::script::{Next, Runner};
use clap::Parser;
use gingham::load::LoadOptions;
use std::path::PathBuf;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: ".import",
        aliases: &[],
        argument: "FILE TABLE [OPTIONS]",
        help: "read a file into a table, which is made when it is missing; options as 'gingham DB load' has them",
        takes: Takes::File,
        effect: Effect::Writes,
        action: Action::Run(import),
    },
    Command {
        name: ".dump",
        aliases: &[],
        argument: "[TABLE …]",
        help: "write a script that makes the tables again, with their records",
        takes: Takes::Table,
        effect: Effect::Reads,
        action: Action::Run(dump::run),
    },
];

/// The arguments of `.import`.
#[derive(Debug, Parser)]
#[command(
    name = ".import",
    no_binary_name = true,
    disable_help_flag = true,
    override_usage = ".import FILE TABLE [OPTIONS]"
)]
struct ImportArgs {
    /// The file, or a folder of files
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The table
    #[arg(value_name = "TABLE")]
    table: String,

    /// Layout of a table that is made
    #[arg(long)]
    layout: Option<String>,

    /// Columns and types of a table that is made
    #[arg(long, value_name = "COLUMNS")]
    schema: Option<String>,

    /// The file is CSV, whatever its name
    #[arg(long, conflicts_with = "format_of_files")]
    csv: bool,

    /// How the file is read.
    #[command(flatten)]
    read: ReadArgs,

    /// Bad lines to leave out before giving up
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip_bad: u64,
}

fn import(runner: &mut Runner, call: &Call<'_>) -> Result<Next, Failure> {
    let mut arguments = ImportArgs::try_parse_from(call.words()?).map_err(|error| {
        let text = error.render().to_string();
        let first = text.lines().next().unwrap_or_default();
        let first = first.strip_prefix("error: ").unwrap_or(first).trim_end_matches(':');
        match error.kind() {
            clap::error::ErrorKind::MissingRequiredArgument => call.wrong(),
            _ => Failure::failed(format!(".import: {first}")),
        }
    })?;
    if arguments.csv {
        arguments.read.format_of_files = Some("csv".to_owned());
    }
    if !arguments.file.exists() {
        return Err(Failure::failed(format!("{}: no such file", arguments.file.display())));
    }
    let options = LoadOptions {
        table: arguments.table,
        layout: arguments.layout,
        schema: arguments.schema,
        read: arguments.read.options()?,
        skip_bad: arguments.skip_bad,
    };
    let told = load::load(&runner.connection, &[arguments.file], &options)?;
    if runner.changes {
        runner.say(&told)?;
    }
    Ok(Next::GoOn)
}
