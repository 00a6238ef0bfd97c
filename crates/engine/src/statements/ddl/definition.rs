//! CREATE TABLE's columns, constraints and options to a table's definition. Every clause that the parser knows is
//! either taken over or refused by name.

use crate::session::{Severity, StatementContext, did_you_mean};
use crate::sql::column_types::logical_type;
use crate::sql::definitions::like_of;
use crate::sql::layout;
use crate::sql::names::fold;
use crate::sql::names::unsupported;
use crate::statements::ddl::constraints::{ConstraintScope, Constraints};
use crate::statements::ddl::identity::ColumnSequence;
use crate::statements::ddl::{expression, identity, like};
use crate::type_name::type_name;
use crate::{Error, Result};
use arrow::datatypes::Schema;
use datafusion::sql::sqlparser::ast::{
    ColumnDef, ColumnOption, ColumnOptionDef, CreateTable, CreateTableOptions, DataType, Expr, HiveDistributionStyle,
    SqlOption, TableConstraint, Value,
};
use gingham_storage::{
    ColumnDefinition, ColumnId, Design, Generation, LogicalType, SqlState, TableDefinition, TableName,
};

/// The definition that a CREATE TABLE asks for. `source` is the schema of its query, for CREATE TABLE AS.
pub(crate) fn build(
    scope: &ConstraintScope<'_>,
    name: TableName,
    statement: &CreateTable,
    source: Option<&Schema>,
) -> Result<CreatedTable> {
    let mut definition = TableDefinition::new(name, Vec::new());
    let mut constraints = Constraints::default();
    match source {
        Some(source) => columns_of_query(&mut definition, &statement.columns, source, &mut constraints)?,
        None => {
            for column in &statement.columns {
                match like_of(&column.data_type) {
                    Some(like) => like::add(scope, &mut definition, &like, &mut constraints)?,
                    None => add_typed_column(&mut definition, column, &mut constraints)?,
                }
            }
        }
    }
    if definition.columns.is_empty() {
        return Err(Error::invalid(
            SqlState::InvalidTableDefinition,
            format!("table '{}' needs at least one column", definition.name),
        ));
    }
    for constraint in &statement.constraints {
        constraints.add(constraint)?;
    }
    let made = constraints.apply(scope, &mut definition)?;
    for column in &definition.columns {
        if let Some(text) = &column.default {
            // The sequence of a SERIAL is made with the table.
            if !made.sequences.iter().any(|sequence| sequence.column == column.id) {
                check_default(scope, column, text)?;
            }
        }
        if let Some(Generation::Stored(text)) = &column.generation {
            expression::generated(&scope.context.state, &definition, &column.name, text)?;
        }
    }
    options(scope, &statement.table_options, &mut definition)?;
    made.add_indexes(scope, &mut definition);
    Ok(CreatedTable { definition, sequences: made.sequences })
}

/// A table that is to be made, and the sequences of its columns.
#[derive(Debug)]
pub(crate) struct CreatedTable {
    pub(crate) definition: TableDefinition,
    pub(crate) sequences: Vec<ColumnSequence>,
}

/// Adds a column of CREATE TABLE or ADD COLUMN.
pub(crate) fn add_typed_column(
    definition: &mut TableDefinition,
    column: &ColumnDef,
    constraints: &mut Constraints,
) -> Result<()> {
    let Some(bits) = identity::serial_bits(&column.data_type) else {
        let logical_type = logical_type(&fold(&column.name), &column.data_type)?;
        return add_column(definition, column, logical_type, constraints);
    };
    add_column(definition, column, LogicalType::Int(bits), constraints)?;
    let name = fold(&column.name);
    if let Some(added) = definition.columns.last_mut() {
        if added.default.is_some() || added.generation.is_some() {
            return Err(Error::invalid(
                SqlState::SyntaxError,
                format!("column '{name}' is {}, and has another default", column.data_type),
            ));
        }
        added.nullable = false;
    }
    constraints.sequences.push(ColumnSequence::serial(definition, bits));
    Ok(())
}

