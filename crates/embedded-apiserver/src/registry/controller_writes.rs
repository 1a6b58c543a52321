//! Writes of controllers, which have the rights of the system.

use std::sync::Arc;

use serde_json::Value;

use super::delete::{self, DeleteOptions, Propagation};
use super::request::{ResourceRequest, WriteOptions};
use super::transaction::Transaction;
use super::{create, metadata, update};
use crate::error::ApiError;
use crate::user::User;

impl Transaction<'_> {
    /// Creates an object with the rights of the system.
    pub fn create(
        &mut self,
        resource: &str,
        namespace: &str,
        object: Value,
    ) -> Result<Arc<Value>, ApiError> {
        let call = self.call(resource, namespace, "", "")?;
        create::create(self, &call, object).map(|answer| answer.object)
    }

    /// Replaces an object or its subresource with the rights of the system.
    pub fn update(
        &mut self,
        resource: &str,
        subresource: &str,
        mut object: Value,
    ) -> Result<Arc<Value>, ApiError> {
        let (namespace, name) = (metadata::namespace(&object), metadata::name(&object));
        let call = self.call(resource, namespace, name, subresource)?;
        // The lock is held, so the version that the controller read is the newest one.
        if let Some(live) = self.live(&call) {
            metadata::copy("resourceVersion", &live, &mut object);
        }
        update::update(self, &call, object).map(|answer| answer.object)
    }

    /// Deletes an object with the rights of the system.
    pub fn delete(
        &mut self,
        resource: &str,
        namespace: &str,
        name: &str,
        policy: Option<Propagation>,
    ) -> Result<(), ApiError> {
        let call = self.call(resource, namespace, name, "")?;
        let options = DeleteOptions {
            propagation: policy,
            ..DeleteOptions::default()
        };
        delete::delete(self, &call, &options).map(drop)
    }

    /// Deletes an object without a grace period. Finalizers still delay the deletion.
    pub fn delete_now(
        &mut self,
        resource: &str,
        namespace: &str,
        name: &str,
    ) -> Result<(), ApiError> {
        let call = self.call(resource, namespace, name, "")?;
        let options = DeleteOptions {
            grace_period: Some(0),
            ..DeleteOptions::default()
        };
        delete::delete(self, &call, &options).map(drop)
    }

    fn call(
        &self,
        resource: &str,
        namespace: &str,
        name: &str,
        subresource: &str,
    ) -> Result<ResourceRequest, ApiError> {
        let Some(resource) = self.resource(resource) else {
            return Err(ApiError::unknown(format!("no resource {resource}")));
        };
        Ok(ResourceRequest {
            version: resource.storage_version().name.clone(),
            resource,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: subresource.to_owned(),
            user: User::admin(),
            options: WriteOptions {
                manager: self.manager.to_owned(),
                ..WriteOptions::default()
            },
        })
    }
}
