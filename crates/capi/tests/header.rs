//! The header is that of the sources.

use std::path::Path;

#[test]
fn the_header_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let sources =
        ["lib.rs", "status.rs", "controller/mod.rs", "controller/values.rs", "sender.rs", "receiver.rs"];
    let builder = sources.iter().fold(cbindgen::Builder::new().with_config(config), |builder, source| {
        builder.with_src(root.join("src").join(source))
    });
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let (made, path) = (String::from_utf8(made).unwrap(), root.join("include/seaway.h"));
    if std::env::var_os("SEAWAY_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(
        kept == made,
        "the header is not that of the sources: SEAWAY_BLESS=1 cargo test -p seaway-capi --test header"
    );
}
