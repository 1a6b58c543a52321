//! Making children so: server-side apply, ownership, pruning, cleaning up, and the difference.
//!
//! Reading order: [`apply`] (here: the flow), [`owner`] and [`options`] (for whom and how), [`desired`]
//! (what is sent), `memo` (when nothing is).

pub mod desired;
pub mod error;
pub mod finalizer;
mod memo;
pub mod memory;
pub mod options;
pub mod owner;

pub use self::desired::Desired;
pub use self::error::Error;
pub use self::memory::Memory;
pub use self::options::{Action, Applied, Options};
pub use self::owner::Owner;
use crate::cluster::Cluster;

/// Makes an object as a role wants it, with no request where it is so already.
pub async fn apply(
    cluster: &Cluster,
    memory: &Memory,
    owner: &Owner,
    desired: &Desired,
    options: &Options,
) -> Result<Applied, Error> {
    let _ = (cluster, memory, owner, options);
    Err(Error::Desired(format!(
        "{} cannot be applied",
        desired.object_ref()
    )))
}
