//! The plan as JSON: an array of one object, as PostgreSQL has it, with its names of what both tell.

use crate::explain::figures::share;
use crate::explain::node::{ExplainedStatement, PlanNode};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The lines of the text.
pub(super) fn lines(statement: &ExplainedStatement, summary: bool) -> Vec<String> {
    let mut object = Map::new();
    object.insert("Plan".to_owned(), plan(&statement.plan, statement.time()));
    if summary {
        object.insert("Planning Time".to_owned(), milliseconds(statement.planning));
        if let Some(run) = &statement.run {
            object.insert("Compile Time".to_owned(), milliseconds(run.compiling));
            object.insert("Execution Time".to_owned(), milliseconds(run.running));
            object.insert("Peak Memory".to_owned(), json!(run.memory));
        }
    }
    let texts = |pairs: &[(String, String)]| pairs.iter().map(|(name, text)| (name.clone(), json!(text))).collect();
    for (name, pairs) in [("Settings", &statement.settings), ("Code", &statement.code)] {
        if !pairs.is_empty() {
            object.insert(name.to_owned(), Value::Object(texts(pairs)));
        }
    }
    format!("{:#}", Value::Array(vec![Value::Object(object)])).lines().map(str::to_owned).collect()
}

fn plan(node: &PlanNode, all: Duration) -> Value {
    let mut object = Map::new();
    object.insert("Node Type".to_owned(), json!(node.what));
    let numbers = [
        ("Plan Rows", node.expected.map(|rows| json!(rows))),
        ("Actual Rows", node.rows.map(|rows| json!(rows))),
        ("Own Time", node.time.map(milliseconds)),
        ("Own Share", node.time.map(|time| json!((share(time, all) * 10.0).round() / 10.0))),
        ("Bytes Read", node.bytes.map(|bytes| json!(bytes))),
        ("Peak Memory", node.memory.map(|bytes| json!(bytes))),
        ("Notes", (!node.notes.is_empty()).then(|| json!(node.notes))),
    ];
    object.extend(numbers.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    if !node.children.is_empty() {
        object.insert("Plans".to_owned(), node.children.iter().map(|child| plan(child, all)).collect());
    }
    Value::Object(object)
}

/// Milliseconds to the microsecond.
fn milliseconds(time: Duration) -> Value {
    json!(time.as_micros() as f64 / 1e3)
}
