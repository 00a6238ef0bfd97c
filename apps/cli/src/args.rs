//! The command line's grammar, and which of its arguments runs in what order.

use crate::advise::AdviseArgs;
use crate::demo::DemoArgs;
use crate::lab::LabCommand;
use crate::output::Format;
use crate::read_args::ReadArgs;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use gingham::load::LoadOptions;
use std::path::PathBuf;
use std::time::Duration;

const AFTER_HELP: &str = "\
Without SQL from -c, -f or a pipe, gingham opens a prompt. Scripts may have commands between their statements, too, each on a
line of its own: .mode csv, .import FILE TABLE, .dump, .read FILE, \\d TABLE and others, which gingham -c .help lists.

DB may be the URL of a published database, as s3://bucket/shop or file:///srv/shop, which is read from there; REFRESH takes
its newest state. publish makes and renews one, of which sweep removes what nobody needs any more (docs/publish.md).

While another process writes, scripts that only read are run on the database as it is then; others fail.

Formats:
  table      boxes, numbers to the right, NULL written out; on a terminal fitted to it: long texts end with …, columns in
             the middle are left out, and of more than 40 rows the first and the last 20 are shown
  csv        RFC 4180 with a header line and LF line ends; NULL is empty, the empty string is \"\"
  tabs       as csv, with tabs between the values
  list       values as they are, with | between them
  json       one array of objects for each statement that returns rows; decimals are numbers with all their digits,
             dates and times ISO 8601 strings, binary \\x… strings, NaN and infinities strings
  jsonlines  such objects alone, one a line
  line       a line 'name = value' for each column, and an empty line between rows
  markdown   a pipe table
  html       a <table> to be put into a page
  insert     INSERT statements, one a row, that give the same values again

Plans of EXPLAIN that come as lines are plain lines in the format table.

rescue reads a database that can't be opened, or has damaged tables, and leaves it as it is. Each table is in the new
database with all of its records, or it is named; the exit status is 1 when one lacks records or is lost.

Exit status: 0 done; 1 a statement failed (the ones after it are not run, but with --no-bail), or the database can't be used;
2 wrong arguments or a missing file; of .quit STATUS, that.

A database whose name is that of a command is written ./demo.";

/// An analytical SQL engine whose tables lie as their workload wants.
#[derive(Debug, Parser)]
#[command(
    name = "gingham",
    version = gingham_commit::VERSION,
    after_help = AFTER_HELP,
    subcommand_precedence_over_arg = true,
    subcommand_value_name = "COMMAND",
    override_usage = "gingham [OPTIONS] [DB]\n       gingham DB <load|layout|check|backup|publish|sweep|rescue|advise> …\n       gingham demo …\n       gingham lab <list|run|merge> …"
)]
pub struct Arguments {
    /// Database folder, made when it is missing, or the URL of a published one; a scratch database when not given, or :memory:
    #[arg(value_name = "DB")]
    pub database: Option<PathBuf>,

    /// Run SQL; may be repeated and mixed with -f, in order
    #[arg(short = 'c', long = "command", value_name = "SQL", allow_hyphen_values = true)]
    pub commands: Vec<String>,

    /// Run the statements of a file, or with - of standard input
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,

    /// Write the time of each statement to standard error
    #[arg(long)]
    pub timing: bool,

    /// Never write to the database
    #[arg(long)]
    pub read_only: bool,

    /// The number of the state of a published database that is read, instead of the newest
    #[arg(long, value_name = "NUMBER")]
    pub as_of: Option<u64>,

    /// Folder for what was read of a published database; the user's folder for caches when not given
    #[arg(long, value_name = "FOLDER")]
    pub cache: Option<PathBuf>,

    /// End with the first statement that fails, as is done without this
    #[arg(long, overrides_with = "no_bail")]
    pub bail: bool,

    /// Go on after a statement that fails; the exit status is 1 all the same
    #[arg(long, overrides_with = "bail")]
    pub no_bail: bool,

    /// Run the statements and commands of a file first; at the prompt, instead of those in ~/.ginghamrc
    #[arg(long, value_name = "FILE")]
    pub init: Option<PathBuf>,

    /// What to do instead of running SQL
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// What follows the database, or stands for itself.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// DB load: read files into a table
    Load(Box<LoadArgs>),
    /// DB layout: show where each bit of a table lies
    Layout {
        /// The table
        table: String,

        /// Record whose bits are drawn, from 0 [default: 7, or the last of fewer]
        #[arg(long, value_name = "N")]
        record: Option<u64>,
    },
    /// DB check: verify every checksum and the catalog
    Check,
    /// DB backup: copy a consistent snapshot while the database is in use
    Backup {
        /// Folder to write, missing or empty
        to: PathBuf,
    },
    /// DB publish: send the database to a folder or a store of objects, where it can be read by its URL
    Publish(PublishArgs),
    /// URL sweep: remove what no state of a published database needs that was the newest within --keep
    Sweep {
        /// For how long states can be read after a newer one has come: 90s, 15m, 24h, 7d
        #[arg(long, value_name = "AGE", default_value = "7d", value_parser = age)]
        keep: Duration,

        /// Only say what would be removed
        #[arg(long)]
        dry_run: bool,
    },
    /// DB rescue: make a new database of what is sound of a damaged one, and name what is lost
    Rescue {
        /// Folder to make; it must not be there
        to: PathBuf,
    },
    /// DB serve: let PostgreSQL's clients in, by the program gingham-server beside this one
    #[command(disable_help_flag = true)]
    Serve {
        /// Options of the server; --help lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<String>,
    },
    /// DB advise: measure which designs of tables suit a workload
    Advise(AdviseArgs),
    /// Make TPC-H data, load it, run the queries and check every answer
    Demo(DemoArgs),
    /// Repeat experiments of the papers that Gingham is built on, and judge their claims
    #[command(subcommand)]
    Lab(LabCommand),
}

