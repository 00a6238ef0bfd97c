//! The dialect that texts are parsed in: sqlparser's generic one, with PostgreSQL's precedence of operators and forms of
//! literals and tests that the generic one lacks.
//!
//! The generic dialect binds `||` like `*` and `^` weaker than `+`, so that `'n' || 1 + 2` and `2 * x ^ 2` would mean
//! something else than they say to a user of PostgreSQL. A wrapper that is not the generic dialect has to say anew all
//! that it takes; that is the list below.

use crate::sql::infix;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, SetExpr};
use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;
use std::any::TypeId;

/// Gingham's SQL.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gingham;

/// Names may have any sign that ASCII has not, as in PostgreSQL.
fn is_beyond_ascii(letter: char) -> bool {
    !letter.is_ascii() && !letter.is_whitespace() && !letter.is_control()
}

/// Methods that answer yes.
macro_rules! takes {
    ($($method:ident),* $(,)?) => { $(fn $method(&self) -> bool { true })* };
}

impl Dialect for Gingham {
    /// Parts of the parser ask for the generic dialect by its type.
    fn dialect(&self) -> TypeId {
        TypeId::of::<GenericDialect>()
    }

    fn is_delimited_identifier_start(&self, letter: char) -> bool {
        GenericDialect.is_delimited_identifier_start(letter)
    }

    /// A `#` is an operator where no name goes on.
    fn is_identifier_start(&self, letter: char) -> bool {
        letter != '#' && (GenericDialect.is_identifier_start(letter) || is_beyond_ascii(letter))
    }

    fn is_identifier_part(&self, letter: char) -> bool {
        letter != '#' && (GenericDialect.is_identifier_part(letter) || is_beyond_ascii(letter))
    }

    // What the generic dialect has not.
    takes!(supports_notnull_operator, supports_numeric_literal_underscores);

    // What the generic dialect has.
    takes!(
        supports_partition_by_after_order_by,
        supports_array_join_syntax,
        supports_group_by_expr,
        supports_group_by_with_modifier,
        supports_left_associative_joins_without_parens,
        supports_connect_by,
        supports_match_recognize,
        supports_pipe_operator,
        supports_start_transaction_modifier,
        supports_window_function_null_treatment_arg,
        supports_dictionary_syntax,
        supports_window_clause_named_window_reference,
        supports_parenthesized_set_variables,
        supports_select_expr_star,
        supports_select_wildcard_except,
        support_map_literal_syntax,
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_extract_comma_syntax,
        supports_create_view_comment_syntax,
        supports_parens_around_table_factor,
        supports_values_as_table_factor,
        supports_create_index_with_clause,
        supports_explain_with_utility_options,
        supports_limit_comma,
        supports_update_order_by,
        supports_from_first_select,
        supports_projection_trailing_commas,
        supports_asc_desc_in_column_definition,
        supports_try_convert,
        supports_bitwise_shift_operators,
        supports_comment_on,
        supports_load_extension,
        supports_named_fn_args_with_assignment_operator,
        supports_struct_literal,
        supports_empty_projections,
        supports_nested_comments,
        supports_multiline_comment_hints,
        supports_user_host_grantee,
        supports_string_escape_constant,
        supports_array_typedef_with_brackets,
        supports_match_against,
        supports_set_names,
        supports_comma_separated_set_assignments,
        supports_filter_during_aggregation,
        supports_select_wildcard_exclude,
        supports_data_type_signed_suffix,
        supports_interval_options,
        supports_quote_delimited_string,
        supports_select_wildcard_replace,
        supports_select_wildcard_ilike,
        supports_select_wildcard_rename,
        supports_optimize_table,
        supports_install,
        supports_detach,
        supports_prewhere,
        supports_with_fill,
        supports_limit_by,
        supports_interpolate,
        supports_settings,
        supports_select_format,
        supports_comment_optimizer_hint,
        supports_constraint_keyword_without_name,
        supports_key_column_option,
        supports_comma_separated_trim,
        supports_cte_without_as,
        supports_select_item_multi_column_alias,
        supports_xml_expressions,
    );

