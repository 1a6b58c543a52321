//! The stack of steps that a run executes at the moment.

use std::sync::Arc;

use super::report::StepReport;

/// The steps that a run is executing, outermost first.
#[derive(Debug, Default)]
pub(crate) struct OpenSteps(Vec<Level>);

#[derive(Debug)]
struct Level {
    name: Arc<str>,
    item: Option<usize>,
    steps: Vec<StepReport>,
}

impl OpenSteps {
    /// Returns whether no step is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Opens a step within the innermost open one.
    pub(crate) fn begin(&mut self, name: &Arc<str>) {
        self.0.push(Level {
            name: Arc::clone(name),
            item: None,
            steps: Vec::new(),
        });
    }

    /// Sets the item of its loop that the innermost open step executes.
    pub(crate) fn set_item(&mut self, item: Option<usize>) {
        if let Some(level) = self.0.last_mut() {
            level.item = item;
        }
    }

    /// Returns the name of a step within the innermost open one, with the number of its item.
    pub(crate) fn name(&self, name: &Arc<str>) -> Arc<str> {
        match self.0.last().and_then(|level| level.item) {
            Some(item) => format!("{name}[{item}]").into(),
            None => Arc::clone(name),
        }
    }

    /// Returns the path of the innermost open step.
    pub(crate) fn path(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|level| &*level.name).collect();
        names.join("/")
    }

    /// Closes the innermost open step, and returns the reports of the steps within it.
    pub(crate) fn end(&mut self) -> Vec<StepReport> {
        self.0.pop().map(|level| level.steps).unwrap_or_default()
    }

    /// Adds a report to the innermost open step, or returns it if no step is open.
    pub(crate) fn keep(&mut self, step: StepReport) -> Option<StepReport> {
        match self.0.last_mut() {
            Some(level) => {
                level.steps.push(step);
                None
            }
            None => Some(step),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_step_in_a_loop_contains_the_item() {
        let name = |text: &str| Arc::<str>::from(text);
        let mut open = OpenSteps::default();
        assert_eq!(open.name(&name("a")), name("a"));
        open.begin(&name("a"));
        open.set_item(Some(1));
        let inner = open.name(&name("b"));
        open.begin(&inner);
        assert_eq!(open.path(), "a/b[1]");
    }
}
