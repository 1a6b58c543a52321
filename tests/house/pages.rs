//! Each page of the documentation begins with what its reader can do after it.

use std::fs;
use std::path::Path;

/// Returns the text between the title and the first blank line after it.
fn first_paragraph(page: &str) -> String {
    let lines = page
        .lines()
        .skip_while(|line| line.starts_with('#') || line.trim().is_empty());
    let lines: Vec<&str> = lines.take_while(|line| !line.trim().is_empty()).collect();
    lines.join(" ")
}

/// Returns true if the first paragraph of a page states what readers can do after it.
fn has_purpose(page: &str) -> bool {
    let paragraph = first_paragraph(page);
    ["you can ", "shows you how ", "before you "]
        .iter()
        .any(|words| paragraph.contains(words))
}

#[test]
fn every_page_begins_with_its_purpose() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let mut pages = 0;
    for entry in fs::read_dir(folder).expect("a folder of documents") {
        let path = entry.expect("a readable entry").path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let page = fs::read_to_string(&path).expect("UTF-8");
            assert!(
                has_purpose(&page),
                "{}: {}",
                path.display(),
                first_paragraph(&page)
            );
            pages += 1;
        }
    }
    assert!(pages > 10, "{pages} pages");
}

#[test]
fn a_page_without_a_purpose_is_found() {
    assert!(has_purpose(
        "# A\n\nAfter this page you can\nrun it.\n\n## B\n"
    ));
    assert!(!has_purpose("# A\n\nIt runs.\n\nThen you can stop it.\n"));
    assert!(!has_purpose("# A\n"));
}
