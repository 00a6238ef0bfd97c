//! What users may do with objects: `has_table_privilege` and its like. A user may do what their role may, with all objects alike.

use crate::functions::catalog::function::{CatalogFunction, CatalogValue, Gives};
use crate::functions::catalog::objects::relation_of;
use crate::postgres::{CatalogNames, CatalogUser, DATABASE, Role};
use crate::{Error, Result};
use gingham_storage::SqlState;

/// A privilege and the least role that has it.
type Privilege = (&'static str, Role);

const OF_TABLES: &[Privilege] = &[
    ("select", Role::Read),
    ("insert", Role::Write),
    ("update", Role::Write),
    ("delete", Role::Write),
    ("truncate", Role::Write),
    ("references", Role::Write),
    ("trigger", Role::Write),
    ("maintain", Role::Write),
];
const OF_COLUMNS: &[Privilege] =
    &[("select", Role::Read), ("insert", Role::Write), ("update", Role::Write), ("references", Role::Write)];
const OF_SCHEMAS: &[Privilege] = &[("create", Role::Write), ("usage", Role::Read)];
const OF_DATABASES: &[Privilege] =
    &[("create", Role::Write), ("connect", Role::Read), ("temp", Role::Write), ("temporary", Role::Write)];
const OF_SEQUENCES: &[Privilege] = &[("usage", Role::Write), ("select", Role::Read), ("update", Role::Write)];

/// The functions. Each checks that what it is about is there, and that the privilege is one.
pub(super) fn all() -> Vec<CatalogFunction> {
    vec![
        CatalogFunction::new("has_table_privilege", 2..=3, Gives::Truth, |own, names| {
            let [user @ .., object, privilege] = own else { return Ok(CatalogValue::Null) };
            let may = may(user, privilege, OF_TABLES, names)?;
            Ok(relation_of(object, names)?.map_or(CatalogValue::Null, |_| CatalogValue::Truth(may)))
        }),
        CatalogFunction::new("has_any_column_privilege", 2..=3, Gives::Truth, |own, names| {
            let [user @ .., object, privilege] = own else { return Ok(CatalogValue::Null) };
            let may = may(user, privilege, OF_COLUMNS, names)?;
            Ok(relation_of(object, names)?.map_or(CatalogValue::Null, |_| CatalogValue::Truth(may)))
        }),
        CatalogFunction::new("has_column_privilege", 3..=4, Gives::Truth, |own, names| {
            let [user @ .., object, column, privilege] = own else { return Ok(CatalogValue::Null) };
            let may = may(user, privilege, OF_COLUMNS, names)?;
            let Some(relation) = relation_of(object, names)? else { return Ok(CatalogValue::Null) };
            let columns = names.columns(relation.oid);
            match column.integer() {
                Some(number) => Ok(usize::try_from(number)
                    .ok()
                    .filter(|number| (1..=columns.len()).contains(number))
                    .map_or(CatalogValue::Null, |_| CatalogValue::Truth(may))),
                None if columns.contains(&column.text()) => Ok(CatalogValue::Truth(may)),
                None => Err(Error::invalid(
                    SqlState::UndefinedColumn,
                    format!("column '{}' of relation '{}' does not exist", column.text(), relation.name),
                )),
            }
        }),
        CatalogFunction::new("has_schema_privilege", 2..=3, Gives::Truth, |own, names| {
            let [user @ .., object, privilege] = own else { return Ok(CatalogValue::Null) };
            let may = may(user, privilege, OF_SCHEMAS, names)?;
            let schemas = names.schemas();
            match object.integer() {
                Some(oid) => {
                    let is_there = schemas.iter().any(|(_, own)| *own == oid);
                    Ok(if is_there { CatalogValue::Truth(may) } else { CatalogValue::Null })
                }
                None if schemas.iter().any(|(name, _)| *name == object.text()) => Ok(CatalogValue::Truth(may)),
                None => {
                    let text = format!("schema '{}' does not exist", object.text());
                    Err(Error::invalid(SqlState::UndefinedSchema, text))
                }
            }
        }),
        CatalogFunction::new("has_database_privilege", 2..=3, Gives::Truth, |own, names| {
            let [user @ .., object, privilege] = own else { return Ok(CatalogValue::Null) };
            let may = may(user, privilege, OF_DATABASES, names)?;
            match object.integer() {
                Some(oid) => Ok(if oid == DATABASE { CatalogValue::Truth(may) } else { CatalogValue::Null }),
                None if object.text() == names.database() => Ok(CatalogValue::Truth(may)),
                None => {
                    let text =
                        format!("database '{}' does not exist; this one is '{}'", object.text(), names.database());
                    Err(Error::invalid(SqlState::InvalidCatalogName, text))
                }
            }
        }),
        CatalogFunction::new("has_sequence_privilege", 2..=3, Gives::Truth, |own, names| {
            let [user @ .., object, privilege] = own else { return Ok(CatalogValue::Null) };
            let may = may(user, privilege, OF_SEQUENCES, names)?;
            Ok(relation_of(object, names)?.map_or(CatalogValue::Null, |_| CatalogValue::Truth(may)))
        }),
        CatalogFunction::new("pg_has_role", 2..=3, Gives::Truth, |own, names| {
            let [user @ .., role, _] = own else { return Ok(CatalogValue::Null) };
            let (own, other) = (user_of(user.first(), names)?, user_of(Some(role), names)?);
            Ok(CatalogValue::Truth(own.role == Role::Admin || own.oid == other.oid))
        }),
        everybody("has_function_privilege"),
        everybody("has_type_privilege"),
        everybody("has_tablespace_privilege"),
    ]
}

fn everybody(name: &'static str) -> CatalogFunction {
    CatalogFunction::new(name, 2..=3, Gives::Truth, |_, _| Ok(CatalogValue::Truth(true)))
}

/// The user that an argument means; the session's without one.
fn user_of<'n>(user: Option<&CatalogValue>, names: &'n dyn CatalogNames) -> Result<&'n CatalogUser> {
    let all = names.users();
    let (oid, name) = (user.and_then(CatalogValue::integer), user.map(CatalogValue::text).unwrap_or_default());
    // PUBLIC is everybody, of whom nobody may less than the session's user here.
    let wanted = if user.is_none() || name == "public" { names.user() } else { name.clone() };
    all.iter()
        .find(|known| known.name == wanted || Some(known.oid) == oid)
        .ok_or_else(|| Error::invalid(SqlState::UndefinedObject, format!("role '{name}' does not exist")))
}

/// Whether a user has one of some privileges: `SELECT`, `INSERT WITH GRANT OPTION`, several with commas between. Errors on what is no
/// privilege.
fn may(
    user: &[CatalogValue],
    privileges: &CatalogValue,
    known: &[Privilege],
    names: &dyn CatalogNames,
) -> Result<bool> {
    let role = user_of(user.first(), names)?.role;
    let mut may = false;
    for own in privileges.text().split(',') {
        let word = own.trim().to_lowercase();
        let word = word.strip_suffix(" with grant option").unwrap_or(&word).trim();
        let Some((_, least)) = known.iter().find(|(known, _)| *known == word) else {
            let known: Vec<&str> = known.iter().map(|(known, _)| *known).collect();
            let text = format!("'{}' is no privilege here; {} are", own.trim(), known.join(", "));
            return Err(Error::invalid(SqlState::InvalidParameterValue, text));
        };
        may |= role >= *least;
    }
    Ok(may)
}
