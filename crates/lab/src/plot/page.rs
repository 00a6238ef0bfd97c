//! The page round a report: head, style and title, with nothing fetched from elsewhere.

use super::svg::escaped;

/// A whole HTML page. `title` is text, `body` is HTML.
pub fn page(title: &str, body: &str) -> String {
    format!(
        r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{style}</style></head>
<body><header></header><main>
{body}
</main></body></html>
"#,
        title = escaped(title),
        style = include_str!("page.css"),
    )
}