/// Columns of CREATE TABLE AS: the query's, under other names or types when columns are given.
fn columns_of_query(
    definition: &mut TableDefinition,
    given: &[ColumnDef],
    source: &Schema,
    constraints: &mut Constraints,
) -> Result<()> {
    if !given.is_empty() && given.len() != source.fields().len() {
        return Err(Error::invalid(
            SqlState::InvalidTableDefinition,
            format!(
                "table '{}' is given {} columns, but its query has {}",
                definition.name,
                given.len(),
                source.fields().len()
            ),
        ));
    }
    for (position, field) in source.fields().iter().enumerate() {
        let column = given.get(position);
        let name = column.map_or_else(|| field.name().clone(), |column| fold(&column.name));
        let logical_type = match column {
            Some(column) if column.data_type != DataType::Unspecified => logical_type(&name, &column.data_type)?,
            // Nothing but NULLs, which a text can be as well as anything.
            _ if field.data_type().is_null() => LogicalType::Varchar(None),
            _ => LogicalType::from_arrow(&name, field.data_type())?,
        };
        match column {
            Some(column) => add_column(definition, column, logical_type, constraints)?,
            None => push_column(definition, name, logical_type)?,
        }
    }
    Ok(())
}

/// Adds a column with a number of its own, nullable and without a default.
fn push_column(definition: &mut TableDefinition, name: String, logical_type: LogicalType) -> Result<()> {
    if definition.column(&name).is_some() {
        return Err(Error::invalid(
            SqlState::DuplicateColumn,
            format!("column '{name}' appears twice in table '{}'", definition.name),
        ));
    }
    if name.is_empty() {
        return Err(Error::invalid(SqlState::InvalidName, "a column's name can't be empty"));
    }
    let id: ColumnId = definition.next_column;
    definition.next_column += 1;
    definition.columns.push(ColumnDefinition::new(id, name, logical_type));
    Ok(())
}

/// Adds a column with its options; its constraints wait in `constraints`.
pub(crate) fn add_column(
    definition: &mut TableDefinition,
    column: &ColumnDef,
    logical_type: LogicalType,
    constraints: &mut Constraints,
) -> Result<()> {
    let name = fold(&column.name);
    push_column(definition, name.clone(), logical_type)?;
    let (mut allows_null, mut primary, mut generated) = (None, false, false);
    for option in &column.options {
        let ColumnOptionDef { name: constraint_name, option } = option;
        let Some(added) = definition.columns.last_mut() else { continue };
        match option {
            ColumnOption::Null | ColumnOption::NotNull => {
                let nullable = *option == ColumnOption::Null;
                if allows_null.replace(nullable).is_some_and(|before| before != nullable) {
                    return Err(Error::invalid(
                        SqlState::SyntaxError,
                        format!("column '{name}' is both NULL and NOT NULL"),
                    ));
                }
                added.nullable = nullable;
            }
            ColumnOption::Default(expression) => {
                if added.default.replace(expression.to_string()).is_some() {
                    return Err(Error::invalid(SqlState::SyntaxError, format!("column '{name}' has two defaults")));
                }
            }
            ColumnOption::PrimaryKey(_)
            | ColumnOption::Unique(_)
            | ColumnOption::ForeignKey(_)
            | ColumnOption::Check(_) => {
                primary |= matches!(option, ColumnOption::PrimaryKey(_));
                constraints.add_of_column(&column.name, constraint_name.as_ref(), option)?;
            }
            ColumnOption::Generated { .. } => {
                identity::add_generation(definition, option, constraints)?;
                generated = true;
            }
            other => return Err(unsupported(format!("column '{name}': {}", option_name(other)))),
        }
    }
    if generated {
        identity::require_alone(definition, allows_null)?;
    }
    if primary && allows_null == Some(true) {
        return Err(Error::invalid(SqlState::SyntaxError, format!("column '{name}' is NULL and in the PRIMARY KEY")));
    }
    Ok(())
}

