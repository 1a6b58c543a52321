//! Converts the actions and the gates of steps.

use std::sync::Arc;

use super::code;
use super::context::Context;
use super::helper::Helper;
use super::split_script::{is_statement, split_functions};
use super::string_fields;
use super::writer::ScriptWriter;
use crate::pipeline::action::{Apply, Delete, Manifests, Options, Script};
use crate::pipeline::scope::{ERROR, ITEM, OBJECT, RESULT, RESULTS};
use crate::pipeline::step::{Action, Ready, Step};
use crate::pipeline::tree::{TextTemplate, Tree};

/// Returns the code of the map that a role gets: the variables of its step, and its own over them.
fn role_variables(step: &Step, vars: &[(Arc<str>, Tree)]) -> String {
    let is_replaced = |name: &Arc<str>| vars.iter().any(|(other, _)| other == name);
    let inherited = step.vars.iter().map(|(name, _)| name);
    let inherited: Vec<_> = inherited
        .filter(|name| !is_replaced(name))
        .map(|name| (&**name, format!("vars[{}]", code::string(name))))
        .collect();
    let inherited = inherited.iter().map(|(name, code)| (*name, &**code));
    code::variables(&inherited.collect::<Vec<_>>(), vars)
}

impl ScriptWriter<'_> {
    /// Adds the statements of a step. `keep` returns the statement that keeps its result.
    pub(super) fn work(&mut self, step: &Step, context: Context, keep: &dyn Fn(&str) -> String) {
        match &step.action {
            Action::Apply(apply) => {
                let value = self.apply(apply, context);
                self.result(step, context, &value, keep);
            }
            Action::Delete(delete) => self.delete(step, delete),
            Action::Script(script) => {
                let value = self.script(script, context);
                self.result(step, context, &value, keep);
            }
            Action::Role(role) => {
                if context.is_caught() {
                    self.difference("a `fail` of a role is not rescued");
                }
                let vars = role_variables(step, &role.vars);
                let value = format!("include_role({}, {vars})", code::text(&role.name));
                self.result(step, context, &value, keep);
            }
            Action::Include(include) => self.include(step, include, context, keep),
            Action::Block(block) if step.repeat.is_some() => {
                self.block_of_loop(step, block, context, keep);
            }
            Action::Block(block) => {
                self.block(block, context);
                self.gates(step, context, "()");
            }
            Action::Fail(message) => self.fail(message, context),
            Action::Assert(assert) => {
                for test in &assert.that {
                    let default = format!("`{}` is not true", test.text());
                    let default = TextTemplate::Constant(default.into());
                    let message = assert.message.as_ref().unwrap_or(&default);
                    let visible = self.visible(context, None);
                    let opening = format!("if !({}) {{", code::test(test, None, &visible));
                    self.braced_block(&opening, |script| script.fail(message, context), "}");
                }
                self.gates(step, context, "()");
            }
            Action::Status(_) | Action::Condition(_) | Action::Event(_) => {
                self.lines(&status_call(&step.action));
                self.gates(step, context, "()");
            }
        }
        let has_no_result = !matches!(
            &step.action,
            Action::Apply(_)
                | Action::Script(_)
                | Action::Role(_)
                | Action::Include(_)
                | Action::Block(_)
        );
        // The list of the results of a loop has an entry for each item.
        if has_no_result && step.repeat.is_some() && step.register.is_some() {
            self.lines(&keep("()"));
        }
    }

    /// Adds the statement that keeps the result of a step, and its gates.
    fn result(
        &mut self,
        step: &Step,
        context: Context,
        value: &str,
        keep: &dyn Fn(&str) -> String,
    ) {
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
            script.gates(step, context, "result");
        };
        self.braced_block("{", body, "}");
    }

    /// Adds the gates of a step; `result` is the code of its result.
    pub(super) fn gates(&mut self, step: &Step, context: Context, result: &str) {
        match &step.ready {
            Some(Ready::Status) => {
                let each = self.helper(Helper::Each, result);
                let opening = format!("for object in {each} {{");
                self.braced_block(&opening, |script| script.lines("wait_ready(object);"), "}");
            }
            Some(Ready::Test(test)) => {
                let each = self.helper(Helper::Each, result);
                let is_open = code::test(test, Some(OBJECT), &self.visible(context, None));
                let on = code::string(&format!(": {}", test.text()));
                let on = format!("`${{object.kind}} ${{object.metadata.name}}` + {on}");
                let wait = format!("wait_until({is_open}, {on});");
                let opening = format!("for object in {each} {{");
                self.braced_block(&opening, |script| script.lines(&wait), "}");
            }
            None => {}
        }
        for test in &step.until {
            let is_open = code::test(test, None, &self.visible(context, Some(RESULT)));
            let on = code::string(test.text());
            self.lines(&format!("wait_until({is_open}, {on});"));
        }
    }

    fn apply(&mut self, apply: &Apply, context: Context) -> String {
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
        let objects = self.manifests(&apply.manifests, context);
        if given.is_empty() {
            format!("k8s_apply({objects})")
        } else {
            format!("k8s_apply({objects}, #{{{}}})", given.join(", "))
        }
    }

    fn manifests(&mut self, manifests: &Manifests, context: Context) -> String {
        if let Manifests::Inline(Tree::Slot(_)) | Manifests::File(..) | Manifests::Template { .. } =
            manifests
        {
            self.difference(
                "numbers in labels and data that a template or an expression returns are not converted to \
                 texts",
            );
        }
        match manifests {
            Manifests::Inline(tree) => string_fields::manifests(tree, &mut |helper, argument| {
                self.helper(helper, argument)
            }),
            Manifests::Documents(_, documents) if string_fields::need_conversion(documents) => {
                string_fields::documents(documents)
            }
            Manifests::Documents(name, _) => format!("file({})", code::string(name)),
            Manifests::File(name, _) => format!("file({})", code::text(name)),
            Manifests::Template { name, vars, .. } => self.template(name, vars, context),
        }
    }

    /// Returns the call that renders a template. It sees the variables of the role, and those that it gets.
    fn template(
        &mut self,
        name: &TextTemplate,
        vars: &[(Arc<str>, Tree)],
        context: Context,
    ) -> String {
        let visible = [
            (ITEM, context.in_loop),
            (ERROR, context.in_rescue),
            (RESULTS, true),
        ];
        let mut first = Vec::new();
        for (variable, exists) in visible {
            if exists && self.reads(name, variable) {
                first.push((variable, variable));
            }
        }
        let given = code::variables(&first, vars);
        let is_empty = first.is_empty() && vars.is_empty();
        let name = code::text(name);
        match (context.in_vars, is_empty) {
            (false, true) => format!("template_objects({name})"),
            (false, false) => format!("template_objects({name}, {given})"),
            (true, true) => format!("template_objects({name}, vars)"),
            (true, false) => format!("template_objects({name}, merge(vars, {given}))"),
        }
    }

    /// Returns whether a template may use a variable. A template with an unknown name may use any.
    fn reads(&self, name: &TextTemplate, variable: &str) -> bool {
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
        self.braced_block(&opening, |script| script.lines(&delete), "}");
        if let Some(ready) = &step.ready {
            if let Ready::Test(_) = ready {
                self.difference("a `ready` test of a deleted object is a wait for its deletion");
            }
            self.braced_block(&opening, |script| script.lines("wait_gone(object);"), "}");
        }
    }

    /// Returns a script as a value: an expression, or a block of statements.
    fn script(&mut self, script: &Script, context: Context) -> String {
        let text = match script {
            Script::Inline(expression) => &expression.text,
            Script::File { path, .. } => self.program.source(path).unwrap_or_default(),
        };
        let (functions, rest) = split_functions(text);
        self.functions.extend(functions);
        if context.is_caught() && rest.contains("fail(") {
            self.difference("a `fail` of a script is not rescued: write `throw`");
        }
        if rest.contains("return") {
            return format!("(|| {{\n{}\n}}).call()", indented(&rest));
        }
        if is_statement(&rest) {
            return format!("{{\n{}\n}}", indented(&rest));
        }
        rest
    }

    fn fail(&mut self, message: &TextTemplate, context: Context) {
        let message = code::text(message);
        if context.is_caught() {
            // A script cannot catch `fail`.
            self.throws_failure = true;
            self.lines(&format!("throw #{{kind: \"failed\", message: {message}}};"));
        } else {
            self.lines(&format!("fail({message});"));
        }
    }
}

/// Returns the call of an action that writes the status or an Event.
fn status_call(action: &Action) -> String {
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

fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| format!("    {line}"));
    lines.collect::<Vec<_>>().join("\n")
}
