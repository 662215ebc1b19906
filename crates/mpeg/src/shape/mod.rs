//! Dynamic rate shaping (S002, section 2): lowering the rate of a coded stream without encoding it again.

mod auto;
mod batch;
mod budget;
mod causal;
mod config;
mod curve;
mod energy;
mod importance;
mod parallel;
mod recode;
mod report;
mod requantize;
mod select;
mod shaper;
mod trellis;
mod truncation;
mod work;

pub use config::{Cluster, Config, Method, Target, Vbv};
pub use report::{LeftAlone, PictureReport};
pub use shaper::{Shaped, Shaper};
