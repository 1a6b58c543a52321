//! Features of the language that plain Rhai does not have.

use super::{failure, json, run_files};

#[tokio::test]
async fn variables_are_seen_in_functions_closures_and_modules() {
    let files = [
        (
            "tasks/main.rhai",
            "import \"names\" as names; fn size() { spec.size } [1].map(|x| size() + x + names::ports())",
        ),
        ("tasks/names.rhai", "fn ports() { cr.spec.ports.len() }"),
    ];
    let value = run_files(&files).await.unwrap();
    assert_eq!(value.into_array().unwrap()[0].as_int(), Ok(6));
}

#[tokio::test]
async fn a_closure_of_a_variables_own_method_may_read_that_variable() {
    let names =
        json("spec.ports.filter(|p| p.number > spec.least).map(|p| p.name + cr.metadata.name)")
            .await;
    assert_eq!(names, r#"["httpsshop"]"#);
}

#[tokio::test]
async fn closures_may_nest_over_one_variable() {
    let pairs =
        json("spec.ports.map(|p| spec.ports.map(|q| spec.ports.len() + p.number + q.number))")
            .await;
    assert_eq!(pairs, "[[162,525],[525,888]]");
}

#[tokio::test]
async fn variables_cannot_be_changed() {
    for script in ["spec.ports.push(1)", "spec.ports[0].remove(\"name\")"] {
        let error = failure(script).await;
        assert!(error.message.contains("constant"), "{script}: {error}");
    }
    assert_eq!(json("let p = spec.ports; p.push(1); let m = #{ p: spec.ports }; m.p.push(1); m.q = spec.ports; m.q.push(1); [p.len(), m.p.len(), m.q.len(), spec.ports.len()]").await, "[3,3,3,2]");
}

#[tokio::test]
async fn a_local_variable_may_hide_one_of_the_run() {
    assert_eq!(json("let spec = #{ size: 9 }; spec.size").await, "9");
    assert_eq!(json("fn f(spec) { spec } f(5)").await, "5");
}

#[tokio::test]
async fn an_absent_property_is_unit_and_a_property_of_unit_is_an_error() {
    assert_eq!(
        json("[spec.none, spec?.none?.more, spec.none ?? 5]").await,
        "[null,null,5]"
    );
    for property in ["tag", "image", "len"] {
        let error = failure(&format!("let x = 1;\nspec.none.{property}")).await;
        assert_eq!(
            error.to_string(),
            format!("web/tasks/main.rhai:2:11: cannot read property `{property}` of ()")
        );
    }
    let error = failure("let m = #{}; m.a.b = 1").await;
    assert_eq!(error.message, "cannot set property `b` of ()");
}

#[tokio::test]
async fn no_value_but_a_map_has_a_tag() {
    for value in ["()", "1", "1.5", "\"x\"", "true", "[1]", "'c'", "|| 1"] {
        let error = failure(&format!("let v = {value}; v.tag")).await;
        assert!(
            error.message.starts_with("cannot read property `tag` of "),
            "{value}: {error}"
        );
        let error = failure(&format!("let v = {value}; v.tag = 1")).await;
        assert!(
            error.message.contains("property `tag` of "),
            "{value}: {error}"
        );
    }
    assert_eq!(json("let m = #{ tag: \"1.6\" }; m.tag").await, r#""1.6""#);
    assert_eq!(json("let m = #{}; m.tag").await, "null");
}

#[tokio::test]
async fn reserved_words_are_names_of_properties_and_keys() {
    let words = "default in for is match new case export import private public static module package sync async await with use if else let const fn return throw try catch loop while \
        do switch break continue true false as global var void null nil exit go thread spawn shared super goto until unless each then protected yield begin end this type_of print debug call curry Fn tag";
    for word in words.split_whitespace() {
        let script = format!(
            "let m = #{{ {word}: 1, b: #{{ {word}: [#{{ {word}: 2 }}] }} }};\n\
             m.{word} += 1; let n = #{{ a: || 1, {word}: m.{word} }}; `${{m.b.{word}[0].{word}}}${{n.{word}}}${{m?.{word}}}`"
        );
        assert_eq!(json(&script).await, r#""222""#, "{word}");
    }
}

#[tokio::test]
async fn keywords_keep_their_meaning_elsewhere() {
    let script = r#"
        let list = [];
        for x in 0..3 { if x == 1 { continue } list.push(#{ in: x, for: if x > 1 { "big" } else { "small" } }) }
        let text = switch list.len() { 2 => { "two" } _ => "other" };
        #{ list: list, text: text, default: || { let a = 1; a }.call() }
    "#;
    assert_eq!(
        json(script).await,
        r#"{"default":1,"list":[{"for":"small","in":0},{"for":"big","in":2}],"text":"two"}"#
    );
}

#[tokio::test]
async fn functions_of_reserved_names_work_as_methods() {
    assert_eq!(json("let f = |x| x + 1; [f.call(1), call(f, 2), 5.type_of(), type_of(\"\"), f.curry(4).call()]").await, r#"[2,3,"i64","string",5]"#);
}

#[tokio::test]
async fn the_error_of_sleep_names_alternatives() {
    for script in ["sleep(1)", "sleep(0.5)"] {
        let error = failure(script).await;
        assert!(error.message.contains("wait_ready(ref)"), "{error}");
    }
}

#[tokio::test]
async fn sort_takes_numbers_and_bools_and_keeps_the_order_of_equals() {
    let script = "let a = [[2, 1], [1, 1], [2, 0], [1, 0]]; a.sort(|x, y| x[0] - y[0]); let b = [3, 1, 2]; b.sort(|x, y| x > y); let c = [3, 1, 2]; c.sort(); [a, b, c]";
    assert_eq!(
        json(script).await,
        "[[[1,1],[1,0],[2,1],[2,0]],[3,2,1],[1,2,3]]"
    );
}

#[tokio::test]
async fn sort_passes_on_the_error_of_its_function() {
    let error = failure("let a = [3, 1, 2]; a.sort(|x, y| throw \"no order\")").await;
    assert_eq!(error.message, "no order");
    let error = failure("let a = [3, 1]; a.sort(|x, y| \"less\")").await;
    assert!(
        error.message.contains("must return a number or a bool"),
        "{error}"
    );
}

#[tokio::test]
async fn modules_are_found_beside_the_entry_from_the_root_and_beside_the_importer() {
    let files = [
        (
            "tasks/main.rhai",
            "import \"a\" as a; import \"lib/b.rhai\" as b; [a::f(), b::f()]",
        ),
        ("tasks/a.rhai", "fn f() { \"a\" }"),
        ("lib/b.rhai", "import \"./c\" as c; fn f() { c::f() }"),
        ("lib/c.rhai", "fn f() { \"c\" }"),
        ("tasks/c.rhai", "fn f() { \"wrong\" }"),
    ];
    let value = run_files(&files).await.unwrap();
    assert_eq!(
        super::super::value::to_value(&value).unwrap().to_string(),
        r#"["a","c"]"#
    );
}

#[tokio::test]
async fn a_modules_top_level_sees_the_run_and_is_evaluated_once_per_run() {
    let files = [
        (
            "tasks/main.rhai",
            "import \"a\" as a; import \"b\" as b; [a::name(), b::name(), a::SIZE]",
        ),
        (
            "tasks/a.rhai",
            "import \"b\" as b; export const SIZE = 2; fn name() { b::NAME }",
        ),
        (
            "tasks/b.rhai",
            "export const NAME = answer(cr.metadata.name); fn name() { global::NAME + \"!\" }",
        ),
    ];
    let value = run_files(&files).await.unwrap();
    assert_eq!(
        super::super::value::to_value(&value).unwrap().to_string(),
        r#"["shop","shop!",2]"#
    );
}

#[tokio::test]
async fn a_modules_top_level_is_evaluated_for_each_run() {
    let engine = super::engine();
    let files = [
        ("tasks/main.rhai", "import \"a\" as a; a::NAME"),
        ("tasks/a.rhai", "export const NAME = spec.size + 0;"),
    ];
    let program = super::compile(&engine, &files);
    let pool = super::Pool::new(engine, 1, super::Handle::current());
    for size in [1, 2] {
        let mut job = super::job(&program);
        job.variables.insert(
            "spec",
            rhai::Map::from([("size".into(), size.into())]).into(),
        );
        assert_eq!(pool.run(job).await.unwrap().as_int(), Ok(size));
    }
}

#[tokio::test]
async fn padding_repeats_a_text_and_refuses_an_empty_one() {
    for (script, expected) in [
        (r#"let text = "a"; text.pad(6, "xy"); text"#, r#""axyxyx""#),
        (r#"let text = "äb"; text.pad(4, "é"); text"#, r#""äbéé""#),
        (r#"let text = "abc"; text.pad(3, ""); text"#, r#""abc""#),
        (r#"let text = "abc"; text.pad(-1, ""); text"#, r#""abc""#),
        (r#"let text = "abc"; text.pad(5, 'z'); text"#, r#""abczz""#),
    ] {
        assert_eq!(json(script).await, expected, "{script}");
    }
    let error = failure(r#"let text = "a"; text.pad(6, "")"#).await;
    assert_eq!(error.message, "cannot pad a text with an empty text");
}