    /// PostgreSQL's order: a power binds tighter than a product; what has no place of its own, `||` among it, binds
    /// weaker than a sum and tighter than BETWEEN, IN and LIKE, which bind tighter than comparisons.
    fn prec_value(&self, precedence: Precedence) -> u8 {
        match precedence {
            Precedence::Like | Precedence::Between => infix::LIKE,
            Precedence::Pipe | Precedence::Ampersand | Precedence::Caret | Precedence::Xor => OTHER,
            other => GenericDialect.prec_value(other),
        }
    }

    /// `SELECT 1 ON CONFLICT …` behind INSERT: no item of a list is called ON there. The parser stands behind the word.
    fn is_column_alias(&self, word: &Keyword, parser: &mut Parser<'_>) -> bool {
        let is_conflict = |token: &Token| matches!(token, Token::Word(next) if next.keyword == Keyword::CONFLICT);
        if *word == Keyword::ON && is_conflict(&parser.peek_token_ref().token) {
            return false;
        }
        if *word == Keyword::TOP {
            return true;
        }
        GenericDialect.is_column_alias(word, parser)
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        match &parser.peek_token_ref().token {
            Token::Caret => Some(Ok(POWER)),
            Token::StringConcat => Some(Ok(OTHER)),
            Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("isnull") => {
                Some(Ok(self.prec_value(Precedence::Is)))
            }
            Token::Word(_) => infix::precedence(parser).map(Ok),
            _ => None,
        }
    }

    /// `((SELECT 1) UNION SELECT 2)` as a value, of which the parser takes the first query for all that is in the brackets; and
    /// grouping sets within others.
    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        if let Some(sets) = infix::grouping_sets(parser) {
            return Some(sets);
        }
        if let Some(sign) = infix::sign(parser, OTHER) {
            return Some(sign);
        }
        if let Some(column) = infix::interval_column(parser) {
            return Some(column);
        }
        let is_open = |at: usize| parser.peek_nth_token_ref(at).token == Token::LParen;
        if !is_open(0) || parser.get_current_token().token != Token::LParen {
            return None;
        }
        let first = (1..).find(|at| !is_open(*at))?;
        let Token::Word(word) = &parser.peek_nth_token_ref(first).token else { return None };
        if !matches!(word.keyword, Keyword::SELECT | Keyword::VALUES | Keyword::WITH) || word.quote_style.is_some() {
            return None;
        }
        let query = parser.maybe_parse(|parser| {
            let query = parser.parse_query()?;
            let is_more = query.order_by.is_some() || query.limit_clause.is_some() || query.fetch.is_some();
            // One query in brackets, without more, is a value in brackets.
            if !is_more && matches!(&*query.body, SetExpr::Query(_)) || parser.peek_token_ref().token != Token::RParen {
                return parser.expected_ref("a query of several", parser.peek_token_ref());
            }
            Ok(query)
        });
        match query {
            Ok(query) => query.map(|query| Ok(Expr::Subquery(query))),
            Err(error) => Some(Err(error)),
        }
    }

    /// `x ISNULL`, `a # b`, the exclusive or of bits, and the operators of `infix`.
    fn parse_infix(&self, parser: &mut Parser<'_>, left: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
        match &parser.peek_token_ref().token {
            Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("isnull") => {
                parser.next_token();
                Some(Ok(Expr::IsNull(Box::new(left.clone()))))
            }
            Token::Sharp => {
                parser.next_token();
                let right = parser.parse_subexpr(precedence);
                let op = BinaryOperator::PGBitwiseXor;
                Some(right.map(|right| Expr::BinaryOp { left: Box::new(left.clone()), op, right: Box::new(right) }))
            }
            Token::Word(_) => infix::parse(parser, left),
            _ => None,
        }
    }
}

/// Precedence of `^`.
const POWER: u8 = 45;
/// Precedence of the operators that PostgreSQL gives no place of their own.
const OTHER: u8 = 25;
