//! `seaway qlog`: the page of a log.

use crate::failure::{Failure, note};
use crate::files::Output;
use crate::output::Provenance;
use seaway_report::qlog::Log;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A log that `--qlog` of sim, demo, send or recv has written, `-` for standard input; default: none, and the page draws
    /// what is dropped on it
    file: Option<String>,
    /// Write the page to this file; default: NAME.html after the log
    #[arg(short, long, value_name = "PAGE")]
    output: Option<String>,
}

/// A log of about ten hours.
const MOST_OCTETS: u64 = 512 << 20;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let command = Provenance::of_this_process().command;
    let html = match &arguments.file {
        Some(file) => {
            let log = Log::read(&read(file)?).map_err(|error| Failure::input(&format!("{file}: {error}")))?;
            if log.damaged > 0 {
                note(&format!("{file}: records damaged or cut off: {}", log.damaged));
            }
            log.page(file, &command)
        }
        None => Log::empty_page(&command),
    };
    let name = arguments.page();
    let mut page = Output::create(&name)?;
    page.put(html.as_bytes())?;
    if page.is_stdout() {
        return page.finish().map(|()| ExitCode::SUCCESS);
    }
    page.finish()?;
    writeln!(std::io::stdout(), "page: {name}").map_err(|error| Failure::output(&error))?;
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    fn page(&self) -> String {
        let stem =
            self.file.as_deref().filter(|file| *file != "-").and_then(|file| Path::new(file).file_stem());
        let usual = || format!("{}.html", stem.map_or("qlog".into(), |stem| stem.to_string_lossy()));
        self.output.clone().unwrap_or_else(usual)
    }
}

fn read(file: &str) -> Result<Vec<u8>, Failure> {
    let failed = |error: std::io::Error| Failure::input(&format!("{file}: {error}"));
    let mut octets = Vec::new();
    let reader: Box<dyn Read> =
        if file == "-" { Box::new(std::io::stdin()) } else { Box::new(File::open(file).map_err(failed)?) };
    let len = reader.take(MOST_OCTETS + 1).read_to_end(&mut octets).map_err(failed)?;
    if len as u64 > MOST_OCTETS {
        return Err(Failure::input(&format!("{file}: more than {} MiB", MOST_OCTETS >> 20)));
    }
    Ok(octets)
}
