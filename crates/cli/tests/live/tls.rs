//! The page's server off the loopback address: TLS with a certificate made for the run, with one of the user's, or none at all.

use super::process::{Live, TIMEOUT, free_port};
use super::stream::receive;
use super::web::{answer, parts};
use rcgen::{CertificateParams, KeyPair};
use ring::digest::{SHA256, digest};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::crypto::{verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme, StreamOwned,
};

/// A browser whose user has compared the fingerprint.
#[derive(Debug)]
struct Pinned(String);

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let octets = digest(&SHA256, certificate);
        let seen: Vec<_> = octets.as_ref().iter().map(|octet| format!("{octet:02X}")).collect();
        if seen.join(":") == self.0 {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::General(format!("{seen:?}")))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = default_provider().signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, &algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = default_provider().signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, &algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// The answer to a request over TLS.
fn secure_answer(config: ClientConfig, port: &str, path: &str, name: &str) -> String {
    let host = format!("127.0.0.1:{port}");
    let server = ServerName::try_from(name.to_owned()).unwrap();
    let connection = ClientConnection::new(Arc::new(config), server).unwrap();
    let socket = TcpStream::connect(&host).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut stream = StreamOwned::new(connection, socket);
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {name}:{port}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    // The server may close without a word of TLS.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

/// Scheme, port and path of what is served.
fn place(receiver: &mut Live, what: &str) -> (bool, String, String) {
    let address = receiver.wait_for_address(what);
    let bare = address.trim_start_matches("https://");
    let (host, path) = parts(bare);
    (bare != address, host.rsplit_once(':').unwrap().1.to_owned(), path)
}

#[test]
fn other_hosts_get_tls_by_a_certificate_with_the_printed_fingerprint() {
    let folder = tempfile::tempdir().unwrap();
    for what in ["page", "metrics"] {
        let option = if what == "page" { "--web" } else { "--metrics" };
        let mut receiver = receive(folder.path(), free_port(), &[option, "0.0.0.0:0"]);
        let (is_secure, port, path) = place(&mut receiver, what);
        assert!(is_secure);
        let fingerprint = receiver.wait_for_note("fingerprint is").rsplit(' ').next().unwrap().to_owned();
        let pinned = |fingerprint: String| {
            let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
            let builder = builder.with_safe_default_protocol_versions().unwrap().dangerous();
            builder.with_custom_certificate_verifier(Arc::new(Pinned(fingerprint))).with_no_client_auth()
        };
        let page = secure_answer(pinned(fingerprint), &port, &path, "127.0.0.1");
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
        let mut plain = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        plain.set_read_timeout(Some(TIMEOUT)).unwrap();
        // The server may close before it has all.
        let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
        let _ = plain.write_all(request.as_bytes());
        let mut answered = Vec::new();
        let _ = plain.read_to_end(&mut answered);
        assert!(!answered.starts_with(b"HTTP"), "plain HTTP is answered");
        receiver.finish_empty();
    }
}

#[test]
fn a_certificate_of_the_users_serves_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["camera.example".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    std::fs::write(folder.path().join("cert.pem"), certificate.pem()).unwrap();
    std::fs::write(folder.path().join("key.pem"), key.serialize_pem()).unwrap();
    let options = ["--web", "127.0.0.1:0", "--web-cert", "cert.pem", "--web-key", "key.pem"];
    let mut receiver = receive(folder.path(), free_port(), &options);
    let (is_secure, port, path) = place(&mut receiver, "page");
    assert!(is_secure);
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
    let page = secure_answer(builder.with_no_client_auth(), &port, &path, "camera.example");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    receiver.finish_empty();
}

#[test]
fn plain_http_to_other_hosts_is_asked_for_and_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let mut receiver = receive(folder.path(), free_port(), &["--web", "0.0.0.0:0", "--web-insecure"]);
    let (is_secure, port, path) = place(&mut receiver, "page");
    assert!(!is_secure);
    receiver.wait_for_note("INSECURE");
    let host = format!("127.0.0.1:{port}");
    let page = answer(&host, &format!("GET {path}"), &format!("Host: {host}\r\n"));
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    receiver.finish_empty();
}
