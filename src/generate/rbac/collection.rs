//! Collects the permissions that the watches and the roles of a project need.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::api_use::{ApiUse, Operation, Site, Uses};
use super::fence::{Names, allowed_names};
use super::kind_table::{KindTable, Resource};
use super::objects::{Grant, PolicyRule};
use super::reading;
use super::requirements::{Gap, GapKind, Permission, Reason, Requirements};
use crate::generate::Settings;
use crate::model::Gvk;
use crate::role::{Permissions, Project, Role};
use crate::watches::Watch;

impl Requirements {
    /// Collects the permissions for all watches of a project.
    pub(crate) fn of_project(project: &Project, kinds: &KindTable, settings: &Settings) -> Self {
        let mut collection = Collection {
            project,
            kinds,
            uses: BTreeMap::new(),
            found: Self::default(),
        };
        for watch in &project.watches {
            collection.watch(watch);
        }
        let mut all = collection.found;
        for verb in ["create", "patch"] {
            all.operator("events.k8s.io", "events", false, verb, "reports Events");
        }
        for verb in ["get", "list", "watch"] {
            let reason = "waits for CRDs and reads the schema of the status";
            let group = "apiextensions.k8s.io";
            all.operator(group, "customresourcedefinitions", true, verb, reason);
        }
        for rule in &settings.permissions {
            all.set_rule(rule, kinds, &Reason::Settings);
        }
        for rule in &settings.recorded {
            all.set_rule(rule, kinds, &Reason::Recorded);
        }
        all
    }
}

struct Collection<'p> {
    project: &'p Project,
    kinds: &'p KindTable,
    /// The uses of each role, which several watches can share.
    uses: BTreeMap<Arc<str>, Arc<Uses>>,
    found: Requirements,
}

/// The roles that include one another, the role of the watch first.
type Chain<'p> = Vec<&'p Role>;

impl<'p> Collection<'p> {
    fn watch(&mut self, watch: &Watch) {
        let resource = self.kinds.resource(&watch.gvk, &[]);
        let Some(role) = self.project.roles.get(&watch.role) else {
            return;
        };
        let children = self.role(&mut vec![role], watch);
        let mut needs = vec![
            ("", vec!["get", "list", "watch"], "watches the kind"),
            ("/status", vec!["patch"], "writes the status"),
        ];
        if children.any {
            let reason = "sets blockOwnerDeletion in owner references";
            needs.push(("/finalizers", vec!["update"], reason));
        }
        if watch.finalizer.is_some() {
            needs.push(("", vec!["patch"], "sets the finalizer of the watch"));
        } else if children.beyond_owner_references {
            let reason = "sets a finalizer, because garbage collection cannot reach all children";
            needs.push(("", vec!["patch"], reason));
        }
        for (subresource, verbs, reason) in needs {
            for verb in verbs {
                let name = format!("{}{subresource}", resource.plural);
                let is_cluster_scoped = resource.is_namespaced == Some(false);
                let group = &watch.gvk.group;
                self.found
                    .operator(group, &name, is_cluster_scoped, verb, reason);
            }
        }
    }

    /// Collects the permissions of a role, and of the roles that it includes.
    fn role(&mut self, chain: &mut Chain<'p>, watch: &Watch) -> Children {
        let Some(role) = chain.last().copied() else {
            return Children::default();
        };
        let uses = self.uses_of(role);
        let mut children = Children::default();
        let applied = applied_roles(&uses);
        for one in &uses.api {
            self.api_use(one, chain, &applied);
            children.join(self.children(one, watch));
        }
        for call in &uses.roles {
            let Some(name) = &call.name else {
                let (site, kind) = (call.site.clone(), GapKind::Role);
                self.found.gaps.insert(Gap { site, kind });
                continue;
            };
            let included = self.project.roles.get(name);
            if let Some(included) = included
                && !chain.iter().any(|role| role.name == included.name)
            {
                chain.push(included);
                children.join(self.role(chain, watch));
                chain.pop();
            }
        }
        children
    }

    fn uses_of(&mut self, role: &Role) -> Arc<Uses> {
        let watches = self.project.watches.iter();
        let own: Vec<Gvk> = watches.map(|watch| watch.gvk.clone()).collect();
        let found = self.uses.entry(role.name.clone());
        Arc::clone(found.or_insert_with(|| Arc::new(reading::read(role, &own))))
    }

    fn api_use(&mut self, one: &ApiUse, chain: &[&Role], applied: &BTreeSet<String>) {
        let fences: Vec<&Permissions> = chain.iter().map(|role| &role.permissions).collect();
        let Some(manifest) = &one.manifest else {
            self.computed(one, &fences);
            return;
        };
        let resource = self.kinds.resource(&manifest.gvk, &fences);
        if resource.is_guess {
            let kind = GapKind::Plural(manifest.gvk.clone(), resource.plural.clone());
            self.gap(&one.site, kind);
        }
        let group = &manifest.gvk.group;
        let mut fenced = Vec::new();
        for verb in one.operation.verbs() {
            if !self.permit(one, &fences, group, &resource, &resource.plural, verb) {
                fenced.push(*verb);
            }
        }
        if one.operation == Operation::Scale {
            let scale = format!("{}/scale", resource.plural);
            self.permit(one, &fences, group, &resource, &scale, "patch");
        }
        if !fenced.is_empty() {
            self.gap(&one.site, GapKind::Fenced(resource.plural, fenced));
        }
        if matches!(
            one.operation,
            Operation::Apply | Operation::ApplyShared | Operation::Create
        ) {
            for grant in &manifest.grants {
                self.grant(one, grant, applied);
            }
        }
    }

