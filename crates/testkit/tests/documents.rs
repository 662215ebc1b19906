//! Cited documents exist: every `.md` file and every section that code, documents, scenarios and scripts name.
//!
//! The form of a citation is the path from the root of the repository and the headings in quotes, for example
//! `docs/models/wlan.md`, section "Backoff", rule 3. Documents may link instead, relative to themselves, with an anchor.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Folders that hold no sources of the project.
const SKIPPED: [&str; 7] = ["target", "node_modules", "dist", ".git", "corpus", "artifacts", "__pycache__"];
/// Endings of the files that are searched.
const SEARCHED: [&str; 9] = ["rs", "md", "toml", "py", "sh", "js", "ts", "mjs", "tcl"];
/// Paths that begin so must exist, wherever they are named.
const ROOTS: [&str; 7] = ["crates/", "docs/", "examples/", "fuzz/", "peers/", "scenarios/", "validation/"];

/// The files of the repository by their path from its root; the text of those that are searched (transport streams, too,
/// end in `.ts`, and have none).
struct Tree(BTreeMap<String, String>);

impl Tree {
    fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = BTreeMap::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(root.join(&folder)).unwrap() {
                let entry = entry.unwrap();
                let (name, path) = (entry.file_name(), folder.join(entry.file_name()));
                if entry.file_type().unwrap().is_dir() {
                    if !SKIPPED.iter().any(|skipped| name == *skipped) {
                        folders.push(path);
                    }
                    continue;
                }
                let is_searched =
                    name == "Makefile" || SEARCHED.iter().any(|end| path.extension() == Some(end.as_ref()));
                let text = if is_searched {
                    fs::read_to_string(entry.path()).unwrap_or_default()
                } else {
                    String::new()
                };
                files.insert(path.to_str().unwrap().to_owned(), text);
            }
        }
        Self(files)
    }

    fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.0.contains_key(path)
            || self
                .0
                .range(format!("{path}/")..)
                .next()
                .is_some_and(|(next, _)| next.starts_with(&format!("{path}/")))
    }

    /// The path that `cited` in `file` means: from the root, or relative to the file.
    fn resolve(&self, file: &str, cited: &str) -> Option<String> {
        let beside = normal(&Path::new(file).parent().unwrap().join(cited));
        [normal(Path::new(cited)), beside].into_iter().find(|path| self.has(path))
    }

    fn headings(&self, path: &str) -> Vec<&str> {
        let mut is_code = false;
        let lines = self.0.get(path).map_or("", String::as_str).lines();
        lines
            .filter(|line| {
                is_code ^= line.starts_with("```");
                !is_code && line.starts_with('#')
            })
            .map(|line| line.trim_start_matches('#').trim())
            .collect()
    }

    /// What is wrong with the citations of `text`, the content of `file`.
    fn problems(&self, file: &str, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let flat = flat(file, text);
        for (end, _) in flat.match_indices(".md") {
            let (end, rest) = (end + 3, &flat[end + 3..]);
            let cited = path_before(&flat[..end]);
            let is_name = cited.len() > 3 && !cited.starts_with(['.', '/']) || cited.starts_with("../");
            if !is_name || rest.starts_with(|next: char| next.is_alphanumeric() || next == '_') {
                continue;
            }
            let by_name = || {
                self.0
                    .keys()
                    .find(|path| !cited.contains('/') && path.ends_with(&format!("/{cited}")))
                    .cloned()
            };
            let Some(path) = self.resolve(file, cited).or_else(by_name) else {
                found.push(format!("{cited} does not exist"));
                continue;
            };
            for section in sections(rest) {
                if !self.headings(&path).contains(&section) {
                    found.push(format!("{path} has no section {section:?}"));
                }
            }
        }
        for root in ROOTS {
            for (start, _) in flat.match_indices(root) {
                let before = flat[..start].chars().next_back().unwrap_or(' ');
                let cited = path_after(&flat[start..]);
                let is_file = Path::new(cited).extension().is_some_and(|end| end.len() <= 4);
                if !is_path(before) && before != '}' && is_file && !cited.ends_with(".md") && !self.has(cited)
                {
                    found.push(format!("{cited} does not exist"));
                }
            }
        }
        if file.ends_with(".md") {
            found.extend(links(text).filter_map(|link| self.broken(file, link)));
            let sources = text
                .split('`')
                .skip(1)
                .step_by(2)
                .filter(|part| part.contains("/src") && part.chars().all(is_path));
            let missing = sources.filter(|path| !self.has(path) && !self.has(&format!("crates/{path}")));
            found.extend(missing.map(|path| format!("{path} does not exist")));
        }
        found
    }

    /// Why a link of a document leads nowhere.
    fn broken(&self, file: &str, link: &str) -> Option<String> {
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        let target = normal(&Path::new(file).parent().unwrap().join(path));
        let target = if path.is_empty() { file.to_owned() } else { target };
        if !self.has(&target) {
            return Some(format!("the link {link} leads nowhere"));
        }
        let is_known =
            anchor.is_empty() || self.headings(&target).iter().any(|heading| slug(heading) == anchor);
        (!is_known).then(|| format!("{target} has no section for #{anchor}"))
    }
}

