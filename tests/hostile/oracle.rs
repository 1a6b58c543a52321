//! Invariants of a campaign: which objects may change, and which values no text may contain.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::api::Object;
use super::cases::{Case, Kind};
use super::cluster::{KEY, Snapshot, TOKEN};
use super::report::short;
use super::values::INJECTED;

/// The minimum length of a value or line to search for. Shorter ones can occur by chance.
const LONG_ENOUGH: usize = 12;

/// Roles that make structure of data because they ask for it.
const STRUCTURED: [&str; 9] = [
    "documents",
    "structures",
    "merges",
    "labels",
    "patches",
    "queries",
    "statuses",
    "finalizers",
    "loops",
];

/// Knows which resources each role makes.
#[derive(Default)]
pub(crate) struct Oracle {
    resources: BTreeMap<usize, BTreeSet<String>>,
    has_learned: bool,
}

impl Oracle {
    /// From now on a role makes nothing of a resource that it did not make of its sample.
    pub(crate) fn learned(&mut self) {
        self.has_learned = true;
    }

    /// Returns whether each complete run of a role makes an object. A loop may have nothing to go through.
    pub(crate) fn makes_objects(&self, kinds: &[Kind], kind: usize) -> bool {
        kinds[kind].role != "loops" && self.resources.contains_key(&kind)
    }

    /// Compares; gives violations with the case that each is of.
    pub(crate) fn find_violations(
        &mut self,
        kinds: &[Kind],
        before: &Snapshot,
        during: &Snapshot,
        owners: &HashMap<String, &Case>,
    ) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for (name, object) in before {
            let version = |object: &Object| object.seen.metadata.resource_version.clone();
            let now = during.get(name).map(version);
            if now != Some(version(object)) {
                let now = during
                    .get(name)
                    .map_or_else(|| "gone".to_owned(), |now| short(&now.text));
                found.push((
                    name.clone(),
                    format!("changed, and is no custom resource's: {now}"),
                ));
            }
        }
        let fresh = during
            .iter()
            .filter(|(name, _)| !before.contains_key(*name));
        for (name, object) in fresh {
            let Some(case) = owner(object, during, owners) else {
                found.push((
                    name.clone(),
                    format!("belongs to nobody: {}", short(&object.text)),
                ));
                continue;
            };
            if let Some(what) = self.find_change_violation(kinds, case, name, object, owners) {
                found.push((case.to_text(kinds), what));
            }
        }
        found
    }

    fn find_change_violation(
        &mut self,
        kinds: &[Kind],
        case: &Case,
        name: &str,
        object: &Object,
        owners: &HashMap<String, &Case>,
    ) -> Option<String> {
        let (resource, _) = name.split_once(' ')?;
        let mut direct = object.seen.metadata.owner_references.iter();
        if direct.any(|owner| owners.contains_key(&owner.uid)) {
            let resources = self.resources.entry(case.kind).or_default();
            // One that is cluster-wide makes its objects stage by stage: the first ones are not all.
            if !self.has_learned || !kinds[case.kind].is_namespaced {
                resources.insert(resource.to_owned());
            } else if !resources.contains(resource) {
                return Some(format!("its role made {name}"));
            }
        }
        let is_structured = STRUCTURED.contains(&kinds[case.kind].role.as_str());
        let is_text = case.hostile.value.is_string();
        if is_text && !is_structured && is_injected(object) {
            return Some(format!(
                "data made structure in {name}: {}",
                short(&object.text)
            ));
        }
        None
    }
}

/// Returns whether an object has the key that data would add, or is named so.
fn is_injected(object: &Object) -> bool {
    object.text.contains(&format!("\"{INJECTED}\":")) || object.seen.metadata.name == INJECTED
}

/// Returns the case whose custom resource owns an object, directly or through other owners. Objects that a
/// new namespace contains belong to the owner of the namespace.
fn owner<'a>(
    object: &Object,
    all: &Snapshot,
    owners: &HashMap<String, &'a Case>,
) -> Option<&'a Case> {
    let metadata = &object.seen.metadata;
    let by_reference = metadata.owner_references.iter().find_map(|reference| {
        owners.get(&reference.uid).copied().or_else(|| {
            let mut all_objects = all.values();
            let between = all_objects.find(|other| other.seen.metadata.uid == reference.uid)?;
            owner(between, all, owners)
        })
    });
    by_reference.or_else(|| {
        let namespace = metadata.namespace.as_deref()?;
        owner(all.get(&format!("namespaces /{namespace}"))?, all, owners)
    })
}

/// The values that must not appear in any text.
pub(crate) struct Secrets(BTreeSet<String>);

impl Secrets {
    /// Collects the values of the Secret that roles read, and the passwords that roles generated.
    pub(crate) fn from_objects(objects: &Snapshot) -> Self {
        let mut values = vec![TOKEN.to_owned(), KEY.to_owned()];
        let logins = objects.iter().filter(|(name, _)| name.ends_with("-login"));
        values.extend(logins.filter_map(|(_, login)| {
            let bytes = STANDARD.decode(login.seen.data("password")?).ok()?;
            String::from_utf8(bytes).ok()
        }));
        let mut all = BTreeSet::new();
        for value in values {
            let encoded = STANDARD.encode(&value);
            let lines = value.lines().chain([&*encoded]);
            let lines = lines.filter(|line| line.len() >= LONG_ENOUGH && !line.starts_with("---"));
            all.extend(lines.map(str::to_owned));
        }
        Self(all)
    }

    /// Returns the first of the values that a text contains, with the text before it.
    pub(crate) fn find(&self, text: &str) -> Option<String> {
        self.0.iter().find_map(|value| {
            let at = text.find(value.as_str())?;
            let begin = text.floor_char_boundary(at.saturating_sub(120));
            Some(format!("{value:?} in {:?}", &text[begin..at + value.len()]))
        })
    }
}
