//! Reads the code of a role without running it: finds its calls of the Kubernetes API, and the kinds of the
//! objects that each can be given.
//!
//! The reading follows values, not control flow: a variable contains the objects of everything that any
//! statement puts into it. Values flow through variables, parameters, results of functions, closures, and
//! results of steps, until nothing changes. The result can have more kinds than a run uses, never fewer.

mod calls;
mod host_calls;
mod pipeline;
mod script;
mod syntax;
mod values;

use std::collections::BTreeMap;
use std::rc::Rc;

use super::api_use::{ApiUse, Operation, RoleUse, Site, Uses};
use super::objects::ObjectSet;
use crate::model::Gvk;
use crate::role::{Entry, Role};

use self::values::{Function, Unit, Values};

/// The rounds after which a reading stops. Sets only grow, so that it ends much earlier.
const MAX_ROUNDS: usize = 1_000;

/// Returns the uses of the API in the code of a role. `own` are the kinds that the role serves.
pub(super) fn read(role: &Role, own: &[Gvk]) -> Uses {
    let mut uses = Uses::default();
    for entry in [Some(&role.entry), role.finalize.as_ref()]
        .into_iter()
        .flatten()
    {
        let mut reading = Reading {
            role,
            own,
            entry,
            values: Values::default(),
            functions: BTreeMap::new(),
            uses: None,
        };
        for _ in 0..MAX_ROUNDS {
            reading.values.has_changed = false;
            reading.entry();
            if !reading.values.has_changed {
                break;
            }
        }
        reading.uses = Some(Uses::default());
        reading.entry();
        let found = reading.uses.unwrap_or_default();
        uses.api.extend(found.api);
        uses.roles.extend(found.roles);
    }
    uses
}

/// The reading of one entry of a role.
struct Reading<'r> {
    role: &'r Role,
    own: &'r [Gvk],
    entry: &'r Entry,
    values: Values<'r>,
    functions: BTreeMap<Unit<'r>, Vec<Rc<Function>>>,
    /// The uses, in the last round.
    uses: Option<Uses>,
}

impl Reading<'_> {
    fn entry(&mut self) {
        self.scripts();
        if let Entry::Pipeline(pipeline) = self.entry {
            self.steps(&pipeline.steps);
        }
    }

    /// Records a call with the objects that it can be given.
    fn record(&mut self, site: &Site, operation: Operation, objects: &ObjectSet) {
        let Some(uses) = &mut self.uses else {
            return;
        };
        let is_computed = objects.is_computed || objects.is_empty();
        let known = objects.manifests.iter().cloned().map(Some);
        for manifest in known.chain(is_computed.then_some(None)) {
            uses.api.insert(ApiUse {
                site: site.clone(),
                operation,
                manifest,
            });
        }
    }

    fn record_role(&mut self, site: Site, name: Option<String>) {
        if let Some(uses) = &mut self.uses {
            uses.roles.insert(RoleUse { site, name });
        }
    }
}
