//! Programs: expressions over a record's columns, and the steps that they become.
//!
//! | file | what |
//! |---|---|
//! | `expression` | expressions as a planner writes them |
//! | `steps/` | a list of steps over integers that are never NULL |
//! | `computed` | columns that somebody else computes beforehand |
//! | `mode` | how stages run |
//! | `stage` | a part of a pipeline that is one loop |
//! | `float`, `quotient` | floats among integers; quotients that are rounded |

pub(crate) mod computed;
pub(crate) mod expression;
pub(crate) mod float;
pub(crate) mod mode;
pub(crate) mod quotient;
pub(crate) mod stage;
pub(crate) mod steps;
