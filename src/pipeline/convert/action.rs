//! What steps do, as statements.

use std::sync::Arc;

use super::helper::Helper;
use super::split_script::{apart, is_statement};
use super::{Script, code, string_fields};
use crate::pipeline::scope::{ERROR, ITEM, OBJECT, RESULT, RESULTS};
use crate::pipeline::{
    Action, Apply, Delete, Expression, Manifests, Options, Ready, Step, Test, Text, Tree,
};

impl Script<'_> {
    /// The statements of a step; `keep` makes the one that keeps its result.
    pub(super) fn work(&mut self, step: &Step, keep: &dyn Fn(&str) -> String) {
        match &step.action {
            Action::Apply(apply) => {
                let value = self.apply(apply);
                self.made(step, &value, keep);
            }
            Action::Delete(delete) => self.delete(step, delete),
            Action::Script(expression) => {
                let value = self.value_of(expression);
                self.made(step, &value, keep);
            }
            Action::Role(role) => {
                if self.rescued > 0 {
                    self.lost("what a role ends with by `fail` is not rescued");
                }
                let vars = code::variables(&[], &role.vars);
                let value = format!("include_role({}, {vars})", code::text(&role.name));
                self.made(step, &value, keep);
            }
            Action::Include(include) => self.include(step, include, keep),
            Action::Block(block) if step.repeat.is_some() => self.looped(step, block, keep),
            Action::Block(block) => {
                self.block(block);
                self.gates(step, "()");
            }
            Action::Fail(message) => self.fail(message),
            Action::Assert(assert) => {
                for test in &assert.that {
                    let shown = format!("`{}` does not hold", shown(test));
                    let shown = Text::Constant(shown.into());
                    let message = assert.message.as_ref().unwrap_or(&shown);
                    let opening = format!("if !({}) {{", self.test(test, None));
                    self.within(&opening, |script| script.fail(message), "}");
                }
                self.gates(step, "()");
            }
            told => {
                self.lines(&told_by(told));
                self.gates(step, "()");
            }
        }
        let makes_nothing = !matches!(
            &step.action,
            Action::Apply(_)
                | Action::Script(_)
                | Action::Role(_)
                | Action::Include(_)
                | Action::Block(_)
        );
        // The list of a loop's results has an entry for each item.
        if makes_nothing && step.repeat.is_some() && step.register.is_some() {
            self.lines(&keep("()"));
        }
    }

    /// The result of a step, and its gates.
    fn made(&mut self, step: &Step, value: &str, keep: &dyn Fn(&str) -> String) {
        if step.ready.is_none() && step.until.is_empty() {
            self.lines(&keep(value));
            return;
        }
        let keep = keep("result");
        let body = |script: &mut Self| {
            script.lines(&format!("let result = {value};"));
            if keep != "result;" {
                script.lines(&keep);
            }
            script.gates(step, "result");
        };
        self.within("{", body, "}");
    }

    /// What a step waits for; `result` is the code for what it made.
    pub(super) fn gates(&mut self, step: &Step, result: &str) {
        match &step.ready {
            Some(Ready::Status) => {
                let each = self.helper(Helper::Each, result);
                let opening = format!("for object in {each} {{");
                self.within(&opening, |script| script.lines("wait_ready(object);"), "}");
            }
            Some(Ready::Test(test)) => {
                let each = self.helper(Helper::Each, result);
                let holds = self.test(test, Some(OBJECT));
                let on = code::string(&format!(": {}", shown(test)));
                let on = format!("`${{object.kind}} ${{object.metadata.name}}` + {on}");
                let wait = format!("wait_until({holds}, {on});");
                let opening = format!("for object in {each} {{");
                self.within(&opening, |script| script.lines(&wait), "}");
            }
            None => {}
        }
        for test in &step.until {
            self.gate = Some(RESULT);
            let (holds, on) = (self.test(test, None), code::string(&shown(test)));
            self.gate = None;
            self.lines(&format!("wait_until({holds}, {on});"));
        }
    }

    fn apply(&mut self, apply: &Apply) -> String {
        let Options {
            owner,
            force,
            adopt,
            recreate,
        } = apply.options;
        let options = [
            ("owner", owner),
            ("force", force),
            ("adopt", adopt),
            ("recreate", recreate),
        ];
        let given = options
            .iter()
            .filter_map(|(name, flag)| Some(format!("{name}: {}", (*flag)?)));
        let given: Vec<_> = given.collect();
        let objects = self.manifests(&apply.manifests);
        if given.is_empty() {
            format!("k8s_apply({objects})")
        } else {
            format!("k8s_apply({objects}, #{{{}}})", given.join(", "))
        }
    }

    fn manifests(&mut self, manifests: &Manifests) -> String {
        if let Manifests::Inline(Tree::Slot(_)) | Manifests::File(..) | Manifests::Template { .. } =
            manifests
        {
            self.lost("what a template or an expression gives: numbers in labels and data are not made texts");
        }
        match manifests {
            Manifests::Inline(tree) => {
                let objects = string_fields::manifests(tree);
                for helper in [Helper::Text, Helper::Texts] {
                    if objects.contains(&format!("{}(", helper.name())) {
                        self.helper(helper, "");
                    }
                }
                objects
            }
            Manifests::Documents(_, documents) if string_fields::are_missing(documents) => {
                string_fields::documents(documents)
            }
            Manifests::Documents(name, _) => format!("file({})", code::string(name)),
            Manifests::File(name, _) => format!("file({})", code::text(name)),
            Manifests::Template { name, vars, .. } => self.template(name, vars),
        }
    }

    /// What a template makes. It sees the variables of the role, and what else is handed to it.
    fn template(&mut self, name: &Text, vars: &[(Arc<str>, Tree)]) -> String {
        let seen = [
            (ITEM, self.in_loop > 0),
            (ERROR, self.in_rescue > 0),
            (RESULTS, true),
        ];
        let mut first = Vec::new();
        for (variable, is_there) in seen {
            if is_there && self.reads(name, variable) {
                first.push((variable, variable));
            }
        }
        let given = code::variables(&first, vars);
        let is_empty = first.is_empty() && vars.is_empty();
        let name = code::text(name);
        match (self.in_vars > 0, is_empty) {
            (false, true) => format!("template_objects({name})"),
            (false, false) => format!("template_objects({name}, {given})"),
            (true, true) => format!("template_objects({name}, vars)"),
            (true, false) => format!("template_objects({name}, merge(vars, {given}))"),
        }
    }

    /// Returns whether a template, or one that is not known, may use a variable.
    fn reads(&self, name: &Text, variable: &str) -> bool {
        let template = name.constant();
        let template = template.and_then(|name| self.templates.get_template(name).ok());
        template.is_none_or(|template| template.undeclared_variables(false).contains(variable))
    }

    fn delete(&mut self, step: &Step, delete: &Delete) {
        let options = match delete.propagation {
            Some(propagation) => format!(", #{{propagation: {}}}", code::string(propagation)),
            None => String::new(),
        };
        let mut objects = code::tree(&delete.objects);
        if let Tree::Slot(_) = &delete.objects {
            objects = self.helper(Helper::Each, &objects);
        }
        let delete = format!("k8s_delete(object{options});");
        let opening = format!("for object in {objects} {{");
        self.within(&opening, |script| script.lines(&delete), "}");
        if let Some(ready) = &step.ready {
            if let Ready::Test(_) = ready {
                self.lost("a test of what is deleted is taken as a wait for its end");
            }
            self.within(&opening, |script| script.lines("wait_gone(object);"), "}");
        }
    }

    /// An expression, or statements as a block.
    fn value_of(&mut self, expression: &Expression) -> String {
        let file = self.program.source(&expression.text);
        let (functions, rest) = apart(file.unwrap_or(&expression.text));
        self.functions.extend(functions);
        if self.rescued > 0 && rest.contains("fail(") {
            self.lost("what a script ends with by `fail` is not rescued: write `throw`");
        }
        if rest.contains("return") {
            return format!("(|| {{\n{}\n}}).call()", indented(&rest));
        }
        if is_statement(&rest) {
            return format!("{{\n{}\n}}", indented(&rest));
        }
        rest
    }

    fn fail(&mut self, message: &Text) {
        let message = code::text(message);
        if self.rescued > 0 {
            // What ends a run cannot be caught.
            self.fails = true;
            self.lines(&format!("throw #{{kind: \"failed\", message: {message}}};"));
        } else {
            self.lines(&format!("fail({message});"));
        }
    }

    /// A condition as Rhai; `root` is what a query is asked of, if not the variables.
    pub(super) fn test(&self, test: &Test, root: Option<&str>) -> String {
        code::test(test, root, &self.variables())
    }
}

/// The statement of an action that tells something.
fn told_by(action: &Action) -> String {
    match action {
        Action::Status(status) => format!("set_status({});", code::tree(status)),
        Action::Condition(condition) => {
            let [kind, reason, message] =
                [&condition.kind, &condition.reason, &condition.message].map(code::text);
            let status = code::tree(&condition.status);
            format!("set_condition({kind}, {status}, {reason}, {message});")
        }
        Action::Event(event) => {
            let [kind, reason, message] =
                [&event.kind, &event.reason, &event.message].map(code::text);
            format!("event({kind}, {reason}, {message});")
        }
        _ => String::new(),
    }
}

/// A condition as it was written.
fn shown(test: &Test) -> String {
    match test {
        Test::Constant(flag) => flag.to_string(),
        Test::Expression(expression) => expression.text.to_string(),
        Test::Query(query) => query.text.to_string(),
    }
}

fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| format!("    {line}"));
    lines.collect::<Vec<_>>().join("\n")
}
