//! TLS for the page and the metrics: with a certificate of the user's, or with one made for this run.

use super::ice::{self, Given};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
use ring::digest::{SHA256, digest};
use seaway_net::reachable_address;
use seaway_net::webrtc::IceServer;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::version::TLS13;

/// A certificate of our own making lasts longer than any session, and less than the 825 days that browsers accept.
const VALID: Duration = Duration::from_secs(365 * 24 * 3600);
/// The browser's clock may be behind ours.
const CLOCK_ERROR: Duration = Duration::from_secs(24 * 3600);

/// How the page and the metrics are protected.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TlsOptions {
    /// The certificate chain (PEM) for TLS of the page and the metrics. Without one, other hosts get TLS with a fresh self-signed certificate
    #[arg(long, value_name = "FILE", requires = "web_key")]
    web_cert: Option<PathBuf>,
    /// The private key (PEM) of --web-cert
    #[arg(long, value_name = "FILE", requires = "web_cert")]
    web_key: Option<PathBuf>,
    /// Serve the page and the metrics to other hosts over plain HTTP: anyone on the path can see the token
    #[arg(long, conflicts_with = "web_cert")]
    web_insecure: bool,
}

/// Options of the page and the metrics.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct WebOptions {
    #[command(flatten)]
    pub(super) tls: TlsOptions,
    /// Name this STUN or TURN server to the viewers of the page, as stun:HOST:PORT or turn:USER:PASSWORD@HOST:PORT?transport=udp, also
    /// with turns and tcp. With a media server, TURN over UDP relays this end's media where no other way leads there. May be given several
    /// times. The variable SEAWAY_ICE_SERVER hides the password from the list of processes
    #[arg(long, value_name = "SERVER")]
    ice_server: Vec<Given>,
}

/// What is between HTTP and TCP.
#[derive(Clone)]
pub(super) enum Transport {
    Plain,
    /// By a certificate of the user's.
    Certified(TlsAcceptor),
    /// By a certificate made for this run.
    SelfMade(TlsAcceptor),
}

impl WebOptions {
    /// Those that the page names to its viewers, and that relay media to a media server.
    ///
    /// # Errors
    /// One is none. The reason has no part of what was given.
    pub(crate) fn ice_servers(&self) -> Result<Vec<IceServer>, String> {
        ice::servers(&self.ice_server)
    }
}

impl TlsOptions {
    /// For a server at `listen`, and a message for the user about it. Other hosts get TLS unless plain HTTP is chosen.
    ///
    /// # Errors
    /// The certificate or its key cannot be read or do not belong together; the system gives no random numbers.
    pub(super) fn transport(&self, listen: SocketAddr) -> io::Result<(Transport, Option<String>)> {
        if let (Some(certificates), Some(key)) = (&self.web_cert, &self.web_key) {
            return Ok((Transport::Certified(of_files(certificates, key)?), None));
        }
        if listen.ip().to_canonical().is_loopback() {
            return Ok((Transport::Plain, None));
        }
        if self.web_insecure {
            let warning = format!(
                "INSECURE: {listen} is served over plain HTTP. Anyone on the path can see the token, use it and change what is shown"
            );
            return Ok((Transport::Plain, Some(warning)));
        }
        let (acceptor, fingerprint) = self_made(reachable_address(listen).ip())?;
        let notice = format!(
            "the certificate was made for this run, so the browser warns. Its SHA-256 fingerprint is {fingerprint}"
        );
        Ok((Transport::SelfMade(acceptor), Some(notice)))
    }
}

impl Transport {
    pub(super) const fn scheme(&self) -> &'static str {
        match self {
            Self::Plain => "http",
            Self::Certified(_) | Self::SelfMade(_) => "https",
        }
    }

    /// Whether the page may be opened under any name: a browser checks it against the certificate.
    pub(super) const fn checks_names(&self) -> bool {
        matches!(self, Self::Certified(_))
    }
}

fn of_files(certificates: &Path, key: &Path) -> io::Result<TlsAcceptor> {
    let at = |file: &Path, error: &dyn std::fmt::Display| invalid(format!("{}: {error}", file.display()));
    let chain = CertificateDer::pem_file_iter(certificates).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(|error| at(certificates, &error))?;
    if chain.is_empty() {
        return Err(at(certificates, &"no certificate in PEM form"));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| at(key, &error))?;
    acceptor(chain, private).map_err(|error| at(certificates, &error))
}

/// A certificate for `address` and the names of this host that the page is opened by, and its fingerprint.
fn self_made(address: IpAddr) -> io::Result<(TlsAcceptor, String)> {
    let failed = |error: rcgen::Error| io::Error::other(error);
    let key = KeyPair::generate().map_err(failed)?;
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).map_err(failed)?;
    params.subject_alt_names.push(SanType::IpAddress(address));
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "seaway");
    #[expect(clippy::disallowed_methods, reason = "certificates are valid by the calendar")]
    let now = SystemTime::now();
    params.not_before = (now - CLOCK_ERROR).into();
    params.not_after = (now + VALID).into();
    let certificate = params.self_signed(&key).map_err(failed)?;
    let der = certificate.der().clone();
    let fingerprint = fingerprint(&der);
    let private = PrivatePkcs8KeyDer::from(key.serialize_der());
    let acceptor = acceptor(vec![der], private.into()).map_err(io::Error::other)?;
    Ok((acceptor, fingerprint))
}

fn acceptor(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<TlsAcceptor, tokio_rustls::rustls::Error> {
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let config = builder.with_protocol_versions(&[&TLS13])?.with_no_client_auth();
    let mut config = config.with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// As browsers show it: pairs of hexadecimal digits with colons between.
fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let octets = digest(&SHA256, certificate);
    octets.as_ref().iter().map(|octet| format!("{octet:02X}")).collect::<Vec<_>>().join(":")
}

fn invalid(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn transport(options: &TlsOptions, listen: [u8; 4]) -> (&'static str, Option<String>) {
        let (transport, notice) = options.transport((Ipv4Addr::from(listen), 8090).into()).unwrap();
        (transport.scheme(), notice)
    }

    #[test]
    fn other_hosts_get_tls_unless_plain_was_asked_for() {
        let none = TlsOptions::default();
        assert_eq!(transport(&none, [127, 0, 0, 1]), ("http", None));
        for address in [[0, 0, 0, 0], [192, 0, 2, 7]] {
            let (scheme, notice) = transport(&none, address);
            assert_eq!((scheme, notice.unwrap().matches(':').count()), ("https", 31));
        }
        let insecure = TlsOptions { web_insecure: true, ..none };
        let (scheme, notice) = transport(&insecure, [0, 0, 0, 0]);
        assert!(scheme == "http" && notice.unwrap().starts_with("INSECURE"));
    }

    #[test]
    fn certificate_and_key_belong_together() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            file
        };
        let made = |name: &str| {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            let certificate = params.self_signed(&key).unwrap();
            let pem = write(&format!("{name}.pem"), certificate.pem());
            (pem, write(&format!("{name}.key"), key.serialize_pem()))
        };
        let ((cert, key), (other_cert, other_key)) = (made("a"), made("b"));
        assert!(of_files(&cert, &key).is_ok() && of_files(&other_cert, &other_key).is_ok());
        let empty = write("empty.pem", String::new());
        for (cert, key) in [(&cert, &other_key), (&empty, &key), (&cert, &empty), (&key, &cert)] {
            assert!(of_files(cert, key).is_err(), "{} {}", cert.display(), key.display());
        }
    }
}
