//! Output while a session runs: the page, JSON lines on standard output, a metrics endpoint.

use super::qlog::SessionLog;
use super::session::Session;
use super::summary;
use crate::failure::{Failure, note};
use crate::status_line::StatusLine;
use crate::web::{Hello, Live, Metrics, Page, Served, WebOptions};
use seaway_net::webrtc::StunServer;
use seaway_stream::BrowserTrack;
use seaway_units::{TimeDelta, Timestamp};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;

/// The outputs that the options select.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    page: Option<Page>,
    lines: bool,
    metrics: Option<Metrics>,
    line: Option<StatusLine>,
    log: Option<SessionLog>,
    next: Timestamp,
}

/// What `--stats` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Stats {
    /// One JSON object a line on standard output: `sample` ten times a second, `event` when something happens
    Json,
}

impl Reporter {
    const INTERVAL: TimeDelta = TimeDelta::from_millis(100);

    /// No output.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Prints JSON lines.
    pub(crate) fn with_stats(self, stats: Option<Stats>) -> Self {
        Self { lines: stats == Some(Stats::Json), ..self }
    }

    /// Shows how the session is on the terminal, if there is one.
    pub(crate) fn with_status_line(self) -> Self {
        Self { line: StatusLine::on_terminal(), ..self }
    }

    /// Writes a qlog.
    pub(crate) fn with_log(self, log: Option<SessionLog>) -> Self {
        Self { log, ..self }
    }

    /// Whether the terminal shows how the session is.
    pub(crate) const fn has_status_line(&self) -> bool {
        self.line.is_some()
    }

    /// Serves the page.
    pub(crate) fn with_page(
        mut self,
        listen: Option<SocketAddr>,
        options: &WebOptions,
        stun: Option<StunServer>,
        hello: impl FnOnce() -> Hello,
    ) -> Result<Self, Failure> {
        if let Some(listen) = listen {
            let refused =
                |error| Failure::input(&format!("no page at {listen}: {error}; --web takes another address"));
            let page = Page::open(listen, options, stun, hello()).map_err(refused)?;
            announce("page is", page.served());
            self.page = Some(page);
        }
        Ok(self)
    }

    /// Serves `/metrics`.
    pub(crate) fn with_metrics(
        mut self,
        listen: Option<SocketAddr>,
        options: &WebOptions,
    ) -> Result<Self, Failure> {
        if let Some(listen) = listen {
            let refused = |error| Failure::input(&format!("no metrics at {listen}: {error}"));
            let metrics = Metrics::open(listen, options).map_err(refused)?;
            announce("metrics are", metrics.served());
            self.metrics = Some(metrics);
        }
        Ok(self)
    }

    /// The page, where it is served.
    pub(crate) fn page(&self) -> Option<&Page> {
        self.page.as_ref()
    }

    /// Track number `track` of the page, where it is served.
    pub(crate) fn track(&self, track: usize) -> Option<BrowserTrack> {
        self.page.as_ref().map(|page| BrowserTrack::new(page.broadcast(), track))
    }

    /// Carries out the requests of viewers by `apply`, which returns what is in force now.
    pub(crate) fn serve_requests(
        &self,
        mut apply: impl FnMut(&BTreeMap<String, String>) -> Result<BTreeMap<&'static str, String>, String>,
    ) {
        let Some(page) = &self.page else { return };
        let wanted = page.take_wanted();
        if !wanted.is_empty() {
            match apply(&wanted) {
                Ok(settings) => page.set_settings(settings),
                Err(text) => page.send(&Live::Error { text }),
            }
        }
    }

    /// Reports the new events of `session` and, ten times a second, its values.
    pub(crate) fn report(&mut self, now: Timestamp, session: &mut Session) -> Result<(), Failure> {
        session.observe(now);
        for event in session.take_events() {
            self.send(&event)?;
        }
        if self.next <= now {
            self.next = now + Self::INTERVAL;
            let values = Box::new(session.sample(now));
            if let Some(metrics) = &self.metrics {
                metrics.set(&values);
            }
            if let Some(line) = &self.line {
                line.set(summary::line(&values, session.sender.is_some()));
            }
            self.send(&Live::Sample { time: session.time(now), values })?;
        }
        Ok(())
    }

    /// Ends the outputs; a qlog is put in its place.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.log.map_or(Ok(()), SessionLog::finish)
    }

    fn send(&mut self, message: &Live) -> Result<(), Failure> {
        if let Some(log) = &mut self.log {
            log.add(message)?;
        }
        if let Some(page) = &self.page {
            page.send(message);
        }
        if !self.lines {
            return Ok(());
        }
        let mut line = serde_json::to_string(message).map_err(|error| Failure::running(&error))?;
        line.push('\n');
        std::io::stdout().write_all(line.as_bytes()).map_err(|error| Failure::output(&error))
    }
}

/// Says where something is served, and what is to be known of it.
pub(crate) fn announce(what: &str, served: &Served) {
    note(&format!("the {what} at {}", served.url));
    served.notice.iter().for_each(|notice| note(notice));
}
