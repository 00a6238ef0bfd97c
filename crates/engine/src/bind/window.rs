//! Windows: those that WINDOW names, and the operators that compute window functions.

use crate::Result;
use crate::bind::binder::{Binder, column_of};
use crate::bind::error;
use crate::sql::names::fold;
use datafusion::common::Column;
use datafusion::logical_expr::utils::find_window_exprs;
use datafusion::logical_expr::{Expr as Planned, LogicalPlan, LogicalPlanBuilder, Window};
use datafusion::sql::sqlparser::ast::{Expr, Ident, NamedWindowDefinition, NamedWindowExpr, WindowSpec, WindowType};
use gingham_storage::SqlState;
use std::sync::Arc;

/// What OVER says, with the windows that it names written out.
pub(super) fn spec(over: &WindowType, windows: &[NamedWindowDefinition]) -> Result<WindowSpec> {
    match over {
        WindowType::NamedWindow(name) => find(name, windows),
        WindowType::WindowSpec(own) => match &own.window_name {
            None => Ok(own.clone()),
            Some(name) => refine(find(name, windows)?, own, name),
        },
    }
}

/// The window of that name. Those before it in WINDOW are all that it can name itself.
fn find(name: &Ident, windows: &[NamedWindowDefinition]) -> Result<WindowSpec> {
    let wanted = fold(name);
    let Some(at) = windows.iter().position(|NamedWindowDefinition(own, _)| fold(own) == wanted) else {
        return Err(error::invalid(SqlState::UndefinedObject, format!("window '{wanted}' does not exist"), name.span));
    };
    let over = match &windows[at].1 {
        NamedWindowExpr::NamedWindow(other) => WindowType::NamedWindow(other.clone()),
        NamedWindowExpr::WindowSpec(own) => WindowType::WindowSpec(own.clone()),
    };
    spec(&over, &windows[..at])
}

/// A window with what another says in addition.
fn refine(base: WindowSpec, own: &WindowSpec, name: &Ident) -> Result<WindowSpec> {
    let refused = |what: &str| {
        Err(error::invalid(SqlState::WindowingError, format!("{what} of window '{}'", fold(name)), name.span))
    };
    if !own.partition_by.is_empty() {
        return refused("OVER (w PARTITION BY …) would override the rows");
    }
    if !own.order_by.is_empty() && !base.order_by.is_empty() {
        return refused("OVER (w ORDER BY …) would override the order");
    }
    if base.window_frame.is_some() {
        return refused("OVER (w …) can't copy the frame");
    }
    let order_by = if own.order_by.is_empty() { base.order_by } else { own.order_by.clone() };
    let window_frame = own.window_frame.clone();
    Ok(WindowSpec { window_name: None, partition_by: base.partition_by, order_by, window_frame })
}

/// Refuses a WINDOW clause that names a window twice, or one that does not exist.
pub(super) fn check(windows: &[NamedWindowDefinition]) -> Result<()> {
    for (at, NamedWindowDefinition(name, _)) in windows.iter().enumerate() {
        if windows[..at].iter().any(|NamedWindowDefinition(other, _)| fold(other) == fold(name)) {
            return Err(error::invalid(
                SqlState::WindowingError,
                format!("window '{}' is defined twice", fold(name)),
                name.span,
            ));
        }
        find(name, &windows[..=at])?;
    }
    Ok(())
}

/// What windows are divided and put in order by.
pub(super) fn values(windows: &[NamedWindowDefinition]) -> impl Iterator<Item = &Expr> {
    let specs = windows.iter().filter_map(|NamedWindowDefinition(_, own)| match own {
        NamedWindowExpr::WindowSpec(spec) => Some(spec),
        NamedWindowExpr::NamedWindow(_) => None,
    });
    specs.flat_map(|spec| spec.partition_by.iter().chain(spec.order_by.iter().map(|key| &key.expr)))
}

impl Binder<'_> {
    /// Computes the window functions in `expressions` above `plan`. Gives the plan, and for each function its column.
    pub(super) fn windows<'e>(
        &mut self,
        plan: LogicalPlan,
        expressions: impl IntoIterator<Item = &'e Planned>,
    ) -> Result<(LogicalPlan, Vec<(Planned, Column)>)> {
        let calls = find_window_exprs(expressions);
        let mut columns = Vec::with_capacity(calls.len());
        let (mut plain, mut renamed) = (Vec::new(), Vec::new());
        for call in calls {
            let named = self.named(call.clone(), &call.schema_name().to_string());
            columns.push((call, column_of(&named)));
            if matches!(named, Planned::Alias(_)) { renamed.push(named) } else { plain.push(named) }
        }
        let mut plan = if plain.is_empty() { plan } else { LogicalPlanBuilder::window_plan(plan, plain)? };
        for call in renamed {
            plan = LogicalPlan::Window(Window::try_new(vec![call], Arc::new(plan))?);
        }
        Ok((plan, columns))
    }
}
