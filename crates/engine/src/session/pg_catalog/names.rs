//! The catalog of one statement as functions see it, and what COMMENT ON says of its objects.

use crate::Result;
use crate::functions::{started, waiting};
use crate::postgres::{AdvisoryRequest, CatalogNames, CatalogUser, Definition, MeasuredSize, Relation, hashed};
use crate::session::CancelToken;
use crate::session::advisory_locks::HeldLocks;
use crate::session::notices::{Notice, Severity};
use crate::session::pg_catalog::definitions::{constraint_text, constraints, index_text};
use crate::session::pg_catalog::relations::{
    ListedRelations, RelationSource, SEQUENCE_COLUMNS, Seen, TEMPORARY, index_of,
};
use crate::session::pg_catalog::rows;
use crate::session::state::CATALOG;
use gingham_storage::SqlState;
use gingham_storage::model::CommentSubject;
use gingham_storage::snapshot::TableSnapshot;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What a statement's functions know of its catalog.
pub(in crate::session) struct StatementNames {
    seen: Seen,
    cancel: CancelToken,
    /// Listed when it is asked for first.
    relations: OnceLock<ListedRelations>,
    /// Comments, looked for when one is asked for first.
    comments: OnceLock<Vec<KnownComment>>,
    /// Users, listed when one is asked for first.
    users: OnceLock<Vec<CatalogUser>>,
    /// Whether a function asks.
    is_needed: AtomicBool,
    /// Advisory locks of a statement that is a transaction of its own.
    locks: HeldLocks,
}

impl fmt::Debug for StatementNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatementNames").finish_non_exhaustive()
    }
}

impl StatementNames {
    /// Those of a statement.
    pub(in crate::session) fn new(seen: Seen, cancel: &CancelToken) -> Arc<Self> {
        // Noted before the first statement has its moment.
        started();
        Arc::new(Self {
            seen,
            cancel: cancel.clone(),
            relations: OnceLock::new(),
            comments: OnceLock::new(),
            users: OnceLock::new(),
            is_needed: AtomicBool::new(false),
            locks: HeldLocks::default(),
        })
    }

    /// Itself, where functions ask it while rows come.
    pub(in crate::session) fn kept(self: &Arc<Self>) -> Option<Arc<Self>> {
        self.is_needed.load(Ordering::Relaxed).then(|| Arc::clone(self))
    }

    /// Warns that there is no session of a number, which is `false` to who wanted to end it.
    fn warn_of_none(&self, id: i64) -> bool {
        let text = format!("PID {id} is not a session of this database");
        let notices = &self.seen.session.notices;
        notices.say(Notice { severity: Severity::Warning, sqlstate: SqlState::Warning, text });
        false
    }

    fn relations(&self) -> &ListedRelations {
        self.relations.get_or_init(|| ListedRelations::of(&self.seen))
    }
}

/// Bytes of a table: heap pages, segments and deltas.
pub(super) fn bytes_of(table: &TableSnapshot) -> u64 {
    let pages =
        table.heap.as_ref().map_or(0, |heap| heap.pages * heap.options.page_bytes.next_multiple_of(4096) as u64);
    pages + table.segments.iter().chain(&table.delta).map(|part| part.bytes()).sum::<u64>()
}

impl CatalogNames for StatementNames {
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Relation> {
        self.relations().by_name(schema, name).map(|(relation, _)| relation.clone())
    }

    fn relation_of(&self, oid: i64) -> Option<Relation> {
        self.relations().by_oid(oid).map(|(relation, _)| relation.clone())
    }

    fn columns(&self, oid: i64) -> Vec<String> {
        match self.relations().by_oid(oid) {
            Some((_, RelationSource::Table { definition, .. })) => {
                definition.columns.iter().map(|column| column.name.clone()).collect()
            }
            Some((_, RelationSource::Index(index))) => {
                let columns = index.columns.iter().filter_map(|id| index.definition.column_by_id(*id));
                columns.map(|column| column.name.clone()).collect()
            }
            Some((_, RelationSource::View(view))) => view.columns.clone(),
            Some((_, RelationSource::Sequence(_))) => SEQUENCE_COLUMNS.map(|(name, _)| name.to_owned()).to_vec(),
            Some((relation, RelationSource::Other)) => {
                let columns = rows::columns_of(&relation.name).unwrap_or_default();
                columns.into_iter().map(|(name, _)| name.to_owned()).collect()
            }
            None => Vec::new(),
        }
    }

