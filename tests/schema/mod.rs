//! As much of JSON Schema as the schemas of this project use; a word that is not known is an error.

use std::fs;
use std::path::Path;

use regex::Regex;
use rhai_operator::model::yaml;
use rhai_operator::{pipeline, watches};
use serde_json::{Map, Value};

/// A JSON schema with its definitions.
struct Schema(Value);

impl Schema {
    /// Returns the violations of a value.
    fn wrong(&self, value: &Value) -> Vec<String> {
        let mut wrong = Vec::new();
        self.collect_violations(&self.0, value, "", &mut wrong);
        wrong
    }

    fn fits(&self, schema: &Value, value: &Value) -> bool {
        let mut wrong = Vec::new();
        self.collect_violations(schema, value, "", &mut wrong);
        wrong.is_empty()
    }

    fn collect_violations(&self, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
        let Some(schema) = schema.as_object() else {
            assert_eq!(schema, true, "a schema is a map, or anything goes");
            return;
        };
        for (word, meant) in schema {
            if !self.holds(word, meant, value) {
                wrong.push(format!("{at}: {word} {meant} does not hold: {value}"));
            }
            match &**word {
                "$ref" => {
                    let pointer = meant.as_str().unwrap().trim_start_matches('#');
                    self.collect_violations(self.0.pointer(pointer).unwrap(), value, at, wrong);
                }
                "properties" => {
                    for (key, inner) in meant.as_object().unwrap() {
                        if let Some(found) = value.get(key) {
                            self.collect_violations(inner, found, &format!("{at}.{key}"), wrong);
                        }
                    }
                }
                "additionalProperties" => self.others(schema, (meant, value), at, wrong),
                "items" => {
                    for (index, found) in value.as_array().into_iter().flatten().enumerate() {
                        self.collect_violations(meant, found, &format!("{at}[{index}]"), wrong);
                    }
                }
                _ => {}
            }
        }
    }

    /// Looks at the keys that the schema of a map does not name.
    fn others(
        &self,
        schema: &Map<String, Value>,
        (meant, value): (&Value, &Value),
        at: &str,
        wrong: &mut Vec<String>,
    ) {
        let known = schema.get("properties");
        for (key, found) in value.as_object().into_iter().flatten() {
            if known.is_some_and(|known| known.get(key).is_some()) {
                continue;
            }
            if *meant == false {
                wrong.push(format!("{at}: unknown key {key}"));
            } else {
                self.collect_violations(meant, found, &format!("{at}.{key}"), wrong);
            }
        }
    }

    /// Returns whether a value fulfills a keyword.
    fn holds(&self, word: &str, meant: &Value, value: &Value) -> bool {
        let alternatives = || meant.as_array().unwrap().iter();
        let fitting = || alternatives().filter(|one| self.fits(one, value)).count();
        match word {
            "$schema"
            | "$defs"
            | "title"
            | "description"
            | "default"
            | "format"
            | "$ref"
            | "properties"
            | "additionalProperties"
            | "items" => true,
            "anyOf" => fitting() > 0,
            "oneOf" => fitting() == 1,
            "enum" => alternatives().any(|one| one == value),
            "const" => meant == value,
            "type" => match meant {
                Value::Array(types) => types.iter().any(|one| is_of(value, one)),
                one => is_of(value, one),
            },
            "minItems" => {
                let items = value.as_array();
                items.is_none_or(|items| items.len() as u64 >= meant.as_u64().unwrap())
            }
            "minimum" => {
                let number = value.as_f64();
                number.is_none_or(|number| number >= meant.as_f64().unwrap())
            }
            "pattern" => {
                let pattern = Regex::new(meant.as_str().unwrap()).unwrap();
                value.as_str().is_none_or(|text| pattern.is_match(text))
            }
            "required" => alternatives().all(|key| value.get(key.as_str().unwrap()).is_some()),
            other => panic!("{other} is not known here"),
        }
    }
}

fn is_of(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    }
}

fn is_yaml(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|ending| ending == "yaml")
}

fn repository(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The texts of the files of a folder, and of those below it, with their names.
fn files(folder: &str, wanted: &dyn Fn(&str) -> bool) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(repository(folder)).unwrap() {
        let path = format!("{folder}/{}", entry.unwrap().file_name().to_str().unwrap());
        if repository(&path).is_dir() {
            found.extend(files(&path, wanted));
        } else if wanted(&path) {
            found.push((path.clone(), fs::read_to_string(repository(&path)).unwrap()));
        }
    }
    found
}

/// Files of steps, those in one text as tests write them taken apart.
fn steps(files: Vec<(String, String)>) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (name, text) in files {
        for part in format!("# file: tasks/main.yaml\n{text}")
            .split("# file: ")
            .skip(1)
        {
            let (path, text) = part.split_once('\n').unwrap();
            if path.starts_with("tasks/") && is_yaml(path) {
                all.push((format!("{name}: {path}"), yaml::parse(text).unwrap()));
            }
        }
    }
    all
}

#[test]
fn every_pipeline_that_loads_fits_the_schema() {
    let schema = Schema(pipeline::schema());
    let of_tests = |path: &str| path.contains("/ok_") || path.contains("/convert/");
    let of_roles = |path: &str| path.contains("/tasks/") && is_yaml(path);
    let mut pipelines = files("tests/pipelines", &of_tests);
    pipelines.retain(|(path, _)| is_yaml(path));
    pipelines.extend(files("roles", &of_roles));
    for page in ["pipelines.md", "from-ansible.md"] {
        let examples = super::examples(page).into_iter();
        pipelines.extend(examples.map(|(line, text)| (format!("{page}:{line}"), text)));
    }
    assert!(pipelines.len() > 40, "{}", pipelines.len());
    for (name, value) in steps(pipelines) {
        assert_eq!(schema.wrong(&value), [""; 0], "{name}");
    }
}

#[test]
fn invalid_files_violate_the_schema() {
    let schema = Schema(pipeline::schema());
    for file in [
        "err_01_unknown_keys",
        "err_05_no_action",
        "err_06_two_actions",
        "err_08_no_list",
        "err_41_deletes",
        "err_43_conditions",
        "err_58_blocks_that_are_no_lists",
        "err_60_tags_and_needs_of_the_wrong_type",
    ] {
        let text = fs::read_to_string(repository(&format!("tests/pipelines/{file}.yaml"))).unwrap();
        assert!(
            !schema.wrong(&yaml::parse(&text).unwrap()).is_empty(),
            "{file}"
        );
    }
}

#[test]
fn every_watches_file_that_loads_fits_the_schema() {
    let schema = Schema(watches::schema());
    let mut all = files("tests/watches", &|path| {
        path.contains("/ok_") && is_yaml(path)
    });
    let own = fs::read_to_string(repository("watches.yaml")).unwrap();
    all.push(("watches.yaml".to_owned(), own));
    assert!(all.len() > 3, "{}", all.len());
    for (name, text) in all {
        assert_eq!(
            schema.wrong(&yaml::parse(&text).unwrap()),
            [""; 0],
            "{name}"
        );
    }
}

#[test]
fn the_schemas_in_docs_are_up_to_date() {
    for (schema, file) in [
        (pipeline::schema(), "docs/pipeline.schema.json"),
        (watches::schema(), "docs/watches.schema.json"),
    ] {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let path = repository(file);
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let written = fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == text,
            "{file} is old: run the tests with UPDATE=1"
        );
    }
}
