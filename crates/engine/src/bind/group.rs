//! GROUP BY, aggregates, and what may stand above them.
//!
//! A key is a column or a value. A value whose name another column has, and every value of grouping sets, is computed below
//! the aggregation, where it becomes a column of its own.

use crate::bind::binder::{Binder, column_of};
use crate::bind::expression::{NameContext, refuse_calls};
use crate::bind::items::OutputItem;
use crate::bind::order::{number, same_text};
use crate::bind::scope::NameScope;
use crate::bind::select::SelectParts;
use crate::bind::unnest::has_unnest;
use crate::bind::{error, keys};
use crate::sql::clauses::DISTINCT_SETS;
use crate::sql::names::{fold, meant};
use crate::{Error, Result};
use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::functions_aggregate::count::count;
use datafusion::logical_expr::utils::find_aggregate_exprs;
use datafusion::logical_expr::{Aggregate, Expr as Planned, GroupingSet, LogicalPlan, Volatility, lit};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident, Select,
};
use gingham_storage::SqlState;
use std::collections::HashSet;
use std::sync::Arc;

/// What GROUP BY asks for.
#[derive(Debug, Default)]
pub(super) struct Grouping {
    /// Values, each once.
    keys: Vec<Planned>,
    /// The sets of keys, by their positions, where there is more than the one of all keys.
    sets: Option<Vec<Vec<usize>>>,
}

/// The most grouping sets that CUBE and the like may make.
const MOST_SETS: usize = 4096;

impl Grouping {
    fn key(&mut self, key: Planned) -> usize {
        match self.keys.iter().position(|known| *known == key) {
            Some(at) => at,
            None => {
                self.keys.push(key);
                self.keys.len() - 1
            }
        }
    }

    /// Leaves out sets of the same keys as another, as GROUP BY DISTINCT does.
    fn each_once(&mut self) {
        let mut seen: HashSet<Vec<usize>> = HashSet::new();
        if let Some(sets) = &mut self.sets {
            sets.retain(|set| {
                let mut keys = set.clone();
                keys.sort_unstable();
                keys.dedup();
                seen.insert(keys)
            });
        }
    }

    /// Groups by each of `sets` within each set that there is.
    fn cross(&mut self, sets: &[Vec<usize>]) -> Result<()> {
        let before = self.sets.take().unwrap_or_else(|| vec![Vec::new()]);
        if before.len() * sets.len() > MOST_SETS {
            return Err(Error::invalid(
                SqlState::ProgramLimitExceeded,
                format!(
                    "GROUP BY asks for more than {MOST_SETS} grouping sets; name those that are wanted with GROUPING SETS"
                ),
            ));
        }
        let both = before.iter().flat_map(|own| sets.iter().map(move |set| [own.as_slice(), set].concat()));
        self.sets = Some(both.collect());
        Ok(())
    }
}

