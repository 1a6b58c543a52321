//! The catalogue of all host functions, read from their registration. The manual, the definitions for
//! editors and `rhai-operator explain` are generated from it.

use std::collections::BTreeMap;

use rhai::Module;

/// The functions of one package, under the title that the manual gives it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Package {
    /// E.g. `Versions`.
    pub title: &'static str,
    /// By name.
    pub functions: Vec<Function>,
}

/// A host function with all its overloads.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// One per overload: `get(value: any, path: string, default: any) -> any`.
    pub signatures: Vec<String>,
    /// Markdown: a first sentence, the parameters, errors, examples.
    pub doc: String,
}

/// All packages in the order of the manual.
pub fn packages() -> Vec<Package> {
    super::packages()
        .into_iter()
        .map(|(title, module)| Package {
            title,
            functions: functions(module),
        })
        .collect()
}

/// The functions of a module: overloads joined, the documentation taken from the one that has it.
fn functions(module: Module) -> Vec<Function> {
    let mut engine = rhai::Engine::new_raw();
    engine.register_global_module(module.into());
    let overloads = engine.collect_fn_metadata(
        None,
        |info| {
            let function = info.metadata;
            let doc = function
                .comments
                .iter()
                .map(|line| strip_slashes(line))
                .collect::<Vec<_>>();
            Some((
                function.name.to_string(),
                signature(function),
                doc.join("\n"),
            ))
        },
        false,
    );
    let mut functions = BTreeMap::<String, Function>::new();
    for (name, signature, doc) in overloads {
        let function = functions.entry(name.clone()).or_insert_with(|| Function {
            name,
            signatures: Vec::new(),
            doc: String::new(),
        });
        function.signatures.push(signature);
        if !doc.is_empty() {
            function.doc = doc;
        }
    }
    let mut functions: Vec<_> = functions.into_values().collect();
    for function in &mut functions {
        function
            .signatures
            .sort_by_key(|signature| (signature.matches(',').count(), signature.clone()));
        // Overloads for several Rust types have one signature in scripts.
        function.signatures.dedup();
    }
    functions
}

/// A documentation comment without its slashes.
fn strip_slashes(comment: &str) -> String {
    let lines = comment.lines().map(|line| {
        let line = line.trim_start().trim_start_matches("///");
        line.strip_prefix(' ').unwrap_or(line).trim_end()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A signature in the words of scripts.
fn signature(function: &rhai::FuncMetadata) -> String {
    let parameters = function.params_info.iter().map(|parameter| {
        let (name, kind) = parameter.split_once(':').unwrap_or((parameter, ""));
        format!("{}: {}", name.trim(), kind_name(kind))
    });
    let parameters = parameters.collect::<Vec<_>>().join(", ");
    let answer = match kind_name(&function.return_type) {
        "()" => String::new(),
        kind => format!(" -> {kind}"),
    };
    format!("{}({parameters}){answer}", function.name)
}

/// Returns the name of a Rust type in scripts.
fn kind_name(rust: &str) -> &str {
    let bare = rust
        .trim()
        .trim_start_matches('&')
        .trim_start_matches("mut ");
    let inner = ["HostResult<", "Result<"]
        .iter()
        .find_map(|outer| bare.strip_prefix(outer));
    match inner
        .map_or(bare, |inner| {
            inner.split(['>', ',']).next().unwrap_or(inner)
        })
        .trim()
    {
        "str" | "String" | "ImmutableString" => "string",
        "i64" | "INT" => "int",
        "f64" | "FLOAT" => "float",
        "Map" => "map",
        "Array" => "array",
        "Blob" => "blob",
        "FnPtr" => "function",
        "Dynamic" => "any",
        "" | "()" => "()",
        other => other,
    }
}

#[cfg(test)]
mod tests;
