//! Types, functions, roles, settings and the rest that is the same in every database.

use crate::postgres::{DATABASE, OWNER, PG_CATALOG, Role, TYPES, hashed};
use crate::session::pg_catalog::names::functions_of_type;
use crate::session::pg_catalog::objects::{BTREE, COLLATION, HEAP};
use crate::session::pg_catalog::relations::Seen;
use crate::session::pg_catalog::rows::{Cell, Rows};
use crate::session::state::CATALOG;

/// The tablespace, and the language of functions.
const TABLESPACE: i64 = 1663;
const INTERNAL: i64 = 12;
/// The encoding UTF8.
const UTF8: i64 = 6;

pub(super) fn types(rows: &mut Rows) {
    let function = |name: &str| Cell::Number(hashed("function", name));
    for own in TYPES {
        let kind = if own.category == "P" || own.category == "X" { "p" } else { "b" };
        let element = match own.name {
            "int2vector" => 21,
            "oidvector" => 26,
            "name" => 18,
            _ => 0,
        };
        let [input, output, receive, send] = functions_of_type(own.name);
        rows.push([
            ("oid", own.oid.into()),
            ("typname", own.name.into()),
            ("typnamespace", PG_CATALOG.into()),
            ("typowner", OWNER.into()),
            ("typlen", own.length.into()),
            ("typbyval", (1..=8).contains(&own.length).into()),
            ("typtype", kind.into()),
            ("typcategory", own.category.into()),
            ("typispreferred", [16, 25, 26, 701, 1184, 1186].contains(&own.oid).into()),
            ("typisdefined", true.into()),
            ("typdelim", ",".into()),
            ("typelem", Cell::Number(element)),
            ("typarray", own.array.into()),
            ("typinput", function(&input)),
            ("typoutput", function(&output)),
            ("typreceive", function(&receive)),
            ("typsend", function(&send)),
            ("typalign", if own.length == 8 { "d" } else { "i" }.into()),
            ("typstorage", if own.length > 0 { "p" } else { "x" }.into()),
            ("typtypmod", (-1).into()),
            ("typcollation", if own.category == "S" { COLLATION } else { 0 }.into()),
        ]);
        if own.array == 0 {
            continue;
        }
        rows.push([
            ("oid", own.array.into()),
            ("typname", format!("_{}", own.name).into()),
            ("typnamespace", PG_CATALOG.into()),
            ("typowner", OWNER.into()),
            ("typlen", (-1).into()),
            ("typtype", "b".into()),
            ("typcategory", "A".into()),
            ("typisdefined", true.into()),
            ("typdelim", ",".into()),
            ("typelem", own.oid.into()),
            ("typinput", function("array_in")),
            ("typoutput", function("array_out")),
            ("typreceive", function("array_recv")),
            ("typsend", function("array_send")),
            ("typalign", if own.length == 8 { "d" } else { "i" }.into()),
            ("typstorage", "x".into()),
            ("typtypmod", (-1).into()),
            ("typcollation", if own.category == "S" { COLLATION } else { 0 }.into()),
        ]);
    }
}

pub(super) fn functions(seen: &Seen, rows: &mut Rows) {
    for (name, kind) in seen.functions() {
        rows.push([
            ("oid", hashed("function", &name).into()),
            ("proname", name.as_str().into()),
            ("pronamespace", PG_CATALOG.into()),
            ("proowner", OWNER.into()),
            ("prolang", INTERNAL.into()),
            ("procost", 1.into()),
            ("prokind", kind.into()),
            ("proretset", (kind == "f" && seen.gives_rows(&name)).into()),
            ("provolatile", "i".into()),
            ("proparallel", "s".into()),
            ("proargtypes", Cell::Numbers(Vec::new())),
            ("prosrc", name.as_str().into()),
        ]);
    }
}

pub(super) fn access_methods(rows: &mut Rows) {
    for (oid, name, kind) in [(HEAP, "heap", "t"), (BTREE, "btree", "i")] {
        rows.push([("oid", oid.into()), ("amname", name.into()), ("amtype", kind.into())]);
    }
}

/// All compare code points.
pub(super) fn collations(rows: &mut Rows) {
    for (oid, name, provider) in
        [(COLLATION, "default", "d"), (950, "C", "c"), (951, "POSIX", "c"), (12_547, "ucs_basic", "c")]
    {
        rows.push([
            ("oid", oid.into()),
            ("collname", name.into()),
            ("collnamespace", PG_CATALOG.into()),
            ("collowner", OWNER.into()),
            ("collprovider", provider.into()),
            ("collisdeterministic", true.into()),
            ("collencoding", (-1).into()),
            ("collcollate", "C".into()),
            ("collctype", "C".into()),
        ]);
    }
}

pub(super) fn databases(rows: &mut Rows) {
    rows.push([
        ("oid", DATABASE.into()),
        ("datname", CATALOG.into()),
        ("datdba", OWNER.into()),
        ("encoding", UTF8.into()),
        ("datlocprovider", "c".into()),
        ("datallowconn", true.into()),
        ("datconnlimit", (-1).into()),
        ("dattablespace", TABLESPACE.into()),
        ("datcollate", "C".into()),
        ("datctype", "C".into()),
    ]);
}

/// The owner of all, and the users of sessions.
pub(super) fn roles(seen: &Seen, rows: &mut Rows) {
    for user in seen.session.known_users() {
        let is_admin = user.role == Role::Admin;
        rows.push([
            ("oid", user.oid.into()),
            ("rolname", user.name.as_str().into()),
            ("rolsuper", is_admin.into()),
            ("rolinherit", true.into()),
            ("rolcreaterole", is_admin.into()),
            ("rolcreatedb", is_admin.into()),
            ("rolcanlogin", true.into()),
            ("rolbypassrls", is_admin.into()),
            ("rolconnlimit", (-1).into()),
            ("usename", user.name.as_str().into()),
            ("usesysid", user.oid.into()),
            ("usecreatedb", is_admin.into()),
            ("usesuper", is_admin.into()),
            ("usebypassrls", is_admin.into()),
        ]);
    }
}

pub(super) fn settings(seen: &Seen, rows: &mut Rows) {
    for (name, value, description) in seen.settings() {
        rows.push([
            ("name", name.into()),
            ("setting", value.into()),
            ("category", "Settings".into()),
            ("short_desc", description.into()),
            ("context", "user".into()),
            ("vartype", "string".into()),
            ("source", "session".into()),
        ]);
    }
}

pub(super) fn tablespaces(rows: &mut Rows) {
    rows.push([("oid", TABLESPACE.into()), ("spcname", "pg_default".into()), ("spcowner", OWNER.into())]);
}

pub(super) fn languages(rows: &mut Rows) {
    rows.push([("oid", INTERNAL.into()), ("lanname", "internal".into()), ("lanowner", OWNER.into())]);
}
