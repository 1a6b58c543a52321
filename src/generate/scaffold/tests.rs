//! New files are well-formed, invalid names get hints, and edits keep the rest of a file.

use super::*;

fn api(form: Form, namespaced: bool) -> Api {
    Api {
        group: "web.shop.example.com".to_owned(),
        version: "v1alpha1".to_owned(),
        kind: "WebSite".to_owned(),
        namespaced,
        form,
    }
}

#[test]
fn files_contain_no_template_syntax_and_end_with_one_newline() {
    let mut files = project_files("shop.example.com", "shop-operator").unwrap();
    for form in [Form::Script, Form::Pipeline] {
        for namespaced in [true, false] {
            files.extend(api(form, namespaced).files().unwrap());
        }
        files.extend(role_files("helper", form).unwrap());
    }
    files.extend(test_files("one", "v1", "Site", "a", "kind: Site").unwrap());
    for ProjectFile { path, text } in files {
        let path = path.display();
        // The expression of the workflow belongs to GitHub.
        let text = text.replace("${{ vars.RHAI_OPERATOR_URL }}", "url");
        assert!(
            !text.contains("{%") && !text.contains("}} ") && !text.contains("{{"),
            "{path}"
        );
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{path}");
        assert!(text.lines().all(|line| line.trim_end() == line), "{path}");
    }
}

#[test]
fn an_invalid_name_gets_the_expectation_and_a_hint() {
    for (error, expected) in [
        (
            check_kind("web-site"),
            "expected a kind in CamelCase such as WebSite, found \"web-site\"\n  hint: write WebSite",
        ),
        (
            check_kind("1"),
            "expected a kind in CamelCase such as WebSite, found \"1\"\n  hint: begin with a capital letter, and use letters and digits",
        ),
        (
            check_group("web"),
            "expected an API group in lower case with a dot, such as web.shop.example.com, found \"web\"\n  hint: add a domain that you own: web.example.com",
        ),
        (
            check_group("Web.example.com"),
            "expected an API group in lower case with a dot, such as web.shop.example.com, found \"Web.example.com\"\n  hint: write web.example.com",
        ),
        (
            check_group("apps.k8s.io"),
            "expected a group outside k8s.io and kubernetes.io, found \"apps.k8s.io\"\n  hint: use a domain that you own: Kubernetes protects this one",
        ),
        (
            check_domain("example"),
            "expected a domain in lower case such as shop.example.com, found \"example\"\n  hint: add a domain that you own: example.example.com",
        ),
        (
            check_version("1"),
            "expected a version such as v1alpha1, v1beta2 or v1, found \"1\"",
        ),
        (
            check_folder("My Role"),
            "expected a name of lower-case letters, digits and hyphens, found \"My Role\"\n  hint: write my-role",
        ),
    ] {
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
    for version in ["v1", "v12", "v1alpha1", "v2beta10"] {
        assert_eq!(check_version(version), Ok(()));
    }
    for version in ["v0", "v1gamma1", "v1alpha", "v1-1", "V1"] {
        assert!(check_version(version).is_err(), "{version}");
    }
}

#[test]
fn a_watch_is_appended_below_the_others_and_comments_stay() {
    let watch = api(Form::Script, true).watch().unwrap();
    let first = append_watch("# Kinds.\n[]\n", &watch).unwrap();
    assert_eq!(first, format!("# Kinds.\n{watch}"));
    let second = append_watch(&first, &watch).unwrap();
    assert_eq!(second, format!("# Kinds.\n{watch}\n{watch}"));
    assert_eq!(append_watch("# Kinds.\n", &watch).unwrap(), first);
    assert_eq!(append_watch("[{kind: A}]\n", &watch), None);
    assert_eq!(append_watch("a: b\n", &watch), None);
}
