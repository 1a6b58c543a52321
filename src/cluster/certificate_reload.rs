//! A transport that follows the rotation of its client certificate.
//!
//! The API server checks a client certificate at each request, also on an open connection. When the files
//! of the certificate change, this transport is replaced by one with new connections. A watch on an old
//! connection ends with its connection, and starts again on a new one.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clock::Instant;
use kube::Config;
use parking_lot::Mutex;
use tower::ServiceExt;

use super::error::chain;
use super::transport::{self, Transport};
use crate::model::redact::PublicText;
use crate::regular_file;
use crate::telemetry::log;

/// The shortest time between two reads of the files. A certificate is rotated hours before it expires.
const INTERVAL: Duration = Duration::from_secs(10);

/// The largest file of a certificate or key that is read.
const MAX_SIZE: u64 = 1 << 20;

/// Creates a transport with the current files.
type Build = dyn Fn() -> Result<Transport, kube::Error> + Send + Sync;

struct Reloading {
    files: Vec<PathBuf>,
    build: Box<Build>,
    current: Mutex<LoadedCertificate>,
}

struct LoadedCertificate {
    transport: Transport,
    digest: Option<u64>,
    checked: Instant,
    /// The number of checks since the files could be read.
    failed_reads: u32,
}

/// Returns the files of a configuration's client certificate and key.
pub(super) fn files(config: &Config) -> Vec<PathBuf> {
    let files = [
        &config.auth_info.client_certificate,
        &config.auth_info.client_key,
    ];
    files.into_iter().flatten().map(PathBuf::from).collect()
}

/// Builds a transport, and builds a new one when a file changes.
pub(super) fn reloading(
    files: Vec<PathBuf>,
    build: impl Fn() -> Result<Transport, kube::Error> + Send + Sync + 'static,
) -> Result<Transport, kube::Error> {
    // The digest comes first: a change between the two is found at the next check.
    // A file that cannot be read fails the next step.
    let digest = digest(&files).ok();
    let transport = build()?;
    if files.is_empty() {
        return Ok(transport);
    }
    let reloading = Arc::new(Reloading {
        files,
        build: Box::new(build),
        current: Mutex::new(LoadedCertificate {
            transport,
            digest,
            checked: clock::now(),
            failed_reads: 0,
        }),
    });
    Ok(transport::boxed(tower::service_fn(move |request| {
        reloading.transport().oneshot(request)
    })))
}

impl Reloading {
    /// Returns the transport for the next request.
    fn transport(&self) -> Transport {
        let mut current = self.current.lock();
        if current.checked.elapsed() >= INTERVAL {
            current.checked = clock::now();
            self.check(&mut current);
        }
        current.transport.clone()
    }

    /// Replaces the transport if the files changed and are valid.
    fn check(&self, current: &mut LoadedCertificate) {
        let digest = match digest(&self.files) {
            Ok(digest) => Some(digest),
            // A file that is missing once is probably being replaced.
            Err(error) => {
                current.failed_reads += 1;
                if current.failed_reads == 2 {
                    log::warn!(
                        "cannot read the client certificate again: keeping the previous one",
                        error = PublicText::outside_runs(error)
                    );
                }
                return;
            }
        };
        current.failed_reads = 0;
        if digest == current.digest {
            return;
        }
        match (self.build)() {
            Ok(transport) => {
                log::info!("the client certificate has changed: using new connections");
                current.transport = transport;
                current.digest = digest;
            }
            // The certificate may be written before its key, or the reverse: the next check tries again.
            Err(error) => {
                log::warn!(
                    "cannot use the changed client certificate: keeping the previous one",
                    error = PublicText::outside_runs(chain(&error))
                );
            }
        }
    }
}

/// Returns a digest of the files' contents.
fn digest(files: &[PathBuf]) -> Result<u64, String> {
    let mut hasher = DefaultHasher::new();
    for file in files {
        let content = regular_file::read(file, MAX_SIZE)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        content.hash(&mut hasher);
    }
    Ok(hasher.finish())
}
