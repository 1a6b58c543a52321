//! Diagnostics of loading a program.

use super::{engine, sources};

fn problems(files: &[(&str, &str)]) -> String {
    let problems = engine()
        .compile(&sources(files), "tasks/main.rhai")
        .unwrap_err();
    problems
        .iter()
        .map(|problem| problem.to_string() + "\n")
        .collect()
}

fn problem(script: &str) -> String {
    problems(&[("tasks/main.rhai", script)])
}

#[test]
fn all_errors_are_reported_together() {
    let told = problems(&[
        (
            "tasks/main.rhai",
            "import \"instal\" as install;\nimport \"broken\" as broken;\nimport \"helpers\" as helpers;\nlet a = spc.size;\nk8s_gett(\"x\");\nlet b = nam + spc.size;\nhelpers::nothing();\nhelpers::twice(1, 2);\nrefuse();\nlet f = |x| x; f(1);\n[1].mapp(|x| x);\nfn g() { a }\nFn(\"nope\").call();",
        ),
        ("tasks/install.rhai", ""),
        (
            "tasks/helpers.rhai",
            "fn twice(x) { x * two }\nprivate fn hidden() { undefined_fn() }",
        ),
        ("tasks/broken.rhai", "fn f( {"),
    ]);
    insta::assert_snapshot!(told, @r#"
roles/web/tasks/broken.rhai:1:7: error: expecting ')' to close the parameters list of function 'f'
roles/web/tasks/helpers.rhai:1:19: error: undefined variable `two`
roles/web/tasks/helpers.rhai:2:23: error: unknown function `undefined_fn`
roles/web/tasks/main.rhai:1:8: error: no module "instal": tasks/instal.rhai does not exist
  hint: did you mean "install"?
roles/web/tasks/main.rhai:4:9: error: undefined variable `spc`
  hint: did you mean `spec`?
roles/web/tasks/main.rhai:5:1: error: unknown function `k8s_gett`
  hint: did you mean `k8s_get`?
roles/web/tasks/main.rhai:6:9: error: undefined variable `nam`
roles/web/tasks/main.rhai:7:10: error: unknown function `nothing` in module `helpers`
roles/web/tasks/main.rhai:8:10: error: `twice` takes 1 argument, not 2 in module `helpers`
roles/web/tasks/main.rhai:9:1: error: `refuse` takes 1 argument, not 0
roles/web/tasks/main.rhai:10:16: error: unknown function `f`
  hint: call the closure in variable `f` as `f.call(…)`
roles/web/tasks/main.rhai:11:5: error: unknown function `mapp`
  hint: did you mean `map`?
roles/web/tasks/main.rhai:12:10: error: undefined variable `a`
  hint: pass it as an argument: functions do not see the variables of their file
roles/web/tasks/main.rhai:13:1: error: unknown function `nope`
"#);
}

#[test]
fn syntax_errors_have_a_place() {
    insta::assert_snapshot!(problem("let x = 1;\nlet y = ;\n"), @r#"roles/web/tasks/main.rhai:2:9: error: unexpected ';'"#);
    insta::assert_snapshot!(problem("let x = \"open"), @r#"roles/web/tasks/main.rhai:1:9: error: open string is not terminated"#);
    insta::assert_snapshot!(problem("if x {"), @r#"
roles/web/tasks/main.rhai:1:4: error: undefined variable `x`
roles/web/tasks/main.rhai:1:7: error: expecting '}' to terminate this block
"#);
    insta::assert_snapshot!(problem("let default = 1;"), @r#"
roles/web/tasks/main.rhai:1:5: error: `default` is a reserved word
  hint: use another name: reserved words are allowed only after a dot and as keys of maps
"#);
    insta::assert_snapshot!(problem("a === b"), @r#"
roles/web/tasks/main.rhai:1:1: error: undefined variable `a`
roles/web/tasks/main.rhai:1:3: error: '===' is not a valid operator. This is not JavaScript! Should it be '=='?
"#);
    insta::assert_snapshot!(problem("let x = eval(\"1\");"), @r#"
roles/web/tasks/main.rhai:1:9: error: `eval` is not available
  hint: call a function or a closure instead
"#);
    insta::assert_snapshot!(problem("missing::f()"), @r#"
roles/web/tasks/main.rhai:1:1: error: undefined module `missing`
  hint: import it: import "missing" as missing;
"#);
}

#[test]
fn common_mistakes_have_a_position_and_a_hint() {
    for (script, position, hint) in [
        (
            "let a = 1\n\n// A comment.\nlet b = 2;",
            "1:10: error: expecting ';'",
            "end the statement with ;",
        ),
        (
            "let a = 1 let b = 2;",
            "1:10: error: expecting ';'",
            "end the statement with ;",
        ),
        (
            "let a = 'text';",
            "1:9: error: invalid character",
            "write text in double quotes; single quotes are for one character",
        ),
        (
            "let a = {size: 1};",
            "1:14: error: expecting ';'",
            "write a map as #{key: value}",
        ),
    ] {
        let told = problem(script);
        assert!(told.contains(position), "{script}: {told}");
        assert!(told.contains(&format!("hint: {hint}")), "{script}: {told}");
    }
}

#[test]
fn import_cycles_are_found() {
    let told = problems(&[
        ("tasks/main.rhai", "import \"a\" as a;"),
        ("tasks/a.rhai", "fn f() {\n    import \"b\" as b;\n}"),
        (
            "tasks/b.rhai",
            "import \"a\" as a;\nimport \"b\" as b; import \"main\" as main;",
        ),
    ]);
    insta::assert_snapshot!(told, @r#"
roles/web/tasks/b.rhai:1:8: error: import cycle: tasks/a.rhai → tasks/b.rhai → tasks/a.rhai
roles/web/tasks/b.rhai:2:8: error: import cycle: tasks/b.rhai → tasks/b.rhai
roles/web/tasks/b.rhai:2:25: error: import cycle: tasks/main.rhai → tasks/a.rhai → tasks/b.rhai → tasks/main.rhai
"#);
}

#[test]
fn imports_cannot_leave_the_role() {
    for path in [
        "/etc/passwd",
        "../other/tasks/main",
        "a/../../b",
        "..",
        "./../x",
        "a\\\\..\\\\b",
    ] {
        let told = problem(&format!("import \"{path}\" as x;"));
        assert!(told.contains("is outside the role"), "{path}: {told}");
    }
    assert!(
        problem("let p = \"a\"; import p as x;")
            .contains("requires the name of a module in quotes")
    );
}

#[test]
fn a_missing_entry_is_reported() {
    insta::assert_snapshot!(problems(&[("tasks/other.rhai", "")]), @r#"roles/web/tasks/main.rhai: error: file not found"#);
}

#[test]
fn valid_scripts_have_no_errors() {
    let script = r#"
        import "helpers" as helpers;
        const LIMIT = 5;
        fn double(x) { x * 2 }
        fn grow() { this.size += 1; this }
        fn later() { double(global::LIMIT) + helpers::twice(1) + helpers::NUMBER }
        let obj = #{ run: |x| x + 1, nested: #{ go: || 2 }, size: 1 };
        obj.added = |x| x;
        obj["indexed"] = |x| x;
        obj.run(1); obj.nested.go(); obj.added(1); obj.indexed(1);
        obj.grow();
        let f = Fn("double"); f.call(2); call(f, 2);
        let g = double; g.call(2);
        [1, 2].map(double).filter(|x| x > 1).reduce(|a, b| a + b);
        [3, 1].sort(|a, b| a - b);
        "abc".len(); "abc".len; "abc".to_upper(); len("abc");
        let x = if type_of(obj) == "map" { 1 } else { -1 };
        print("x"); debug(x); x.print(); x.type_of();
        is_def_fn("double", 1); is_def_var("x");
        for (item, i) in [1, 2] { item + i; }
        switch x { 1 | 2 => 3, 3 if x > 2 => 4, _ => () };
        let s = `a${double(x)}b${ let y = 1; y }`;
        x in [1]; !true; -x; x ** 2; x ?? 1; x..3; x != 1 && x < 2 || x >= 3;
        do { x += 1; } while x < 3;
        cr?.metadata?.name; spec["size"]; finalizing;
        try { throw 1 } catch (e) { e.message; }
        exit();
    "#;
    let helpers = "export const NUMBER = 3; fn twice(x) { x * 2 } fn unused() { twice(1) }";
    let files = [("tasks/main.rhai", script), ("tasks/helpers.rhai", helpers)];
    let told = engine()
        .compile(&sources(&files), "tasks/main.rhai")
        .map_err(|problems| {
            problems
                .iter()
                .map(|problem| problem.to_string() + "\n")
                .collect::<String>()
        });
    assert!(told.is_ok(), "{}", told.unwrap_err());
}

#[test]
fn variables_of_the_run_cannot_be_assigned_to() {
    for script in [
        "spec.size = 4",
        "spec.ports[0].name = \"x\"",
        "cr.metadata.labels.a = 1",
        "fn f() { spec.size += 1 } f()",
        "finalizing = true",
        "[1].map(|x| { spec.size = x })",
    ] {
        let told = problem(script);
        assert!(told.contains("cannot be changed"), "{script}: {told}");
    }
}
