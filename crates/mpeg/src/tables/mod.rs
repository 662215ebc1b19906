//! The numbers of ISO/IEC 11172-2 and 13818-2, apart from the logic that uses them.

pub mod coefficients;
pub mod macroblock;
pub mod quantiser;
pub mod scan;
