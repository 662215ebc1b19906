//! Writes the pages of `docs/papers`: `cargo run --release -p seaway-papers --example pages -- docs/papers`; with `robust`
//! behind the folder also the page of what survives, which takes six times as long.

use seaway_papers::report::{Report, Robustness, figure_name, markdown};
use seaway_papers::{Runner, catalogue};
use std::error::Error;
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("name a folder to write to")?);
    let rows: Vec<_> = catalogue().collect();
    let watch = |_| ControlFlow::Continue(());
    let report = Report::of(&rows, &mut Runner::new(1, 5, &watch), &mut |_| ())?;
    fs::create_dir_all(folder.join("figures"))?;
    for (name, page) in markdown(&report) {
        fs::write(folder.join(name), page)?;
    }
    for entry in &report.experiments {
        for (number, figure) in (1..).zip(&entry.figures) {
            fs::write(folder.join(figure_name(entry, number)), figure.plot().print_svg())?;
        }
    }
    if std::env::args().nth(2).is_some_and(|argument| argument == "robust") {
        let found = Robustness::of(&rows, &mut Runner::new(1, 5, &watch), &mut |_| ())?;
        fs::write(folder.join("robust.md"), found.markdown())?;
    }
    Ok(())
}
