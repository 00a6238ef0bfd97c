//! What clients ask about objects: whether a name alone means them, and how they were defined.

use crate::functions::catalog::function::{CatalogFunction, CatalogValue, Gives};
use crate::functions::catalog::registered::parts_of;
use crate::postgres::{CatalogNames, Definition, Relation, format_type};
use crate::{Error, Result};
use gingham_storage::SqlState;

pub(super) fn all() -> Vec<CatalogFunction> {
    visibility().into_iter().chain(definitions()).chain(comments()).collect()
}

fn visibility() -> Vec<CatalogFunction> {
    let others = [
        "pg_type_is_visible",
        "pg_function_is_visible",
        "pg_operator_is_visible",
        "pg_opclass_is_visible",
        "pg_opfamily_is_visible",
        "pg_collation_is_visible",
        "pg_conversion_is_visible",
        "pg_ts_config_is_visible",
        "pg_ts_dict_is_visible",
        "pg_ts_parser_is_visible",
        "pg_ts_template_is_visible",
        "pg_statistics_obj_is_visible",
    ];
    let mut all = vec![CatalogFunction::new("pg_table_is_visible", 1..=1, Gives::Truth, |own, names| {
        let found = own[0].integer().and_then(|oid| names.relation_of(oid));
        Ok(found.map_or(CatalogValue::Null, |relation| CatalogValue::Truth(relation.is_visible)))
    })];
    let truth = |name| CatalogFunction::new(name, 1..=1, Gives::Truth, |_, _| Ok(CatalogValue::Truth(true)));
    all.extend(others.into_iter().map(truth));
    all
}

/// The relation that an argument means; `None` for an OID that nothing has.
///
/// # Errors
///
/// Nothing has the name.
pub(super) fn relation_of(value: &CatalogValue, names: &dyn CatalogNames) -> Result<Option<Relation>> {
    if let Some(oid) = value.integer() {
        return Ok(names.relation_of(oid));
    }
    let text = value.text();
    let parts = parts_of(&text)?;
    let found = match parts.as_slice() {
        [name] => names.relation(None, name),
        [schema, name] | [_, schema, name] => names.relation(Some(schema), name),
        _ => None,
    };
    found.map(Some).ok_or_else(|| Error::invalid(SqlState::UndefinedTable, format!("relation '{text}' does not exist")))
}

