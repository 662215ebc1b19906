//! Options of `send` and `recv` from environment variables and a file, for those that the command line does not give.
//!
//! What is found becomes a part of the command line, which is then parsed as a whole: an option means and refuses the same, wherever
//! it comes from.

use crate::failure::Failure;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use seaway_control::nearest;
use std::ffi::OsString;
use toml::{Table, Value};

/// The commands that have this.
const COMMANDS: [&str; 2] = ["send", "recv"];
/// The option that names the file.
const FILE: &str = "config";
/// Variables of other meaning: they hide a secret from the list of processes, and are read where it is needed.
const OTHERS: [&str; 1] = ["token"];

/// The command line with the options of the environment and of the file of `--config`. The command line comes first, then the
/// environment, then the file.
///
/// # Errors
/// The file cannot be read, or a key, a variable or the type of a value is wrong.
pub(crate) fn complete(
    command: &Command,
    mut line: Vec<OsString>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<OsString>, Failure> {
    // What is wrong with the line itself is said when it is parsed as a whole.
    let Ok(matches) = command.clone().ignore_errors(true).try_get_matches_from(&line) else {
        return Ok(line);
    };
    let Some((name, given)) = matches.subcommand().filter(|(name, _)| COMMANDS.contains(name)) else {
        return Ok(line);
    };
    let arguments = command.find_subcommand(name).into_iter().flat_map(Command::get_arguments);
    let known: Vec<&Arg> = arguments.filter(|arg| !OTHERS.contains(&key_of(arg))).collect();
    let mut found = Found::default();
    let lacking = known.iter().filter(|arg| !is_given(given, arg));
    for arg in lacking.filter(|arg| arg.get_long().is_some()) {
        let name = format!("SEAWAY_{}", key_of(arg).to_uppercase().replace('-', "_"));
        if let Some(text) = variable(&name).filter(|text| !text.is_empty()) {
            let wrong = |why| Failure::input(&format!("{name}: {why}"));
            found.add(arg, &Value::String(text)).map_err(wrong)?;
        }
    }
    let file = given.try_get_one::<String>(FILE).ok().flatten().or(found.file.as_ref()).cloned();
    if let Some(file) = file {
        let wrong = |why: String| Failure::input(&format!("{file}: {why}"));
        let table = read(&file, name, &known).map_err(wrong)?;
        for arg in known.iter().filter(|arg| !is_given(given, arg)) {
            if let Some(value) = table.get(key_of(arg)).filter(|_| !found.has(arg)) {
                found.add(arg, value).map_err(|why| wrong(format!("{}: {why}", key_of(arg))))?;
            }
        }
    }
    // Behind the name of the command; the first word is that of the program.
    let at = line.iter().skip(1).position(|word| *word == *name).map_or(line.len(), |at| at + 2);
    line.splice(at..at, found.options);
    line.extend(found.words.into_iter().map(OsString::from));
    Ok(line)
}

/// The table in `file`, whose keys are options of the command.
fn read(file: &str, command: &str, known: &[&Arg]) -> Result<Table, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let table: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let keys = known.iter().map(|arg| key_of(arg)).filter(|key| *key != FILE);
    match table.keys().find(|key| !keys.clone().any(|known| known == *key)) {
        None => Ok(table),
        Some(key) => Err(format!("unknown key `{key}` of `seaway {command}`; {}", nearest(key, keys))),
    }
}

/// The key of an option in the file: its name, and for one without dashes what the help calls it.
fn key_of(arg: &Arg) -> &str {
    arg.get_long().unwrap_or_else(|| arg.get_id().as_str())
}

fn is_given(given: &ArgMatches, arg: &Arg) -> bool {
    matches!(given.value_source(arg.get_id().as_str()), Some(ValueSource::CommandLine))
}

/// What the command line lacks.
#[derive(Debug, Default)]
struct Found {
    names: Vec<String>,
    options: Vec<OsString>,
    /// Arguments without a name, in the order of their places.
    words: Vec<String>,
    file: Option<String>,
}

impl Found {
    fn has(&self, arg: &Arg) -> bool {
        self.names.iter().any(|name| name == key_of(arg))
    }

