//! The two transports behind one interface.

use seaway_units::{Bitrate, Ecn, TimeDelta, Timestamp};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

/// One of the two endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Client,
    Server,
}

/// What an endpoint sends.
#[derive(Debug)]
pub struct Datagram {
    pub payload: Vec<u8>,
    /// It may be marked.
    pub is_capable: bool,
}

/// A client and a server of one connection; the client sends.
pub trait Transport {
    fn handle(&mut self, to: End, now: Timestamp, payload: &[u8], ecn: Ecn);
    fn run_timers(&mut self, end: End, now: Timestamp);
    fn next_timeout(&mut self) -> Option<Timestamp>;
    fn poll_datagram(&mut self, from: End, now: Timestamp) -> Option<Datagram>;
    fn is_connected(&self) -> bool;
    /// A new stream of the client.
    fn open(&mut self) -> u64;
    /// How many of so many octets the transport takes.
    fn write(&mut self, stream: u64, octets: usize) -> usize;
    /// A stream sends only what others leave.
    fn yield_to_others(&mut self, stream: u64);
    /// Finishes a stream, or resets it, where it is still open.
    fn end(&mut self, stream: u64, reset: bool);
    /// Octets that the server could read.
    fn read_all(&mut self) -> u64;
    /// What the client's controller says that it allows.
    fn allowed_rate(&self) -> Option<Bitrate>;
}

/// Of the client.
const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 4433);

/// Virtual time for transports that take the system's instants: nothing reads the system's clock later.
#[derive(Debug, Clone, Copy)]
struct Epoch(Instant);

impl Epoch {
    #[expect(clippy::disallowed_methods, reason = "instants cannot be made otherwise")]
    fn new() -> Self {
        Self(Instant::now())
    }

    fn at(self, now: Timestamp) -> Instant {
        self.0 + Duration::from_nanos(now.as_nanos())
    }

    fn of(self, instant: Instant) -> Timestamp {
        let nanos = instant.saturating_duration_since(self.0).as_nanos();
        Timestamp::ZERO + TimeDelta::from_nanos(nanos as i64)
    }
}

