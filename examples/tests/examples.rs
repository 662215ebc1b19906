//! Every example runs, and is as short as the documentation says.

#[path = "../add_controller.rs"]
mod add_controller;
#[path = "../add_experiment.rs"]
mod add_experiment;
#[path = "../add_scenario.rs"]
mod add_scenario;

#[test]
fn they_run() {
    add_controller::main();
    add_scenario::main();
    add_experiment::main();
}

#[test]
fn they_are_short() {
    for (name, text) in [
        ("add_controller.rs", include_str!("../add_controller.rs")),
        ("add_scenario.rs", include_str!("../add_scenario.rs")),
        ("ferry.toml", include_str!("../ferry.toml")),
        ("add_experiment.rs", include_str!("../add_experiment.rs")),
    ] {
        assert!(text.lines().count() < 50, "{name} has {} lines", text.lines().count());
    }
}
