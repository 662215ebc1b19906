//! Fixtures, golden results and the controller battery; for tests alone.
