//! Errors of DataFusion that are told apart by their text alone: it has no other name for them.

/// A plan whose sorts DataFusion has put where it does not see any more that rows are in order.
const ORDER: &str = "does not satisfy order requirements";
/// A statement nested too deeply for the parser.
const RECURSION: &str = "recursion limit exceeded";

/// Whether planning failed since the planner lost sight of an order: it pushes sorts into the inputs of a union.
pub(crate) fn is_lost_order(text: &str) -> bool {
    text.contains(ORDER)
}

/// What some texts of DataFusion mean that were written for its developers.
pub(crate) fn plain_words(text: &str) -> Option<String> {
    if text.contains(RECURSION) {
        return Some("the statement is nested too deeply; write it in parts".into());
    }
    if let Some((_, rest)) = text.split_once("Function '")
        && let Some((function, errors)) = rest.split_once("' failed to match any signature, errors: ")
    {
        let given = errors.split_once("but received ").and_then(|(_, given)| given.split_once(" ("));
        let given = given.map_or(String::new(), |(kind, _)| format!(" of type {kind}"));
        return Some(format!("function {function} does not take arguments{given}; cast them"));
    }
    if text.starts_with("Physical plan does not support logical expression") {
        let subquery = ["Subquery", "OuterReferenceColumn"].iter().any(|kind| text.contains(kind));
        return subquery.then(|| "a subquery of this kind in this place; a join says the same".into());
    }
    if let Some(extension) = text.strip_prefix("There is no registered file format with ext ") {
        return Some(format!(
            "the ending '.{extension}' does not tell the format of a file; give it as COPY … (FORMAT csv), or parquet, json or arrow"
        ));
    }
    let (_, node) = text.split_once("Unsupported ast node ")?;
    let name = node.split([' ', '{', '(']).next().unwrap_or(node);
    Some(name.to_uppercase())
}
