//! Plots as SVG in pages that need no other file.
//!
//! | file | what |
//! |---|---|
//! | `bars` | bars: upright, level, and as ratios |
//! | `boxes` | boxes of quartiles with whiskers |
//! | `lines` | lines over a number, with intervals |
//! | `svg` | drawing |
//! | `page` | the page and its style |

mod bars;
mod boxes;
mod lines;
mod page;
mod svg;

pub use bars::{Bar, level_bars, ratio_bars, upright_bars};
pub use boxes::upright_boxes;
pub use lines::{LinePlot, Mark, PlotLine};
pub use page::page;
pub use svg::escaped;

/// Classes of the style sheet for things that are compared, in the order in which they are handed out.
pub const SERIES: [&str; 10] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"];
