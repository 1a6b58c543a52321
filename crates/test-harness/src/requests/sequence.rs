//! The format of the request files.
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
//! type. A path is absolute, or begins with a short form that [`Variables::path`] expands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Variables;

/// A file of requests.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestFile {
    /// The purpose of the file; must not be empty.
    about: String,
    sequences: BTreeMap<String, Vec<Step>>,
}

/// Steps that a test sends in order, in a namespace of their own.
#[derive(Clone)]
pub struct Sequence {
    /// The stem of the file's name.
    pub theme: String,
    /// The name in the file.
    pub name: String,
    /// The steps, once for each row of `each`.
    pub steps: Vec<Step>,
}

/// A request and the use of its answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// The method and the path.
    #[serde(rename = "do")]
    pub request: String,
    /// A kubectl command instead of a request; `body` or `raw` is its standard input.
    pub run: String,
    /// The environment variables of the command.
    pub environment: BTreeMap<String, String>,
    /// Patterns of output lines that are not compared.
    pub drop: Vec<String>,
    /// The name of the step, if its request does not show it.
    pub name: Option<String>,
    /// The body, as JSON.
    pub body: Option<Value>,
    /// The body, as text.
    pub raw: Option<String>,
    /// Repeats `raw`, or the mark `<long>` in `body`.
    pub times: Option<usize>,
    /// The parameters of the query; a list repeats a parameter.
    pub query: BTreeMap<String, Value>,
    /// The headers.
    pub headers: BTreeMap<String, String>,
    /// The field manager.
    pub by: Option<String>,
    /// `force=true` of an apply.
    pub force: bool,
    /// The user that the administrator impersonates.
    pub user: Option<String>,
    /// The groups that the administrator impersonates.
    pub groups: Vec<String>,
    /// A bearer token in place of the administrator's; no token if it is empty.
    pub token: Option<String>,
    /// Variables for later steps, as JSON pointers into the answer.
    pub save: BTreeMap<String, String>,
    /// Repeats the request until the answer has these values at these JSON pointers; `code` is the status
    /// code, `'*'` any value.
    pub until: BTreeMap<String, Value>,
    /// Reads the answer as a stream of events.
    pub watch: Option<Watch>,
    /// Continues to read a stream that a step left open.
    pub read: Option<Watch>,
    /// JSON pointers (`*` is any key or index) to values that are not compared.
    pub ignore: Vec<String>,
    /// JSON pointers to lists without an order.
    pub unordered: Vec<String>,
    /// JSON pointers to the only values that are compared.
    pub only: Vec<String>,
    /// Sets of variables: the step is repeated for each.
    pub each: Vec<Map<String, Value>>,
    /// Steps in place of a request, repeated for each set of variables.
    pub steps: Vec<Self>,
    /// The variables of `each`, as part of the step's name.
    #[serde(skip)]
    pub row: String,
}

/// The part of a stream to read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Watch {
    /// The number of events to read; without it, all events until the server closes the stream.
    pub events: Option<usize>,
    /// The name with which a later step continues to read.
    pub stream: Option<String>,
}

impl Step {
    /// Returns the name of the step in reports.
    pub fn label(&self) -> String {
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

    /// Appends the step, or its steps for each set of variables.
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

    /// Returns the step with the known variables replaced.
    pub fn filled(&self, variables: &Variables) -> Self {
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

/// Loads the sequences of `requests/` and `kubectl/` in a folder, in the order of the files' names.
///
/// # Panics
///
/// If a file is not valid.
pub fn load(folder: &Path) -> Vec<Sequence> {
    let folders = ["requests", "kubectl"].map(|name| folder.join(name));
    let entries = folders.iter().flat_map(|folder| {
        let entries = std::fs::read_dir(folder).expect("a folder of requests");
        entries.map(|entry| entry.expect("a readable entry").path())
    });
    let mut files: Vec<PathBuf> = entries.collect();
    files.sort();
    let loaded = files
        .iter()
        .map(|file| load_file(file).unwrap_or_else(|error| panic!("{error:#}")));
    loaded.flatten().collect()
}

fn load_file(file: &Path) -> anyhow::Result<Vec<Sequence>> {
    let text = std::fs::read_to_string(file)?;
    let theme: RequestFile =
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
