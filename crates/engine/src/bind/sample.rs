//! `FROM t TABLESAMPLE BERNOULLI (10) REPEATABLE (1)`: a part of a table's records, by their ids.

use crate::bind::binder::Binder;
use crate::bind::error;
use crate::bind::expression::NameContext;
use crate::bind::from::{From, FromContext};
use crate::bind::scope::NameScope;
use crate::functions::sampled::{sampled, share};
use crate::{Error, Result};
use arrow::datatypes::DataType;
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::{Expr as Planned, Filter, LogicalPlan, cast, lit};
use datafusion::sql::sqlparser::ast::{
    Expr, TableSample, TableSampleKind, TableSampleMethod, TableSampleModifier, TableSampleQuantity,
    TableSampleSeedModifier,
};
use gingham_storage::SqlState;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// What is asked of a sample.
struct AskedSample {
    by_blocks: bool,
    percent: Planned,
    /// `None` where each run may give others.
    seed: Option<Planned>,
}

impl Binder<'_> {
    /// Plans what TABLESAMPLE asks for.
    fn sample(&mut self, sample: &TableSampleKind, member: FromContext<'_>) -> Result<AskedSample> {
        let (TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) = sample;
        let TableSample { modifier, name, quantity, seed, bucket, offset } = &**sample;
        let by_blocks = match name {
            Some(TableSampleMethod::Bernoulli) => false,
            Some(TableSampleMethod::System) => true,
            Some(other) => {
                return Err(Error::invalid(
                    SqlState::UndefinedObject,
                    format!("TABLESAMPLE {other} does not exist; there are BERNOULLI and SYSTEM"),
                ));
            }
            None if matches!(
                quantity,
                Some(TableSampleQuantity { parenthesized: false, value: Expr::Function(_), .. })
            ) =>
            {
                return Err(Error::invalid(
                    SqlState::UndefinedObject,
                    format!("{sample} does not exist; there are TABLESAMPLE BERNOULLI and SYSTEM"),
                ));
            }
            None => {
                let text =
                    "TABLESAMPLE says how: TABLESAMPLE BERNOULLI (percent), by records, or SYSTEM (percent), by blocks";
                return Err(Error::invalid(SqlState::SyntaxError, text));
            }
        };
        let is_plain = matches!(modifier, TableSampleModifier::TableSample) && bucket.is_none() && offset.is_none();
        let has_seed = seed.as_ref().is_none_or(|seed| matches!(seed.modifier, TableSampleSeedModifier::Repeatable));
        let Some(TableSampleQuantity { parenthesized: true, value, unit: None }) =
            quantity.as_ref().filter(|_| is_plain && has_seed)
        else {
            return Err(error::unsupported(format!("{sample} (use TABLESAMPLE BERNOULLI (percent))")));
        };
        let percent = self.number_of_sample(value, member)?;
        if let Planned::Literal(value, _) = self.simplifier().simplify(percent.clone())? {
            share(match value.cast_to(&DataType::Float64)? {
                ScalarValue::Float64(percent) => percent,
                _ => None,
            })?;
        }
        let seed = match seed {
            None => None,
            Some(seed) => Some(self.number_of_sample(&Expr::Value(seed.value.clone()), member)?),
        };
        Ok(AskedSample { by_blocks, percent, seed })
    }

    fn number_of_sample(&mut self, value: &Expr, member: FromContext<'_>) -> Result<Planned> {
        let scope = NameScope::empty();
        let planned = self.condition(value, NameContext::of(&scope, member.place), "TABLESAMPLE")?;
        Ok(cast(planned, DataType::Float64))
    }

    /// The records of a scan that a sample takes. The column `id`, which has the records' ids, is not shown.
    pub(super) fn sampled(
        &mut self,
        from: From,
        id: &str,
        sample: &TableSampleKind,
        member: FromContext<'_>,
    ) -> Result<From> {
        let sample = self.sample(sample, member)?;
        let From { plan, mut scope } = from;
        let Some(relation) = scope.relations.first_mut() else {
            return Err(Error::Internal("a scan is a relation".into()));
        };
        let found: Option<Column> = relation.columns.iter().find(|own| own.name == id).map(|own| own.column.clone());
        let Some(found) = found else { return Err(Error::Internal("a sample's records have ids".into())) };
        relation.columns.retain(|own| own.name != id);
        relation.all.retain(|name| name != id);
        scope.shown.clone_from(&relation.columns);
        let AskedSample { by_blocks, percent, seed } = sample;
        let function = sampled(by_blocks, seed.is_some());
        let seed = seed.unwrap_or_else(|| lit(RandomState::new().hash_one(0_u8) as f64));
        let id = cast(Planned::Column(found.clone()), DataType::Int64);
        let plan = LogicalPlan::Filter(Filter::try_new(function.call(vec![id, percent, seed]), Arc::new(plan))?);
        let columns: Vec<Planned> =
            plan.schema().columns().into_iter().filter(|own| *own != found).map(Planned::Column).collect();
        let plan = self.project(plan, columns)?;
        let scope = scope.over(Arc::clone(plan.schema()));
        Ok(From { plan, scope })
    }
}