impl Binder<'_> {
    /// Plans GROUP BY; `None` without one.
    pub(super) fn grouping(
        &mut self,
        select: &Select,
        items: &[OutputItem],
        around: NameContext<'_>,
    ) -> Result<Option<Grouping>> {
        let mut grouping = Grouping::default();
        match &select.group_by {
            GroupByExpr::Expressions(keys, _) if keys.is_empty() => return Ok(None),
            GroupByExpr::All(_) => {
                for item in items {
                    if find_aggregate_exprs([&item.expression]).is_empty() {
                        grouping.key(item.expression.clone());
                    }
                }
                return Ok(Some(grouping));
            }
            GroupByExpr::Expressions(keys, _) => {
                let (keys, each_once) = match keys.as_slice() {
                    [first, keys @ ..] if is_distinct(first) => (keys, true),
                    keys => (keys, false),
                };
                let mut sets: Vec<Vec<Vec<usize>>> = Vec::new();
                for key in keys {
                    let own = self.sets(key, &mut grouping, select, items, around)?;
                    sets.push(own);
                }
                if sets.iter().any(|own| own.len() != 1) || grouping.keys.is_empty() {
                    sets.iter().try_for_each(|own| grouping.cross(own))?;
                }
                if each_once {
                    grouping.each_once();
                }
            }
        }
        Ok(Some(grouping))
    }

    /// The grouping sets that one part of GROUP BY stands for, by positions of keys: one set for an ordinary part.
    fn sets(
        &mut self,
        part: &Expr,
        grouping: &mut Grouping,
        select: &Select,
        items: &[OutputItem],
        around: NameContext<'_>,
    ) -> Result<Vec<Vec<usize>>> {
        let mut all = |binder: &mut Self, parts: &[Expr]| -> Result<Vec<usize>> {
            let mut set = Vec::new();
            for part in parts {
                set.push(binder.key(part, grouping, select, items, around)?);
            }
            Ok(set)
        };
        match part {
            Expr::Tuple(parts) => Ok(vec![all(self, parts)?]),
            // Within GROUPING SETS the parser takes them for functions.
            Expr::Function(function) => match set_of_call(function) {
                Some(set) => self.sets(&set, grouping, select, items, around),
                None => Ok(vec![vec![self.key(part, grouping, select, items, around)?]]),
            },
            Expr::Rollup(parts) => {
                let parts = parts.iter().map(|part| all(self, part)).collect::<Result<Vec<_>>>()?;
                Ok((0..=parts.len()).rev().map(|length| parts[..length].concat()).collect())
            }
            Expr::Cube(parts) => {
                let parts = parts.iter().map(|part| all(self, part)).collect::<Result<Vec<_>>>()?;
                if parts.len() > MOST_SETS.ilog2() as usize {
                    return Err(Error::invalid(
                        SqlState::ProgramLimitExceeded,
                        format!("CUBE of {} columns makes more than {MOST_SETS} grouping sets", parts.len()),
                    ));
                }
                let width = parts.len();
                let chosen = |bits: usize| {
                    let own = parts.iter().enumerate().filter(move |(at, _)| bits >> (width - 1 - at) & 1 == 1);
                    own.flat_map(|(_, part)| part.clone()).collect()
                };
                Ok((0..1 << parts.len()).rev().map(chosen).collect())
            }
            Expr::GroupingSets(sets) => {
                let mut found = Vec::new();
                for set in sets {
                    match set.as_slice() {
                        [nested @ (Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_) | Expr::Function(_))] => {
                            found.extend(self.sets(nested, grouping, select, items, around)?);
                        }
                        parts => {
                            let mut own = Vec::new();
                            for part in parts {
                                own.extend(self.sets(part, grouping, select, items, around)?.concat());
                            }
                            found.push(own);
                        }
                    }
                }
                Ok(found)
            }
            other => Ok(vec![vec![self.key(other, grouping, select, items, around)?]]),
        }
    }

    /// One key: the number of an item, a column or an alias, or a value.
    fn key(
        &mut self,
        text: &Expr,
        grouping: &mut Grouping,
        select: &Select,
        items: &[OutputItem],
        around: NameContext<'_>,
    ) -> Result<usize> {
        let list = &select.projection;
        let item = match text {
            Expr::Identifier(ident) if !around.scope.has(&fold(ident)) => alias(ident, items)?,
            Expr::Nested(inner) => return self.key(inner, grouping, select, items, around),
            _ => None,
        };
        let number = number(text, items.len(), "GROUP BY")?;
        let same = same_text(text, list).filter(|_| list.len() == items.len());
        let planned = match (number.or(same), item) {
            (Some(at), _) => items[at].expression.clone(),
            (None, Some(item)) => item.expression.clone(),
            (None, None) => self.expression(text, around)?,
        };
        refuse_calls(&planned, "GROUP BY", text)?;
        Ok(grouping.key(planned))
    }

    /// Groups the rows of `plan`; the parts of the SELECT become expressions over the groups.
    pub(super) fn grouped(
        &mut self,
        plan: LogicalPlan,
        mut grouping: Grouping,
        calls: Vec<Planned>,
        parts: &mut SelectParts,
        scope: &NameScope,
    ) -> Result<LogicalPlan> {
        let mut computed: Vec<(Planned, Column)> = Vec::new();
        let plan = keys::forgotten(plan)?;
        let plan = self.keys(plan, &mut grouping, &mut computed)?;
        let looked_at = parts.expressions().cloned().collect::<Vec<_>>();
        self.dependent_keys(&looked_at, &calls, &mut grouping, &computed, scope)?;
        let mut aggregates = Vec::with_capacity(calls.len());
        for call in calls {
            let is_grouping = matches!(&call, Planned::AggregateFunction(own) if own.func.name() == "grouping");
            let over_keys = if is_grouping { replaced_below(call.clone(), &computed)? } else { call.clone() };
            let text = call.schema_name().to_string();
            // DataFusion knows grouping() by its place at the top.
            let named = if is_grouping { over_keys } else { self.named(over_keys, &text) };
            computed.push((call, column_of(&named)));
            if !aggregates.contains(&named) {
                aggregates.push(named);
            }
        }
        let of_inner = std::mem::take(&mut self.calls);
        aggregates.extend(of_inner.into_iter().map(|own| own.call.alias(own.column.name)));
        let keys = match &grouping.sets {
            None => grouping.keys.clone(),
            Some(sets) => {
                let of_set = |set: &Vec<usize>| {
                    let mut own: Vec<Planned> = Vec::new();
                    for at in set {
                        if !own.contains(&grouping.keys[*at]) {
                            own.push(grouping.keys[*at].clone());
                        }
                    }
                    own
                };
                let sets: Vec<Vec<Planned>> = sets.iter().map(of_set).collect();
                match sets.as_slice() {
                    [one] => one.clone(),
                    _ => vec![Planned::GroupingSet(GroupingSet::GroupingSets(sets))],
                }
            }
        };
        if keys.is_empty() && aggregates.is_empty() {
            aggregates.push(self.named(count(lit(1)), "count"));
        }
        let plan = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(plan), keys, aggregates)?);
        computed.extend(grouping.keys.iter().map(|key| (key.clone(), column_of(key))));
        parts.replace(&computed)?;
        Ok(plan)
    }

    /// Computes the keys that must be columns below the aggregation, and notes which.
    fn keys(
        &mut self,
        mut plan: LogicalPlan,
        grouping: &mut Grouping,
        computed: &mut Vec<(Planned, Column)>,
    ) -> Result<LogicalPlan> {
        if grouping.keys.iter().any(has_unnest) {
            let (unnested, groups) = self.unnest(plan, grouping.keys.clone())?;
            plan = unnested;
            for (key, group) in grouping.keys.iter_mut().zip(groups) {
                let [own] = group.as_slice() else {
                    return Err(error::unsupported("GROUP BY unnest of a struct"));
                };
                if own != key {
                    computed.push((std::mem::replace(key, own.clone()), column_of(own)));
                }
            }
        }
        let mut columns: Vec<Planned> = plan.schema().columns().into_iter().map(Planned::Column).collect();
        let before = columns.len();
        for key in &mut grouping.keys {
            if matches!(key, Planned::Column(_)) {
                continue;
            }
            if grouping.sets.is_none() && self.has_own_name(key) {
                continue;
            }
            let column = Column::new_unqualified(self.names.fresh(&key.schema_name().to_string()));
            columns.push(key.clone().alias(&column.name));
            computed.push((std::mem::replace(key, Planned::Column(column.clone())), column));
        }
        if columns.len() == before { Ok(plan) } else { self.project(plan, columns) }
    }

    /// Makes keys of the columns that follow from those there are: of a table whose PRIMARY KEY is among them.
    ///
    /// # Errors
    ///
    /// A column outside of aggregates follows from no key.
    fn dependent_keys(
        &self,
        expressions: &[Planned],
        calls: &[Planned],
        grouping: &mut Grouping,
        computed: &[(Planned, Column)],
        scope: &NameScope,
    ) -> Result<()> {
        let mut wanted: Vec<Column> = Vec::new();
        for expression in expressions {
            let is_known = |part: &Planned| {
                grouping.keys.contains(part) || calls.contains(part) || computed.iter().any(|(own, _)| own == part)
            };
            loose_columns(expression, &is_known, &mut wanted)?;
        }
        for column in wanted {
            let planned = Planned::Column(column.clone());
            // A column of a query around this one is the same for all groups.
            if grouping.keys.contains(&planned) || !scope.fields.has_column(&column) {
                continue;
            }
            let own = scope.relations.iter().find(|own| own.columns.iter().any(|known| known.column == column));
            let is_key = |part: &Column| grouping.keys.contains(&Planned::Column(part.clone()));
            let follows = own.is_some_and(|own| !own.key.is_empty() && own.key.iter().all(is_key));
            if !follows {
                let named = own.and_then(|own| own.columns.iter().find(|known| known.column == column));
                let table = own.and_then(|own| own.name.as_ref()).map_or_else(String::new, |name| format!("{name}."));
                let name = named.map_or(column.name.as_str(), |named| named.name.as_str());
                return Err(Error::invalid(
                    SqlState::GroupingError,
                    format!(
                        "column '{table}{name}' must be in GROUP BY, or in an aggregate function such as min({name})"
                    ),
                ));
            }
            let at = grouping.key(planned);
            grouping.sets.iter_mut().flatten().for_each(|set| set.push(at));
        }
        Ok(())
    }
}

