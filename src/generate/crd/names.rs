//! The plural of a kind.

/// Returns the plural of a kind in lower case: `sites`, `policies`, `boxes`.
pub(crate) fn plural(kind: &str) -> String {
    let word = kind.to_lowercase();
    let hissing = ["s", "x", "z", "ch", "sh"];
    if hissing.iter().any(|ending| word.ends_with(ending)) {
        return format!("{word}es");
    }
    let is_vowel = |letter: char| "aeiou".contains(letter);
    match word.strip_suffix('y') {
        Some(stem) if !stem.ends_with(is_vowel) => format!("{stem}ies"),
        _ => format!("{word}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_follow_the_ending() {
        for (kind, expected) in [
            ("Site", "sites"),
            ("NetworkPolicy", "networkpolicies"),
            ("Gateway", "gateways"),
            ("Box", "boxes"),
            ("Branch", "branches"),
            ("Redis", "redises"),
        ] {
            assert_eq!(plural(kind), expected);
        }
    }
}