    fn schemas(&self) -> Vec<(String, i64)> {
        self.relations().schemas.clone()
    }

    fn search_path(&self) -> Vec<String> {
        self.seen.search_path.clone()
    }

    fn has_function(&self, name: &str) -> bool {
        // Of the types' own functions there is but the name.
        self.seen.functions().iter().any(|(known, _)| known == name) || is_of_type(name)
    }

    fn function_of(&self, oid: i64) -> Option<String> {
        let known = self.seen.functions().into_iter().map(|(name, _)| name);
        let of_types = crate::postgres::TYPES.iter().flat_map(|own| functions_of_type(own.name));
        known
            .chain(of_types)
            .chain(["array_in", "array_out"].map(str::to_owned))
            .find(|name| hashed("function", name) == oid)
    }

    fn definition(&self, kind: Definition, oid: i64) -> Option<String> {
        let relations = self.relations();
        match kind {
            Definition::Constraint => relations.tables().find_map(|(relation, definition)| {
                let own = constraints(relation, definition).into_iter().find(|own| own.oid == oid)?;
                Some(constraint_text(relations, relation, definition, &own))
            }),
            Definition::Index => match relations.by_oid(oid) {
                Some((_, RelationSource::Index(index))) => Some(index_text(relations, index)),
                _ => None,
            },
            Definition::View => match relations.by_oid(oid) {
                Some((_, RelationSource::View(view))) => Some(format!("{};", view.query)),
                _ => None,
            },
        }
    }

    fn comment(&self, class: Option<&str>, oid: i64, column: i64) -> Option<String> {
        let comments = self.comments.get_or_init(|| described(self.relations()));
        let mut own = comments.iter().filter(|own| (own.object, own.column) == (oid, column));
        own.find(|own| class.is_none_or(|class| class == own.class)).map(|own| own.text.clone())
    }

    fn bytes(&self, oid: Option<i64>, of: MeasuredSize) -> Option<i64> {
        let relations = self.relations();
        let own = |kind: &RelationSource| match kind {
            RelationSource::Table { snapshot: Some(table), .. } => bytes_of(table),
            _ => 0,
        };
        let bytes = match (oid, of) {
            (None, _) => relations.all.iter().map(|(_, kind)| own(kind)).sum(),
            // Keys are kept with their table.
            (Some(oid), MeasuredSize::Indexes) => relations.by_oid(oid).map(|_| 0)?,
            (Some(oid), MeasuredSize::Table | MeasuredSize::All) => relations.by_oid(oid).map(|(_, kind)| own(kind))?,
        };
        i64::try_from(bytes).ok()
    }

    fn database(&self) -> String {
        CATALOG.to_owned()
    }

    fn user(&self) -> String {
        self.seen.session.identity.user.clone()
    }

    fn commit(&self) -> i64 {
        i64::try_from(self.seen.database.commit).unwrap_or(i64::MAX)
    }

