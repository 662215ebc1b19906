//! The connections of the page's server: bounded in number, and in the time until their request.

use super::tls::Transport;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Connections at a time. A browser has up to six.
const MOST: usize = 128;
/// The time for the handshake of TLS, and again for the header of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// The wait after a connection could not be accepted, for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A connection, as requests on it see it.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    /// Our own end: the address by which the browser reaches us.
    pub(super) local: Option<IpAddr>,
    admitted: Arc<AtomicBool>,
}

impl Connection {
    /// A request on it was let in.
    pub(super) fn admit(&self) {
        self.admitted.store(true, Ordering::Relaxed);
    }

    fn is_admitted(&self) -> bool {
        self.admitted.load(Ordering::Relaxed)
    }
}

/// Serves `router` for ever. Where there are too many connections, the oldest that was not let in gives way.
pub(super) async fn serve(listener: TcpListener, transport: Transport, router: Router) {
    let mut open: Vec<(Connection, AbortHandle)> = Vec::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        open.retain(|(_, task)| !task.is_finished());
        if open.len() >= MOST {
            let Some(oldest) = open.iter().position(|(connection, _)| !connection.is_admitted()) else {
                continue;
            };
            open.remove(oldest).1.abort();
        }
        let local = stream.local_addr().ok().map(|address| address.ip());
        let connection = Connection { local, admitted: Arc::default() };
        let router = router.clone().layer(Extension(connection.clone()));
        let task = tokio::spawn(secure(stream, transport.clone(), router));
        open.push((connection, task.abort_handle()));
    }
}

async fn secure(stream: TcpStream, transport: Transport, router: Router) {
    match transport {
        Transport::Plain => serve_one(stream, router).await,
        Transport::Certified(acceptor) | Transport::SelfMade(acceptor) => {
            // A client without TLS, or one that rejects the certificate, is disconnected.
            if let Ok(Ok(stream)) = tokio::time::timeout(HEADER_TIMEOUT, acceptor.accept(stream)).await {
                serve_one(stream, router).await;
            }
        }
    }
}

async fn serve_one(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, router: Router) {
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    let connection = server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // A browser that breaks off is no failure.
    let _ = connection.with_upgrades().await;
}
