//! Finds steps that need each other.

use std::collections::BTreeSet;
use std::path::Path;

use super::graph::{NeedReason, NeedsGraph};
use crate::model::Diagnostic;
use crate::pipeline::parsed::{StepId, StepList};

/// Returns the cycles among the steps of a list and of the lists within it, as errors.
pub(super) fn find(graph: &NeedsGraph, list: &StepList, folder: &Path) -> Vec<Diagnostic> {
    let mut done = BTreeSet::new();
    let mut problems = Vec::new();
    for index in 0..list.steps.len() {
        if let Some(cycle) = search(graph, list, &mut vec![index], &mut done) {
            problems.push(describe(graph, list, &cycle, folder));
        }
    }
    let inner = list.steps.iter().flat_map(|step| step.lists());
    problems.extend(inner.flat_map(|list| find(graph, list, folder)));
    problems
}

/// Returns a cycle that the last step of a path leads to. Adds the steps that it searched to `done`.
fn search(
    graph: &NeedsGraph,
    list: &StepList,
    path: &mut Vec<usize>,
    done: &mut BTreeSet<usize>,
) -> Option<Vec<usize>> {
    let index = *path.last()?;
    if done.contains(&index) {
        return None;
    }
    let step = StepId {
        list: list.number,
        index,
    };
    for need in graph.needs_of(step) {
        if let Some(first) = path.iter().position(|step| *step == need) {
            done.extend(path.iter());
            return Some(path[first..].to_vec());
        }
        path.push(need);
        let cycle = search(graph, list, path, done);
        path.pop();
        if cycle.is_some() {
            return cycle;
        }
    }
    done.insert(index);
    None
}

fn describe(graph: &NeedsGraph, list: &StepList, cycle: &[usize], folder: &Path) -> Diagnostic {
    let name = |index: usize| &*list.steps[index].name;
    let steps: Vec<_> = cycle.iter().chain(cycle.first()).copied().collect();
    let names: Vec<_> = steps.iter().map(|index| name(*index)).collect();
    let reasons: Vec<_> = steps
        .windows(2)
        .filter_map(|pair| {
            let step = StepId {
                list: list.number,
                index: pair[0],
            };
            let verb = match graph.reason(step, pair[1])? {
                NeedReason::Named => "needs",
                NeedReason::Reads => "reads a result of",
                NeedReason::Follows => "comes after",
            };
            Some(format!("{} {verb} {}", name(pair[0]), name(pair[1])))
        })
        .collect();
    let first = cycle.iter().min().copied().unwrap_or_default();
    let at = list.steps[first].position;
    let message = format!("the steps need each other: {}", names.join(" → "));
    let hint = format!("remove one of these needs: {}", reasons.join("; "));
    Diagnostic::error(folder.join(&*list.file), at.line, at.column, message).hint(hint)
}
