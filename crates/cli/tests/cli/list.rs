//! `seaway list`.

use crate::schema::check;
use crate::util::Bench;

#[test]
fn lists() {
    let bench = Bench::new();
    for what in ["controls", "experiments", "scenarios", "metrics", "schemas"] {
        let text = bench.run(&["list", what]);
        let json = bench.run(&["list", what, "--json"]).json();
        check(what, &json);
        let names: Vec<_> =
            json.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
        assert!(!names.is_empty());
        for name in names {
            assert!(text.stdout.contains(name), "{what}: {name}");
        }
    }
}