fn definitions() -> Vec<CatalogFunction> {
    let mut all = vec![
        CatalogFunction::new("format_type", 2..=2, Gives::Text, |own, _| {
            let oid = own[0].integer();
            Ok(oid.map_or(CatalogValue::Null, |oid| CatalogValue::Text(format_type(oid, own[1].integer()))))
        })
        .with_nulls(),
        CatalogFunction::new("pg_get_expr", 2..=3, Gives::Text, |own, _| Ok(CatalogValue::Text(own[0].text()))),
        CatalogFunction::new("pg_get_constraintdef", 1..=2, Gives::Text, |own, names| {
            let text = own[0].integer().and_then(|oid| names.definition(Definition::Constraint, oid));
            // Written for people, a condition stands in one pair of parentheses.
            let is_pretty = own.get(1) == Some(&CatalogValue::Truth(true));
            let short = |text: &str| {
                let condition = text.strip_prefix("CHECK ((").filter(|_| is_pretty)?;
                let (condition, behind) = condition.rsplit_once("))")?;
                Some(format!("CHECK ({condition}){behind}"))
            };
            Ok(text.map(|text| short(&text).unwrap_or(text)).into())
        }),
        CatalogFunction::new("pg_get_indexdef", 1..=3, Gives::Text, |own, names| {
            let Some(oid) = own[0].integer() else { return Ok(CatalogValue::Null) };
            match own.get(1).and_then(CatalogValue::integer).unwrap_or_default() {
                0 => {
                    // Written for people, it says no schema that the search path has.
                    let is_pretty = own.get(2) == Some(&CatalogValue::Truth(true));
                    let text = names.definition(Definition::Index, oid);
                    let text = text.map(|text| if is_pretty { text.replacen(" ON public.", " ON ", 1) } else { text });
                    Ok(text.into())
                }
                column => {
                    let at = usize::try_from(column).ok().and_then(|column| column.checked_sub(1));
                    Ok(at.and_then(|at| names.columns(oid).get(at).cloned()).into())
                }
            }
        }),
        CatalogFunction::new("pg_get_viewdef", 1..=2, Gives::Text, |own, names| {
            let Some(relation) = relation_of(&own[0], names)? else { return Ok(CatalogValue::Null) };
            Ok(names.definition(Definition::View, relation.oid).into())
        }),
        CatalogFunction::new("pg_get_userbyid", 1..=1, Gives::Text, |own, names| {
            Ok(CatalogValue::Text(match own[0].integer() {
                None => String::new(),
                Some(oid) => match names.users().iter().find(|user| user.oid == oid) {
                    Some(user) => user.name.clone(),
                    None => format!("unknown (OID={oid})"),
                },
            }))
        }),
        CatalogFunction::new("pg_partition_ancestors", 1..=1, Gives::Integer, |_, _| Ok(CatalogValue::Null)),
        CatalogFunction::new("pg_relation_is_publishable", 1..=1, Gives::Truth, |_, _| Ok(CatalogValue::Truth(false))),
        CatalogFunction::new("pg_relation_filenode", 1..=1, Gives::Integer, |own, names| {
            Ok(relation_of(&own[0], names)?.map(|relation| relation.oid).into())
        }),
        CatalogFunction::new("pg_encoding_to_char", 1..=1, Gives::Text, |own, _| {
            Ok(CatalogValue::Text(match own[0].integer() {
                Some(0) => "SQL_ASCII".to_owned(),
                Some(6) => "UTF8".to_owned(),
                _ => String::new(),
            }))
        }),
        CatalogFunction::new("pg_char_to_encoding", 1..=1, Gives::Integer, |own, _| {
            let name = own[0].text().to_lowercase().replace(['-', '_'], "");
            Ok(CatalogValue::Integer(match name.as_str() {
                "utf8" | "unicode" => 6,
                "sqlascii" => 0,
                _ => -1,
            }))
        }),
    ];
    // There are none of these, so nothing has one.
    let none = [
        ("pg_get_ruledef", 1..=2),
        ("pg_get_triggerdef", 1..=2),
        ("pg_get_functiondef", 1..=1),
        ("pg_get_function_arguments", 1..=1),
        ("pg_get_function_identity_arguments", 1..=1),
        ("pg_get_function_result", 1..=1),
        ("pg_get_partkeydef", 1..=1),
        ("pg_get_partition_constraintdef", 1..=1),
        ("pg_get_statisticsobjdef_columns", 1..=1),
        ("pg_relation_filepath", 1..=1),
        ("pg_tablespace_location", 1..=1),
    ];
    let null = |(name, arguments)| CatalogFunction::new(name, arguments, Gives::Text, |_, _| Ok(CatalogValue::Null));
    all.extend(none.into_iter().map(null));
    all
}

/// The functions that give comments. Nothing that databases share has one.
fn comments() -> Vec<CatalogFunction> {
    vec![
        CatalogFunction::new("obj_description", 1..=2, Gives::Text, |own, names| {
            let class = own.get(1).map(CatalogValue::text);
            Ok(own[0].integer().and_then(|oid| names.comment(class.as_deref(), oid, 0)).into())
        }),
        CatalogFunction::new("col_description", 2..=2, Gives::Text, |own, names| {
            let column = own[1].integer().filter(|number| *number > 0);
            let (Some(oid), Some(column)) = (own[0].integer(), column) else { return Ok(CatalogValue::Null) };
            Ok(names.comment(Some("pg_class"), oid, column).into())
        }),
        CatalogFunction::new("shobj_description", 2..=2, Gives::Text, |_, _| Ok(CatalogValue::Null)),
    ]
}
