//! What a package installs beside the binary.

use crate::util::Bench;
use std::process::Command;

#[test]
fn packages_get_manual_pages_and_completions() {
    let bench = Bench::new();
    let run = bench.run(&["generate", "share"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let page = bench.read("share/man/man1/seaway-recv.1");
    assert!(page.contains("\\-\\-key\\-file") && page.contains("seaway\\-recv"), "{page}");
    assert!(bench.read("share/man/man1/seaway.1").contains("seaway\\-shape(1)"));
    let pages = bench.names("share/man/man1");
    assert!(!pages.contains(&"seaway-decode.1".to_owned()), "a hidden command");
    assert!(!pages.iter().any(|page| page.starts_with("seaway-help")), "{pages:?}");
    assert!(bench.read("share/fish/vendor_completions.d/seaway.fish").contains("key-file"));
    assert!(bench.read("share/zsh/site-functions/_seaway").starts_with("#compdef seaway"));
    let completion = bench.path().join("share/bash-completion/completions/seaway");
    // `bash -n` reads it and runs nothing.
    if let Ok(output) = Command::new("bash").arg("-n").arg(completion).output() {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