    fn is_needed(&self) {
        self.is_needed.store(true, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    fn lock(&self, request: AdvisoryRequest, waits: bool) -> Result<bool> {
        self.seen.session.lock_advisory(request, waits, &self.locks, &self.cancel)
    }

    fn unlock(&self, request: AdvisoryRequest) -> bool {
        self.seen.session.unlock_advisory(request)
    }

    fn unlock_all(&self) {
        self.seen.session.advisory.give_all_back();
    }

    fn users(&self) -> &[CatalogUser] {
        self.users.get_or_init(|| self.seen.session.known_users())
    }

    fn session_id(&self) -> i64 {
        self.seen.session.identity.number.id.into()
    }

    fn client_address(&self) -> Option<String> {
        self.seen.session.identity.client_address.clone()
    }

    fn cancel_session(&self, id: i64) -> Result<bool> {
        let Some(other) = self.seen.session.other_session(id, "cancelling")? else { return Ok(self.warn_of_none(id)) };
        other.cancel();
        Ok(true)
    }

    fn terminate_session(&self, id: i64, patience: Option<Duration>) -> Result<bool> {
        let session = &self.seen.session;
        let Some(other) = session.other_session(id, "ending")? else { return Ok(self.warn_of_none(id)) };
        other.terminate();
        drop(other);
        let Some(patience) = patience else { return Ok(true) };
        let is_gone = waiting(|| session.engine.wait_until_gone(id, patience, || self.cancel.is_cancelled()));
        if !is_gone {
            let text = format!("session {id} has not ended within {} ms", patience.as_millis());
            session.notices.say(Notice { severity: Severity::Warning, sqlstate: SqlState::Warning, text });
        }
        Ok(is_gone)
    }
}

/// The functions by which values of a type are read and written.
pub(super) fn functions_of_type(name: &str) -> [String; 4] {
    let short = ["oid", "xid", "name", "char", "text", "bpchar", "varchar"].iter().all(|known| *known != name);
    let part = if short
        && ["date", "time", "timestamp", "timestamptz", "interval", "numeric", "record", "regproc"].contains(&name)
    {
        "_"
    } else {
        ""
    };
    ["in", "out", "recv", "send"].map(|way| format!("{name}{part}{way}"))
}

fn is_of_type(name: &str) -> bool {
    let of_arrays = ["array_in", "array_out", "array_recv", "array_send"];
    of_arrays.contains(&name)
        || crate::postgres::TYPES.iter().any(|own| functions_of_type(own.name).iter().any(|own| own == name))
}

/// A comment.
#[derive(Debug)]
pub(super) struct KnownComment {
    /// The number of what it is about.
    pub(super) object: i64,
    /// The table of pg_catalog that lists that.
    pub(super) class: &'static str,
    /// The number of the column that it is about; 0 for the object itself.
    pub(super) column: i64,
    pub(super) text: String,
}

/// All comments.
pub(super) fn described(relations: &ListedRelations) -> Vec<KnownComment> {
    let mut all = Vec::new();
    let mut add = |object: i64, class: &'static str, column: i64, text: &str| {
        all.push(KnownComment { object, class, column, text: text.to_owned() });
    };
    for (name, label) in relations.labels.iter().flat_map(|labels| &labels.schemas) {
        if let Some(text) = &label.comment {
            add(relations.schema_oid(name), "pg_namespace", 0, text);
        }
    }
    for (relation, source) in &relations.all {
        match source {
            RelationSource::Table { definition, .. } => {
                for comment in &definition.comments {
                    match &comment.on {
                        CommentSubject::Table => add(relation.oid, "pg_class", 0, &comment.text),
                        CommentSubject::Column(id) => {
                            if let Some(at) = definition.columns.iter().position(|column| column.id == *id) {
                                add(relation.oid, "pg_class", at as i64 + 1, &comment.text);
                            }
                        }
                        CommentSubject::Constraint(name) => {
                            let own = constraints(relation, definition).into_iter().find(|own| own.name == name);
                            own.into_iter().for_each(|own| add(own.oid, "pg_constraint", 0, &comment.text));
                        }
                        CommentSubject::Index(name) => {
                            add(index_of(relations, relation, name), "pg_class", 0, &comment.text);
                        }
                    }
                }
            }
            RelationSource::View(view) => {
                // TEMP views are labelled in their own catalog, which comes behind.
                let is_temporary = relation.schema == TEMPORARY;
                let labels = if is_temporary { relations.labels.get(1) } else { relations.labels.first() };
                let label = labels.and_then(|labels| labels.views.get(&view.name));
                let text = label.and_then(|label| label.comment.as_deref());
                text.into_iter().for_each(|text| add(relation.oid, "pg_class", 0, text));
            }
            RelationSource::Sequence(record) => {
                let text = record.definition.comment.as_deref();
                text.into_iter().for_each(|text| add(relation.oid, "pg_class", 0, text));
            }
            RelationSource::Index(_) | RelationSource::Other => {}
        }
    }
    all
}
