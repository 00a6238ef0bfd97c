//! Statements that Gingham does not offer, by their first words: refused by name, before they are parsed, so that
//! none is half understood.

use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;

/// Statements of other databases. The second half says what to do instead.
const NEVER: &[(&str, &str)] = &[
    ("ASSERT", ""),
    ("ATTACH", "; open the other database with a connection of its own"),
    ("CACHE", "; blocks that queries read are cached by themselves"),
    ("CALL", ""),
    ("CHECKPOINT", "; every commit is durable when it returns"),
    ("CLUSTER", "; WITH (sort_by = '…') keeps a table sorted"),
    ("COPY INTO", "; use COPY t FROM 'file'"),
    ("DENY", ""),
    ("DETACH", ""),
    ("DO", ""),
    ("EXEC", "; use EXECUTE name (…)"),
    ("EXPORT", "; use COPY t TO 'file'"),
    ("FLUSH", ""),
    ("GRANT", ""),
    ("IMPORT", "; use COPY t FROM 'file'"),
    ("INSTALL", ""),
    ("KILL", ""),
    ("LOAD", "; use COPY t FROM 'file'"),
    ("MSCK", ""),
    ("NOTIFY", ""),
    ("OPEN", ""),
    ("PRAGMA", "; use SET and SHOW"),
    ("PRINT", ""),
    ("PURGE", ""),
    ("RAISE", ""),
    ("REFRESH MATERIALIZED VIEW", ""),
    ("REINDEX", ""),
    ("RENAME", "; use ALTER TABLE t RENAME TO u"),
    ("REPLACE", "; use INSERT"),
    ("RETURN", ""),
    ("REVOKE", ""),
    ("THROW", ""),
    ("UNCACHE", ""),
    ("UNLOAD", "; use COPY t TO 'file'"),
    ("UNLOCK", ""),
    ("USE", "; name the schema in the statement: s.t"),
    ("WAITFOR", ""),
];

/// What CREATE, DROP and ALTER are offered for, with the modifiers that may stand before.
const OBJECTS: &[(&str, &[&str])] = &[
    (
        "CREATE",
        &[
            "TABLE",
            "OR REPLACE TABLE",
            "TEMP TABLE",
            "TEMPORARY TABLE",
            "OR REPLACE TEMP TABLE",
            "OR REPLACE TEMPORARY TABLE",
            "EXTERNAL TABLE",
            "OR REPLACE EXTERNAL TABLE",
            "VIEW",
            "OR REPLACE VIEW",
            "TEMP VIEW",
            "TEMPORARY VIEW",
            "OR REPLACE TEMP VIEW",
            "OR REPLACE TEMPORARY VIEW",
            "SCHEMA",
            "INDEX",
            "UNIQUE INDEX",
            "TRANSIENT TABLE",
            "SEQUENCE",
            "TEMP SEQUENCE",
            "TEMPORARY SEQUENCE",
        ],
    ),
    ("DROP", &["TABLE", "VIEW", "SCHEMA", "INDEX", "SEQUENCE"]),
    ("ALTER", &["TABLE", "VIEW", "INDEX", "SCHEMA", "SEQUENCE"]),
];

/// Words that name what CREATE, DROP or ALTER is about; those before them are modifiers.
const NOUNS: &[&str] = &[
    "AGGREGATE",
    "ASSERTION",
    "CAST",
    "CATALOG",
    "COLLATION",
    "CONNECTOR",
    "CONVERSION",
    "DATABASE",
    "DOMAIN",
    "EXTENSION",
    "FUNCTION",
    "GROUP",
    "INDEX",
    "LANGUAGE",
    "MACRO",
    "OPERATOR",
    "POLICY",
    "PROCEDURE",
    "PUBLICATION",
    "ROLE",
    "RULE",
    "SCHEMA",
    "SECRET",
    "SEQUENCE",
    "SERVER",
    "SESSION",
    "STAGE",
    "STATISTICS",
    "SUBSCRIPTION",
    "SYNONYM",
    "SYSTEM",
    "TABLE",
    "TABLESPACE",
    "TRIGGER",
    "TYPE",
    "USER",
    "VIEW",
];

/// The error for a statement that begins with a refused word; `None` for one that is worth parsing.
pub(crate) fn refusal(parser: &Parser<'_>) -> Option<String> {
    let words = leading_words(parser);
    let starts_with = |phrase: &str| {
        phrase
            .split(' ')
            .zip(words.iter().map(Some).chain(std::iter::repeat(None)))
            .all(|(a, b)| Some(a) == b.map(String::as_str))
    };
    if let Some((name, instead)) = NEVER.iter().find(|(name, _)| starts_with(name)) {
        return Some(format!("{name} is not supported{instead}"));
    }
    let (verb, offered) = OBJECTS.iter().find(|(verb, _)| starts_with(verb))?;
    let end = words.iter().skip(1).position(|word| NOUNS.contains(&word.as_str()))? + 1;
    let object = words[1..=end].join(" ");
    (!offered.contains(&object.as_str())).then(|| format!("{verb} {object} is not supported"))
}

/// The unquoted words that a statement starts with, in upper case.
fn leading_words(parser: &Parser<'_>) -> Vec<String> {
    (0..6)
        .map_while(|position| match parser.peek_nth_token_ref(position).token {
            Token::Word(ref word) if word.quote_style.is_none() => Some(word.value.to_ascii_uppercase()),
            _ => None,
        })
        .collect()
}
