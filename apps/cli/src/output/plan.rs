//! The answer of EXPLAIN as plain lines: the engine has drawn it already.

use crate::failure::Failure;
use crate::output::cell::{Cells, Times};
use crate::output::lines::RowFormat;
use arrow::datatypes::Schema;
use gingham::Connection;

/// Writes the lines of one plan.
#[derive(Debug)]
pub struct Plan;

impl RowFormat for Plan {
    fn times(&self) -> Times {
        Times::Sql
    }

    fn row(&mut self, text: &mut String, cells: &mut Cells<'_>, row: usize) -> Result<(), Failure> {
        text.push_str(cells.read(0, row)?.unwrap_or_default());
        text.push('\n');
        Ok(())
    }
}

/// Whether the result of a statement is a plan that was drawn as lines.
pub fn is_plan(sql: &str, schema: &Schema) -> bool {
    let drawn = matches!(&schema.fields()[..], [field] if field.name() == "plan");
    drawn && Connection::is_explain(sql)
}

#[cfg(test)]
mod tests {
    use super::is_plan;
    use arrow::datatypes::{DataType, Field, Schema};

    #[test]
    fn a_plan_is_told_by_its_statement() {
        let schema = |names: &[&str]| -> Schema {
            Schema::new(names.iter().map(|name| Field::new(*name, DataType::Utf8View, true)).collect::<Vec<_>>())
        };
        let plan = schema(&["plan"]);
        for sql in
            ["EXPLAIN SELECT 1", " explain(analyze) SELECT 1", "-- why\n/* a /* b */ c */ Explain FORMAT tree SELECT 1"]
        {
            assert!(is_plan(sql, &plan), "{sql}");
        }
        for sql in ["SELECT plan FROM t", "/* EXPLAIN", "-- EXPLAIN\nSELECT 'a' AS plan", "", "explained", "/* é */ é"]
        {
            assert!(!is_plan(sql, &plan), "{sql}");
        }
        assert!(!is_plan("EXPLAIN SELECT 1", &schema(&["plan_type", "plan"])));
        assert!(!is_plan("EXPLAIN SELECT 1", &schema(&["text"])));
    }
}
