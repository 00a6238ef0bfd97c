//! Sequences as tables of the schema, and what depends on what: a sequence on its column, a default on its sequence, an index on its
//! columns.

use crate::postgres::{Relation, USER, system_table_oid};
use crate::session::pg_catalog::definitions::{constraints, numbers};
use crate::session::pg_catalog::objects::{default_of, default_oid};
use crate::session::pg_catalog::relations::{ListedRelations, RelationSource, Seen, TEMPORARY, index_of};
use crate::session::pg_catalog::rows::{Cell, Rows};
use crate::session::sequence_defaults::asks;
use gingham_storage::{LogicalType, SequenceRecord};
use std::collections::BTreeSet;

fn all(relations: &ListedRelations) -> impl Iterator<Item = (&Relation, &SequenceRecord)> {
    relations.all.iter().filter_map(|(relation, source)| match source {
        RelationSource::Sequence(record) => Some((relation, record.as_ref())),
        _ => None,
    })
}

/// The rows of pg_sequence.
pub(super) fn definitions(relations: &ListedRelations, rows: &mut Rows) {
    for (relation, record) in all(relations) {
        let own = &record.definition;
        let data_type = match own.bits {
            16 => 21,
            32 => 23,
            _ => 20,
        };
        rows.push([
            ("seqrelid", relation.oid.into()),
            ("seqtypid", data_type.into()),
            ("seqstart", own.start.into()),
            ("seqincrement", own.increment.into()),
            ("seqmax", own.most.into()),
            ("seqmin", own.least.into()),
            ("seqcache", i64::try_from(own.cache).unwrap_or(i64::MAX).into()),
            ("seqcycle", own.cycle.into()),
        ]);
    }
}

/// The rows of pg_sequences.
pub(super) fn states(seen: &Seen, relations: &ListedRelations, rows: &mut Rows) {
    for (relation, record) in all(relations) {
        let own = &record.definition;
        let temporary = seen.session.existing_temp_store().filter(|_| relation.schema == TEMPORARY);
        let (last, _, is_called) = temporary.unwrap_or(&seen.session.engine.store).sequence_shown(record);
        rows.push([
            ("schemaname", relation.schema.as_str().into()),
            ("sequencename", relation.name.as_str().into()),
            ("sequenceowner", USER.into()),
            ("data_type", LogicalType::Int(own.bits).to_string().to_lowercase().into()),
            ("start_value", own.start.into()),
            ("min_value", own.least.into()),
            ("max_value", own.most.into()),
            ("increment_by", own.increment.into()),
            ("cycle", own.cycle.into()),
            ("cache_size", i64::try_from(own.cache).unwrap_or(i64::MAX).into()),
            ("last_value", if is_called { last.into() } else { Cell::Null }),
        ]);
    }
}

/// An object as pg_depend names it: the table of pg_catalog that lists it, its number, and that of its column or 0.
type Dependent = (&'static str, i64, i64);

/// The rows of pg_depend, as far as they are about sequences, defaults, indexes and constraints.
pub(super) fn dependencies(relations: &ListedRelations, rows: &mut Rows) {
    let mut all: BTreeSet<(Dependent, Dependent, &'static str)> = BTreeSet::new();
    for (relation, source) in &relations.all {
        let own = ("pg_class", relation.oid, 0);
        if !matches!(source, RelationSource::Other | RelationSource::Index(_)) {
            all.insert((own, ("pg_namespace", relations.schema_oid(&relation.schema), 0), "n"));
        }
        match source {
            RelationSource::Sequence(record) => {
                if let Some((table, column, is_identity)) = relations.owner(relation, record) {
                    all.insert((own, ("pg_class", table.oid, column), if is_identity { "i" } else { "a" }));
                }
            }
            RelationSource::Index(index) => {
                let table = relations.by_oid(index.table);
                let mut of_table = table.iter().flat_map(|(table, _)| constraints(table, &index.definition));
                match of_table.find(|constraint| matches!(constraint.kind, "p" | "u") && constraint.name == index.name)
                {
                    Some(constraint) => {
                        all.insert((own, ("pg_constraint", constraint.oid, 0), "i"));
                    }
                    None => {
                        let columns = numbers(&index.definition, &index.columns);
                        all.extend(columns.into_iter().map(|column| (own, ("pg_class", index.table, column), "a")));
                    }
                }
            }
            RelationSource::Table { definition, .. } => {
                for (number, column) in (1..).zip(&definition.columns) {
                    let Some(text) = default_of(column) else { continue };
                    let default = ("pg_attrdef", default_oid(relation, column), 0);
                    let is_generated = column.generation.is_some();
                    let of_column = ("pg_class", relation.oid, number);
                    all.insert((default, of_column, if is_generated { "i" } else { "a" }));
                    for (sequence, _) in self::all(relations).filter(|(_, record)| asks(text, &record.definition.name))
                    {
                        all.insert((default, ("pg_class", sequence.oid, 0), "n"));
                    }
                }
                for constraint in constraints(relation, definition) {
                    let own = ("pg_constraint", constraint.oid, 0);
                    let columns = numbers(definition, &constraint.columns);
                    all.extend(columns.into_iter().map(|column| (own, ("pg_class", relation.oid, column), "a")));
                    let Some((id, referred)) = &constraint.referred else { continue };
                    let Some((other, there)) = relations.referred(*id, relation) else { continue };
                    let columns = numbers(there, referred).into_iter();
                    all.extend(columns.map(|column| (own, ("pg_class", other.oid, column), "n")));
                    let key = there.keys.iter().find(|key| key.columns == *referred);
                    let index = key.map_or(0, |key| index_of(relations, other, &key.name));
                    if index != 0 {
                        all.insert((own, ("pg_class", index, 0), "n"));
                    }
                }
            }
            RelationSource::View(_) | RelationSource::Other => {}
        }
    }
    for ((class, object, part), (referred_class, referred, referred_part), kind) in all {
        rows.push([
            ("classid", system_table_oid(class).into()),
            ("objid", object.into()),
            ("objsubid", part.into()),
            ("refclassid", system_table_oid(referred_class).into()),
            ("refobjid", referred.into()),
            ("refobjsubid", referred_part.into()),
            ("deptype", kind.into()),
        ]);
    }
}