    /// Adds the value of an option.
    fn add(&mut self, arg: &Arg, value: &Value) -> Result<(), String> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Boolean(is_set) => is_set.to_string(),
            other => {
                return Err(format!(
                    "expected a text, a number or true or false, found {}",
                    other.type_str()
                ));
            }
        };
        self.names.push(key_of(arg).to_owned());
        match (arg.get_long(), arg.get_action()) {
            (Some(FILE), _) => self.file = Some(text),
            (None, _) => self.words.push(text),
            (Some(long), ArgAction::SetTrue) => match text.as_str() {
                "true" | "1" => self.options.push(format!("--{long}").into()),
                "false" | "0" => {}
                _ => return Err(format!("expected true or false, found {text:?}")),
            },
            (Some(long), _) => self.options.push(format!("--{long}={text}").into()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Arguments;
    use clap::{CommandFactory, Parser};

    fn completed(line: &str, variables: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let words = line.split(' ').map(OsString::from).collect();
        let line = complete(&Arguments::command(), words, variable).map_err(|failure| failure.to_string())?;
        Ok(line.into_iter().map(|word| word.into_string().unwrap()).collect())
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn the_line_comes_before_the_environment_and_that_before_the_file() {
        let file = file(
            "source = \"rtp://127.0.0.1:5004\"\nlatency = \"1 s\"\nstats = \"json\"\ninsecure = true\nstamp = false\n",
        );
        let line = format!("seaway recv --latency 2s --config {}", file.path().display());
        let variables =
            [("SEAWAY_STATS", "json"), ("SEAWAY_LATENCY", "3s"), ("SEAWAY_STAMP", "1"), ("SEAWAY_QLOG", "")];
        let words = completed(&line, &variables).unwrap();
        assert_eq!(words[..2], ["seaway", "recv"]);
        assert!(
            ["--stats=json", "--stamp", "--insecure"].iter().all(|word| words.contains(&(*word).to_owned())),
            "{words:?}"
        );
        assert_eq!(words.last().unwrap(), "rtp://127.0.0.1:5004");
        assert_eq!(words.iter().filter(|word| word.contains("latency")).count(), 1, "{words:?}");
        assert!(Arguments::try_parse_from(&words).is_ok(), "{words:?}");
    }

    #[test]
    fn a_file_that_the_environment_names_fills_in_what_is_missing() {
        let file =
            file("input = \"clip.mp4\"\ndestination = \"rtp://127.0.0.1:5004\"\nrate = \"1..2Mbit/s\"\n");
        let name = file.path().display().to_string();
        let words = completed("seaway send", &[("SEAWAY_CONFIG", &name)]).unwrap();
        assert_eq!(words[words.len() - 2..], ["clip.mp4", "rtp://127.0.0.1:5004"]);
        let words = completed("seaway send other.mp4", &[("SEAWAY_CONFIG", &name)]).unwrap();
        assert_eq!(words[words.len() - 2..], ["other.mp4", "rtp://127.0.0.1:5004"]);
        assert!(Arguments::try_parse_from(&words).is_ok(), "{words:?}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, why) in [
            ("latancy = \"1 s\"", "unknown key `latancy` of `seaway recv`; did you mean latency?"),
            ("config = \"other.toml\"", "unknown key `config`"),
            ("token = \"secret\"", "unknown key `token`"),
            ("insecure = \"perhaps\"", "insecure: expected true or false, found \"perhaps\""),
            ("latency = [1]", "latency: expected a text, a number or true or false, found array"),
            ("latency", "expected"),
        ] {
            let file = file(text);
            let refused =
                completed(&format!("seaway recv --config {}", file.path().display()), &[]).unwrap_err();
            assert!(
                refused.contains(why) && refused.starts_with(&file.path().display().to_string()),
                "{refused}"
            );
        }
        assert!(completed("seaway recv --config none.toml", &[]).unwrap_err().starts_with("none.toml: "));
        let refused = completed("seaway send a b", &[("SEAWAY_REPEAT", "often")]).unwrap_err();
        assert_eq!(refused, "SEAWAY_REPEAT: expected true or false, found \"often\"");
    }

    #[test]
    fn other_commands_and_wrong_lines_stay_as_they_are() {
        for line in ["seaway sim clean", "seaway recv --bogus", "seaway", "seaway send --help"] {
            assert_eq!(completed(line, &[]).unwrap().join(" "), line);
        }
        assert_eq!(completed("seaway sim clean", &[("SEAWAY_SEED", "3")]).unwrap().len(), 3);
        // The token of a media server is read where it is needed.
        assert_eq!(completed("seaway send a b", &[("SEAWAY_TOKEN", "secret")]).unwrap().len(), 4);
    }
}
