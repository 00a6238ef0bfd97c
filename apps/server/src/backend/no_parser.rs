//! A parser for pgwire's traits, which want one: [`Backend`](crate::backend::Backend) parses by itself.

use crate::backend::StoredText;
use async_trait::async_trait;
use pgwire::api::portal::Format;
use pgwire::api::results::FieldInfo;
use pgwire::api::stmt::QueryParser;
use pgwire::api::{ClientInfo, Type};
use pgwire::error::PgWireResult;

/// A parser that parses nothing, and is asked by nobody.
pub(crate) struct NoParser;

#[async_trait]
impl QueryParser for NoParser {
    type Statement = StoredText;

    async fn parse_sql<C>(&self, _: &C, _: &str, _: &[Option<Type>]) -> PgWireResult<Option<StoredText>>
    where
        C: ClientInfo + Unpin + Send + Sync,
    {
        Ok(None)
    }

    fn get_parameter_types(&self, _: &StoredText) -> PgWireResult<Vec<Type>> {
        Ok(Vec::new())
    }

    fn get_result_schema(&self, _: &StoredText, _: Option<&Format>) -> PgWireResult<Vec<FieldInfo>> {
        Ok(Vec::new())
    }
}
