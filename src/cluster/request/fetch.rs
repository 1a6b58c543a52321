//! Live reads of one object, or of all selected objects, page by page.

use std::sync::Arc;

use super::{ListQuery, parse, path, target};
use crate::cluster::Cluster;
use crate::cluster::api_call::ApiCall;
use crate::cluster::error::{Error, ErrorKind, Target};
use crate::cluster::watch::{Content, list_call, parse_page};
use crate::model::{Object, ObjectRef};

impl Cluster {
    /// Requests an object; `None` if it is absent.
    pub async fn get(&self, object: &ObjectRef) -> Result<Option<Arc<Object>>, Error> {
        let kind = self.require_kind(&object.gvk).await?;
        let target = target(&kind, "get", object, None);
        let call = ApiCall::get(target, path(&kind, object, None)?);
        match self.send(&call, None).await {
            Ok(answer) => parse(&object.gvk, &answer.body, &call.target).map(Some),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.invalidate_if_absent(error, &object.gvk)),
        }
    }

    /// Requests the selected objects, page by page.
    pub async fn list(&self, query: &ListQuery) -> Result<Vec<Arc<Object>>, Error> {
        self.list_as(query, Content::Full).await
    }

    /// Requests the metadata of the selected objects, page by page.
    pub async fn list_metadata(&self, query: &ListQuery) -> Result<Vec<Arc<Object>>, Error> {
        self.list_as(query, Content::Metadata).await
    }

    async fn list_as(
        &self,
        query: &ListQuery,
        content: Content,
    ) -> Result<Vec<Arc<Object>>, Error> {
        let kind = self.require_kind(&query.gvk).await?;
        let namespace = query.namespace.as_deref();
        kind.check_namespace(namespace.unwrap_or_default(), || Target {
            verb: "list",
            resource: kind.resource(),
            ..Target::default()
        })?;
        let parameters = [
            ("labelSelector", query.labels.to_string()),
            ("fieldSelector", query.fields.to_string()),
        ];
        let mut objects = Vec::new();
        let mut page: Option<String> = None;
        loop {
            let call = list_call(&kind, namespace, &parameters, content, page.as_deref());
            let answer = match self.send(&call, None).await {
                // The snapshot of the pages expired: start again.
                Err(error) if error.kind == ErrorKind::Gone && page.is_some() => {
                    objects.clear();
                    page = None;
                    continue;
                }
                answer => answer.map_err(|error| self.invalidate_if_absent(error, &query.gvk))?,
            };
            // Requests the whole metadata, because it contains the field managers.
            let part = parse_page(&query.gvk, Content::Full, &answer.body, &call.target)?;
            if let Some(cause) = part.malformed.into_iter().next() {
                return Err(Error::local(ErrorKind::Malformed, cause, call.target));
            }
            objects.extend(part.objects);
            page = part.next;
            if page.is_none() {
                return Ok(objects);
            }
        }
    }
}
