//! A query of a prepared statement is bound once for all values of its parameters, while the tables stay as they are.

use crate::Result;
use crate::bind::BoundQuery;
use crate::session::StatementContext;
use crate::session::plans::{bound_queries, bytes_of_bound};
use datafusion::common::ParamValues;
use datafusion::sql::sqlparser::ast::Query;

impl StatementContext {
    /// The plan of a query with these values for its parameters. What [`bind`](Self::bind) gives before it puts the values in depends on
    /// the query, the settings and the tables alone.
    pub(crate) async fn bind_with(&self, query: Query, parameters: Option<ParamValues>) -> Result<BoundQuery> {
        let (Some(text), Some(values)) = (&self.prepared, &parameters) else {
            return self.bind(query, parameters).await;
        };
        if !self.may_keep(text)? {
            return self.bind(query, parameters).await;
        }
        let Some(kept) = bound_queries(&self.snapshot) else { return self.bind(query, parameters).await };
        let bound = match kept.find(text, self.settings_number) {
            Some(bound) => bound,
            None => {
                let bound = self.bind(query, None).await?;
                if let Some(bytes) = bytes_of_bound(text, &bound.plan) {
                    let pool = &self.state.runtime_env().memory_pool;
                    kept.keep(text, self.settings_number, &bound, (bytes, pool));
                }
                bound
            }
        };
        let plan = bound.plan.with_param_values(values.clone())?;
        Ok(BoundQuery { plan, ..bound })
    }
}
