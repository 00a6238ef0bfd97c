//! Advisory locks: `pg_advisory_lock` and its like, by which programs that change schemas keep out of each other's way.

use crate::functions::catalog::function::{CatalogFunction, CatalogValue, Gives, OfRow};
use crate::postgres::{AdvisoryKey, AdvisoryRequest, CatalogNames};
use crate::{Error, Result};
use gingham_storage::SqlState;

/// The arguments of a lock: one number, or two.
const KEYS: std::ops::RangeInclusive<usize> = 1..=2;

pub(super) fn all() -> Vec<CatalogFunction> {
    let waits = |name, of_row: OfRow| CatalogFunction::new(name, KEYS, Gives::Text, of_row).volatile();
    let tries = |name, of_row: OfRow| CatalogFunction::new(name, KEYS, Gives::Truth, of_row).volatile();
    vec![
        waits("pg_advisory_lock", |own, names| wait(own, names, false, false)),
        waits("pg_advisory_lock_shared", |own, names| wait(own, names, true, false)),
        waits("pg_advisory_xact_lock", |own, names| wait(own, names, false, true)),
        waits("pg_advisory_xact_lock_shared", |own, names| wait(own, names, true, true)),
        tries("pg_try_advisory_lock", |own, names| attempt(own, names, false, false)),
        tries("pg_try_advisory_lock_shared", |own, names| attempt(own, names, true, false)),
        tries("pg_try_advisory_xact_lock", |own, names| attempt(own, names, false, true)),
        tries("pg_try_advisory_xact_lock_shared", |own, names| attempt(own, names, true, true)),
        tries("pg_advisory_unlock", |own, names| unlock(own, names, false)),
        tries("pg_advisory_unlock_shared", |own, names| unlock(own, names, true)),
        CatalogFunction::new("pg_advisory_unlock_all", 0..=0, Gives::Text, |_, names| {
            names.unlock_all();
            Ok(CatalogValue::Text(String::new()))
        })
        .volatile(),
    ]
}

fn wait(own: &[CatalogValue], names: &dyn CatalogNames, shared: bool, of_transaction: bool) -> Result<CatalogValue> {
    names.lock(AdvisoryRequest { key: key(own)?, shared, of_transaction }, true)?;
    Ok(CatalogValue::Text(String::new()))
}

fn attempt(own: &[CatalogValue], names: &dyn CatalogNames, shared: bool, of_transaction: bool) -> Result<CatalogValue> {
    names.lock(AdvisoryRequest { key: key(own)?, shared, of_transaction }, false).map(CatalogValue::Truth)
}

fn unlock(own: &[CatalogValue], names: &dyn CatalogNames, shared: bool) -> Result<CatalogValue> {
    Ok(CatalogValue::Truth(names.unlock(AdvisoryRequest { key: key(own)?, shared, of_transaction: false })))
}

fn key(own: &[CatalogValue]) -> Result<AdvisoryKey> {
    let number = |value: &CatalogValue| {
        value.integer().ok_or_else(|| {
            let text = format!("an advisory lock is a whole number or two, not '{}'", value.text());
            Error::invalid(SqlState::UndefinedFunction, text)
        })
    };
    let half = |value: &CatalogValue| {
        i32::try_from(number(value)?).map_err(|_| {
            let text = format!("{} is out of range for a lock of two numbers, which have 32 bits", value.text());
            Error::invalid(SqlState::NumericValueOutOfRange, text)
        })
    };
    match own {
        [one] => Ok(AdvisoryKey::One(number(one)?)),
        [first, second] => Ok(AdvisoryKey::Two(half(first)?, half(second)?)),
        _ => Err(Error::Internal("an advisory lock of more than two numbers".into())),
    }
}
