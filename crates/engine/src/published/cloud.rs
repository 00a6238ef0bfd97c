//! Stores of objects that a build has by its features `aws`, `gcp` and `azure`. Credentials come from the environment, as their own
//! programs take them.

use crate::{Error, Result};
use datafusion::object_store::ObjectStore;
use datafusion::object_store::path::Path;
use std::sync::Arc;
use url::Url;

/// The schemes of stores, and the feature that has each.
const SCHEMES: [(&str, &str); 6] =
    [("s3", "aws"), ("gs", "gcp"), ("az", "azure"), ("azure", "azure"), ("abfs", "azure"), ("abfss", "azure")];

/// The feature that has a scheme; `None` when no store has it.
pub(super) fn feature_of(scheme: &str) -> Option<&'static str> {
    SCHEMES.iter().find(|(known, _)| *known == scheme).map(|(_, feature)| *feature)
}

/// The store that a URL means, and the path in it.
pub(super) fn store(url: &Url) -> Result<(Arc<dyn ObjectStore>, Path)> {
    let path = Path::from_url_path(url.path()).map_err(|error| Error::Io(format!("opening {url}: {error}")))?;
    let text = match (built(url)?, feature_of(url.scheme())) {
        (Some(store), _) => return Ok((store, path)),
        (None, Some(feature)) => {
            format!("{url} needs a build with that store: cargo build --release --features {feature}")
        }
        (None, None) => format!("{url}: a published database lies at file:///…, s3://…, gs://… or az://…"),
    };
    Err(Error::Unsupported(text))
}

/// The store that a URL means, where this build has it.
fn built(url: &Url) -> Result<Option<Arc<dyn ObjectStore>>> {
    #[cfg(any(feature = "aws", feature = "gcp", feature = "azure"))]
    let failed = |error: datafusion::object_store::Error| Error::Io(format!("opening {url}: {error}"));
    match feature_of(url.scheme()) {
        #[cfg(feature = "aws")]
        Some("aws") => {
            use datafusion::object_store::aws::AmazonS3Builder;
            let builder = AmazonS3Builder::from_env().with_url(url.as_str()).with_retry(patience());
            Ok(Some(Arc::new(builder.build().map_err(failed)?)))
        }
        #[cfg(feature = "gcp")]
        Some("gcp") => {
            use datafusion::object_store::gcp::GoogleCloudStorageBuilder;
            let builder = GoogleCloudStorageBuilder::from_env().with_url(url.as_str()).with_retry(patience());
            Ok(Some(Arc::new(builder.build().map_err(failed)?)))
        }
        #[cfg(feature = "azure")]
        Some("azure") => {
            use datafusion::object_store::azure::MicrosoftAzureBuilder;
            let builder = MicrosoftAzureBuilder::from_env().with_url(url.as_str()).with_retry(patience());
            Ok(Some(Arc::new(builder.build().map_err(failed)?)))
        }
        _ => Ok(None),
    }
}

/// How long requests are tried again by the store's own client, before ours does so as a whole.
#[cfg(any(feature = "aws", feature = "gcp", feature = "azure"))]
fn patience() -> datafusion::object_store::RetryConfig {
    use std::time::Duration;
    datafusion::object_store::RetryConfig {
        max_retries: 4,
        retry_timeout: Duration::from_secs(20),
        ..Default::default()
    }
}
