//! The order of joins in a plan as EXPLAIN shows it, logical or physical: `((region nation) supplier)`. The first side is
//! the one that is built. Tests include this file.

/// A line of a plan and those below it.
struct Node<'a> {
    text: &'a str,
    children: Vec<Node<'a>>,
}

impl<'a> Node<'a> {
    /// The nodes that begin at `depth` of indentation, taken off the front of `lines`.
    fn take(lines: &mut &[(usize, &'a str)], depth: usize) -> Vec<Self> {
        let mut nodes = Vec::new();
        while let Some((at, text)) = lines.first().copied().filter(|(at, _)| *at >= depth) {
            *lines = &lines[1..];
            nodes.push(Self { text, children: Self::take(lines, at + 1) });
        }
        nodes
    }

    /// The joins from here down; those of subqueries go to `apart`.
    fn joins(&self, apart: &mut Vec<String>) -> String {
        let after = |start: &str| {
            let rest = self.text.strip_prefix(start)?;
            Some(rest.split([',', ' ']).next().unwrap_or_default().to_string())
        };
        if let Some(table) = after("TableScan: ").or_else(|| after("ScanExec: table=")) {
            return table;
        }
        let (own, subqueries) = match self.text {
            "Subquery:" => (&self.children[..0], &self.children[..]),
            text if text.starts_with("ScalarSubqueryExec") => self.children.split_at(1),
            _ => (&self.children[..], &self.children[..0]),
        };
        let below: Vec<_> = own.iter().map(|child| child.joins(apart)).filter(|below| !below.is_empty()).collect();
        for subquery in subqueries {
            let joins = subquery.joins(apart);
            apart.push(joins);
        }
        match self.join() {
            Some("Inner" | "Cross") => format!("({})", below.join(" ")),
            Some(kind) => format!("{kind}({})", below.join(" ")),
            None => below.join(" + "),
        }
    }

    /// What kind of join it is, if it is one.
    fn join(&self) -> Option<&str> {
        if let Some((kind, _)) = self.text.split_once(" Join:") {
            return Some(kind);
        }
        if self.text.starts_with("CrossJoinExec") {
            return Some("Cross");
        }
        let (_, rest) = self.text.split_once("JoinExec: ")?.1.split_once("join_type=")?;
        rest.split(',').next()
    }
}

/// The joins of a plan, and behind a semicolon each those of its subqueries.
pub fn joins(plan: &str) -> String {
    let lines: Vec<_> = plan.lines().map(|line| (line.len() - line.trim_start().len(), line.trim())).collect();
    let mut apart = Vec::new();
    let roots = Node::take(&mut lines.as_slice(), 0);
    let top: Vec<_> = roots.iter().map(|root| root.joins(&mut apart)).collect();
    apart.sort();
    [top.join(" + ")].into_iter().chain(apart).collect::<Vec<_>>().join("; ")
}
