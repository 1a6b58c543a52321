//! What steps do, as statements.

use super::code;
use super::script::apart;
use super::{Helper, Script};
use crate::role::pipeline::scope::RESULTS;
use crate::role::pipeline::{
    Action, Apply, Block, Delete, Expression, Manifests, Options, Ready, Step, Test, Text, Tree,
};

/// The maps of objects whose values are all texts.
const TEXTS: [&[&str]; 2] = [&["metadata", "labels"], &["metadata", "annotations"]];

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
                let vars = code::variables(&[], &role.vars);
                let value = format!("include_role({}, {vars})", code::text(&role.name));
                self.made(step, &value, keep);
            }
            Action::Include(include) => self.enclosed(step, &[&include.steps], keep),
            Action::Status(status) => {
                self.lines(&format!("set_status({});", code::tree(status)));
                self.gates(step, "()");
            }
            Action::Condition(condition) => {
                let [kind, reason, message] =
                    [&condition.kind, &condition.reason, &condition.message].map(code::text);
                let status = code::tree(&condition.status);
                self.lines(&format!(
                    "set_condition({kind}, {status}, {reason}, {message});"
                ));
                self.gates(step, "()");
            }
            Action::Event(event) => {
                let [kind, reason, message] =
                    [&event.kind, &event.reason, &event.message].map(code::text);
                self.lines(&format!("event({kind}, {reason}, {message});"));
                self.gates(step, "()");
            }
            Action::Assert(assert) => {
                for test in &assert.that {
                    let shown = Text::Constant(format!("{} does not hold", shown(test)).into());
                    let message = assert.message.as_ref().unwrap_or(&shown);
                    let opening = format!("if !({}) {{", code::test(test, None));
                    self.within(&opening, |script| script.fail(message), "}");
                }
                self.gates(step, "()");
            }
            Action::Fail(message) => self.fail(message),
            Action::Block(block) if step.repeat.is_some() => {
                self.lost("the rescue of a block with a loop is not converted");
                self.enclosed(step, &[&block.steps, &block.always], keep);
            }
            Action::Block(block) => {
                self.block(block);
                self.gates(step, "()");
            }
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

    fn gates(&mut self, step: &Step, result: &str) {
        match &step.ready {
            Some(Ready::Status) => {
                let each = self.helper(Helper::Each, result);
                let opening = format!("for object in {each} {{");
                self.within(&opening, |script| script.lines("wait_ready(object);"), "}");
            }
            Some(Ready::Test(test)) => {
                let each = self.helper(Helper::Each, result);
                let holds = code::test(test, Some("object"));
                let on = code::string(&format!(": {}", shown(test)));
                let on = format!("`${{object.kind}} ${{object.metadata.name}}` + {on}");
                let wait = format!("wait_until({holds}, {on});");
                let opening = format!("for object in {each} {{");
                self.within(&opening, |script| script.lines(&wait), "}");
            }
            None => {}
        }
        for test in &step.until {
            let (holds, on) = (code::test(test, None), code::string(&shown(test)));
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
        match manifests {
            Manifests::Inline(tree) => {
                let objects = match tree {
                    Tree::List(trees) => code::list(trees.iter().map(object)),
                    tree => object(tree),
                };
                if objects.contains("text(") {
                    self.helper(Helper::Text, "");
                }
                objects
            }
            Manifests::Documents(name, _) => format!("file({})", code::string(name)),
            Manifests::File(name, _) => format!("file({})", code::text(name)),
            Manifests::Template { name, vars, .. } => {
                let mut first = Vec::new();
                if self.in_loop > 0 {
                    first.push(("item", "item"));
                }
                if self.reads_results(name) {
                    first.push((RESULTS, RESULTS));
                }
                let name = code::text(name);
                if first.is_empty() && vars.is_empty() {
                    return format!("template_objects({name})");
                }
                format!(
                    "template_objects({name}, {})",
                    code::variables(&first, vars)
                )
            }
        }
    }

    /// Whether a template, or one that is not known, may use results.
    fn reads_results(&self, name: &Text) -> bool {
        let template = name.constant();
        let template = template.and_then(|name| self.role.templates.get_template(name).ok());
        template.is_none_or(|template| template.undeclared_variables(false).contains(RESULTS))
    }

    fn delete(&mut self, step: &Step, delete: &Delete) {
        let options = match delete.propagation {
            Some(propagation) => format!(", #{{propagation: {}}}", code::string(propagation)),
            None => String::new(),
        };
        let objects = code::tree(&delete.objects);
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
        if rest.contains("return") {
            return format!("(|| {{\n{}\n}}).call()", indented(&rest));
        }
        if rest.contains([';', '\n']) || rest.starts_with("//") {
            return format!("{{\n{}\n}}", indented(&rest));
        }
        rest
    }

    fn fail(&mut self, message: &Text) {
        let message = code::text(message);
        if self.rescued > 0 {
            // What ends a run cannot be caught.
            self.lines(&format!("throw {message};"));
        } else {
            self.lines(&format!("fail({message});"));
        }
    }

    /// Steps with results of their own, and these as a map.
    fn enclosed(&mut self, step: &Step, lists: &[&[Step]], keep: &dyn Fn(&str) -> String) {
        let body = |script: &mut Self| {
            script.lines("let results = results;");
            for steps in lists {
                script.steps(steps);
            }
            let names = lists.iter().flat_map(|steps| registered(steps));
            let names: Vec<_> = names
                .map(|name| format!("{}: results{}", code::string(name), code::property(name)))
                .collect();
            script.lines(&format!("#{{{}}}", names.join(", ")));
        };
        let outer = |script: &mut Self| {
            script.within("let result = {", body, "};");
            let kept = keep("result");
            if kept != "result;" {
                script.lines(&kept);
            }
            script.gates(step, "result");
        };
        self.within("{", outer, "}");
    }

    fn block(&mut self, block: &Block) {
        if block.always.is_empty() {
            self.rescue(block);
            return;
        }
        let outer = |script: &mut Self| {
            script.lines("let failed = ();");
            script.rescued += 1;
            script.within("try {", |script| script.rescue(block), "} catch (error) {");
            script.rescued -= 1;
            script.depth += 1;
            script.lines("failed = error;");
            script.depth -= 1;
            script.lines("}");
            script.steps(&block.always);
            script.lines("if failed != () { throw failed; }");
        };
        // Not in a block of its own: a name that is made in there is seen after it.
        outer(self);
    }

    fn rescue(&mut self, block: &Block) {
        let Some(rescue) = &block.rescue else {
            self.steps(&block.steps);
            return;
        };
        self.rescued += 1;
        self.within(
            "try {",
            |script| script.steps(&block.steps),
            "} catch (error) {",
        );
        self.rescued -= 1;
        self.depth += 1;
        if !rescue.is_empty() {
            let failure = self.helper(Helper::Failure, "error");
            self.lines(&format!("let error = {failure};"));
            self.lost("`error` has no `step`");
            self.steps(rescue);
        }
        self.depth -= 1;
        self.lines("}");
    }
}

/// A manifest.
fn object(tree: &Tree) -> String {
    let mut texts = TEXTS.to_vec();
    match tree.entry("kind") {
        Some("ConfigMap") => texts.push(&["data"]),
        Some("Secret") => texts.push(&["stringData"]),
        _ => {}
    }
    code::in_object(tree, &texts)
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

/// The names of the results that steps make outside of steps with names of their own.
fn registered(steps: &[Step]) -> Vec<&str> {
    let mut names = Vec::new();
    for step in steps {
        names.extend(step.register.as_deref());
        if let (Action::Block(block), None) = (&step.action, &step.repeat) {
            let rescue = block.rescue.iter().flatten();
            let within = block.steps.iter().chain(rescue).chain(&block.always);
            names.extend(within.filter_map(|step| step.register.as_deref()));
        }
    }
    names
}
