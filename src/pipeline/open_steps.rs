//! The stack of steps that a run executes at the moment.

use std::sync::Arc;

use super::report::StepReport;

/// The steps at work, outermost first.
#[derive(Debug, Default)]
pub(crate) struct OpenSteps(Vec<Level>);

#[derive(Debug)]
struct Level {
    name: Arc<str>,
    item: Option<usize>,
    steps: Vec<StepReport>,
}

impl OpenSteps {
    /// Returns whether no step is at work.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A step begins.
    pub(crate) fn begin(&mut self, name: &Arc<str>) {
        self.0.push(Level {
            name: Arc::clone(name),
            item: None,
            steps: Vec::new(),
        });
    }

    /// The step at work does an item of its loop.
    pub(crate) fn set_item(&mut self, item: Option<usize>) {
        if let Some(level) = self.0.last_mut() {
            level.item = item;
        }
    }

    /// The name of a step within the one at work.
    pub(crate) fn name(&self, name: &Arc<str>) -> Arc<str> {
        match self.0.last().and_then(|level| level.item) {
            Some(item) => format!("{name}[{item}]").into(),
            None => Arc::clone(name),
        }
    }

    /// The path of the step at work.
    pub(crate) fn path(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|level| &*level.name).collect();
        names.join("/")
    }

    /// The step at work ends; what the steps in it came to.
    pub(crate) fn end(&mut self) -> Vec<StepReport> {
        self.0.pop().map(|level| level.steps).unwrap_or_default()
    }

    /// Keeps what a step came to with the one around it; gives it back where there is none.
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
    fn steps_of_items_are_told_apart() {
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
