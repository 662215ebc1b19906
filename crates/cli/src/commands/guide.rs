//! The commands in the guides are understood, and every option of live use is explained in one of them.

use super::Arguments;
use clap::{CommandFactory, Parser};
use std::path::Path;

/// The guides of live use; each explains options.
const GUIDES: [&str; 6] =
    ["field-guide.md", "recordings.md", "security.md", "stamp.md", "qlog.md", "grafana/README.md"];
/// In the place of `…` in a URL's key.
const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn guides() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let read = |name: &str| {
        std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    GUIDES.map(read).concat()
}

/// The lines of the code blocks, those joined that end in a backslash.
fn lines(text: &str) -> Vec<String> {
    let blocks: String = text
        .split("\n```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.split_once('\n'))
        .map(|(_, block)| format!("{block}\n"))
        .collect();
    blocks.replace("\\\n", " ").lines().map(str::to_owned).collect()
}

/// The words of a line of the shell; quotes hold words together, and a comment ends it.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            (letter, Some(_)) => word.get_or_insert_default().push(letter),
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            ('#', None) if word.is_none() => break,
            (' ', None) => words.extend(word.take()),
            (letter, None) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// The commands of `seaway` in a line: behind variables, and in pipes.
fn commands(line: &str) -> Vec<Vec<String>> {
    let words = words(line);
    let parts = words.split(|word| ["|", "&"].contains(&word.as_str()));
    let command = |part: &[String]| {
        let begin = part.iter().position(|word| !word.contains('='))?;
        (part[begin] == "seaway").then(|| part[begin..].to_vec())
    };
    parts.filter_map(command).collect()
}

#[test]
fn commands_of_the_guides_are_understood() {
    let text = guides().replace("key=…", &format!("key={KEY}"));
    let commands = lines(&text).iter().flat_map(|line| commands(line)).collect::<Vec<_>>();
    // What stands in a file is added later.
    let commands: Vec<_> =
        commands.into_iter().filter(|words| words.iter().all(|word| word != "--config")).collect();
    assert!(commands.len() > 40, "{}", commands.len());
    for command in commands {
        if let Err(error) = Arguments::try_parse_from(&command) {
            panic!("{command:?}: {error}");
        }
    }
}

/// Whether an option stands in the text, and not only a longer one that begins like it.
fn is_named(text: &str, option: &str) -> bool {
    let goes_on =
        |rest: &str| rest.starts_with(|letter: char| letter == '-' || letter.is_ascii_alphanumeric());
    text.match_indices(option).any(|(at, _)| !goes_on(&text[at + option.len()..]))
}

#[test]
fn every_option_of_live_use_is_explained() {
    let text = guides();
    for name in ["send", "recv"] {
        let root = Arguments::command();
        let command = root.find_subcommand(name).unwrap();
        let options =
            command.get_arguments().filter_map(|option| Some((option.get_long()?, option.get_short())));
        let missing: Vec<_> = options
            .filter(|(long, _)| !["help", "version"].contains(long))
            .filter(|(long, short)| {
                let names = short.map(|short| format!(" -{short}")).into_iter().chain([format!("--{long}")]);
                !names.into_iter().any(|name| is_named(&text, &name))
            })
            .collect();
        assert!(missing.is_empty(), "{name}: no guide explains {missing:?}");
    }
}

#[test]
fn a_line_has_words_as_the_shell_has_them() {
    assert_eq!(words("a 'b c' d=\"e f\"'g' '' # h"), ["a", "b c", "d=e fg", ""]);
    let line = "X=1 seaway recv a | cat - | seaway send -";
    assert_eq!(commands(line), [vec!["seaway", "recv", "a"], vec!["seaway", "send", "-"]]);
}
