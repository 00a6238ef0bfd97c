//! Tables whose definitions are lost, by the names that older pages of the catalog's file still tell.

use crate::Result;
use crate::TableId;
use crate::lmdb::environment::Name;
use crate::lmdb::records::{id_of_key, name_in};
use crate::lmdb::values::ENVELOPE;
use crate::lmdb::verifier::salvage::Salvage;
use crate::rescue::copy::Copied;
use crate::rescue::report::LostTable;
use std::collections::BTreeMap;

const LOST: &str = "its definition is lost";

/// The tables that the new catalog lacks.
pub(super) fn lost_tables(salvage: &Salvage, copied: &Copied) -> Result<Vec<LostTable>> {
    let mut missing = copied.missed_tables;
    if missing == 0 && copied.unreadable.is_empty() {
        return Ok(Vec::new());
    }
    let mut ever: BTreeMap<TableId, String> = BTreeMap::new();
    salvage.each_ever(Name::Tables, &mut |key, value| {
        let name = value.get(ENVELOPE..).and_then(name_in);
        if let Some((id, name)) = id_of_key(key).zip(name).filter(|(id, _)| !copied.tables.contains_key(id)) {
            ever.insert(id, name.to_string());
        }
        Ok(())
    })?;
    let mut lost = Vec::new();
    for (id, table) in &copied.unreadable {
        let known = ever.remove(id);
        let name = table.name.clone().or(known).unwrap_or_else(|| format!("number {id}, whose name is lost"));
        lost.push(LostTable { name, why: table.why.clone() });
    }
    // Others' values tell that these were there.
    for name in copied.unknown.iter().filter_map(|id| ever.remove(id)) {
        missing = missing.saturating_sub(1);
        lost.push(LostTable { name, why: LOST.into() });
    }
    if missing > 0 {
        let sure = ever.len() as u64 <= missing;
        missing = missing.saturating_sub(ever.len() as u64);
        let why = if sure { LOST.to_owned() } else { format!("{LOST}, or it was dropped before") };
        lost.extend(ever.into_values().map(|name| LostTable { name, why: why.clone() }));
    }
    lost.extend((0..missing).map(|_| LostTable { name: "a table whose name is lost".into(), why: LOST.into() }));
    Ok(lost)
}
