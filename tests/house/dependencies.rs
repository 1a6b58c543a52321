//! Checks the policy of `.deny.toml`: licenses, duplicates, bans, sources.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use semver::{Version, VersionReq};
use serde::Deserialize;

/// `.deny.toml`, in the format of cargo-deny, as far as it can be checked without a network.
#[derive(Deserialize)]
struct Policy {
    licenses: Licenses,
    bans: BannedCrates,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
    exceptions: Vec<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: BTreeSet<String>,
}

#[derive(Deserialize)]
struct BannedCrates {
    deny: Vec<ExceptionReason>,
    skip: Vec<ExceptionReason>,
}

#[derive(Deserialize)]
struct ExceptionReason {
    /// A name, or `name@version requirement`.
    #[serde(rename = "crate")]
    spec: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: BTreeSet<String>,
}

/// `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Clone, Deserialize)]
struct Package {
    name: String,
    version: Version,
    license: Option<String>,
    source: Option<String>,
}

impl ExceptionReason {
    fn covers(&self, package: &Package) -> bool {
        let (name, versions) = self.spec.split_once('@').unwrap_or((&self.spec, "*"));
        let versions = VersionReq::parse(versions).expect("a version requirement");
        name == package.name && versions.matches(&package.version)
    }
}

impl Policy {
    fn violations(&self, packages: &[Package]) -> Vec<String> {
        let mut found = Vec::new();
        for package in packages.iter().filter(|package| package.source.is_some()) {
            let Package { name, version, .. } = package;
            let license = package.license.as_deref().unwrap_or_default();
            if !self.is_licensed(name, license) {
                found.push(format!(
                    "{name} {version}: the licence `{license}` is not allowed"
                ));
            }
            if let Some(ban) = self.bans.deny.iter().find(|ban| ban.covers(package)) {
                found.push(format!("{name} {version} is banned: {}", ban.reason));
            }
            if !self.is_known(package.source.as_deref().unwrap_or_default()) {
                found.push(format!("{name} {version} comes from elsewhere"));
            }
        }
        found.extend(self.duplicates(packages));
        found
    }

    fn is_licensed(&self, name: &str, license: &str) -> bool {
        let excepted = self.licenses.exceptions.iter().filter(|e| e.name == name);
        let mut allowed = self.licenses.allow.clone();
        allowed.extend(excepted.flat_map(|exception| exception.allow.clone()));
        is_satisfied(license, &allowed)
    }

    fn is_known(&self, source: &str) -> bool {
        source
            .strip_prefix("registry+")
            .is_some_and(|registry| self.sources.allow_registry.contains(registry))
    }

    /// Crates in more than one version, and skips that are needed no more.
    fn duplicates(&self, packages: &[Package]) -> Vec<String> {
        let skip = &self.bans.skip;
        let mut versions = BTreeMap::<&str, BTreeSet<&Version>>::new();
        for package in packages {
            if !skip.iter().any(|skip| skip.covers(package)) {
                versions
                    .entry(&package.name)
                    .or_default()
                    .insert(&package.version);
            }
        }
        let several = versions
            .iter()
            .filter(|(_, versions)| versions.len() > 1)
            .map(|(name, versions)| format!("{name} in several versions: {versions:?}"));
        let stale = skip
            .iter()
            .filter(|skip| !packages.iter().any(|package| skip.covers(package)))
            .map(|skip| format!("skip of {} ({}) is needed no more", skip.spec, skip.reason));
        several.chain(stale).collect()
    }
}

/// Returns whether the allowed licences are enough for an SPDX expression. `OR` binds weaker than `AND`;
/// a slash is how old manifests write `OR`.
fn is_satisfied(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let satisfied = either(&mut words, allowed);
    satisfied && words.peek().is_none()
}

type Words<'a, 'b> = &'a mut std::iter::Peekable<std::str::SplitWhitespace<'b>>;

