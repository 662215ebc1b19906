//! Nothing: the examples stand beside, and `tests` runs them.
