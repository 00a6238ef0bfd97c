//! The settings of PostgreSQL that clients send, with their defaults and what values they take.

/// What a setting of clients takes, and what is done by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingKind {
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
    /// What the open transaction is; SET TRANSACTION changes it.
    OfTransaction,
    /// It tells what the database is, and can't be set.
    Fixed,
}

/// A setting of clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownSetting {
    /// Its name, as SHOW writes it.
    pub(crate) name: &'static str,
    pub(crate) kind: SettingKind,
    pub(crate) default: &'static str,
}

const fn setting(name: &'static str, kind: SettingKind, default: &'static str) -> KnownSetting {
    KnownSetting { name, kind, default }
}

/// The version of PostgreSQL whose SQL this is.
pub(crate) const POSTGRESQL_VERSION: &str = "15.0";
/// The version as clients ask for it.
pub(crate) const SERVER_VERSION: &str = concat!("15.0 (Gingham ", env!("CARGO_PKG_VERSION"), ")");

const LEVELS: &[&str] =
    &["debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "info", "notice", "warning", "error"];

/// Settings that are heeded, or mean something to who reads them.
pub(crate) const KNOWN: &[KnownSetting] = &[
    setting("application_name", SettingKind::Text, ""),
    setting("bytea_output", SettingKind::Choice(&["hex", "escape"]), "hex"),
    setting("client_encoding", SettingKind::Encoding, "UTF8"),
    setting("client_min_messages", SettingKind::Choice(LEVELS), "notice"),
    setting("DateStyle", SettingKind::DateStyle, "ISO, MDY"),
    setting("default_transaction_deferrable", SettingKind::Switch, "off"),
    setting("default_transaction_isolation", SettingKind::OwnIsolation, ""),
    setting("default_transaction_read_only", SettingKind::Switch, "off"),
    setting("extra_float_digits", SettingKind::Integer(-15, 3), "1"),
    setting("idle_in_transaction_session_timeout", SettingKind::OwnTime("gingham.idle_in_transaction_timeout"), ""),
    setting("idle_session_timeout", SettingKind::OwnTime("gingham.idle_session_timeout"), ""),
    setting(
        "IntervalStyle",
        SettingKind::Choice(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]),
        "postgres",
    ),
    setting("lock_timeout", SettingKind::OwnTime("gingham.lock_timeout"), ""),
    setting("search_path", SettingKind::SearchPath, "\"$user\", public"),
    setting("standard_conforming_strings", SettingKind::OnlyDefault, "on"),
    setting("statement_timeout", SettingKind::OwnTime("gingham.statement_timeout"), ""),
    setting("synchronous_commit", SettingKind::OwnDurability, ""),
    setting("TimeZone", SettingKind::TimeZone, "UTC"),
    setting("transaction_deferrable", SettingKind::OfTransaction, "off"),
    setting("transaction_isolation", SettingKind::OfTransaction, ""),
    setting("transaction_read_only", SettingKind::OfTransaction, "off"),
    setting("transform_null_equals", SettingKind::OnlyDefault, "off"),
    setting("session_replication_role", SettingKind::Choice(&["origin"]), "origin"),
    // What the database is.
    setting("block_size", SettingKind::Fixed, "8192"),
    setting("data_checksums", SettingKind::Fixed, "on"),
    setting("in_hot_standby", SettingKind::Fixed, "off"),
    setting("integer_datetimes", SettingKind::Fixed, "on"),
    setting("is_superuser", SettingKind::Fixed, "on"),
    setting("lc_collate", SettingKind::Fixed, "C"),
    setting("lc_ctype", SettingKind::Fixed, "C"),
    setting("max_connections", SettingKind::Fixed, "100"),
    setting("max_identifier_length", SettingKind::Fixed, "63"),
    setting("max_index_keys", SettingKind::Fixed, "32"),
    setting("server_encoding", SettingKind::Fixed, "UTF8"),
    setting("server_version", SettingKind::Fixed, SERVER_VERSION),
    setting("server_version_num", SettingKind::Fixed, "150000"),
    setting("ssl", SettingKind::Fixed, "off"),
];

