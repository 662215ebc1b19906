//! Who is told while a session runs: the page, JSON lines on standard output, a metrics endpoint.

use super::board::Board;
use crate::failure::{Failure, note};
use crate::web::{Hello, Live, Metrics, Page, Request};
use seaway_units::{TimeDelta, Timestamp};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;

/// The page, the lines and the metrics, each where it was asked for.
#[derive(Debug, Default)]
pub(crate) struct Console {
    page: Option<Page>,
    lines: bool,
    metrics: Option<Metrics>,
    next: Timestamp,
}

/// What `--stats` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Stats {
    /// One JSON object a line on standard output: `sample` ten times a second, `event` when something happens
    Json,
}

impl Console {
    const INTERVAL: TimeDelta = TimeDelta::from_millis(100);

    /// Tells nobody.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Prints JSON lines from now on.
    pub(crate) fn with_stats(mut self, stats: Option<Stats>) -> Self {
        self.lines = stats == Some(Stats::Json);
        self
    }

    /// Serves the page.
    pub(crate) fn with_page(
        mut self,
        listen: Option<SocketAddr>,
        hello: impl FnOnce() -> Hello,
    ) -> Result<Self, Failure> {
        if let Some(listen) = listen {
            let refused =
                |error| Failure::input(&format!("no page at {listen}: {error}; --web takes another address"));
            let page = Page::open(listen, hello()).map_err(refused)?;
            note(&format!("the page is at http://{}/", page.address()));
            self.page = Some(page);
        }
        Ok(self)
    }

    /// Serves `/metrics`.
    pub(crate) fn with_metrics(mut self, listen: Option<SocketAddr>) -> Result<Self, Failure> {
        if let Some(listen) = listen {
            let refused = |error| Failure::input(&format!("no metrics at {listen}: {error}"));
            let metrics = Metrics::open(listen).map_err(refused)?;
            note(&format!("the metrics are at http://{}/metrics", metrics.address()));
            self.metrics = Some(metrics);
        }
        Ok(self)
    }

    pub(crate) fn page(&self) -> Option<&Page> {
        self.page.as_ref()
    }

    /// What a viewer asks for.
    pub(crate) fn poll_request(&self) -> Option<Request> {
        self.page.as_ref().and_then(Page::poll_request)
    }

    /// Tells a viewer that a request was refused.
    pub(crate) fn refuse(&self, text: String) {
        self.tell_page(&Live::Error { text });
    }

    /// Notes what is in force.
    pub(crate) fn set_settings(&self, settings: &BTreeMap<&'static str, String>) {
        if let Some(page) = &self.page {
            page.set_settings(settings.clone());
        }
    }

    /// Tells what is new on the board.
    pub(crate) fn tell(&mut self, now: Timestamp, board: &mut Board) -> Result<(), Failure> {
        for event in board.take_events() {
            self.tell_page(&event);
            self.print(&event)?;
        }
        if self.next <= now {
            self.next = now + Self::INTERVAL;
            let values = Box::new(board.sample());
            if let Some(metrics) = &self.metrics {
                metrics.set(&values);
            }
            let sample = Live::Sample { time: board.time(now), values };
            self.tell_page(&sample);
            self.print(&sample)?;
        }
        Ok(())
    }

    fn tell_page(&self, message: &Live) {
        if let Some(page) = &self.page {
            page.tell(message);
        }
    }

    fn print(&self, message: &Live) -> Result<(), Failure> {
        if !self.lines {
            return Ok(());
        }
        let mut line = serde_json::to_string(message).map_err(|error| Failure::running(&error))?;
        line.push('\n');
        std::io::stdout().write_all(line.as_bytes()).map_err(|error| Failure::output(&error))
    }
}
