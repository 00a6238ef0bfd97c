//! The settings of PostgreSQL that clients send, with their defaults and what values they take.

/// What a setting of clients takes, and what is done by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any text; kept and shown.
    Text,
    /// True or false.
    Switch,
    /// True or false, of which the default alone is offered: the other would mean something that is not done.
    OnlyDefault,
    /// A whole number in a range.
    Integer(i64, i64),
    /// A number, such as a cost of PostgreSQL's planner.
    Number,
    /// A number with an optional unit of memory or time.
    Quantity,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// The encoding of texts, which is UTF-8.
    Encoding,
    /// The form of dates: ISO, with the order in which the parts of an ambiguous one are read.
    DateStyle,
    /// Where names without a schema are looked for.
    SearchPath,
    /// A time zone: times are shown in UTC whatever it is.
    TimeZone,
    /// Another name of a setting of Gingham's that is a length of time.
    OwnTime(&'static str),
    /// Another name of `gingham.default_isolation`.
    OwnIsolation,
    /// `gingham.durability` by PostgreSQL's words.
    OwnDurability,
    /// Of the transaction that is open; SET TRANSACTION changes it.
    OfTransaction,
    /// It tells what the database is, and can't be set.
    Fixed,
}

/// A setting of clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownSetting {
    /// Its name, as SHOW writes it.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) default: &'static str,
}

const fn setting(name: &'static str, kind: Kind, default: &'static str) -> KnownSetting {
    KnownSetting { name, kind, default }
}

/// The version of PostgreSQL whose SQL this is.
pub(crate) const SERVER_VERSION: &str = concat!("15.0 (Gingham ", env!("CARGO_PKG_VERSION"), ")");

const LEVELS: &[&str] =
    &["debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "info", "notice", "warning", "error"];

/// Settings that are heeded, or mean something to who reads them.
pub(crate) const KNOWN: &[KnownSetting] = &[
    setting("application_name", Kind::Text, ""),
    setting("bytea_output", Kind::Choice(&["hex", "escape"]), "hex"),
    setting("client_encoding", Kind::Encoding, "UTF8"),
    setting("client_min_messages", Kind::Choice(LEVELS), "notice"),
    setting("DateStyle", Kind::DateStyle, "ISO, MDY"),
    setting("default_transaction_deferrable", Kind::Switch, "off"),
    setting("default_transaction_isolation", Kind::OwnIsolation, ""),
    setting("default_transaction_read_only", Kind::Switch, "off"),
    setting("extra_float_digits", Kind::Integer(-15, 3), "1"),
    setting("idle_in_transaction_session_timeout", Kind::OwnTime("gingham.idle_in_transaction_timeout"), ""),
    setting("IntervalStyle", Kind::Choice(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]), "postgres"),
    setting("lock_timeout", Kind::OwnTime("gingham.lock_timeout"), ""),
    setting("search_path", Kind::SearchPath, "\"$user\", public"),
    setting("standard_conforming_strings", Kind::OnlyDefault, "on"),
    setting("statement_timeout", Kind::OwnTime("gingham.statement_timeout"), ""),
    setting("synchronous_commit", Kind::OwnDurability, ""),
    setting("TimeZone", Kind::TimeZone, "UTC"),
    setting("transaction_deferrable", Kind::OfTransaction, "off"),
    setting("transaction_isolation", Kind::OfTransaction, ""),
    setting("transaction_read_only", Kind::OfTransaction, "off"),
    setting("transform_null_equals", Kind::OnlyDefault, "off"),
    setting("session_replication_role", Kind::Choice(&["origin"]), "origin"),
    // What the database is.
    setting("block_size", Kind::Fixed, "8192"),
    setting("data_checksums", Kind::Fixed, "on"),
    setting("in_hot_standby", Kind::Fixed, "off"),
    setting("integer_datetimes", Kind::Fixed, "on"),
    setting("is_superuser", Kind::Fixed, "on"),
    setting("lc_collate", Kind::Fixed, "C"),
    setting("lc_ctype", Kind::Fixed, "C"),
    setting("max_connections", Kind::Fixed, "100"),
    setting("max_identifier_length", Kind::Fixed, "63"),
    setting("max_index_keys", Kind::Fixed, "32"),
    setting("server_encoding", Kind::Fixed, "UTF8"),
    setting("server_version", Kind::Fixed, SERVER_VERSION),
    setting("server_version_num", Kind::Fixed, "150000"),
    setting("ssl", Kind::Fixed, "off"),
];

