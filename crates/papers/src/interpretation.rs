//! How a paper is read where it is silent or contradicts itself.

use schemars::JsonSchema;
use serde::Serialize;

/// A choice that a paper leaves to its reader. There is one set for each paper; a row cannot make another choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Interpretation {
    /// What it is about.
    pub subject: &'static str,
    /// What is taken.
    pub taken: &'static str,
    /// What else the paper may mean; empty where it says nothing at all.
    pub literal: &'static str,
    /// Why.
    pub reason: &'static str,
    /// The keys of the paper's scenarios that it decides.
    #[serde(skip_serializing_if = "<[Key]>::is_empty")]
    pub keys: &'static [Key],
}

/// A key of a scenario and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Key {
    /// The scenario.
    pub scenario: &'static str,
    /// The key's path, as `--set` takes it.
    pub path: &'static str,
    /// Its value, as `--set` takes it.
    pub value: &'static str,
}

pub(crate) const fn key(scenario: &'static str, path: &'static str, value: &'static str) -> Key {
    Key { scenario, path, value }
}

impl Interpretation {
    /// Decides no key of a scenario: it says how results are counted.
    pub(crate) const NO_KEYS: Self = Self { subject: "", taken: "", literal: "", reason: "", keys: &[] };
}

/// What a paper itself varies in a row: a key that a run may change without another Reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Varied {
    /// The key's path; `*` stands for a part of it, or for a part's end.
    pub path: &'static str,
    /// The values that it may have; without any, those that the paper's text gives.
    pub values: &'static [&'static str],
    /// Where the paper says so.
    pub printed: &'static str,
}

impl Varied {
    /// True where this change is one that the paper makes.
    pub(crate) fn allows(&self, path: &str, value: &str) -> bool {
        let parts = || self.path.split('.').zip(path.split('.'));
        let is_path = self.path.split('.').count() == path.split('.').count()
            && parts().all(|(pattern, part)| match pattern.strip_suffix('*') {
                Some(start) => part.starts_with(start),
                None => pattern == part,
            });
        is_path && (self.values.is_empty() || self.values.contains(&value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_allowed_by_its_path_and_value() {
        let any = Varied { path: "flow.video-*.packet", values: &[], printed: "" };
        assert!(any.allows("flow.video-3.packet", "500 B"));
        assert!(!any.allows("flow.video-3.rate", "1") && !any.allows("flow.video-3.packet.more", "1"));
        let one = Varied { path: "duration", values: &["30 s"], printed: "" };
        assert!(one.allows("duration", "30 s") && !one.allows("duration", "31 s"));
    }
}
