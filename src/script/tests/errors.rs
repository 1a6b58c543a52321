//! The text of errors, and the values that scripts catch.

use super::{failure, json, run_files};
use crate::script::ErrorKind;

#[test]
fn err_golden() {
    let module = "fn fail(x) {\n    let image = x.image;\n    image.tag\n}\nfn refuse_it() { refuse(\"\") }\n";
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\(src/script/\S+\)", "(src/…)");
    let _bound = settings.bind_to_scope();
    insta::glob!("errors/*.rhai", |path| {
        let script = std::fs::read_to_string(path).unwrap();
        let files = [
            ("tasks/main.rhai", script.as_str()),
            ("tasks/install.rhai", module),
        ];
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let error = runtime.block_on(run_files(&files)).unwrap_err();
        insta::assert_snapshot!(format!(
            "{error}\n---\n{error:#}\n---\n{}",
            error.kind.name()
        ));
    });
}

#[tokio::test]
async fn a_host_error_is_caught_as_a_map() {
    let caught = json("try { k8s_get(\"pod\") } catch (e) { return e; }").await;
    assert_eq!(
        caught,
        r#"{"code":404,"kind":"not_found","message":"there is no pod","reason":"NotFound","retryable":true}"#
    );
    let caught =
        json("try { refuse(\"\") } catch (e) { return [e.kind, e.code, e.message]; }").await;
    assert_eq!(caught, r#"["invalid",null,"a name is needed"]"#);
}

#[tokio::test]
async fn a_host_error_that_is_thrown_again_is_still_the_hosts() {
    for script in [
        "k8s_get(\"pod\")",
        "try { k8s_get(\"pod\") } catch (e) { throw e; }",
        "try { k8s_get(\"pod\") } catch (e) { throw; }",
        "fn f() { try { k8s_get(\"pod\") } catch (e) { if e.kind == \"not_found\" { throw e } } } f()",
        "let kept = (); try { k8s_get(\"pod\") } catch (e) { kept = e; } throw kept;",
    ] {
        let error = failure(script).await;
        let ErrorKind::Host(host) = &error.kind else {
            panic!("{script}: {error}")
        };
        assert_eq!(
            (host.code, host.retryable, host.after.is_some()),
            (Some(404), true, true)
        );
        assert_eq!(error.message, "there is no pod");
    }
}

#[tokio::test]
async fn thrown_values_are_kept() {
    let error = failure("throw #{ kind: \"quota\", message: \"too many\", of: 3 }").await;
    let ErrorKind::Thrown(value) = &error.kind else {
        panic!("{error}")
    };
    assert_eq!(value.as_map_ref().unwrap()["of"].as_int(), Ok(3));
    assert_eq!(error.message, "too many");
    assert_eq!(failure("throw \"no\"").await.message, "no");
    assert_eq!(failure("throw [1, 2]").await.message, "[1,2]");
    assert_eq!(
        failure("throw || 1").await.message.split('$').next(),
        Some("Fn(anon")
    );
}

#[tokio::test]
async fn an_error_of_the_engine_can_be_caught() {
    assert_eq!(
        json("try { [1][5] } catch (e) { return e.message; }").await,
        r#""Array index 5 out of bounds: only 1 element in array""#
    );
}