/// Settings that are kept and shown, and change nothing: PostgreSQL's planner, memory, logs and disks have no part in Gingham.
pub(crate) const WITHOUT_EFFECT: &[KnownSetting] = &[
    setting("array_nulls", SettingKind::OnlyDefault, "on"),
    setting("backslash_quote", SettingKind::Text, "safe_encoding"),
    setting("check_function_bodies", SettingKind::Switch, "on"),
    setting("client_connection_check_interval", SettingKind::Quantity, "0"),
    setting("commit_delay", SettingKind::Integer(0, 100_000), "0"),
    setting("constraint_exclusion", SettingKind::Text, "partition"),
    setting("cpu_index_tuple_cost", SettingKind::Number, "0.005"),
    setting("cpu_operator_cost", SettingKind::Number, "0.0025"),
    setting("cpu_tuple_cost", SettingKind::Number, "0.01"),
    setting("cursor_tuple_fraction", SettingKind::Number, "0.1"),
    setting("debug_pretty_print", SettingKind::Switch, "on"),
    setting("debug_print_plan", SettingKind::Switch, "off"),
    setting("default_statistics_target", SettingKind::Integer(1, 10_000), "100"),
    setting("default_table_access_method", SettingKind::Text, "heap"),
    setting("default_tablespace", SettingKind::Text, ""),
    setting("default_text_search_config", SettingKind::Text, "pg_catalog.simple"),
    setting("effective_cache_size", SettingKind::Quantity, "4GB"),
    setting("effective_io_concurrency", SettingKind::Integer(0, 1000), "1"),
    setting("enable_async_append", SettingKind::Switch, "on"),
    setting("enable_bitmapscan", SettingKind::Switch, "on"),
    setting("enable_gathermerge", SettingKind::Switch, "on"),
    setting("enable_hashagg", SettingKind::Switch, "on"),
    setting("enable_hashjoin", SettingKind::Switch, "on"),
    setting("enable_incremental_sort", SettingKind::Switch, "on"),
    setting("enable_indexonlyscan", SettingKind::Switch, "on"),
    setting("enable_indexscan", SettingKind::Switch, "on"),
    setting("enable_material", SettingKind::Switch, "on"),
    setting("enable_memoize", SettingKind::Switch, "on"),
    setting("enable_mergejoin", SettingKind::Switch, "on"),
    setting("enable_nestloop", SettingKind::Switch, "on"),
    setting("enable_parallel_append", SettingKind::Switch, "on"),
    setting("enable_parallel_hash", SettingKind::Switch, "on"),
    setting("enable_partition_pruning", SettingKind::Switch, "on"),
    setting("enable_partitionwise_aggregate", SettingKind::Switch, "off"),
    setting("enable_partitionwise_join", SettingKind::Switch, "off"),
    setting("enable_seqscan", SettingKind::Switch, "on"),
    setting("enable_sort", SettingKind::Switch, "on"),
    setting("enable_tidscan", SettingKind::Switch, "on"),
    setting("escape_string_warning", SettingKind::Switch, "on"),
    setting("exit_on_error", SettingKind::Switch, "off"),
    setting("force_parallel_mode", SettingKind::Text, "off"),
    setting("from_collapse_limit", SettingKind::Integer(1, i32::MAX as i64), "8"),
    setting("geqo", SettingKind::Switch, "on"),
    setting("geqo_threshold", SettingKind::Integer(2, i32::MAX as i64), "12"),
    setting("hash_mem_multiplier", SettingKind::Number, "2"),
    setting("jit", SettingKind::Switch, "on"),
    setting("jit_above_cost", SettingKind::Number, "100000"),
    setting("join_collapse_limit", SettingKind::Integer(1, i32::MAX as i64), "8"),
    setting("lc_messages", SettingKind::Text, "C"),
    setting("lc_monetary", SettingKind::Text, "C"),
    setting("lc_numeric", SettingKind::Text, "C"),
    setting("lc_time", SettingKind::Text, "C"),
    setting("log_duration", SettingKind::Switch, "off"),
    setting("log_error_verbosity", SettingKind::Text, "default"),
    setting("log_min_duration_statement", SettingKind::Quantity, "-1"),
    setting("log_min_messages", SettingKind::Text, "warning"),
    setting("log_statement", SettingKind::Text, "none"),
    setting("maintenance_work_mem", SettingKind::Quantity, "64MB"),
    setting("max_parallel_maintenance_workers", SettingKind::Integer(0, 1024), "2"),
    setting("max_parallel_workers", SettingKind::Integer(0, 1024), "8"),
    setting("max_parallel_workers_per_gather", SettingKind::Integer(0, 1024), "2"),
    setting("min_parallel_index_scan_size", SettingKind::Quantity, "512kB"),
    setting("min_parallel_table_scan_size", SettingKind::Quantity, "8MB"),
    setting("parallel_leader_participation", SettingKind::Switch, "on"),
    setting("parallel_setup_cost", SettingKind::Number, "1000"),
    setting("parallel_tuple_cost", SettingKind::Number, "0.1"),
    setting("plan_cache_mode", SettingKind::Text, "auto"),
    setting("quote_all_identifiers", SettingKind::Switch, "off"),
    setting("random_page_cost", SettingKind::Number, "4"),
    setting("row_security", SettingKind::Switch, "on"),
    setting("seq_page_cost", SettingKind::Number, "1"),
    setting("synchronize_seqscans", SettingKind::Switch, "on"),
    setting("tcp_keepalives_count", SettingKind::Quantity, "0"),
    setting("tcp_keepalives_idle", SettingKind::Quantity, "0"),
    setting("tcp_keepalives_interval", SettingKind::Quantity, "0"),
    setting("tcp_user_timeout", SettingKind::Quantity, "0"),
    setting("temp_buffers", SettingKind::Quantity, "8MB"),
    setting("temp_tablespaces", SettingKind::Text, ""),
    setting("track_activities", SettingKind::Switch, "on"),
    setting("vacuum_cost_delay", SettingKind::Quantity, "0"),
    setting("wal_compression", SettingKind::Text, "off"),
    setting("work_mem", SettingKind::Quantity, "4MB"),
    setting("xmlbinary", SettingKind::Text, "base64"),
    setting("xmloption", SettingKind::Text, "content"),
];

/// The setting of clients that a name means, in letters of any size.
pub(crate) fn known(name: &str) -> Option<&'static KnownSetting> {
    let name = if name.eq_ignore_ascii_case("time zone") { "TimeZone" } else { name };
    KNOWN.iter().chain(WITHOUT_EFFECT).find(|known| known.name.eq_ignore_ascii_case(name))
}