/// Whether a part of GROUP BY is the DISTINCT before all others.
fn is_distinct(part: &Expr) -> bool {
    matches!(part, Expr::Function(function) if function.name.0.as_slice().first().and_then(|part| part.as_ident()).is_some_and(|name| name.value == DISTINCT_SETS))
}

/// ROLLUP or CUBE, where the parser has read a function's call.
fn set_of_call(function: &Function) -> Option<Expr> {
    let name = function.name.to_string().to_ascii_lowercase();
    let make = match name.as_str() {
        "rollup" => Expr::Rollup,
        "cube" => Expr::Cube,
        _ => return None,
    };
    let FunctionArguments::List(list) = &function.args else { return None };
    let part = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Tuple(parts))) => Some(parts.clone()),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(part)) => Some(vec![part.clone()]),
        _ => None,
    };
    list.args.iter().map(part).collect::<Option<Vec<_>>>().map(make)
}

/// The item of that name.
fn alias<'i>(ident: &Ident, items: &'i [OutputItem]) -> Result<Option<&'i OutputItem>> {
    let name = meant(ident, items.iter().map(|item| item.name.as_str()))?;
    let is_name = items.iter().any(|item| item.name == name);
    let is_called = |item: &&OutputItem| item.name == name || !is_name && item.other.as_ref() == Some(&name);
    let mut named = items.iter().filter(is_called);
    let found = named.next();
    if let Some(first) = found
        && named.any(|other| other.expression != first.expression)
    {
        return Err(error::ambiguous(std::slice::from_ref(ident)));
    }
    Ok(found)
}