/// Comments and paragraphs run on over line ends: one line, without the marks of comments.
fn flat(file: &str, text: &str) -> String {
    let marks: &[&str] = match Path::new(file).extension().and_then(|end| end.to_str()) {
        Some("rs" | "js" | "ts" | "mjs") => &["///", "//!", "//"],
        Some("md") => &[],
        _ => &["#"],
    };
    let line = |line: &str| {
        let line = line.trim();
        marks.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim().to_owned()
    };
    text.lines().map(line).collect::<Vec<_>>().join(" ")
}

fn is_path(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-./".contains(c)
}

fn path_before(text: &str) -> &str {
    &text[text
        .rfind(|c| !is_path(c))
        .map_or(0, |at| at + text[at..].chars().next().map_or(0, char::len_utf8))..]
}

fn path_after(text: &str) -> &str {
    text[..text.find(|c| !is_path(c)).unwrap_or(text.len())].trim_end_matches('.')
}

/// The quoted headings behind a path: `, section "A"`, or `, sections "A", rule 1, and "B"`. A section that is not quoted
/// is none of a document.
fn sections(rest: &str) -> Vec<&str> {
    let rest = rest.trim_start_matches(['`', ')', ',', ' ']);
    let Some(mut rest) = rest.strip_prefix("section") else { return Vec::new() };
    let is_list = rest.starts_with('s');
    let mut found = Vec::new();
    rest = rest.trim_start_matches('s').trim_start();
    while let Some((heading, behind)) = rest.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
        found.push(heading);
        let next = behind.find('"').filter(|next| {
            let between = &behind[..*next];
            is_list && between.len() < 24 && (between.ends_with(", ") || between.ends_with(" and "))
        });
        rest = next.map_or("", |next| &behind[next..]);
    }
    if found.is_empty() { vec!["(cite the heading in quotes)"] } else { found }
}

/// The targets of a document's links into the repository.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    targets.filter(|target| !target.contains("://") && !target.contains(' '))
}

/// The anchor of a heading.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Without `.` and `..`.
fn normal(path: &Path) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(part) => parts.push(part.to_str().unwrap()),
            _ => {}
        }
    }
    parts.join("/")
}

#[test]
fn what_is_cited_exists() {
    let tree = Tree::read();
    let own = "crates/testkit/tests/documents.rs";
    let files = tree.0.iter().filter(|(file, _)| *file != own);
    let problems: Vec<String> = files
        .flat_map(|(file, text)| {
            tree.problems(file, text).into_iter().map(move |problem| format!("{file}: {problem}"))
        })
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The glossary's names are those of the code: paths below `crates`, and identifiers.
#[test]
fn names_of_the_glossary_exist() {
    let tree = Tree::read();
    let code: Vec<&str> = tree
        .0
        .iter()
        .filter(|(path, _)| path.ends_with(".rs") && *path != "crates/testkit/tests/documents.rs")
        .map(|(_, text)| text.as_str())
        .collect();
    let is_identifier = |c: char| c.is_alphanumeric() || c == '_';
    let is_used = |name: &str| {
        code.iter().any(|text| {
            text.match_indices(name).any(|(at, _)| {
                let (before, behind) =
                    (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
                !before.is_some_and(is_identifier) && !behind.is_some_and(is_identifier)
            })
        })
    };
    let glossary = &tree.0["docs/glossary.md"];
    let rows = glossary.lines().filter(|line| line.starts_with('|') && !line.starts_with("| ---"));
    let unknown: Vec<&str> = rows
        .flat_map(|row| row.split('|').skip(3))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .filter(|name| if name.contains('/') { !tree.has(&format!("crates/{name}")) } else { !is_used(name) })
        .collect();
    assert!(unknown.is_empty(), "the code does not have {unknown:?}");
    assert!(glossary.matches('`').count() > 100, "the glossary has lost its names");
}

#[test]
fn wrong_citations_are_found() {
    let tree = Tree::read();
    for (file, text) in [
        ("crates/a.rs", "/// See `docs/models/wlan.md`, section \"No such thing\"."),
        (
            "crates/a.rs",
            "//! See `docs/models/wlan.md`, sections \"Backoff\", rule 3, and\n//! \"No such thing\".",
        ),
        ("crates/a.rs", "/// wlan.md section 3.2"),
        ("crates/a.rs", "/// The sheet `docs/models/none.md`."),
        ("crates/a.rs", "\"crates/none/src/lib.rs\""),
        ("scenarios/a.toml", "# docs/models/wlan.md,\n# section \"No such thing\""),
        ("docs/a.md", "[text](models/none.md)"),
        ("docs/a.md", "[text](models/wlan.md#no-such-thing)"),
        ("README.md", "![picture](docs/images/none.jpg)"),
        ("ARCHITECTURE.md", "a file in `none/src`"),
    ] {
        assert!(!tree.problems(file, text).is_empty(), "{file}: {text}");
    }
    for (file, text) in [
        (
            "crates/a.rs",
            "/// `docs/models/wlan.md`, sections \"Backoff\",\n/// rules 2 and 3, and \"Queue\": a device waits.",
        ),
        ("docs/a.md", "[text](models/wlan.md#mac-constants), [another](https://example.org/none.md)"),
        ("docs/models/a.md", "`wlan.md`, section \"Backoff\""),
    ] {
        assert_eq!(tree.problems(file, text), Vec::<String>::new(), "{file}: {text}");
    }
}
