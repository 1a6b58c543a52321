//! Layers between us and the server: measure, fence, plan.

mod attributes;
mod fence;
mod measure;
mod plan;

use futures::future::{Either, Ready};
use http::{Request, Response};
use kube::client::Body;
use tower::{BoxError, Service};

use crate::cluster::transport::{ResponseBody, Transport};

pub use fence::Fence;
pub(super) use fence::FenceLayer;
pub use measure::{MeasureLayer, RequestObserver};
pub use plan::PlanLayer;

/// An answer of a layer that may not ask the server.
type LayerFuture = Either<
    Ready<Result<Response<ResponseBody>, BoxError>>,
    <Transport as Service<Request<Body>>>::Future,
>;