/// What a refused column option is called.
fn option_name(option: &ColumnOption) -> String {
    match option {
        ColumnOption::Identity(_) => "an identity column in another database's words".into(),
        ColumnOption::Materialized(_) | ColumnOption::Ephemeral(_) | ColumnOption::Alias(_) => {
            "a computed column".into()
        }
        other => other.to_string(),
    }
}

/// Plans a DEFAULT and refuses one whose type does not convert to the column's.
pub(crate) fn check_default(scope: &ConstraintScope<'_>, column: &ColumnDefinition, text: &str) -> Result<()> {
    let planned = expression::default(&scope.context.state, &column.name, text)?;
    let data_type = planned.data_type(&Schema::empty())?;
    if !crate::statements::dml::ingest::assignable(&data_type, &column.logical_type) {
        return Err(Error::invalid(
            SqlState::DatatypeMismatch,
            format!(
                "DEFAULT {text} of column '{}' is of type {}, which does not convert to {}",
                column.name,
                type_name(&data_type),
                column.logical_type
            ),
        ));
    }
    if expression::is_constant(&scope.context.state, &column.name, text)? {
        expression::default_value(&scope.context.state, column, text)?;
    }
    Ok(())
}

/// WITH (layout = '…', packing = 'a delta', encoding = 'a dictionary, b plain', sort_by = 'a,b', page_size = 8192, deletes = 'compact').
fn options(scope: &ConstraintScope<'_>, options: &CreateTableOptions, definition: &mut TableDefinition) -> Result<()> {
    const NAMES: [&str; 6] = ["layout", "packing", "encoding", "sort_by", "page_size", "deletes"];
    let mut options = match options {
        CreateTableOptions::None => Vec::new(),
        CreateTableOptions::With(options) => pairs(options, "CREATE TABLE WITH")?,
        CreateTableOptions::Plain(options)
            if options.iter().all(|option| option.to_string().starts_with("TABLESPACE")) =>
        {
            scope.context.say(
                Severity::Notice,
                SqlState::SuccessfulCompletion,
                "TABLESPACE has no effect: all tables lie in the database's folder",
            );
            Vec::new()
        }
        other => return Err(unsupported(format!("CREATE TABLE with {other}"))),
    };
    say_storage_parameters(scope.context, &mut options);
    let given = |name: &str| options.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    if let Some((key, _)) = options.iter().find(|(key, _)| !NAMES.contains(&key.as_str())) {
        return Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!(
                "option '{key}' does not exist (the options of a table are layout, packing, encoding, sort_by, page_size and deletes){}",
                did_you_mean(key, NAMES)
            ),
        ));
    }
    set_layout(scope.context, definition, given("layout"))?;
    for key in layout::PAGE_OPTIONS {
        if let Some(text) = given(key) {
            layout::page_option(key, text, &mut definition.design)?;
        }
    }
    let mut design = definition.design.clone();
    if let Some(text) = given("packing") {
        layout::packings(text, definition, &mut design)?;
    }
    if let Some(text) = given("encoding") {
        layout::encodings(text, definition, &mut design)?;
    }
    design.validate(definition)?;
    definition.design = design;
    if let Some(text) = given("sort_by") {
        definition.sort_by = sort_by(definition, text)?;
    }
    Ok(())
}

/// Storage parameters of PostgreSQL's that are taken and have no effect.
const STORAGE_PARAMETERS: [&str; 4] = ["fillfactor", "parallel_workers", "toast_tuple_target", "user_catalog_table"];

/// Takes the storage parameters out of a list of options, and says that they have no effect.
pub(crate) fn say_storage_parameters(context: &StatementContext, options: &mut Vec<(String, String)>) {
    options.retain(|(name, _)| {
        let is_theirs = STORAGE_PARAMETERS.contains(&name.as_str()) || name.starts_with("autovacuum_");
        if is_theirs {
            let text = format!("the storage parameter {name} has no effect");
            context.say(Severity::Notice, SqlState::SuccessfulCompletion, text);
        }
        !is_theirs
    });
}

