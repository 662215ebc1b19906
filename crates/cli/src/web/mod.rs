//! The page: a web server on a thread of its own.
//!
//! `GET /` is the page (`page/` in this crate); `POST /whep` answers a player's WebRTC offer (WHEP); `/api/live` is a WebSocket
//! of JSON, [`Live`] to the browser and [`Request`](live::Request) back. Every request carries the token.

mod access;
mod assets;
mod connections;
mod ice;
mod live;
mod metrics;
mod serve;
mod tls;

pub(crate) use live::{ControlName, Hello, Live};

pub(crate) use metrics::{Metrics, PREFIX, family, labelled, serve_metrics, single};
pub(crate) use tls::{TlsOptions, WebOptions};

use access::{Access, Token, guard};
use axum::Router;
use axum::middleware::from_fn_with_state;
use ice::IceServers;
use live::Hub;
use seaway_net::reachable_address;
use seaway_net::webrtc::{Broadcast, StunServer};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// The running page. It ends with the process.
#[derive(Debug)]
pub(crate) struct Page {
    served: Served,
    hub: Arc<Hub>,
    broadcast: Broadcast,
}

/// What the user is notice of a server.
#[derive(Debug)]
pub(crate) struct Served {
    /// The address to open, with the token.
    pub url: String,
    /// A warning, or the fingerprint of a certificate.
    pub notice: Option<String>,
}

impl Page {
    /// Serves the page at `listen`; port 0 takes a free one.
    ///
    /// # Errors
    /// The address is in use, not ours, or the thread cannot be had; the certificate or a server of ICE cannot be used.
    pub(crate) fn open(
        listen: SocketAddr,
        options: &WebOptions,
        stun: Option<StunServer>,
        hello: Hello,
    ) -> io::Result<Self> {
        let broadcast = Broadcast::behind(hello.pictures.clone(), stun);
        let hub = Arc::new(Hub::new(hello));
        let servers =
            options.ice_servers().map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        let router = serve::router(hub.clone(), broadcast.clone(), IceServers::new(&servers));
        let served = spawn_server("page", listen, &options.tls, "", router)?;
        Ok(Self { served, hub, broadcast })
    }

    /// Where it is.
    pub(crate) const fn served(&self) -> &Served {
        &self.served
    }

    /// Sends a message to every browser. Never blocks.
    pub(crate) fn send(&self, message: &Live) {
        self.hub.send(message);
    }

    /// Sends the settings in force, also to browsers that connect later.
    pub(crate) fn set_settings(&self, settings: BTreeMap<&'static str, String>) {
        self.hub.set_settings(settings);
    }

    /// Publishes pictures; tracks are numbered as in [`Hello::pictures`].
    pub(crate) fn broadcast(&self) -> Broadcast {
        self.broadcast.clone()
    }

    /// Whether a viewer needs a key frame. Reading it clears the request.
    pub(crate) fn take_key_frame_request(&self) -> bool {
        self.broadcast.take_key_frame_request()
    }

    /// The settings that viewers have changed since the last call. Never blocks.
    pub(crate) fn take_wanted(&self) -> BTreeMap<String, String> {
        self.hub.take_wanted()
    }
}

/// Serves `router` at `listen` on a thread of its own, to requests with the token.
fn spawn_server(
    name: &str,
    listen: SocketAddr,
    options: &TlsOptions,
    path: &str,
    router: Router,
) -> io::Result<Served> {
    let token = Token::new()?;
    let (transport, notice) = options.transport(listen)?;
    let listener = std::net::TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    let url = token.url(transport.scheme(), reachable_address(listener.local_addr()?), path);
    let access = Access { token, any_name: transport.checks_names() };
    let router = router.layer(from_fn_with_state(access, guard));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name(name.into()).spawn(move || {
        runtime.block_on(async move {
            if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                connections::serve(listener, transport, router).await;
            }
        });
    })?;
    Ok(Served { url, notice })
}
