//! The format of the files in `requests/` and `kubectl/`.
//!
//! ```yaml
//! about: One sentence on what the file is for.
//! sequences:
//!   a name is taken once:
//!   - {do: POST core:configmaps, body: {metadata: {name: a}}, save: {uid: /metadata/uid}}
//!   - {do: POST core:configmaps, body: {metadata: {name: a}}}
//!   - {do: DELETE "core:configmaps/a", each: [{dry: All}, {dry: ''}], query: {dryRun: '${dry}'}}
//! ```
//!
//! `do` is a method and a path. `MERGE`, `JSON`, `STRATEGIC` and `APPLY` are a PATCH with that media
//! type. A path is absolute, or begins with one of the short forms of [`crate::variables`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::variables::Variables;

/// One file of requests.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Theme {
    /// What the file is for; must not be empty.
    about: String,
    sequences: BTreeMap<String, Vec<Step>>,
}

/// Steps that are sent in order, to each server in a namespace of their own.
#[derive(Clone)]
pub(crate) struct Sequence {
    pub(crate) theme: String,
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
}

/// One request and what is to be done with its answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Step {
    /// Method and path.
    #[serde(rename = "do")]
    pub(crate) request: String,
    /// A kubectl command instead of a request; `body` or `raw` is its standard input.
    pub(crate) run: String,
    /// Environment variables of the command.
    pub(crate) environment: BTreeMap<String, String>,
    /// Lines of the command's output that are not compared, by patterns.
    pub(crate) drop: Vec<String>,
    /// What the step shows, where its request does not say it.
    pub(crate) name: Option<String>,
    /// What is sent, as JSON.
    pub(crate) body: Option<Value>,
    /// What is sent, as it is.
    pub(crate) raw: Option<String>,
    /// Sends `raw` (or `x`) so many times over.
    pub(crate) times: Option<usize>,
    pub(crate) query: BTreeMap<String, Value>,
    pub(crate) headers: BTreeMap<String, String>,
    /// The field manager.
    pub(crate) by: Option<String>,
    /// `force=true` of an apply.
    pub(crate) force: bool,
    /// Whom the administrator impersonates.
    pub(crate) user: Option<String>,
    pub(crate) groups: Vec<String>,
    /// Another bearer token than the administrator's; none at all if it is empty.
    pub(crate) token: Option<String>,
    /// Variables for later steps, by JSON pointers into the answer.
    pub(crate) save: BTreeMap<String, String>,
    /// Sends again until the answer has these values at these JSON pointers; `code` is the status
    /// code, `'*'` any value.
    pub(crate) until: BTreeMap<String, Value>,
    /// Reads the answer as a stream of events.
    pub(crate) watch: Option<Watch>,
    /// Reads on in a stream that was left open.
    pub(crate) read: Option<Watch>,
    /// JSON pointers (`*` is any key or index) to what is not compared.
    pub(crate) ignore: Vec<String>,
    /// JSON pointers to lists that have no order.
    pub(crate) unordered: Vec<String>,
    /// Only these JSON pointers are compared of the body.
    pub(crate) only: Vec<String>,
    /// Once for each of these sets of variables.
    pub(crate) each: Vec<Map<String, Value>>,
    /// Steps instead of a request, for each set of variables.
    pub(crate) steps: Vec<Self>,
    /// The variables that this step got from `each`, for its name.
    #[serde(skip)]
    pub(crate) row: String,
}

/// How to read a stream.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Watch {
    /// After so many events the rest is left; without it, all until the server closes the stream.
    pub(crate) events: Option<usize>,
    /// The name under which a later step reads on.
    pub(crate) stream: Option<String>,
}

impl Step {
    /// How the step is called in reports, after its number.
    pub(crate) fn label(&self) -> String {
        let what = if self.run.is_empty() {
            &self.request
        } else {
            &self.run
        };
        let what = self.name.as_ref().unwrap_or(what);
        let read = self.read.as_ref().and_then(|read| read.stream.as_deref());
        let what = match read {
            Some(stream) if what.is_empty() => format!("read {stream}"),
            _ => what.clone(),
        };
        [&what, self.row.as_str()].join(" ").trim().to_owned()
    }

    /// The step itself, or its steps for each set of variables.
    fn flatten(&self, variables: &Variables, flat: &mut Vec<Self>) {
        let once = [Map::new()];
        let rows = if self.each.is_empty() {
            &once[..]
        } else {
            &self.each
        };
        for row in rows {
            let mut variables = variables.clone();
            for (name, value) in row {
                variables.set(name, variables.fill(value));
            }
            if self.steps.is_empty() {
                flat.push(self.filled(&variables));
            } else {
                for step in &self.steps {
                    step.flatten(&variables, flat);
                }
            }
        }
    }

    /// With what is known of its variables put in.
    pub(crate) fn filled(&self, variables: &Variables) -> Self {
        let text = |text: &String| variables.fill_text(text);
        let texts = |texts: &BTreeMap<String, String>| {
            let filled = texts
                .iter()
                .map(|(name, value)| (name.clone(), text(value)));
            filled.collect::<BTreeMap<_, _>>()
        };
        let values = |values: &BTreeMap<String, Value>| {
            let filled = values
                .iter()
                .map(|(name, value)| (name.clone(), variables.fill(value)));
            filled.collect::<BTreeMap<_, _>>()
        };
        Self {
            request: text(&self.request),
            run: text(&self.run),
            body: self.body.as_ref().map(|body| variables.fill(body)),
            raw: self.raw.as_ref().map(text),
            query: values(&self.query),
            headers: texts(&self.headers),
            by: self.by.as_ref().map(text),
            user: self.user.as_ref().map(text),
            token: self.token.as_ref().map(text),
            groups: self.groups.iter().map(text).collect(),
            until: values(&self.until),
            row: if self.row.is_empty() {
                variables.row()
            } else {
                self.row.clone()
            },
            ..self.clone()
        }
    }
}

/// All sequences, in the order of their files' names.
pub(crate) fn all() -> Vec<Sequence> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let folders = ["requests", "kubectl"].map(|name| folder.join(name));
    let entries = folders.iter().flat_map(|folder| {
        let entries = std::fs::read_dir(folder).expect("a folder of requests");
        entries.map(|entry| entry.expect("a readable entry").path())
    });
    let mut files: Vec<PathBuf> = entries.collect();
    files.sort();
    let loaded = files
        .iter()
        .map(|file| load(file).unwrap_or_else(|error| panic!("{error:#}")));
    loaded.flatten().collect()
}

fn load(file: &Path) -> anyhow::Result<Vec<Sequence>> {
    let text = std::fs::read_to_string(file)?;
    let theme: Theme =
        serde_yaml::from_str(&text).with_context(|| format!("{}", file.display()))?;
    anyhow::ensure!(!theme.about.is_empty(), "{}: about", file.display());
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let is_kubectl = file
        .parent()
        .is_some_and(|folder| folder.ends_with("kubectl"));
    let stem = format!("{}{stem}", if is_kubectl { "kubectl-" } else { "" });
    let sequences = theme.sequences.into_iter().map(|(name, steps)| {
        let mut flat = Vec::new();
        for step in &steps {
            step.flatten(&Variables::default(), &mut flat);
        }
        Sequence {
            theme: stem.clone(),
            name,
            steps: flat,
        }
    });
    Ok(sequences.collect())
}
