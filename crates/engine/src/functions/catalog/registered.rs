//! Names as OIDs and back: what `'t'::regclass` is, `to_regclass('t')`, and how an OID of such a type is shown.

use crate::functions::catalog::function::{CatalogFunction, CatalogValue, Gives};
use crate::functions::quoting::quoted;
use crate::postgres::{CatalogNames, format_type, hashed, type_of_name, type_of_oid};
use crate::{Error, Result};
use gingham_storage::SqlState;

/// `registered('regclass', 't')`: the OID that a name has as that type.
pub(crate) const REGISTERED: &str = "registered";
/// `registered_or_null('regclass', 't')`: that OID, or NULL where nothing has the name.
pub(crate) const REGISTERED_OR_NULL: &str = "registered_or_null";
/// `registered_name('regclass', 16385)`: the name of an OID, or its digits.
pub(crate) const REGISTERED_NAME: &str = "registered_name";

pub(super) fn all() -> Vec<CatalogFunction> {
    vec![
        CatalogFunction::new(REGISTERED, 2..=2, Gives::Integer, |own, names| {
            let kind = own[0].text();
            match known(&kind, &own[1], names)? {
                Some(oid) => Ok(CatalogValue::Integer(oid)),
                None => Err(unknown(&kind, &own[1].text())),
            }
        }),
        CatalogFunction::new(REGISTERED_OR_NULL, 2..=2, Gives::Integer, |own, names| {
            Ok(known(&own[0].text(), &own[1], names)?.into())
        }),
        CatalogFunction::new(REGISTERED_NAME, 2..=2, Gives::Text, |own, names| {
            let oid = own[1].integer().unwrap_or_default();
            Ok(CatalogValue::Text(if oid == 0 {
                "-".to_owned()
            } else {
                name_of(&own[0].text(), oid, names).unwrap_or_else(|| oid.to_string())
            }))
        }),
    ]
}

/// The OID of what a value names; `None` where nothing has the name.
fn known(kind: &str, value: &CatalogValue, names: &dyn CatalogNames) -> Result<Option<i64>> {
    if let Some(oid) = value.integer() {
        return Ok(Some(oid));
    }
    let text = value.text();
    if text.trim() == "-" {
        return Ok(Some(0));
    }
    if kind == "regtype" {
        return Ok(type_of_name(&text));
    }
    let is_procedure = kind == "regprocedure";
    let text = if is_procedure { text.split('(').next().unwrap_or_default() } else { text.as_str() };
    let parts = parts_of(text)?;
    let (schema, name) = match parts.as_slice() {
        [name] => (None, name),
        [schema, name] | [_, schema, name] => (Some(schema.as_str()), name),
        _ => return Err(Error::invalid(SqlState::InvalidName, format!("'{text}' is no name of a {}", what(kind)))),
    };
    Ok(match kind {
        "regclass" => names.relation(schema, name).map(|relation| relation.oid),
        "regnamespace" => names.schemas().into_iter().find(|(own, _)| own == name).map(|(_, oid)| oid),
        "regrole" => names.users().iter().find(|user| user.name == *name).map(|user| user.oid),
        _ => {
            let is_there = schema.is_none_or(|schema| schema == "pg_catalog") && names.has_function(name);
            is_there.then(|| hashed("function", name))
        }
    })
}

/// The parts of a name, in small letters where they stand in no quotes.
pub(super) fn parts_of(text: &str) -> Result<Vec<String>> {
    let wrong = || Error::invalid(SqlState::InvalidName, format!("'{text}' is no name: quotes or points are amiss"));
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let (part, behind) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let mut part = String::new();
                let mut behind = quoted;
                loop {
                    let (before, after) = behind.split_once('"').ok_or_else(wrong)?;
                    part.push_str(before);
                    match after.strip_prefix('"') {
                        Some(more) => {
                            part.push('"');
                            behind = more;
                        }
                        None => break (part, after.trim_start()),
                    }
                }
            }
            None => {
                let end = rest.find('.').unwrap_or(rest.len());
                (rest[..end].trim().to_lowercase(), &rest[end..])
            }
        };
        if part.is_empty() {
            return Err(wrong());
        }
        parts.push(part);
        match behind.strip_prefix('.') {
            Some(more) => rest = more.trim_start(),
            None if behind.is_empty() => return Ok(parts),
            None => return Err(wrong()),
        }
    }
}

/// The name that an OID is shown as.
fn name_of(kind: &str, oid: i64, names: &dyn CatalogNames) -> Option<String> {
    match kind {
        "regclass" => names.relation_of(oid).map(|own| match own.is_visible {
            true => quoted(&own.name),
            false => format!("{}.{}", quoted(&own.schema), quoted(&own.name)),
        }),
        "regtype" => type_of_oid(oid).map(|_| format_type(oid, None)),
        "regnamespace" => names.schemas().into_iter().find(|(_, own)| *own == oid).map(|(name, _)| quoted(&name)),
        "regrole" => names.users().iter().find(|user| user.oid == oid).map(|user| quoted(&user.name)),
        _ => names.function_of(oid),
    }
}

fn what(kind: &str) -> &'static str {
    match kind {
        "regclass" => "relation",
        "regtype" => "type",
        "regnamespace" => "schema",
        "regrole" => "role",
        _ => "function",
    }
}

fn unknown(kind: &str, name: &str) -> Error {
    let state = match kind {
        "regclass" => SqlState::UndefinedTable,
        "regnamespace" => SqlState::UndefinedSchema,
        "regproc" | "regprocedure" => SqlState::UndefinedFunction,
        _ => SqlState::UndefinedObject,
    };
    Error::invalid(state, format!("{} '{name}' does not exist", what(kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_parts_with_quotes_or_without() {
        let cases = [
            ("t", Some(vec!["t"])),
            ("S.T", Some(vec!["s", "t"])),
            ("\"S\".\"a.b\"", Some(vec!["S", "a.b"])),
            ("\"a\"\"b\"", Some(vec!["a\"b"])),
            ("", None),
            ("a.", None),
            ("\"a", None),
            ("\"a\"b", None),
        ];
        for (text, expected) in cases {
            let parts = parts_of(text).ok();
            assert_eq!(parts, expected.map(|parts| parts.into_iter().map(str::to_owned).collect()), "{text}");
        }
    }
}
