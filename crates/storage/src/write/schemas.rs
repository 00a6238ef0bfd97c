//! Schemas and views: made, renamed, dropped and commented on.

use crate::lmdb::environment::Name;
use crate::lmdb::records::{self, id_key};
use crate::lmdb::values;
use crate::model::labels::Label;
use crate::model::table::ViewDefinition;
use crate::write::transaction::{NameEntry, Transaction};
use crate::{DEFAULT_SCHEMA, Error, Result, SqlState, TableId, TableName};
use std::collections::HashSet;

impl Transaction<'_> {
    /// Creates a schema. Errors when it exists.
    pub fn create_schema(&mut self, name: &str) -> Result<()> {
        self.require_new_schema(name)?;
        self.names_mut()?;
        let number = self.state.next_number();
        self.state.schemas.push(name.to_owned());
        self.state.schema_labels.insert(name.to_owned(), Label { number, comment: None });
        self.changes.changed = true;
        Ok(())
    }

    fn require_new_schema(&self, name: &str) -> Result<()> {
        match self.state.schemas.iter().any(|schema| schema == name) {
            true => Err(Error::invalid(SqlState::DuplicateSchema, format!("schema '{name}' exists already"))),
            false => Ok(()),
        }
    }

    /// Gives a schema, and all that is in it, another name.
    pub fn rename_schema(&mut self, from: &str, to: &str) -> Result<()> {
        self.require_schema(from)?;
        self.require_new_schema(to)?;
        if from == DEFAULT_SCHEMA {
            return Err(Error::invalid(SqlState::InsufficientPrivilege, format!("schema '{from}' can't be renamed")));
        }
        self.state.schemas.iter_mut().filter(|schema| *schema == from).for_each(|schema| to.clone_into(schema));
        let label = self.state.schema_labels.remove(from).unwrap_or_default();
        self.state.schema_labels.insert(to.to_owned(), label);
        let inside: Vec<(TableName, NameEntry)> = self
            .names_mut()?
            .iter()
            .filter(|(name, _)| name.schema == from)
            .map(|(name, entry)| (name.clone(), *entry))
            .collect();
        for (before, entry) in inside {
            let name = TableName { schema: to.to_owned(), table: before.table.clone() };
            let names = self.names_mut()?;
            names.remove(&before);
            names.insert(name.clone(), entry);
            match entry {
                NameEntry::Table(id) => {
                    let mut record = self.record(id)?;
                    record.definition.name = name;
                    self.put_record(record)?;
                }
                NameEntry::View(id) => self.put_view_named(id, name)?,
                NameEntry::Sequence(number) => {
                    let mut record = self.sequence(number)?;
                    record.definition.name = name;
                    self.put_sequence(&record)?;
                }
            }
        }
        self.changes.changed = true;
        Ok(())
    }

    /// Drops an empty schema, or with `cascade` all that is in it.
    pub fn drop_schema(&mut self, name: &str, cascade: bool) -> Result<()> {
        self.require_schema(name)?;
        if name == DEFAULT_SCHEMA {
            return Err(Error::invalid(SqlState::InsufficientPrivilege, format!("schema '{name}' can't be dropped")));
        }
        let inside: Vec<(TableName, NameEntry)> = self
            .names_mut()?
            .iter()
            .filter(|(entry, _)| entry.schema == name)
            .map(|(name, entry)| (name.clone(), *entry))
            .collect();
        if let Some((first, _)) = inside.first()
            && !cascade
        {
            return Err(Error::invalid(
                SqlState::DependentObjectsStillExist,
                format!("schema '{name}' is not empty: it has '{first}'; add CASCADE"),
            ));
        }
        let dropped: HashSet<TableId> = inside
            .iter()
            .filter_map(|(_, entry)| if let NameEntry::Table(id) = entry { Some(*id) } else { None })
            .collect();
        for id in &dropped {
            self.refuse_when_referred(*id, "dropped", |referrer| !dropped.contains(&referrer.id))?;
        }
        for (inner, entry) in inside {
            match entry {
                NameEntry::Table(id) => self.remove_table(&inner, id)?,
                NameEntry::View(_) => self.drop_view(&inner)?,
                // Its table may have gone before, and the sequence with it.
                NameEntry::Sequence(number) if self.names_mut()?.contains_key(&inner) => self.drop_sequence(number)?,
                NameEntry::Sequence(_) => {}
            }
        }
        self.state.schemas.retain(|schema| schema != name);
        self.state.schema_labels.remove(name);
        self.changes.changed = true;
        Ok(())
    }

    pub(crate) fn require_schema(&self, name: &str) -> Result<()> {
        if self.state.schemas.iter().any(|schema| schema == name) {
            return Ok(());
        }
        Err(Error::invalid(SqlState::UndefinedSchema, format!("schema '{name}' does not exist")))
    }

    /// Sets or removes the comment of a schema.
    pub fn comment_schema(&mut self, name: &str, comment: Option<String>) -> Result<()> {
        self.require_schema(name)?;
        self.names_mut()?;
        self.state.schema_labels.entry(name.to_owned()).or_default().comment = comment;
        self.changes.changed = true;
        Ok(())
    }

    /// Creates or replaces a view.
    pub fn create_view(&mut self, view: ViewDefinition, replace: bool) -> Result<()> {
        let id = match self.names_mut()?.get(&view.name) {
            Some(NameEntry::View(id)) if replace => *id,
            _ => {
                self.require_free(&view.name)?;
                self.state.next_number()
            }
        };
        self.names_mut()?.insert(view.name.clone(), NameEntry::View(id));
        self.put_view(id, &view)
    }

    fn put_view(&mut self, id: u64, view: &ViewDefinition) -> Result<()> {
        self.changes.changed = true;
        values::put_json(self.environment, &mut self.transaction, Name::Views, &id_key(id), view)
    }

    /// The number of the view of that name.
    fn view_named(&mut self, name: &TableName) -> Result<u64> {
        match self.names_mut()?.get(name) {
            Some(NameEntry::View(id)) => Ok(*id),
            Some(entry) => Err(entry.is_not(name, "a view")),
            None => Err(Error::invalid(SqlState::UndefinedTable, format!("view '{name}' does not exist"))),
        }
    }

    /// Gives a view another name.
    pub fn rename_view(&mut self, from: &TableName, to: &TableName) -> Result<()> {
        let id = self.view_named(from)?;
        self.require_free(to)?;
        let names = self.names_mut()?;
        names.remove(from);
        names.insert(to.clone(), NameEntry::View(id));
        self.put_view_named(id, to.clone())
    }

    fn put_view_named(&mut self, id: u64, name: TableName) -> Result<()> {
        let views = records::views(self.environment, &self.transaction)?;
        let view = views.into_iter().find(|(own, _)| *own == id).map(|(_, view)| view);
        let view = view.ok_or_else(|| Error::Internal(format!("view '{name}' has no definition")))?;
        self.put_view(id, &ViewDefinition { name, ..view })
    }

    /// Sets or removes the comment of a view.
    pub fn comment_view(&mut self, name: &TableName, comment: Option<String>) -> Result<()> {
        let id = self.view_named(name)?;
        match comment {
            Some(comment) => drop(self.state.view_comments.insert(id, comment)),
            None => drop(self.state.view_comments.remove(&id)),
        }
        self.changes.changed = true;
        Ok(())
    }

    /// Drops a view.
    pub fn drop_view(&mut self, name: &TableName) -> Result<()> {
        let id = self.view_named(name)?;
        self.names_mut()?.remove(name);
        self.state.view_comments.remove(&id);
        self.changes.changed = true;
        values::delete(self.environment, &mut self.transaction, Name::Views, &id_key(id))
    }
}
