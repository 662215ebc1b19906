//! From a scenario to a world that can run.

use crate::scenario::Scenario;

/// The names of the links in the summary: a link that goes both ways is two, the way back `name/back`.
pub(crate) fn link_names(scenario: &Scenario) -> Vec<String> {
    let mut names = Vec::new();
    for link in &scenario.links {
        names.push(link.name.clone());
        if link.backward.is_some() {
            names.push(format!("{}/back", link.name));
        }
    }
    names
}
