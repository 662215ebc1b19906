//! The page: a web server on a thread of its own.
//!
//! `GET /` and the files beside it are the page (`page/` in this crate); `POST /api/watch` answers a browser's
//! WebRTC offer; `/api/live` is a WebSocket of JSON, [`Live`] to the browser and [`Request`] back.

mod assets;
mod live;
mod metrics;
mod serve;

pub(crate) use live::{ControlName, Hello, Live, Request};

pub(crate) use metrics::Metrics;

use axum::Router;
use live::Hub;
use seaway_net::webrtc::Broadcast;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// The running page. It ends with the process.
#[derive(Debug)]
pub(crate) struct Page {
    address: SocketAddr,
    hub: Arc<Hub>,
    broadcast: Broadcast,
    requests: Receiver<Request>,
}

impl Page {
    /// Serves the page at `listen`; port 0 takes a free one.
    ///
    /// # Errors
    /// The address is in use, not ours, or the thread cannot be had.
    pub(crate) fn open(listen: SocketAddr, hello: Hello) -> io::Result<Self> {
        let (to_us, requests) = channel();
        let broadcast = Broadcast::new(hello.pictures.clone());
        let hub = Arc::new(Hub::new(hello, to_us));
        let address = spawn_server("page", listen, serve::router(hub.clone(), broadcast.clone()))?;
        Ok(Self { address, hub, broadcast, requests })
    }

    /// Its address.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
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

    /// The next request of a viewer. Never blocks.
    pub(crate) fn poll_request(&self) -> Option<Request> {
        self.requests.try_recv().ok()
    }
}

/// Serves `router` at `listen` on a thread of its own; returns the address.
fn spawn_server(name: &str, listen: SocketAddr, router: Router) -> io::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name(name.into()).spawn(move || {
        runtime.block_on(async move {
            if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                // It only returns when the process ends.
                let _ = axum::serve(listener, serve::service(router)).await;
            }
        });
    })?;
    Ok(address)
}
