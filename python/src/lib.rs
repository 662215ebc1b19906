//! The native half of the Python package `seaway`. Its Python half, in the folder `seaway`, gives everything its public
//! form and its documentation.

#![expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]

mod agent;
mod comparison;
mod digest;
mod environment;
mod error;
mod experiments;
mod input;
mod law;
mod names;
mod picture_score;
mod runs;
mod shaping;
mod sweeps;
mod table;
mod watch;

use pyo3::prelude::*;

/// The native half of the package.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", seaway_report::VERSION)?;
    error::add(module)?;
    module.add_class::<table::Table>()?;
    module.add_class::<runs::NativeRun>()?;
    module.add_class::<law::FeedbackView>()?;
    module.add_class::<law::PythonDecision>()?;
    module.add_class::<sweeps::NativeSweep>()?;
    module.add_class::<comparison::NativeComparison>()?;
    module.add_class::<environment::Environment>()?;
    runs::add(module)?;
    sweeps::add(module)?;
    comparison::add(module)?;
    environment::add(module)?;
    experiments::add(module)?;
    picture_score::add(module)?;
    shaping::add(module)
}
