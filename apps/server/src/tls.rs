//! Certificate and key of encrypted connections.

use crate::failure::Failure;
use pgwire::tokio::TlsAcceptor;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The protocol that a client names who begins with TLS at once.
const PROTOCOL: &[u8] = b"postgresql";

/// What encrypts connections, and the certificate as it stands in its file.
pub(crate) fn acceptor(certificate: &Path, key: &Path) -> Result<(TlsAcceptor, Vec<u8>), Failure> {
    let about = |path: &Path, error: String| Failure(format!("--tls: {}: {error}", path.display()));
    let pem = std::fs::read(certificate).map_err(|error| about(certificate, error.to_string()))?;
    let chain = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| about(certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(about(certificate, "there is no certificate in it (PEM)".into()));
    }
    let own = PrivateKeyDer::from_pem_file(key).map_err(|error| about(key, error.to_string()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, own));
    let mut config = config.map_err(|error| about(certificate, error.to_string()))?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok((TlsAcceptor::from(Arc::new(config)), pem))
}
