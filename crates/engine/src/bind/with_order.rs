//! The order of a WITH's queries, such that each stands behind those that it names. WITH RECURSIVE shows all of its queries
//! to each of them, whatever their order in the text.

use crate::bind::error;
use crate::sql::names::fold;
use crate::sql::walk::{SyntaxTree, Visit};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{Cte, Query, SetExpr, TableFactor, Values, With as WithClause};
use std::collections::HashSet;

/// The queries of a WITH in the order in which they are bound.
pub(crate) fn in_order(with: &WithClause) -> Result<Vec<&Cte>> {
    let written: Vec<&Cte> = with.cte_tables.iter().collect();
    if !with.recursive || written.len() < 2 {
        return Ok(written);
    }
    let mut left = Vec::with_capacity(written.len());
    for cte in written {
        left.push((cte, tables_read(&cte.query)?));
    }
    let mut ordered = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let waits = |(own, named): &(&Cte, HashSet<String>)| {
            left.iter().any(|(other, _)| !std::ptr::eq(*own, *other) && named.contains(&fold(&other.alias.name)))
        };
        match left.iter().position(|query| !waits(query)) {
            Some(ready) => ordered.push(left.remove(ready).0),
            None => return Err(mutual(&left)),
        }
    }
    Ok(ordered)
}

fn mutual(queries: &[(&Cte, HashSet<String>)]) -> Error {
    let names: Vec<String> = queries.iter().map(|(cte, _)| format!("'{}'", fold(&cte.alias.name))).collect();
    error::unsupported(format!("mutual recursion between queries of WITH ({})", names.join(", ")))
}

/// The names without a schema that a query reads from outside of itself.
pub(crate) fn tables_read(query: &Query) -> Result<HashSet<String>> {
    let mut found = NamesRead::default();
    query.clone().walk(&mut found)?;
    Ok(found.0)
}

/// Names of tables. A query with a WITH of its own is taken apart where it begins, since its names hide those around it.
#[derive(Default)]
struct NamesRead(HashSet<String>);

impl Visit for NamesRead {
    fn query(&mut self, query: &mut Query) -> Result<()> {
        let Some(with) = query.with.take() else { return Ok(()) };
        let mut hidden = HashSet::new();
        let all: HashSet<String> = with.cte_tables.iter().map(|cte| fold(&cte.alias.name)).collect();
        for cte in &with.cte_tables {
            let of_query = tables_read(&cte.query)?;
            let hides = if with.recursive { &all } else { &hidden };
            self.0.extend(of_query.difference(hides).cloned());
            hidden.insert(fold(&cte.alias.name));
        }
        self.0.extend(tables_read(query)?.difference(&all).cloned());
        let nothing = Values { explicit_row: false, value_keyword: false, rows: Vec::new() };
        *query.body = SetExpr::Values(nothing);
        query.order_by = None;
        query.limit_clause = None;
        Ok(())
    }

    fn table_factor(&mut self, table: &mut TableFactor) -> Result<()> {
        if let TableFactor::Table { name, .. } = table
            && let [part] = &name.0[..]
            && let Some(part) = part.as_ident()
        {
            self.0.insert(fold(part));
        }
        Ok(())
    }
}
