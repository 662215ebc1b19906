//! Names and sentences use the words of the field: no verbs of speech, no private words (CONTRIBUTING.md, section "Habits of the code").

mod tree;

use tree::files;

/// Words that were names here once, or are no names at all. Each stands for what an engineer would search for: report, signal, receive,
/// read, accounting, lookahead.
const PRIVATE: [&str; 22] = [
    "audience", "foresee", "foreseen", "foresees", "foretold", "hear", "heard", "hears", "hearsay", "luck",
    "nobody", "obey", "obeys", "patience", "somebody", "stranger", "tell", "telling", "tells", "theatre",
    "told", "whoever",
];
/// The lists themselves, and the changelog, which has names that are gone.
const EXEMPT: [&str; 2] = ["crates/testkit/tests/words.rs", "CHANGELOG.md"];

/// The private words of a text with their lines. Names count by their parts: `is_told`, `Told` and `TOLD` have one.
fn private(text: &str) -> Vec<(usize, String)> {
    let parts = |line: &str| -> Vec<String> {
        line.split(|c: char| !c.is_alphabetic()).flat_map(humps).map(str::to_lowercase).collect()
    };
    let found = text
        .lines()
        .zip(1..)
        .flat_map(|(line, number)| parts(line).into_iter().map(move |part| (number, part)));
    found.filter(|(_, part)| PRIVATE.contains(&part.as_str())).collect()
}

/// `ToldTwice` as `Told` and `Twice`.
fn humps(word: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = vec![0];
    let octets = word.as_bytes();
    starts.extend(
        (1..octets.len())
            .filter(|&at| octets[at].is_ascii_uppercase() && octets[at - 1].is_ascii_lowercase()),
    );
    starts.push(word.len());
    starts.windows(2).map(|pair| &word[pair[0]..pair[1]]).collect()
}

#[test]
fn texts_use_the_words_of_the_field() {
    let of_file = |(file, text): (String, String)| {
        let found = private(&text);
        found.into_iter().map(move |(line, word)| format!("{file}:{line}: {word}"))
    };
    let searched = files().into_iter().filter(|(file, _)| !EXEMPT.contains(&file.as_str()));
    let found: Vec<String> = searched.flat_map(of_file).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn private_words_are_found() {
    for text in [
        "It was told.",
        "let is_heard = true;",
        "struct ToldTwice;",
        "const NOBODY_LEFT: u8 = 1;",
        "fn hears_what() {}",
    ] {
        assert_eq!(private(text).len(), 1, "{text}");
    }
    for text in ["an intelligent shear of storytelling", "the scoreboard of SACK", "hearts"] {
        assert_eq!(private(text), [], "{text}");
    }
}
