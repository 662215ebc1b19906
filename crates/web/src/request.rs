//! Requests and their answers.

use crate::describe::{self, Listing};
use crate::{papers, run};
use seaway_lab::library;
use seaway_lab::scenario::{Override, Scenario, Text};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Request {
    /// The scenarios of the library, the controllers and the metrics.
    List,
    /// What a scenario has: its flows and the link that limits it.
    Describe(Source),
    /// The summary of a run, as `seaway sim --json --no-timing` prints it.
    Summary(Source),
    /// A run for a page: the numbers, time series and rate changes of one flow.
    Run { flow: String, source: Source },
    /// The papers and those of their rows that are made by runs.
    Papers,
    /// Rows, as `seaway reproduce --json` prints them.
    Reproduce { ids: Vec<String>, seeds: u16 },
    /// Goes on with a row by one case: how many are left, or its numbers and figures.
    Row { id: String, seeds: u16, width: f64 },
    /// The figures of the row that was made last, with its slider at this value where there is one.
    Figures { at: Option<f64>, width: f64 },
}

/// A scenario and its changes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    /// Its name in messages.
    file: String,
    /// The scenario of the library that it is, or that it was before it was edited: the files that it names are there.
    library: String,
    /// Its text; absent: that of the library.
    text: Option<String>,
    /// Changes, as `--set` has them.
    #[serde(default)]
    set: Vec<String>,
}

impl Source {
    /// Reads the scenario.
    ///
    /// # Errors
    /// What the command line says.
    pub(crate) fn scenario(&self) -> Result<Scenario, String> {
        let entry = library::find(&self.library)?;
        let overrides = self.set.iter().map(|change| change.parse()).collect::<Result<Vec<Override>, _>>()?;
        let text = self.text.as_deref().unwrap_or(entry.text);
        let text = Text { file: &self.file, text, read: &|name| entry.read(name) };
        Scenario::parse(text, &overrides).map_err(|error| error.to_string())
    }
}

/// Answers a request. What cannot be done is answered by `{"error": …}`.
pub fn answer(request: &str) -> String {
    let request = serde_json::from_str(request).map_err(|error| format!("request: {error}"));
    match request.and_then(|request| perform(&request)) {
        Ok(answer) => answer,
        Err(error) => json!({ "error": error }).to_string(),
    }
}

fn perform(request: &Request) -> Result<String, String> {
    match request {
        Request::List => text(&Listing::new()),
        Request::Describe(source) => text(&describe::Description::of(&source.scenario()?)),
        Request::Summary(source) => run::summary(&source.scenario()?),
        Request::Run { flow, source } => text(&run::of_flow(&source.scenario()?, flow)?),
        Request::Papers => text(&papers::Listing::new()),
        Request::Reproduce { ids, seeds } => papers::document(ids, *seeds),
        Request::Row { id, seeds, width } => text(&papers::go_on(id, *seeds, *width)?),
        Request::Figures { at, width } => text(&papers::figures(*at, *width)?),
    }
}

fn text(answer: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(answer).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn ask(request: &Value) -> Value {
        serde_json::from_str(&answer(&request.to_string())).unwrap()
    }

    #[test]
    fn a_run_has_the_series_of_its_flow_and_the_causes_of_its_rate() {
        let source = json!({
            "file": "squeeze", "library": "squeeze", "set": ["flow.video.control=gcc", "duration=12 s"],
        });
        let run = ask(&json!({ "do": "run", "flow": "video", "source": source }));
        assert_eq!(run["bottleneck"], "bottleneck");
        assert_eq!(run["duration_s"], 12.0);
        let capacity = run["traces"].as_array().unwrap().iter().find(|trace| trace["name"] == "capacity");
        let capacity = capacity.unwrap()["values"].as_array().unwrap();
        assert_eq!((capacity.len(), &capacity[50], &capacity[110]), (120, &json!(4e6), &json!(1e6)));
        assert!(run["changes"].as_array().unwrap().len() > 10);
        let list = ask(&json!({ "do": "list" }));
        let at =
            list["metrics"].as_array().unwrap().iter().position(|metric| metric["key"] == "received_bps");
        let received = run["numbers"][at.unwrap()].as_f64().unwrap();
        assert!(received > 3e5 && received < 3e6, "{received}");
    }

    #[test]
    fn a_mistake_is_named_as_on_the_command_line() {
        let entry = library::find("squeeze").unwrap();
        let text = entry.text.replace("delay = \"20 ms\"", "delay = 20");
        let wrong = json!({ "do": "describe", "file": "mine.toml", "library": "squeeze", "text": text });
        let read = |_: &str| Err(String::new());
        let expected =
            Scenario::parse(Text { file: "mine.toml", text: &text, read: &read }, &[]).unwrap_err();
        assert_eq!(ask(&wrong), json!({ "error": expected.to_string() }));
        assert!(expected.to_string().starts_with("mine.toml:13:"), "{expected}");
        let unknown = json!({ "do": "run", "flow": "x", "source": { "file": "", "library": "squeeze" } });
        assert!(ask(&unknown)["error"].as_str().unwrap().contains("no media flow"));
        assert!(ask(&json!({ "do": "sing" }))["error"].as_str().unwrap().contains("sing"));
        assert!(answer("\u{0}").contains("error"));
    }
}