    /// Adds a permission if the fences allow it. Returns false if they do not.
    fn permit(
        &mut self,
        one: &ApiUse,
        fences: &[&Permissions],
        group: &str,
        resource: &Resource,
        name: &str,
        verb: &str,
    ) -> bool {
        let is_cluster_scoped = resource.is_namespaced == Some(false);
        let names = fences
            .iter()
            .map(|fence| allowed_names(fence, group, name, verb, is_cluster_scoped));
        let mut allowed = Names::All;
        for names in names {
            allowed = allowed.intersect(names);
        }
        let Names::Some(names) = allowed else {
            self.insert(one, group, name, None, is_cluster_scoped, verb);
            return true;
        };
        for object in &names {
            self.insert(one, group, name, Some(object), is_cluster_scoped, verb);
        }
        !names.is_empty()
    }

    fn insert(
        &mut self,
        one: &ApiUse,
        group: &str,
        resource: &str,
        name: Option<&str>,
        is_cluster_scoped: bool,
        verb: &str,
    ) {
        let permission = Permission {
            is_cluster_scoped,
            group: group.to_owned(),
            resource: resource.to_owned(),
            name: name.map(str::to_owned),
            verb: verb.to_owned(),
        };
        self.found.add(permission, Reason::Role(one.site.clone()));
    }

    /// Adds the permissions of a call whose kind is computed at run time: those that the role declares.
    fn computed(&mut self, one: &ApiUse, fences: &[&Permissions]) {
        let declared = fences.iter().rev().find_map(|fence| fence.api.as_ref());
        let Some(rules) = declared else {
            self.gap(&one.site, GapKind::Kind(one.operation.verbs()));
            return;
        };
        for rule in rules {
            let verbs = one.operation.verbs().iter();
            let verbs =
                verbs.filter(|verb| rule.verbs.iter().any(|one| one == "*" || one == *verb));
            for verb in verbs {
                for group in &rule.api_groups {
                    for resource in &rule.resources {
                        let is_cluster_scoped = self.kinds.is_cluster_scoped(group, resource);
                        let name = rule.resource_names.first().map(String::as_str);
                        self.insert(one, group, resource, name, is_cluster_scoped, verb);
                    }
                }
            }
        }
    }

    fn grant(&mut self, one: &ApiUse, grant: &Grant, applied: &BTreeSet<String>) {
        match grant {
            Grant::Rule(rule) => self.held_rule(one, rule),
            Grant::Binding(kind, _) if applied.contains(kind) => {}
            Grant::Binding(kind, name) => {
                let (group, resource) = (
                    "rbac.authorization.k8s.io",
                    format!("{}s", kind.to_lowercase()),
                );
                let is_cluster_scoped = kind == "ClusterRole";
                self.insert(one, group, &resource, Some(name), is_cluster_scoped, "bind");
            }
            Grant::Computed => self.gap(&one.site, GapKind::Grants),
        }
    }

    /// Adds the permissions that a role grants: Kubernetes allows only a user with these permissions to grant them.
    fn held_rule(&mut self, one: &ApiUse, rule: &PolicyRule) {
        for group in &rule.groups {
            for resource in &rule.resources {
                let is_cluster_scoped = self.kinds.is_cluster_scoped(group, resource);
                for verb in &rule.verbs {
                    if rule.names.is_empty() {
                        self.insert(one, group, resource, None, is_cluster_scoped, verb);
                    }
                    for name in &rule.names {
                        self.insert(one, group, resource, Some(name), is_cluster_scoped, verb);
                    }
                }
            }
        }
    }

    fn gap(&mut self, site: &Site, kind: GapKind) {
        let site = site.clone();
        self.found.gaps.insert(Gap { site, kind });
    }

    fn children(&self, one: &ApiUse, watch: &Watch) -> Children {
        if !one.operation.makes_children() {
            return Children::default();
        }
        let owner = self.kinds.resource(&watch.gvk, &[]);
        let is_beyond = one.manifest.as_ref().is_some_and(|manifest| {
            let child = self.kinds.resource(&manifest.gvk, &[]);
            let in_cluster = child.is_namespaced == Some(false);
            owner.is_namespaced != Some(false) && (in_cluster || manifest.names_namespace)
        });
        Children {
            any: true,
            beyond_owner_references: is_beyond && one.operation == Operation::Apply,
        }
    }
}

/// The kinds of children that a role applies.
#[derive(Clone, Copy, Default)]
struct Children {
    any: bool,
    /// True if some are in other namespaces or in none, where owner references do not reach.
    beyond_owner_references: bool,
}

impl Children {
    fn join(&mut self, other: Self) {
        self.any |= other.any;
        self.beyond_owner_references |= other.beyond_owner_references;
    }
}

/// Returns the kinds of RBAC roles that a role applies: its bindings refer to them.
fn applied_roles(uses: &Uses) -> BTreeSet<String> {
    let manifests = uses.api.iter().filter_map(|one| one.manifest.as_ref());
    let roles = manifests.filter(|manifest| &*manifest.gvk.group == "rbac.authorization.k8s.io");
    roles
        .map(|manifest| manifest.gvk.kind.to_string())
        .collect()
}
