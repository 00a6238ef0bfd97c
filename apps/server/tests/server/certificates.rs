//! Certificates for servers of the tests, and clients that trust them.

use rcgen::{CertificateParams, KeyPair, SignatureAlgorithm};
use std::path::Path;
use std::sync::Arc;
use tokio_postgres::Client;
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

/// A certificate of this machine, signed by itself, and its key.
pub(crate) struct Certificate {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Certificate {
    pub(crate) fn new(algorithm: &'static SignatureAlgorithm) -> Self {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let parameters = CertificateParams::new(vec!["localhost".into(), "127.0.0.1".into()]).unwrap();
        Self { certificate: parameters.self_signed(&key).unwrap(), key }
    }

    /// Writes `server.crt` and `server.key`.
    pub(crate) fn write(&self, folder: &Path) {
        std::fs::write(folder.join("server.crt"), self.certificate.pem()).unwrap();
        std::fs::write(folder.join("server.key"), self.key.serialize_pem()).unwrap();
    }

    /// How a client connects that trusts these certificates alone.
    pub(crate) fn trusted(certificates: &[&Self]) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        for own in certificates {
            roots.add(own.certificate.der().clone()).unwrap();
        }
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap();
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        config
    }

    /// How somebody else serves who shows this certificate.
    pub(crate) fn server(&self) -> ServerConfig {
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).unwrap();
        let chain: Vec<CertificateDer<'static>> = vec![self.certificate.der().clone()];
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let mut config = config.with_single_cert(chain, key).unwrap();
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        config
    }
}

/// A client that connects to a port of this machine, encrypted as it says itself.
pub(crate) async fn connect(port: u16, how: &str, tls: &ClientConfig) -> Result<Client, tokio_postgres::Error> {
    let config = format!("host=127.0.0.1 port={port} {how}");
    let (client, connection) = tokio_postgres::connect(&config, MakeRustlsConnect::new(tls.clone())).await?;
    tokio::spawn(connection);
    Ok(client)
}
