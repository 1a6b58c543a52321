//! A step: what it does, when, after which others, and when it is done.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Pipeline;
use super::action::Action;
use super::tree::{Expression, Query, SourceLocation, Test, Tree};

/// One step of a list.
///
/// # Order of its parts
/// With a loop, all but `repeat` is done for each item, `item` being in scope: `vars` (they see the
/// variables outside of the step and the earlier ones of their map), `when`, the action, `ready`,
/// `until`. Without one, the same once.
///
/// # Its result
/// The result of its action, of a loop the list of those whose `when` held, and `()` when it was
/// skipped. A skipped step counts as done for those that need it.
#[derive(Debug)]
pub struct Step {
    /// Its name, unique in its scope; `apply 3` for the third of its list that has none.
    pub name: Arc<str>,
    /// Under which key of `results` its result is kept; none when it has neither a name nor `register`.
    pub register: Option<Arc<str>>,
    /// Where it begins.
    pub place: SourceLocation,
    /// The steps of the same list that have to be done before it, by index. The graph has no cycle; an
    /// index may be greater than the step's own.
    pub needs: Vec<usize>,
    /// It is done only if all of these hold.
    pub when: Vec<Test>,
    /// `loop`.
    pub repeat: Option<Loop>,
    /// Variables laid over `vars` (deeply merged, `()` removes) for this step and all within it.
    pub vars: Vec<(Arc<str>, Tree)>,
    /// Its tags and those of the steps around it.
    pub tags: BTreeSet<Arc<str>>,
    /// What it does.
    pub action: Action,
    /// The gate on the objects that it made.
    pub ready: Option<Ready>,
    /// Gates on its result, all of which have to open.
    pub until: Vec<Test>,
    /// How long it may wait at its gates before that is a failure.
    pub timeout: Option<Duration>,
    /// How many runs it may fail in, each followed by the usual backoff, before its failure is final
    /// (is rescued, or fails the run for good). None: it is rescued at once, or tried for ever.
    pub retries: Option<u64>,
}

/// What a step is repeated for.
#[derive(Debug)]
pub enum Loop {
    /// A list or a map with slots; a map as of an expression.
    Items(Tree),
    /// Rhai: a list; a map gives an item `#{key, value}` for each of its entries.
    Expression(Expression),
    /// JSONPath: what it selects.
    Query(Query),
}

/// A gate on objects: of `apply` each live object that was applied, of `delete` whether they are gone, of
/// `script` and `role` the object or objects that are its value.
#[derive(Debug)]
pub enum Ready {
    /// `true`: what the host function `ready` says; for `delete`: they are gone.
    Status,
    /// A test with `object` in scope; a query is asked of the object itself.
    Test(Test),
}

impl Step {
    /// The lists of steps within it.
    pub fn lists(&self) -> impl Iterator<Item = &[Self]> {
        let lists: [&[Self]; 3] = match &self.action {
            Action::Block(block) => {
                let rescue = block.rescue.as_deref().unwrap_or_default();
                [&block.steps, rescue, &block.always]
            }
            Action::Include(include) => [&include.steps, &[], &[]],
            _ => [&[], &[], &[]],
        };
        lists.into_iter()
    }

    fn gather<'a>(&'a self, all: &mut Vec<&'a Self>) {
        all.push(self);
        for step in self.lists().flatten() {
            step.gather(all);
        }
    }
}

impl Pipeline {
    /// All its steps, those within steps too, in the order of the files.
    pub fn all_steps(&self) -> Vec<&Step> {
        let mut all = Vec::new();
        for step in &self.steps {
            step.gather(&mut all);
        }
        all
    }
}
