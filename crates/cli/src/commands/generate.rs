//! `seaway generate`: the files that a package installs beside the binary.

use crate::failure::Failure;
use clap::CommandFactory;
use clap_complete::Shell;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The folder that becomes `/usr/share`
    folder: PathBuf,
}

/// Where each shell looks for a completion.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/seaway"),
    (Shell::Zsh, "zsh/site-functions/_seaway"),
    (Shell::Fish, "fish/vendor_completions.d/seaway.fish"),
];

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    write(&arguments.folder).map_err(|error| Failure::output(&error))?;
    Ok(ExitCode::SUCCESS)
}

fn write(folder: &Path) -> io::Result<()> {
    let mut command = super::Arguments::command();
    for (shell, file) in COMPLETIONS {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        clap_complete::generate(shell, &mut command, "seaway", &mut File::create(path)?);
    }
    let manual = folder.join("man/man1");
    std::fs::create_dir_all(&manual)?;
    // A page of `seaway help send` would repeat that of `seaway send`.
    clap_mangen::generate_to(super::Arguments::command().disable_help_subcommand(true), manual)
}
