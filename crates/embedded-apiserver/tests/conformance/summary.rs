//! Counts equal and different responses by theme.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::sync::Mutex;

use crate::declared;
use crate::run;
use test_harness::run_folder;

/// The outcome of a comparison of two responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Equal,
    /// The responses differ, and the difference is declared.
    Declared,
    /// The server responds that it does not implement the operation (501).
    NotImplemented,
    Different,
}

#[derive(Default)]
struct FileSummary {
    counts: [usize; 4],
    differences: String,
    /// The identifiers of steps with undeclared differences.
    places: Vec<String>,
}

static THEMES: Mutex<BTreeMap<String, FileSummary>> = Mutex::new(BTreeMap::new());

/// Counts one response.
pub(crate) fn count(theme: &str, outcome: Outcome) {
    let mut themes = THEMES.lock().unwrap();
    themes.entry(theme.to_owned()).or_default().counts[outcome as usize] += 1;
}

/// Records a difference for the report.
pub(crate) fn difference(theme: &str, place: String, text: &str) {
    let mut themes = THEMES.lock().unwrap();
    let theme = themes.entry(theme.to_owned()).or_default();
    theme.differences.push_str(text);
    theme.differences.push('\n');
    theme.places.push(place);
}

/// Prints the table and writes the differences of each theme to a file. Returns false if a complete run did
/// not find all declared differences.
pub(crate) fn close(complete: bool) -> bool {
    let themes = THEMES.lock().unwrap();
    if themes.is_empty() {
        return true;
    }
    let folder = run_folder::target().join("conformance/differences");
    println!("\n{}", table(&themes));
    fs::create_dir_all(&folder).unwrap();
    for (name, theme) in themes.iter() {
        fs::write(folder.join(format!("{name}.diff")), &theme.differences).unwrap();
    }
    fs::write(folder.join("undeclared.yaml"), undeclared(&themes)).unwrap();
    println!("the differences in full: {}/<theme>.diff", folder.display());
    let unneeded = declared::unneeded();
    if !complete || run::compares_with_itself() || unneeded.is_empty() {
        return true;
    }
    println!("declared differences that differ no more: {unneeded:#?}");
    false
}

/// Returns the undeclared differences in the format of `differences.yaml`, without reasons.
fn undeclared(themes: &BTreeMap<String, FileSummary>) -> String {
    let mut list = String::new();
    for (name, theme) in themes.iter().filter(|(_, theme)| !theme.places.is_empty()) {
        let _ = writeln!(
            list,
            "- reason: 'Not yet as the real server, in {name}.'\n  at:"
        );
        for place in &theme.places {
            let _ = writeln!(list, "  - {}", serde_json::Value::from(place.as_str()));
        }
    }
    list
}

fn table(themes: &BTreeMap<String, FileSummary>) -> String {
    let mut table = format!(
        "{:<28}{:>8}{:>8}{:>10}{:>6}{:>8}\n",
        "theme", "requests", "equal", "declared", "501", "differ"
    );
    let mut total = [0; 4];
    for (name, theme) in themes {
        row(&mut table, name, theme.counts);
        for (sum, count) in total.iter_mut().zip(theme.counts) {
            *sum += count;
        }
    }
    row(&mut table, "all", total);
    table
}

fn row(table: &mut String, name: &str, counts: [usize; 4]) {
    let [equal, declared, missing, different] = counts;
    let all = equal + declared + missing + different;
    let _ = writeln!(
        table,
        "{name:<28}{all:>8}{equal:>8}{declared:>10}{missing:>6}{different:>8}"
    );
}