/// Gives a new table its layout: the one asked for, or that of the session's settings.
pub(crate) fn set_layout(
    context: &StatementContext,
    definition: &mut TableDefinition,
    asked: Option<&str>,
) -> Result<()> {
    let settings = context.settings();
    let text = asked.unwrap_or(&settings.layout);
    definition.auto = layout::is_auto(text).then(|| "column, until OPTIMIZE".to_owned());
    definition.design = if layout::is_auto(text) { Design::default() } else { layout::design(text, definition)? };
    Ok(())
}

/// Options as names, in lower case, and values, each at most once. `place` is where they stand.
pub(crate) fn pairs(options: &[SqlOption], place: &str) -> Result<Vec<(String, String)>> {
    let mut pairs: Vec<(String, String)> = Vec::with_capacity(options.len());
    for option in options {
        let SqlOption::KeyValue { key, value } = option else {
            return Err(unsupported(format!("{place} ({option})")));
        };
        let key = key.value.to_ascii_lowercase();
        if pairs.iter().any(|(other, _)| *other == key) {
            return Err(Error::invalid(SqlState::InvalidParameterValue, format!("option '{key}' is given twice")));
        }
        pairs.push((key, option_value(value)?));
    }
    Ok(pairs)
}

fn option_value(value: &Expr) -> Result<String> {
    match value {
        Expr::Identifier(ident) => Ok(fold(ident)),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => Ok(text.clone()),
            other => Ok(other.to_string()),
        },
        other => Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("an option's value is a text such as 'column', not {other}"),
        )),
    }
}

/// Columns of sort_by = 'a,b'; none of an empty text.
pub(crate) fn sort_by(definition: &TableDefinition, text: &str) -> Result<Vec<ColumnId>> {
    let mut columns = Vec::new();
    if text.trim().is_empty() {
        return Ok(columns);
    }
    for part in text.split(',').map(str::trim) {
        let name = match part.strip_prefix('"').and_then(|part| part.strip_suffix('"')) {
            Some(quoted) => quoted.to_owned(),
            None => part.to_ascii_lowercase(),
        };
        let names = definition.columns.iter().map(|column| column.name.as_str());
        let column = definition.column(&name).ok_or_else(|| {
            Error::invalid(
                SqlState::UndefinedColumn,
                format!(
                    "sort_by names column '{name}', which table '{}' does not have{}",
                    definition.name,
                    did_you_mean(&name, names)
                ),
            )
        })?;
        if columns.contains(&column.id) {
            return Err(Error::invalid(SqlState::DuplicateColumn, format!("sort_by names column '{name}' twice")));
        }
        columns.push(column.id);
    }
    Ok(columns)
}

