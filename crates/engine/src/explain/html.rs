//! The plan as a page that needs nothing from outside: a tree of rows with a bar each, and all that is known of a node on a click.

use crate::explain::figures::{bytes, grouped, share, time};
use crate::explain::node::{ExplainedStatement, PlanNode};
use std::time::Duration;

const STYLE: &str = include_str!("page.css");

/// The lines of the page.
pub(super) fn lines(statement: &ExplainedStatement, summary: bool) -> Vec<String> {
    let mut page = vec![
        "<!doctype html>".to_owned(),
        "<html lang=\"en\"><head><meta charset=\"utf-8\">".to_owned(),
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">".to_owned(),
        format!("<title>Plan: {}</title>", escaped(&statement.plan.what)),
        "<style>".to_owned(),
    ];
    page.extend(STYLE.lines().map(str::to_owned));
    page.extend(["</style></head><body>".to_owned(), "<h1>Plan of a statement</h1>".to_owned()]);
    page.extend(head(statement, summary).iter().map(|text| format!("<p>{}</p>", escaped(text))));
    let tree = Tree { all: statement.time(), slowest: statement.slowest() };
    page.push("<ul>".to_owned());
    tree.node(&statement.plan, &mut 0, &mut page);
    page.push("</ul>".to_owned());
    for (name, code) in &statement.code {
        page.push(format!("<h1>{}</h1>", escaped(name)));
        page.push("<pre>".to_owned());
        page.extend(code.lines().map(escaped));
        page.push("</pre>".to_owned());
    }
    page.push("</body></html>".to_owned());
    page
}

/// What stands above the tree.
fn head(statement: &ExplainedStatement, summary: bool) -> Vec<String> {
    let mut texts = Vec::new();
    match &statement.run {
        Some(run) if summary => texts.push(format!(
            "Planned in {}, run in {} (compiling {} of it), with {} of memory at most.",
            time(statement.planning),
            time(run.running),
            time(run.compiling),
            bytes(run.memory as u64)
        )),
        Some(_) => {}
        None => texts.push("The statement was not run: rows are what was expected.".to_owned()),
    }
    if !statement.settings.is_empty() {
        let settings = statement.settings.iter().map(|(name, value)| format!("{name} = {value}"));
        texts.push(format!("Settings: {}", settings.collect::<Vec<_>>().join(", ")));
    }
    texts.push("A click on a row shows all that is known of it. Bars are shares of the time of all rows.".to_owned());
    texts
}

/// What the rows of the tree have in common.
struct Tree {
    all: Duration,
    slowest: Vec<usize>,
}

impl Tree {
    /// Adds a node, the `number`th of all, and those below it.
    fn node(&self, node: &PlanNode, number: &mut usize, page: &mut Vec<String>) {
        let slow = if self.slowest.contains(number) { " class=\"slow\"" } else { "" };
        *number += 1;
        let rows = node.rows.or(node.expected).map_or_else(String::new, |rows| grouped(rows as u64));
        let took = node.time.map_or_else(String::new, time);
        let bar = node.time.map_or_else(String::new, |time| {
            format!("<span class=\"bar\"><i style=\"width:{:.1}%\"></i></span>", share(time, self.all))
        });
        page.push(format!("<li><details{slow}><summary><span class=\"what\">{}</span>", escaped(&node.what)));
        page.push(format!("<span class=\"rows\">{rows}</span><span class=\"time\">{took}</span>{bar}</summary>"));
        page.push("<dl>".to_owned());
        for (name, value) in self.known(node) {
            page.push(format!("<dt>{name}</dt><dd>{}</dd>", escaped(&value)));
        }
        page.push("</dl></details>".to_owned());
        if !node.children.is_empty() {
            page.push("<ul>".to_owned());
            node.children.iter().for_each(|child| self.node(child, number, page));
            page.push("</ul>".to_owned());
        }
        page.push("</li>".to_owned());
    }

    /// All that is known of a node.
    fn known(&self, node: &PlanNode) -> Vec<(&'static str, String)> {
        let figures = [
            ("rows expected", node.expected.map(|rows| grouped(rows as u64))),
            ("rows", node.rows.map(|rows| grouped(rows as u64))),
            ("own time", node.time.map(|own| format!("{} ({:.1} % of all)", time(own), share(own, self.all)))),
            ("read", node.bytes.map(bytes)),
            ("memory at most", node.memory.map(|memory| bytes(memory as u64))),
        ];
        let figures = figures.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let known: Vec<_> = figures.chain(node.notes.iter().map(|note| ("note", note.clone()))).collect();
        if known.is_empty() { vec![("note", "nothing more is known of it".to_owned())] } else { known }
    }
}

/// A text as HTML has it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_every_node_and_no_markup_of_the_statement() {
        let child =
            PlanNode { time: Some(Duration::from_millis(3)), rows: Some(5), ..PlanNode::new("scan <t> & \"u\"") };
        let plan = PlanNode { children: vec![child], notes: vec!["a < b".to_owned()], ..PlanNode::new("filter") };
        let planning = Duration::from_micros(9);
        let statement = ExplainedStatement { plan, planning, run: None, settings: Vec::new(), code: Vec::new() };
        let page = lines(&statement, true).join("\n");
        assert!(page.contains("scan &lt;t&gt; &amp; &quot;u&quot;") && page.contains("a &lt; b"), "{page}");
        assert_eq!(page.matches("<li>").count(), 2);
        assert_eq!(page.matches("<details class=\"slow\">").count(), 1, "the one with a time");
        assert!(page.contains("width:100.0%") && page.contains("was not run"), "{page}");
        assert!(!page.contains("http") && !page.contains("src="), "nothing from outside");
    }
}
