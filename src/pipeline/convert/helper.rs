//! Helper functions of converted scripts.

/// A helper function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Helper {
    Items,
    Each,
    Text,
    Texts,
    Only,
    Failure,
}

impl Helper {
    /// Returns the name of the function.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Items => "items",
            Self::Each => "each",
            Self::Text => "text",
            Self::Texts => "texts",
            Self::Only => "only",
            Self::Failure => "failure",
        }
    }

    /// Returns the code of the function.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Items => {
                "/// Returns the items of a loop: a list, or the entries of a map.\n\
                 fn items(value) {\n    \
                     if type_of(value) != \"map\" { return value; }\n    \
                     let items = [];\n    \
                     for key in value.keys() { items.push(#{key: key, value: value[key]}); }\n    \
                     items\n}\n"
            }
            Self::Each => {
                "/// Returns a list unchanged, and another value as a list with one item.\n\
                 fn each(value) {\n    \
                     if type_of(value) == \"array\" { value } else { [value] }\n}\n"
            }
            Self::Text => {
                "/// Converts a number or a bool to text.\n\
                 fn text(value) {\n    \
                     if type_of(value) in [\"i64\", \"f64\", \"bool\"] { `${value}` } else { value }\n}\n"
            }
            Self::Texts => {
                "/// Converts the numbers and bools of a map to texts.\n\
                 fn texts(map) {\n    \
                     if type_of(map) != \"map\" { return map; }\n    \
                     for key in map.keys() { map[key] = text(map[key]); }\n    \
                     map\n}\n"
            }
            Self::Only => {
                "/// Returns the entries of a map with these names.\n\
                 fn only(map, names) {\n    \
                     let some = #{};\n    \
                     for name in names { if name in map { some[name] = map[name]; } }\n    \
                     some\n}\n"
            }
            Self::Failure => {
                "/// Returns an error as a map, with the step that failed.\n\
                 fn failure(error, step) {\n    \
                     let failure = switch type_of(error) {\n        \
                         \"map\" if error.kind != () => error,\n        \
                         \"map\" => #{kind: \"runtime\", message: error.message},\n        \
                         _ => #{kind: \"thrown\", message: `${error}`},\n    \
                     };\n    \
                     failure.step = step;\n    \
                     failure\n}\n"
            }
        }
    }
}
