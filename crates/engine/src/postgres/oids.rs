//! OIDs: the numbers that PostgreSQL's clients know objects by. Those of types and of its own schemas are PostgreSQL's; those
//! of tables, views, sequences, indexes, constraints and schemas are their numbers in the catalog, which are given once. What
//! the catalog does not number goes by a hash of its name, which stays as long as the name does. This is the one place that says
//! how.

/// The schema of PostgreSQL's own objects.
pub(crate) const PG_CATALOG: i64 = 11;
/// The schema `public`.
pub(crate) const PUBLIC: i64 = 2200;
/// The database.
pub(crate) const DATABASE: i64 = 5;
/// The role that owns everything.
pub(crate) const OWNER: i64 = 10;
/// Its name, and the user of sessions that name none.
pub(crate) const USER: &str = "gingham";

/// The first number of users' objects.
const FIRST_OBJECT: i64 = 16_384;
/// The first number of TEMP tables and what goes with them, which have numbers of a catalog of their own.
const FIRST_TEMPORARY: i64 = 1 << 29;
/// The first number of what goes by its name.
const FIRST_HASHED: i64 = 1 << 30;

/// The number of a user.
pub(crate) fn user_oid(name: &str) -> i64 {
    if name == USER { OWNER } else { hashed("role", name) }
}

/// The number of an object of the database, by the catalog's.
fn object_oid(id: u64) -> i64 {
    FIRST_OBJECT + i64::try_from(id).unwrap_or_default()
}

/// The number of an object beside TEMP tables, by the number in their catalog.
fn temporary_oid(id: u64) -> i64 {
    FIRST_TEMPORARY + i64::try_from(id).unwrap_or_default()
}

/// The number of a schema, by the catalog's, which is 0 for one that has none.
pub(crate) fn schema_oid(name: &str, number: u64) -> i64 {
    match (name, number) {
        ("pg_catalog", _) => PG_CATALOG,
        ("public", _) => PUBLIC,
        (other, 0) => hashed("schema", other),
        (_, number) => object_oid(number),
    }
}

/// The number of an object by the catalog's, of a TEMP one by that of its own catalog; by its kind and name where the catalog, which an
/// older version may have written, has none.
pub(crate) fn numbered_oid(is_temporary: bool, number: Option<u64>, kind: &str, name: &str) -> i64 {
    match (number.filter(|number| *number > 0), is_temporary) {
        (Some(number), false) => object_oid(number),
        (Some(number), true) => temporary_oid(number),
        (None, false) => hashed(kind, name),
        (None, true) => hashed(&format!("temporary {kind}"), name),
    }
}

/// The number of something of a kind that has a name alone (FNV-1a of both).
pub(crate) fn hashed(kind: &str, name: &str) -> i64 {
    let bytes = kind.bytes().chain([0]).chain(name.bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let folded = (hash >> 32) ^ hash;
    FIRST_HASHED + i64::from((folded & 0x3fff_ffff) as u32)
}

/// The number that PostgreSQL gives a table of its own catalog.
pub(crate) fn system_table_oid(name: &str) -> i64 {
    match name {
        "pg_type" => 1247,
        "pg_attribute" => 1249,
        "pg_proc" => 1255,
        "pg_class" => 1259,
        "pg_database" => 1262,
        "pg_constraint" => 2606,
        "pg_attrdef" => 2604,
        "pg_index" => 2610,
        "pg_namespace" => 2615,
        "pg_description" => 2609,
        "pg_am" => 2601,
        "pg_collation" => 3456,
        "pg_enum" => 3501,
        "pg_range" => 3541,
        "pg_extension" => 3079,
        "pg_sequence" => 2224,
        "pg_tablespace" => 1213,
        "pg_inherits" => 2611,
        "pg_trigger" => 2620,
        "pg_depend" => 2608,
        "pg_authid" => 1260,
        other => hashed("system", other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_apart_and_stay() {
        assert_eq!(object_oid(3), 16_387);
        assert_eq!(schema_oid("public", 7), PUBLIC);
        assert_eq!(schema_oid("sales", 7), 16_391);
        let (one, other) = (hashed("view", "public.v"), hashed("index", "public.v"));
        assert!(one != other && one >= FIRST_HASHED && one < i64::from(i32::MAX));
        assert_eq!(one, 2_078_440_520);
    }
}