/// Differs by the endpoint and by the run.
fn random_seed(seed: u64, end: u8) -> Option<[u8; 32]> {
    let mut bytes = [end; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    Some(bytes)
}

/// A certificate of the server's. Signatures of Ed25519 have one length, so that packets have too.
fn certificate() -> (rustls::pki_types::CertificateDer<'static>, rustls::pki_types::PrivateKeyDer<'static>) {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("a key");
    let names = rcgen::CertificateParams::new(["server".to_owned()]).expect("a name");
    let certificate = names.self_signed(&key).expect("a certificate");
    (certificate.into(), rustls::pki_types::PrivateKeyDer::Pkcs8(key.serialize_der().into()))
}

/// The transports' interfaces are alike and their types are not.
macro_rules! stack {
    ($module:ident, $proto:ident, $endpoint:expr, $batch:expr, $address:expr, $deliver:expr, $allowed:expr) => {
        pub mod $module {
            use super::*;
            use bytes::BytesMut;
            use std::collections::VecDeque;
            use std::sync::Arc;
            use $proto::congestion::ControllerFactory;
            use $proto::{
                ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint,
                EndpointConfig, Event, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
            };

            /// A client and a server.
            pub struct Pair {
                epoch: Epoch,
                client: Side,
                server: Side,
                is_connected: bool,
                readable: Vec<StreamId>,
            }

            struct Side {
                endpoint: Endpoint,
                connection: Option<(ConnectionHandle, Connection)>,
                waiting: VecDeque<Datagram>,
            }

            impl Pair {
                /// The client sends by a controller that `factory` makes.
                pub fn new(factory: Arc<dyn ControllerFactory + Send + Sync>, seed: u64) -> Self {
                    let epoch = Epoch::new();
                    let (certificate, key) = certificate();
                    let mut roots = rustls::RootCertStore::empty();
                    roots.add(certificate.clone()).expect("a root");
                    let server = ServerConfig::with_single_cert(vec![certificate], key).expect("a server");
                    let mut client = ClientConfig::with_root_certificates(Arc::new(roots)).expect("a client");
                    let mut transport = TransportConfig::default();
                    transport.congestion_controller_factory(factory);
                    client.transport_config(Arc::new(transport));
                    let endpoint = |end: u8, server| {
                        let mut config = EndpointConfig::default();
                        config.rng_seed(random_seed(seed, end));
                        let endpoint = $endpoint(Arc::new(config), server);
                        Side { endpoint, connection: None, waiting: VecDeque::new() }
                    };
                    let server = endpoint(1, Some(Arc::new(server)));
                    let mut side = endpoint(0, None);
                    let connection = side
                        .endpoint
                        .connect(epoch.at(Timestamp::ZERO), client, ADDRESS, "server")
                        .expect("a connection");
                    side.connection = Some(connection);
                    Self { epoch, client: side, server, is_connected: false, readable: Vec::new() }
                }

                fn side(&mut self, end: End) -> &mut Side {
                    match end {
                        End::Client => &mut self.client,
                        End::Server => &mut self.server,
                    }
                }

                fn connection(&mut self) -> &mut Connection {
                    &mut self.client.connection.as_mut().expect("the client has one").1
                }

                fn run_events(&mut self) {
                    for end in [End::Client, End::Server] {
                        let side = self.side(end);
                        let Some((handle, connection)) = &mut side.connection else { continue };
                        while let Some(event) = connection.poll_endpoint_events() {
                            if let Some(event) = side.endpoint.handle_event(*handle, event) {
                                connection.handle_event(event);
                            }
                        }
                        let mut events = Vec::new();
                        while let Some(event) = connection.poll() {
                            events.push(event);
                        }
                        for event in events {
                            self.on_event(end, event);
                        }
                    }
                }

                fn on_event(&mut self, end: End, event: Event) {
                    match event {
                        Event::Connected if end == End::Client => self.is_connected = true,
                        Event::ConnectionLost { reason } => panic!("the connection is lost: {reason}"),
                        Event::Stream(StreamEvent::Readable { id }) => self.readable.push(id),
                        Event::Stream(StreamEvent::Opened { dir }) if end == End::Server => {
                            let Some((_, connection)) = &mut self.server.connection else { return };
                            while let Some(id) = connection.streams().accept(dir) {
                                self.readable.push(id);
                            }
                        }
                        _ => {}
                    }
                }
            }

            impl Transport for Pair {
                fn handle(&mut self, to: End, now: Timestamp, payload: &[u8], ecn: Ecn) {
                    let now = self.epoch.at(now);
                    let ecn = match ecn {
                        Ecn::NotEct => None,
                        Ecn::Ce => Some(EcnCodepoint::Ce),
                        _ => Some(EcnCodepoint::Ect0),
                    };
                    let side = self.side(to);
                    let mut response = Vec::new();
                    let event = $deliver(
                        &mut side.endpoint,
                        now,
                        $address,
                        ecn,
                        BytesMut::from(payload),
                        &mut response,
                    );
                    match event {
                        Some(DatagramEvent::ConnectionEvent(_, event)) => {
                            if let Some((_, connection)) = &mut side.connection {
                                connection.handle_event(event);
                            }
                        }
                        Some(DatagramEvent::NewConnection(incoming)) => {
                            let accepted = side.endpoint.accept(incoming, now, &mut response, None);
                            side.connection =
                                Some(accepted.map_err(|error| error.cause).expect("a connection"));
                        }
                        Some(DatagramEvent::Response(_)) | None => {}
                    }
                    self.run_events();
                }

                fn run_timers(&mut self, end: End, now: Timestamp) {
                    let now = self.epoch.at(now);
                    if let Some((_, connection)) = &mut self.side(end).connection
                        && connection.poll_timeout().is_some_and(|due| due <= now)
                    {
                        connection.handle_timeout(now);
                    }
                    self.run_events();
                }

                fn next_timeout(&mut self) -> Option<Timestamp> {
                    let epoch = self.epoch;
                    let due = [&mut self.client, &mut self.server]
                        .into_iter()
                        .filter_map(|side| side.connection.as_mut()?.1.poll_timeout());
                    due.min().map(|due| epoch.of(due))
                }

                fn poll_datagram(&mut self, from: End, now: Timestamp) -> Option<Datagram> {
                    let now = self.epoch.at(now);
                    let side = self.side(from);
                    if let Some(datagram) = side.waiting.pop_front() {
                        return Some(datagram);
                    }
                    let mut buffer = Vec::new();
                    let transmit = side.connection.as_mut()?.1.poll_transmit(now, $batch, &mut buffer)?;
                    let is_capable = transmit.ecn.is_some();
                    for payload in
                        buffer[..transmit.size].chunks(transmit.segment_size.unwrap_or(transmit.size))
                    {
                        side.waiting.push_back(Datagram { payload: payload.to_vec(), is_capable });
                    }
                    side.waiting.pop_front()
                }

                fn is_connected(&self) -> bool {
                    self.is_connected
                }

                fn open(&mut self) -> u64 {
                    let id =
                        self.connection().streams().open(Dir::Uni).expect("a hundred streams may be open");
                    VarInt::from(id).into_inner()
                }

                fn write(&mut self, stream: u64, octets: usize) -> usize {
                    let id = StreamId::from(VarInt::from_u64(stream).expect("a stream of ours"));
                    self.connection().send_stream(id).write(&vec![0; octets]).unwrap_or(0)
                }

                fn yield_to_others(&mut self, stream: u64) {
                    let id = StreamId::from(VarInt::from_u64(stream).expect("a stream of ours"));
                    self.connection()
                        .send_stream(id)
                        .set_priority(-1)
                        .expect("a stream that was just opened");
                }

                fn end(&mut self, stream: u64, reset: bool) {
                    let id = StreamId::from(VarInt::from_u64(stream).expect("a stream of ours"));
                    let mut stream = self.connection().send_stream(id);
                    let ended = if reset {
                        stream.reset(VarInt::from_u32(0)).is_ok()
                    } else {
                        stream.finish().is_ok()
                    };
                    assert!(ended, "the peer stops no stream");
                }

                fn read_all(&mut self) -> u64 {
                    let mut octets = 0;
                    let Some((_, connection)) = &mut self.server.connection else { return 0 };
                    for id in std::mem::take(&mut self.readable) {
                        let mut stream = connection.recv_stream(id);
                        let Ok(mut chunks) = stream.read(false) else { continue };
                        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                            octets += chunk.bytes.len() as u64;
                        }
                        let _ = chunks.finalize();
                    }
                    octets
                }

                fn allowed_rate(&self) -> Option<Bitrate> {
                    let (_, connection) = self.client.connection.as_ref()?;
                    let allowed: fn(&Connection) -> Option<Bitrate> = $allowed;
                    allowed(connection)
                }
            }
        }
    };
}

stack!(
    noq,
    noq_proto,
    |config, server| Endpoint::new(config, server, true),
    std::num::NonZeroUsize::new(10).expect("ten"),
    noq_proto::FourTuple::new(ADDRESS, None),
    |endpoint: &mut Endpoint, now, path, ecn, data, response: &mut Vec<u8>| endpoint
        .handle(now, path, ecn, data, response),
    |connection| {
        let controller = connection.congestion_state(noq_proto::PathId::ZERO)?;
        controller.metrics().bandwidth_estimate.map(Bitrate::from_bps)
    }
);

stack!(
    quinn,
    quinn_proto,
    |config, server| Endpoint::new(config, server, true, None),
    10,
    ADDRESS,
    |endpoint: &mut Endpoint, now, remote, ecn, data, response: &mut Vec<u8>| endpoint
        .handle(now, remote, None, ecn, data, response),
    |connection| connection.congestion_state().metrics().pacing_rate.map(Bitrate::from_bps)
);
