//! Cited documents exist: every `.md` file, section and source file that code, documents, scenarios and scripts name.
//!
//! A citation is the path from the root of the repository and the headings in quotes, for example
//! `docs/models/wlan.md`, section "Backoff", rule 3. Documents may link instead, relative to themselves, with an anchor.

mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use tree::{files, root};

const OWN: &str = "crates/testkit/tests/documents.rs";
/// Paths with this beginning must exist.
const ROOTS: [&str; 7] = ["crates/", "docs/", "examples/", "fuzz/", "peers/", "scenarios/", "validation/"];

fn exists(path: impl AsRef<Path>) -> bool {
    root().join(path).exists()
}

fn headings(path: impl AsRef<Path>) -> Vec<String> {
    let text = fs::read_to_string(root().join(path)).unwrap_or_default();
    let prose = text.split("\n```").step_by(2).flat_map(str::lines);
    prose
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim().to_owned())
        .collect()
}

/// What is wrong with the citations of `text`, the content of `file`. `names` are those of all documents.
fn problems(file: &str, text: &str, names: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let flat = flat(file, text);
    let folder = Path::new(file).parent().unwrap();
    for (at, _) in flat.match_indices(".md") {
        let (before, rest) = flat.split_at(at + 3);
        let cited = &before[before
            .rfind(|c| !is_path(c))
            .map_or(0, |at| at + before[at..].chars().next().map_or(0, char::len_utf8))..];
        let is_url = cited.starts_with('/');
        if cited == ".md" || is_url || rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let by_name = names.iter().find(|name| name.ends_with(&format!("/{cited}"))).map(PathBuf::from);
        let path = [PathBuf::from(cited), folder.join(cited)].into_iter().find(|path| exists(path));
        let Some(path) = path.or(by_name) else {
            found.push(format!("{cited} does not exist"));
            continue;
        };
        let known = headings(&path);
        let missing =
            sections(rest).into_iter().filter(|section| !known.iter().any(|heading| heading == section));
        found.extend(missing.map(|section| format!("{} has no section {section:?}", path.display())));
    }
    for (at, _) in ROOTS.iter().flat_map(|root| flat.match_indices(root)) {
        let (before, rest) = flat.split_at(at);
        let cited = rest[..rest.find(|c| !is_path(c)).unwrap_or(rest.len())].trim_end_matches('.');
        let is_file = Path::new(cited).extension().is_some_and(|end| end.len() <= 4);
        if is_file && !before.ends_with(|c| is_path(c) || c == '}') && !exists(cited) {
            found.push(format!("{cited} does not exist"));
        }
    }
    if file.ends_with(".md") {
        let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
        let links = links.filter(|link| !link.contains("://") && !link.contains(' '));
        found.extend(
            links.filter(|link| is_broken(file, link)).map(|link| format!("the link {link} leads nowhere")),
        );
        let sources = text
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|part| part.contains("/src") && part.chars().all(is_path));
        let missing = sources.filter(|path| !exists(path) && !exists(format!("crates/{path}")));
        found.extend(missing.map(|path| format!("{path} does not exist")));
    }
    found
}

fn is_broken(file: &str, link: &str) -> bool {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target =
        if path.is_empty() { PathBuf::from(file) } else { Path::new(file).parent().unwrap().join(path) };
    let slug = |heading: &String| -> String {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    !exists(&target) || !anchor.is_empty() && !headings(target).iter().any(|heading| slug(heading) == anchor)
}

/// The text as one line without the marks of comments, as a citation may continue on the next line.
fn flat(file: &str, text: &str) -> String {
    let marks: &[&str] = match file.rsplit('.').next() {
        Some("rs" | "js" | "ts" | "mjs") => &["///", "//!", "//"],
        Some("md") => &[],
        _ => &["#"],
    };
    let bare =
        |line: &str| marks.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim().to_owned();
    text.lines().map(|line| bare(line.trim())).collect::<Vec<_>>().join(" ")
}

fn is_path(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-./".contains(c)
}

/// The headings cited after a path: `, section "A"`, or `, sections "A", rule 1, and "B"`.
fn sections(rest: &str) -> Vec<&str> {
    let Some(rest) = rest.trim_start_matches(['`', ')', ',', ' ']).strip_prefix("section") else {
        return Vec::new();
    };
    let (is_list, mut rest) = (rest.starts_with('s'), rest.trim_start_matches('s').trim_start());
    let mut found = Vec::new();
    while let Some((heading, after)) = rest.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
        found.push(heading);
        let next = after.find('"').filter(|next| is_list && *next < 24 && after[..*next].ends_with([' ']));
        rest = next.map_or("", |next| &after[next..]);
    }
    if found.is_empty() { vec!["(cite the heading in quotes)"] } else { found }
}

#[test]
fn what_is_cited_exists() {
    let files = files();
    let names: Vec<&str> =
        files.iter().map(|(file, _)| file.as_str()).filter(|file| file.ends_with(".md")).collect();
    let of_file = |(file, text): &(String, String)| {
        problems(file, text, &names)
            .into_iter()
            .map(|problem| format!("{file}: {problem}"))
            .collect::<Vec<_>>()
    };
    let problems: Vec<String> = files.iter().filter(|(file, _)| file != OWN).flat_map(of_file).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The glossary's names are those of the code: paths below `crates`, and identifiers.
#[test]
fn names_of_the_glossary_exist() {
    let code: String =
        files().into_iter().filter(|(file, _)| file.ends_with(".rs")).map(|(_, text)| text).collect();
    let mut words: Vec<&str> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    words.sort_unstable();
    let glossary = fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let rows = glossary.lines().filter(|line| line.starts_with('|'));
    let names =
        rows.flat_map(|row| row.split('|').skip(3)).flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let is_known = |name: &&str| exists(format!("crates/{name}")) || words.binary_search(name).is_ok();
    let unknown: Vec<&str> = names.clone().filter(|name| !is_known(name)).collect();
    assert!(unknown.is_empty() && names.count() > 100, "the code does not have {unknown:?}");
}

#[test]
fn wrong_citations_are_found() {
    for (file, text) in [
        ("crates/a.rs", "/// See `docs/models/wlan.md`, section \"No such thing\"."),
        (
            "crates/a.rs",
            "//! See `docs/models/wlan.md`, sections \"Backoff\", rule 3, and\n//! \"No such thing\".",
        ),
        ("crates/a.rs", "/// wlan.md section 3.2"),
        ("crates/a.rs", "/// The model `docs/models/none.md`."),
        ("crates/a.rs", "\"crates/none/src/lib.rs\""),
        ("scenarios/a.toml", "# docs/models/wlan.md,\n# section \"No such thing\""),
        ("docs/a.md", "[text](models/none.md)"),
        ("docs/a.md", "[text](models/wlan.md#no-such-thing)"),
        ("README.md", "![picture](docs/images/none.jpg)"),
        ("ARCHITECTURE.md", "a file in `none/src`"),
    ] {
        assert!(!problems(file, text, &["docs/models/wlan.md"]).is_empty(), "{file}: {text}");
    }
    for (file, text) in [
        (
            "crates/a.rs",
            "/// `docs/models/wlan.md`, sections \"Backoff\",\n/// rules 2 and 3, and \"Queue\": a device waits.",
        ),
        ("docs/a.md", "[text](models/wlan.md#mac-constants), [another](https://example.org/none.md)"),
        ("docs/models/a.md", "`wlan.md`, section \"Backoff\""),
    ] {
        assert_eq!(problems(file, text, &[]), Vec::<String>::new(), "{file}: {text}");
    }
}
