//! An application that embeds a stream gets no simulator, and the lab gets no sockets.

/// The names of Seaway's crates in a manifest.
fn crates(manifest: &str) -> Vec<&str> {
    let names = manifest.lines().filter_map(|line| line.strip_prefix("seaway-"));
    names.filter_map(|line| line.split(['.', ' ']).next()).collect()
}

#[test]
fn stream_needs_neither_lab_nor_simulator() {
    let (stream, net) = (include_str!("../Cargo.toml"), include_str!("../../net/Cargo.toml"));
    assert!(crates(stream).contains(&"session"), "{:?}", crates(stream));
    for name in crates(stream).into_iter().chain(crates(net)) {
        assert!(!["lab", "sim", "papers", "report"].contains(&name), "{name}");
    }
}

#[test]
fn the_lab_opens_no_socket() {
    let lab = include_str!("../../lab/Cargo.toml");
    assert!(!crates(lab).contains(&"net"));
    assert!(
        lab.contains("seaway-stream.workspace = true\n"),
        "with the workspace's features, which are none"
    );
    let workspace = include_str!("../../../Cargo.toml");
    let stream = workspace.lines().find(|line| line.starts_with("seaway-stream = ")).unwrap();
    assert!(stream.contains("default-features = false"), "{stream}");
}