/// Refuses the clauses of CREATE TABLE that nothing here reads. Destructured whole, so that a clause that a later
/// parser adds is not overlooked.
pub(crate) fn refuse_clauses(statement: &CreateTable) -> Result<()> {
    let CreateTable {
        or_replace: _,
        temporary: _,
        external: _,
        dynamic,
        global,
        if_not_exists: _,
        transient: _,
        volatile,
        iceberg,
        snapshot,
        name: _,
        columns: _,
        constraints: _,
        hive_distribution,
        hive_formats,
        table_options: _,
        file_format,
        location,
        query: _,
        without_rowid,
        like,
        clone,
        version,
        comment,
        on_commit: _,
        on_cluster,
        primary_key,
        order_by,
        partition_by,
        cluster_by,
        clustered_by,
        inherits,
        partition_of,
        for_values,
        strict,
        copy_grants,
        enable_schema_evolution,
        change_tracking,
        data_retention_time_in_days,
        max_data_extension_time_in_days,
        default_ddl_collation,
        with_aggregation_policy,
        with_row_access_policy,
        with_storage_lifecycle_policy,
        with_tags,
        external_volume,
        base_location,
        catalog,
        catalog_sync,
        storage_serialization_policy,
        target_lag,
        warehouse,
        refresh_mode,
        initialize,
        require_user,
        diststyle,
        distkey,
        sortkey,
        backup,
    } = statement;
    let hive = hive_formats.as_ref().is_some_and(|formats| {
        formats.row_format.is_some() || formats.serde_properties.is_some() || formats.storage.is_some()
    });
    let clauses = [
        (*dynamic, "DYNAMIC"),
        (global.is_some(), "GLOBAL or LOCAL"),
        (*volatile, "VOLATILE"),
        (*iceberg, "ICEBERG"),
        (*snapshot, "SNAPSHOT"),
        (*hive_distribution != HiveDistributionStyle::NONE, "PARTITIONED BY"),
        (hive, "ROW FORMAT or STORED AS"),
        (file_format.is_some(), "STORED AS"),
        (location.is_some() || hive_formats.as_ref().is_some_and(|formats| formats.location.is_some()), "LOCATION"),
        (*without_rowid, "WITHOUT ROWID"),
        (like.is_some(), "LIKE outside of the brackets"),
        (clone.is_some(), "CLONE"),
        (version.is_some(), "AS OF"),
        (comment.is_some(), "COMMENT"),
        (on_cluster.is_some(), "ON CLUSTER"),
        (primary_key.is_some(), "PRIMARY KEY outside the brackets"),
        (order_by.is_some(), "ORDER BY (use WITH (sort_by = '…'))"),
        (partition_by.is_some(), "PARTITION BY"),
        (cluster_by.is_some() || clustered_by.is_some(), "CLUSTER BY"),
        (inherits.is_some(), "INHERITS"),
        (partition_of.is_some() || for_values.is_some(), "PARTITION OF"),
        (*strict, "STRICT"),
        (*copy_grants, "COPY GRANTS"),
        (enable_schema_evolution.is_some(), "ENABLE_SCHEMA_EVOLUTION"),
        (change_tracking.is_some(), "CHANGE_TRACKING"),
        (data_retention_time_in_days.is_some(), "DATA_RETENTION_TIME_IN_DAYS"),
        (max_data_extension_time_in_days.is_some(), "MAX_DATA_EXTENSION_TIME_IN_DAYS"),
        (default_ddl_collation.is_some(), "DEFAULT_DDL_COLLATION"),
        (with_aggregation_policy.is_some(), "AGGREGATION POLICY"),
        (with_row_access_policy.is_some(), "ROW ACCESS POLICY"),
        (with_storage_lifecycle_policy.is_some(), "STORAGE LIFECYCLE POLICY"),
        (with_tags.is_some(), "TAG"),
        (external_volume.is_some(), "EXTERNAL_VOLUME"),
        (base_location.is_some(), "BASE_LOCATION"),
        (catalog.is_some() || catalog_sync.is_some(), "CATALOG"),
        (storage_serialization_policy.is_some(), "STORAGE_SERIALIZATION_POLICY"),
        (target_lag.is_some(), "TARGET_LAG"),
        (warehouse.is_some(), "WAREHOUSE"),
        (refresh_mode.is_some(), "REFRESH_MODE"),
        (initialize.is_some(), "INITIALIZE"),
        (*require_user, "REQUIRE USER"),
        (diststyle.is_some() || distkey.is_some(), "DISTSTYLE or DISTKEY"),
        (sortkey.is_some(), "SORTKEY (use WITH (sort_by = '…'))"),
        (backup.is_some(), "BACKUP"),
    ];
    match clauses.iter().find(|(given, _)| *given) {
        Some((_, clause)) => Err(unsupported(format!("CREATE TABLE with {clause}"))),
        None => Ok(()),
    }
}

/// A constraint of the table, not of a column, as SQL shows it.
pub(crate) fn show(constraint: &TableConstraint) -> String {
    constraint.to_string()
}
