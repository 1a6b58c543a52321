//! Resolves the names of steps and results to a graph of needs, and rejects cycles.

mod cycles;
mod graph;
mod names;
mod needs;
mod path;

use std::path::Path;

use self::names::Names;
use self::needs::NeedsResolver;
use self::path::StepPath;
use super::parsed::StepList;
use super::step::Step;
use crate::model::Diagnostic;
use crate::script::Program;

/// Resolves the steps of a pipeline. `program` contains their code, `folder` is the folder of the role.
/// The steps are none if a step has no valid action, which is reported elsewhere.
pub(super) fn resolve(
    steps: StepList,
    program: &Program,
    folder: &Path,
) -> (Option<Vec<Step>>, Vec<Diagnostic>) {
    let mut duplicates = Vec::new();
    let names = Names::of_pipeline(&steps, &mut duplicates);
    let mut resolver = NeedsResolver::new(program, folder);
    resolver.list(&steps, &StepPath::default(), &names);
    let (graph, mut problems) = resolver.finish();
    problems.extend(cycles::find(&graph, &steps, folder));
    problems.extend(duplicates.iter().map(|duplicate| {
        let at = duplicate.step.position;
        let file = folder.join(&*duplicate.list.file);
        Diagnostic::error(file, at.line, at.column, &*duplicate.message)
            .hint("rename one of the steps: `needs` and `results` refer to names")
    }));
    (steps.resolve(&|step| graph.needs_of(step)), problems)
}
