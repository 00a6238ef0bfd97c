//! Value <-> code: choosing an encoding from the real values of a segment's column, and applying it.
