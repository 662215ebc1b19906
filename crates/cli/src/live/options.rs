//! What the commands of a live session have in common.

use super::keys::KeyOptions;
use super::network::NetworkOptions;
use super::qlog::{self, SessionLog};
use super::reporter::{Reporter, Stats};
use crate::failure::Failure;
use crate::web::{Hello, WebOptions};
use seaway_net::webrtc::IceServer;
use seaway_report::qlog::End;
use seaway_units::TimeDelta;
use std::net::SocketAddr;

/// Parses a time above zero.
///
/// # Errors
/// It is none.
pub(crate) fn bound(text: &str) -> Result<TimeDelta, String> {
    let bound: TimeDelta = text.parse().map_err(|error| format!("{error}"))?;
    if bound > TimeDelta::ZERO { Ok(bound) } else { Err("expected more than 0 s".into()) }
}

/// Options of `send` and `recv`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Watching")]
pub(crate) struct LiveOptions {
    /// End after this long, such as '30s'
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<TimeDelta>,
    /// Serve a page with the pictures and live plots at this address, such as 127.0.0.1:8090
    #[arg(long, value_name = "ADDR")]
    pub(crate) web: Option<SocketAddr>,
    /// Serve /metrics for Prometheus at this address
    #[arg(long, value_name = "ADDR")]
    pub(crate) metrics: Option<SocketAddr>,
    #[command(flatten)]
    web_options: WebOptions,
    /// Print JSON lines while it runs
    #[arg(long, conflicts_with = "json")]
    pub(crate) stats: Option<Stats>,
    /// Print the report as one JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Write every datagram to a capture file
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<String>,
    /// Write values, events and changes of the rate to a log in qlog's form (docs/qlog.md)
    #[arg(long, value_name = "FILE", value_parser = qlog::file)]
    pub(crate) qlog: Option<String>,
    /// Take options that are given neither here nor as SEAWAY_… variables from this file (TOML): 'latency = "300 ms"'
    #[arg(help_heading = "Configuration", long, value_name = "FILE")]
    config: Option<String>,
    #[command(flatten)]
    pub(crate) network: NetworkOptions,
    #[command(flatten)]
    pub(crate) keys: KeyOptions,
}

impl LiveOptions {
    /// The outputs that the options select.
    pub(crate) fn reporter(
        &self,
        title: &str,
        end: End,
        hello: impl FnOnce() -> Hello,
    ) -> Result<Reporter, Failure> {
        let log = self.qlog.as_deref().map(|name| SessionLog::create(name, title, end)).transpose()?;
        let reporter = Reporter::new().with_stats(self.stats).with_log(log);
        let reporter = reporter.with_page(self.web, &self.web_options, self.network.stun(), hello)?;
        Ok(reporter.with_metrics(self.metrics, &self.web_options)?.with_status_line())
    }

    /// Those of --ice-server.
    pub(crate) fn ice_servers(&self) -> Result<Vec<IceServer>, Failure> {
        self.web_options.ice_servers().map_err(|why| Failure::input(&why))
    }

    /// True if something shows the session while it runs.
    pub(crate) const fn is_watched(&self) -> bool {
        self.web.is_some() || self.metrics.is_some() || self.stats.is_some()
    }

    /// Whether standard output carries the report or the JSON lines.
    pub(crate) const fn uses_stdout(&self) -> bool {
        self.json || self.stats.is_some()
    }
}