/// Settings that are kept and shown, and change nothing: PostgreSQL's planner, memory, logs and disks have no part in Gingham.
pub(crate) const WITHOUT_EFFECT: &[KnownSetting] = &[
    setting("array_nulls", Kind::OnlyDefault, "on"),
    setting("backslash_quote", Kind::Text, "safe_encoding"),
    setting("check_function_bodies", Kind::Switch, "on"),
    setting("client_connection_check_interval", Kind::Quantity, "0"),
    setting("commit_delay", Kind::Integer(0, 100_000), "0"),
    setting("constraint_exclusion", Kind::Text, "partition"),
    setting("cpu_index_tuple_cost", Kind::Number, "0.005"),
    setting("cpu_operator_cost", Kind::Number, "0.0025"),
    setting("cpu_tuple_cost", Kind::Number, "0.01"),
    setting("cursor_tuple_fraction", Kind::Number, "0.1"),
    setting("debug_pretty_print", Kind::Switch, "on"),
    setting("debug_print_plan", Kind::Switch, "off"),
    setting("default_statistics_target", Kind::Integer(1, 10_000), "100"),
    setting("default_table_access_method", Kind::Text, "heap"),
    setting("default_tablespace", Kind::Text, ""),
    setting("default_text_search_config", Kind::Text, "pg_catalog.simple"),
    setting("effective_cache_size", Kind::Quantity, "4GB"),
    setting("effective_io_concurrency", Kind::Integer(0, 1000), "1"),
    setting("enable_async_append", Kind::Switch, "on"),
    setting("enable_bitmapscan", Kind::Switch, "on"),
    setting("enable_gathermerge", Kind::Switch, "on"),
    setting("enable_hashagg", Kind::Switch, "on"),
    setting("enable_hashjoin", Kind::Switch, "on"),
    setting("enable_incremental_sort", Kind::Switch, "on"),
    setting("enable_indexonlyscan", Kind::Switch, "on"),
    setting("enable_indexscan", Kind::Switch, "on"),
    setting("enable_material", Kind::Switch, "on"),
    setting("enable_memoize", Kind::Switch, "on"),
    setting("enable_mergejoin", Kind::Switch, "on"),
    setting("enable_nestloop", Kind::Switch, "on"),
    setting("enable_parallel_append", Kind::Switch, "on"),
    setting("enable_parallel_hash", Kind::Switch, "on"),
    setting("enable_partition_pruning", Kind::Switch, "on"),
    setting("enable_partitionwise_aggregate", Kind::Switch, "off"),
    setting("enable_partitionwise_join", Kind::Switch, "off"),
    setting("enable_seqscan", Kind::Switch, "on"),
    setting("enable_sort", Kind::Switch, "on"),
    setting("enable_tidscan", Kind::Switch, "on"),
    setting("escape_string_warning", Kind::Switch, "on"),
    setting("exit_on_error", Kind::Switch, "off"),
    setting("force_parallel_mode", Kind::Text, "off"),
    setting("from_collapse_limit", Kind::Integer(1, i32::MAX as i64), "8"),
    setting("geqo", Kind::Switch, "on"),
    setting("geqo_threshold", Kind::Integer(2, i32::MAX as i64), "12"),
    setting("hash_mem_multiplier", Kind::Number, "2"),
    setting("idle_session_timeout", Kind::Quantity, "0"),
    setting("jit", Kind::Switch, "on"),
    setting("jit_above_cost", Kind::Number, "100000"),
    setting("join_collapse_limit", Kind::Integer(1, i32::MAX as i64), "8"),
    setting("lc_messages", Kind::Text, "C"),
    setting("lc_monetary", Kind::Text, "C"),
    setting("lc_numeric", Kind::Text, "C"),
    setting("lc_time", Kind::Text, "C"),
    setting("log_duration", Kind::Switch, "off"),
    setting("log_error_verbosity", Kind::Text, "default"),
    setting("log_min_duration_statement", Kind::Quantity, "-1"),
    setting("log_min_messages", Kind::Text, "warning"),
    setting("log_statement", Kind::Text, "none"),
    setting("maintenance_work_mem", Kind::Quantity, "64MB"),
    setting("max_parallel_maintenance_workers", Kind::Integer(0, 1024), "2"),
    setting("max_parallel_workers", Kind::Integer(0, 1024), "8"),
    setting("max_parallel_workers_per_gather", Kind::Integer(0, 1024), "2"),
    setting("min_parallel_index_scan_size", Kind::Quantity, "512kB"),
    setting("min_parallel_table_scan_size", Kind::Quantity, "8MB"),
    setting("parallel_leader_participation", Kind::Switch, "on"),
    setting("parallel_setup_cost", Kind::Number, "1000"),
    setting("parallel_tuple_cost", Kind::Number, "0.1"),
    setting("plan_cache_mode", Kind::Text, "auto"),
    setting("quote_all_identifiers", Kind::Switch, "off"),
    setting("random_page_cost", Kind::Number, "4"),
    setting("row_security", Kind::Switch, "on"),
    setting("seq_page_cost", Kind::Number, "1"),
    setting("synchronize_seqscans", Kind::Switch, "on"),
    setting("tcp_keepalives_count", Kind::Quantity, "0"),
    setting("tcp_keepalives_idle", Kind::Quantity, "0"),
    setting("tcp_keepalives_interval", Kind::Quantity, "0"),
    setting("tcp_user_timeout", Kind::Quantity, "0"),
    setting("temp_buffers", Kind::Quantity, "8MB"),
    setting("temp_tablespaces", Kind::Text, ""),
    setting("track_activities", Kind::Switch, "on"),
    setting("vacuum_cost_delay", Kind::Quantity, "0"),
    setting("wal_compression", Kind::Text, "off"),
    setting("work_mem", Kind::Quantity, "4MB"),
    setting("xmlbinary", Kind::Text, "base64"),
    setting("xmloption", Kind::Text, "content"),
];

/// The setting of clients that a name means, in letters of any size.
pub(crate) fn known(name: &str) -> Option<&'static KnownSetting> {
    let name = if name.eq_ignore_ascii_case("time zone") { "TimeZone" } else { name };
    KNOWN.iter().chain(WITHOUT_EFFECT).find(|known| known.name.eq_ignore_ascii_case(name))
}
