//! Discrete-event simulator: nodes, cells and cross traffic in virtual time.
