//! The page: a web server on a thread of its own.
//!
//! `GET /` is the page (`page/` in this crate); `POST /api/watch` answers a browser's WebRTC offer; `/api/live` is a WebSocket
//! of JSON, [`Live`] to the browser and [`Request`](live::Request) back. Every request carries the token.

mod access;
mod assets;
mod connections;
mod live;
mod metrics;
mod serve;

pub(crate) use live::{ControlName, Hello, Live};

pub(crate) use metrics::Metrics;

use access::{Token, guard};
use axum::Router;
use axum::middleware::from_fn_with_state;
use live::Hub;
use seaway_net::webrtc::Broadcast;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// The running page. It ends with the process.
#[derive(Debug)]
pub(crate) struct Page {
    url: String,
    hub: Arc<Hub>,
    broadcast: Broadcast,
}

impl Page {
    /// Serves the page at `listen`; port 0 takes a free one.
    ///
    /// # Errors
    /// The address is in use, not ours, or the thread cannot be had.
    pub(crate) fn open(listen: SocketAddr, hello: Hello) -> io::Result<Self> {
        let broadcast = Broadcast::new(hello.pictures.clone());
        let hub = Arc::new(Hub::new(hello));
        let url = spawn_server("page", listen, "", serve::router(hub.clone(), broadcast.clone()))?;
        Ok(Self { url, hub, broadcast })
    }

    /// The address to open, with the token.
    pub(crate) fn url(&self) -> &str {
        &self.url
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

    /// The settings that viewers have asked for since the last call. Never blocks.
    pub(crate) fn take_wanted(&self) -> BTreeMap<String, String> {
        self.hub.take_wanted()
    }
}

/// Serves `router` at `listen` on a thread of its own, to whoever has the token; returns the address of `path` with the token.
fn spawn_server(name: &str, listen: SocketAddr, path: &str, router: Router) -> io::Result<String> {
    let token = Token::new()?;
    let listener = std::net::TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    let url = token.url(listener.local_addr()?, path);
    let router = router.layer(from_fn_with_state(token, guard));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name(name.into()).spawn(move || {
        runtime.block_on(async move {
            if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                connections::serve(listener, router).await;
            }
        });
    })?;
    Ok(url)
}
