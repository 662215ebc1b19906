//! Sans-I/O rate control.