/// Adds the columns in an expression that are in nothing known, those that its subqueries look at among them.
fn loose_columns(
    expression: &Planned,
    is_known: &dyn Fn(&Planned) -> bool,
    wanted: &mut Vec<Column>,
) -> datafusion::error::Result<()> {
    let mut note = |column: &Column| {
        if !wanted.contains(column) {
            wanted.push(column.clone());
        }
    };
    expression.apply(|part| {
        if is_known(part) {
            return Ok(TreeNodeRecursion::Jump);
        }
        match part {
            Planned::Column(column) => note(column),
            Planned::ScalarSubquery(query) => outer_columns(&query.outer_ref_columns, &mut note),
            Planned::Exists(exists) => outer_columns(&exists.subquery.outer_ref_columns, &mut note),
            Planned::InSubquery(within) => outer_columns(&within.subquery.outer_ref_columns, &mut note),
            Planned::SetComparison(compared) => outer_columns(&compared.subquery.outer_ref_columns, &mut note),
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

fn outer_columns(expressions: &[Planned], note: &mut dyn FnMut(&Column)) {
    for expression in expressions {
        if let Planned::OuterReferenceColumn(_, column) = expression {
            note(column);
        }
    }
}

/// An expression with columns in the place of what was computed already. A constant that is a key stands for the key where it is
/// the whole expression, and for itself within another, as in PostgreSQL, which computes constants before.
pub(super) fn replaced(expression: Planned, computed: &[(Planned, Column)]) -> Result<Planned> {
    let known = |part: &Planned| computed.iter().find(|(own, _)| own == part).map(|(_, column)| column.clone());
    if let Some(column) = known(&expression) {
        return Ok(Planned::Column(column));
    }
    let replaced = expression.transform_down(|part| {
        Ok(match known(&part) {
            Some(column) if !is_constant(&part)? => {
                Transformed::new(Planned::Column(column), true, TreeNodeRecursion::Jump)
            }
            Some(_) => Transformed::new(part, false, TreeNodeRecursion::Jump),
            None => Transformed::no(part),
        })
    })?;
    Ok(replaced.data)
}

/// Whether an expression has the same value everywhere, and always.
fn is_constant(expression: &Planned) -> datafusion::error::Result<bool> {
    let varies = expression.exists(|part| {
        Ok(match part {
            Planned::Literal(..) | Planned::Cast(_) | Planned::TryCast(_) | Planned::BinaryExpr(_) => false,
            Planned::Not(_) | Planned::IsNull(_) | Planned::IsNotNull(_) | Planned::Negative(_) | Planned::Case(_) => {
                false
            }
            Planned::ScalarFunction(call) => call.func.signature().volatility != Volatility::Immutable,
            _ => true,
        })
    })?;
    Ok(!varies)
}

/// Replaces what was computed before within the arguments of a call.
fn replaced_below(call: Planned, computed: &[(Planned, Column)]) -> Result<Planned> {
    Ok(call.map_children(|argument| Ok(Transformed::yes(replaced(argument, computed)?)))?.data)
}
