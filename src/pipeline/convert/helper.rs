//! Functions that a converted script brings along.

/// Functions that the script brings along, by what they are for.
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
    /// What it is called.
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

    /// All of it.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Items => {
                "/// What a loop goes through: a list, or the entries of a map.\n\
                 fn items(value) {\n    \
                     if type_of(value) != \"map\" { return value; }\n    \
                     let items = [];\n    \
                     for key in value.keys() { items.push(#{key: key, value: value[key]}); }\n    \
                     items\n}\n"
            }
            Self::Each => {
                "/// A list as it is, anything else as a list of one.\n\
                 fn each(value) {\n    \
                     if type_of(value) == \"array\" { value } else { [value] }\n}\n"
            }
            Self::Text => {
                "/// A number or a bool as text.\n\
                 fn text(value) {\n    \
                     if type_of(value) in [\"i64\", \"f64\", \"bool\"] { `${value}` } else { value }\n}\n"
            }
            Self::Texts => {
                "/// A map with its numbers and bools as texts.\n\
                 fn texts(map) {\n    \
                     if type_of(map) != \"map\" { return map; }\n    \
                     for key in map.keys() { map[key] = text(map[key]); }\n    \
                     map\n}\n"
            }
            Self::Only => {
                "/// The entries of a map with these names, as far as they are there.\n\
                 fn only(map, names) {\n    \
                     let some = #{};\n    \
                     for name in names { if name in map { some[name] = map[name]; } }\n    \
                     some\n}\n"
            }
            Self::Failure => {
                "/// What was caught, as a map, with the step that failed.\n\
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