impl Verb {
    /// Its name, and whether it needs a database before it.
    pub fn name(&self) -> (&'static str, bool) {
        match self {
            Self::Load(_) => ("load", true),
            Self::Layout { .. } => ("layout", true),
            Self::Check => ("check", true),
            Self::Backup { .. } => ("backup", true),
            Self::Publish(_) => ("publish", true),
            Self::Sweep { .. } => ("sweep", true),
            Self::Rescue { .. } => ("rescue", true),
            Self::Serve { .. } => ("serve", true),
            Self::Advise(_) => ("advise", true),
            Self::Demo(_) => ("demo", false),
            Self::Lab(_) => ("lab", false),
        }
    }
}

/// The options of `publish`.
#[derive(Debug, Args)]
pub struct PublishArgs {
    /// Where: file:///folder, or s3://, gs:// or az:// with a build that has these
    pub url: String,

    /// Sweep behind it what no state needs that was the newest within this time: 90s, 15m, 24h, 7d
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub keep: Option<Duration>,

    /// Publish again and again, with so many seconds between, until Ctrl-C
    #[arg(long, value_name = "SECONDS", value_parser = age)]
    pub every: Option<Duration>,
}

/// What `load` takes.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// Files, or folders of files; those of .gz and .zst are unpacked
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// The table; made when it does not exist
    #[arg(long, value_name = "TABLE")]
    pub into: String,

    /// Layout of a table that is made
    #[arg(long)]
    pub layout: Option<String>,

    /// Columns and types of a table that is made, as in CREATE TABLE: 'a INT, b DECIMAL(15,2)'
    #[arg(long, value_name = "COLUMNS")]
    pub schema: Option<String>,

    /// How the files are read.
    #[command(flatten)]
    pub read: ReadArgs,

    /// Bad lines to leave out before giving up
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skip_bad: u64,
}

impl LoadArgs {
    /// These arguments as the engine's load options. Errors on an option's value.
    pub fn options(&self) -> gingham::Result<LoadOptions> {
        Ok(LoadOptions {
            table: self.into.clone(),
            layout: self.layout.clone(),
            schema: self.schema.clone(),
            read: self.read.options()?,
            skip_bad: self.skip_bad,
        })
    }
}

/// SQL to run, in the order in which the arguments gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Script {
    /// The text of a -c.
    Text(String),
    /// A -f.
    File(PathBuf),
}

impl Arguments {
    /// Reads the process's arguments; prints help or the usage error and ends when there is nothing to do.
    pub fn read() -> (Self, Vec<Script>) {
        let matches = Self::command().get_matches();
        let arguments = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        let scripts = scripts(&arguments, &matches);
        (arguments, scripts)
    }
}

fn scripts(arguments: &Arguments, matches: &ArgMatches) -> Vec<Script> {
    let places = |name: &str| matches.indices_of(name).into_iter().flatten().collect::<Vec<_>>();
    let commands = arguments.commands.iter().cloned().map(Script::Text);
    let files = arguments.files.iter().cloned().map(Script::File);
    let mut all: Vec<(usize, Script)> = places("commands").into_iter().zip(commands).collect();
    all.extend(places("files").into_iter().zip(files));
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, script)| script).collect()
}

/// A time as the engine takes it.
fn age(text: &str) -> Result<Duration, String> {
    gingham::age(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<(Arguments, Vec<Script>), clap::Error> {
        let matches = Arguments::command().try_get_matches_from(line.split(' '))?;
        let arguments = Arguments::from_arg_matches(&matches)?;
        let scripts = scripts(&arguments, &matches);
        Ok((arguments, scripts))
    }

    #[test]
    fn the_grammar_holds_together() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_first_word_is_the_database_unless_it_is_a_verb() {
        let (arguments, _) = parse("gingham shop check").expect("a verb after a database");
        assert_eq!(arguments.database, Some(PathBuf::from("shop")));
        assert!(matches!(arguments.verb, Some(Verb::Check)));
        let (arguments, _) = parse("gingham demo").expect("a verb alone");
        assert!(arguments.database.is_none() && matches!(arguments.verb, Some(Verb::Demo(_))));
        let (arguments, _) = parse("gingham ./demo").expect("a database named as a verb");
        assert_eq!(arguments.database, Some(PathBuf::from("./demo")));
        assert!(parse("gingham shop laod").is_err());
    }

    #[test]
    fn scripts_keep_the_order_of_the_arguments() {
        let (_, scripts) = parse("gingham shop -c a -f b -c c").expect("scripts");
        assert_eq!(scripts, [Script::Text("a".into()), Script::File("b".into()), Script::Text("c".into())]);
    }

    #[test]
    fn options_of_a_load_reach_the_engine() {
        let (arguments, _) =
            parse("gingham shop load a.csv b.csv --into t --delimiter tab --no-header --skip-bad 3").expect("a load");
        let Some(Verb::Load(load)) = arguments.verb else { panic!("not a load") };
        let options = load.options().expect("options");
        assert_eq!((options.read.delimiter, options.read.header, options.skip_bad), (Some(b'\t'), Some(false), 3));
        assert_eq!(load.files.len(), 2);
        assert!(parse("gingham shop load a.csv").is_err(), "--into is needed");
        let (arguments, _) = parse("gingham shop load a.csv --into t --delimiter ab").expect("a load");
        let Some(Verb::Load(load)) = arguments.verb else { panic!("not a load") };
        assert!(load.options().unwrap_err().to_string().contains("one character"));
    }
}
