//! Plots in pages that need no other file, and that read as well on a phone as on a screen.
//!
//! | file | what |
//! |---|---|
//! | `rows` | rows of level bars: from 0, as ratios from 1, and as boxes of quartiles |
//! | `lines` | lines over a number, with intervals |
//! | `axis` | bounds and ticks |
//! | `svg` | drawing, and text as HTML |
//! | `table` | tables of prose |
//! | `page` | the page and its style |

mod axis;
mod lines;
mod page;
mod rows;
mod svg;
mod table;

pub use axis::Multiple;
pub use lines::{LinePlot, Mark, PlotLine};
pub use page::page;
pub use rows::{Bar, Row, bar_rows, box_rows, ratio_rows};
pub use svg::{escaped, verbatim};
pub use table::{Column, stacked_table};

/// Classes of the style sheet for things that are compared, in the order in which they are handed out.
pub const SERIES: [&str; 10] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"];
