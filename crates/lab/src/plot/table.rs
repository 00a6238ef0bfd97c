//! Tables of prose. On a phone each record stands below the other, and each of its cells says what it is.

use super::svg::escaped;

/// A column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name; empty where its cells speak for themselves.
    pub name: &'static str,
    /// Classes of the style sheet.
    pub class: &'static str,
}

impl Column {
    /// A column of texts.
    pub const fn text(name: &'static str) -> Self {
        Self { name, class: "text" }
    }

    /// A column of numbers, which stay in one line.
    pub const fn numbers(name: &'static str) -> Self {
        Self { name, class: "range" }
    }
}

/// A table. Each cell is HTML.
pub fn stacked_table<const N: usize>(columns: &[Column; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let head = |column: &Column| format!(r#"<th class="{}">{}</th>"#, column.class, escaped(column.name));
    let head: String = if columns.iter().all(|column| column.name.is_empty()) {
        String::new()
    } else {
        format!("<thead><tr>{}</tr></thead>", columns.iter().map(head).collect::<String>())
    };
    let cell = |(column, html): (&Column, String)| {
        let name = if column.name.is_empty() || html.is_empty() {
            String::new()
        } else {
            format!(r#" data-name="{}""#, escaped(column.name))
        };
        format!(r#"<td class="{}"{name}>{html}</td>"#, column.class)
    };
    let row = |cells: [String; N]| format!("<tr>{}</tr>", columns.iter().zip(cells).map(cell).collect::<String>());
    let rows: String = rows.into_iter().map(row).collect();
    format!(r#"<div class="scroll"><table class="stack">{head}<tbody>{rows}</tbody></table></div>"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_name_their_column_where_the_head_is_not_shown() {
        let columns = [Column::text(""), Column::text("why"), Column::numbers("times")];
        let rows = [["a".into(), "b".into(), "2".into()], ["c".into(), String::new(), "3".into()]];
        let html = stacked_table(&columns, rows);
        assert!(html.contains(r#"<th class="text">why</th>"#) && html.contains(r#"<td class="text">a</td>"#), "{html}");
        assert!(html.contains(r#"<td class="text" data-name="why">b</td>"#), "{html}");
        assert!(html.contains(r#"<td class="text"></td><td class="range" data-name="times">3</td>"#), "{html}");
        assert!(!stacked_table(&[Column::text("")], [["x".to_string()]]).contains("<thead>"));
    }
}