fn either(words: Words, allowed: &BTreeSet<String>) -> bool {
    let mut satisfied = both(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        satisfied |= both(words, allowed);
    }
    satisfied
}

fn both(words: Words, allowed: &BTreeSet<String>) -> bool {
    let mut satisfied = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        satisfied &= one(words, allowed);
    }
    satisfied
}

fn one(words: Words, allowed: &BTreeSet<String>) -> bool {
    if words.next_if_eq(&"(").is_some() {
        return either(words, allowed) & words.next_if_eq(&")").is_some();
    }
    let mut license = words.next().unwrap_or_default().to_owned();
    if words.next_if_eq(&"WITH").is_some() {
        license = format!("{license} WITH {}", words.next().unwrap_or_default());
    }
    allowed.contains(&license)
}

fn policy() -> Policy {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/.deny.toml");
    let text = std::fs::read_to_string(path).expect("a readable .deny.toml");
    toml::from_str(&text).expect("a .deny.toml in cargo-deny's format")
}

/// Offline: that this test runs means that everything was fetched.
fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--offline", "--locked"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .args([
            "--manifest-path",
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
        ])
        .output()
        .expect("cargo");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let metadata: Metadata = serde_json::from_slice(&output.stdout).expect("cargo's own format");
    metadata.packages
}

fn package(name: &str, version: &str, license: &str) -> Package {
    Package {
        name: name.to_owned(),
        version: version.parse().expect("a version"),
        license: Some(license.to_owned()),
        source: Some("registry+https://github.com/rust-lang/crates.io-index".to_owned()),
    }
}

#[test]
fn dependencies_follow_the_policy() {
    let found = policy().violations(&packages());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn each_violation_of_the_policy_is_found() {
    let policy = Policy {
        bans: BannedCrates {
            skip: vec![ExceptionReason {
                spec: "gone@1".to_owned(),
                reason: "once".to_owned(),
            }],
            ..policy().bans
        },
        ..policy()
    };
    let found = policy.violations(&[
        package("good", "1.0.0", "MIT OR GPL-3.0"),
        package("copyleft", "1.0.0", "GPL-3.0"),
        package("openssl-sys", "0.9.0", "MIT"),
        package("twice", "1.0.0", "MIT"),
        package("twice", "2.0.0", "MIT"),
        Package {
            source: Some("git+https://example.com/x".to_owned()),
            ..package("forked", "1.0.0", "MIT")
        },
    ]);
    let words = ["`GPL-3.0`", "banned", "elsewhere", "several", "no more"];
    assert_eq!(found.len(), words.len(), "{found:?}");
    for (violation, word) in found.iter().zip(words) {
        assert!(violation.contains(word), "{violation} / {word}");
    }
}

#[test]
fn license_expressions_follow_spdx() {
    let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"];
    let allowed = BTreeSet::from(allowed.map(str::to_owned));
    for good in [
        "MIT",
        "MIT/GPL-3.0",
        "GPL-3.0 OR Apache-2.0 AND MIT",
        "(GPL-3.0 OR MIT) AND Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(is_satisfied(good, &allowed), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "MIT MIT"] {
        assert!(!is_satisfied(bad, &allowed), "{bad}");
    }
}

#[test]
fn images_contain_nothing_that_only_tests_need() {
    let features = |default: &[&str]| {
        let mut tree = Command::new(env!("CARGO"));
        tree.args(["tree", "--package=rhai-operator", "--edges=normal"])
            .args(["--prefix=none", "--format={p} {f}", "--offline", "--locked"])
            .args(default);
        let output = tree.output().expect("cargo runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let image = features(&["--no-default-features"]);
    for unwanted in [
        "test-util",
        "tokio-tungstenite ",
        "kube-runtime ",
        "proptest ",
    ] {
        assert!(!image.contains(unwanted), "{unwanted}\n{image}");
    }
    // The command `test` pauses the time.
    assert!(features(&[]).contains("test-util"));
}
