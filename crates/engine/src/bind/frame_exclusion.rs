//! `EXCLUDE …` of a window's frame: it comes as an operator behind the frame's last bound, and is taken out of it.

use crate::Result;
use crate::bind::expression::Replacing;
use crate::bind::window;
use crate::sql::infix::is_exclusion;
use crate::sql::operators::take;
use crate::windows::{Exclusion, excluding};
use arrow::datatypes::FieldRef;
use datafusion::logical_expr::{Expr as Planned, ExprSchemable};
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Function, WindowFrame, WindowFrameBound, WindowType};

impl Replacing<'_, '_> {
    /// A window function whose frame leaves rows out, and what it gives; `None` for any other.
    pub(super) fn excluding(&mut self, function: &Function) -> Result<Option<(Planned, FieldRef)>> {
        let Some(over) = &function.over else { return Ok(None) };
        let mut spec = window::spec(over, self.around.windows)?;
        let Some(exclusion) = spec.window_frame.as_mut().and_then(taken) else { return Ok(None) };
        let mut whole = function.clone();
        whole.over = Some(WindowType::WindowSpec(spec));
        let planned = self.binder.expression(&Expr::Function(whole), self.around)?;
        let fields = &self.around.scope.fields;
        let planned = excluding(planned, exclusion, fields)?;
        let field = planned.to_field(fields)?.1;
        Ok(Some((planned, field)))
    }
}

/// What a frame leaves out; the frame is one that leaves out nothing then.
fn taken(frame: &mut WindowFrame) -> Option<Exclusion> {
    let bound = frame.end_bound.as_mut().unwrap_or(&mut frame.start_bound);
    let WindowFrameBound::Following(Some(offset)) = bound else { return None };
    let Expr::BinaryOp { left, op: BinaryOperator::Custom(operator), .. } = &mut **offset else { return None };
    if !is_exclusion(operator) {
        return None;
    }
    let operator = std::mem::take(operator);
    let mut words = operator.split(' ');
    let kind = words.next();
    let is_unbounded = matches!(&**left, Expr::Identifier(name) if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("unbounded"));
    let distance = (!is_unbounded).then(|| Box::new(take(left)));
    *bound = match kind {
        Some("PRECEDING") => WindowFrameBound::Preceding(distance),
        Some("FOLLOWING") => WindowFrameBound::Following(distance),
        _ => WindowFrameBound::CurrentRow,
    };
    Some(match words.nth(1) {
        Some("GROUP") => Exclusion::Group,
        Some("TIES") => Exclusion::Ties,
        _ => Exclusion::CurrentRow,
    })
}
