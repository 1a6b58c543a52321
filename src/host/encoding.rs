//! Texts in other clothes: base64 and URLs.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rhai::plugin::{Module, export_module, exported_module};
use rhai::{Blob, Dynamic, Map};
use url::Url;

use super::{HostResult, invalid};

/// The characters to escape: all but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[export_module]
mod functions {
    /// Encodes a text or a blob as base64 with padding, as a Secret's `data` has it.
    ///
    /// - `value`: a string (its UTF-8 bytes) or a blob.
    ///
    /// ```rhai
    /// assert(base64_encode("admin") == "YWRtaW4=");
    /// ```
    #[rhai_fn(name = "base64_encode")]
    pub fn base64_encode_text(value: &str) -> String {
        BASE64_STANDARD.encode(value)
    }

    #[rhai_fn(name = "base64_encode")]
    pub fn base64_encode_blob(value: Blob) -> String {
        BASE64_STANDARD.encode(value)
    }

    /// Decodes base64 to a text; white space, as in wrapped lines, is skipped.
    ///
    /// - `text`: base64 with padding.
    ///
    /// Errors: `invalid` when it is not base64, or when the bytes are not UTF-8 text.
    ///
    /// ```rhai
    /// assert(base64_decode("YWRtaW4=") == "admin");
    /// try { base64_decode("?") } catch (error) { assert(error.kind == "invalid"); }
    /// ```
    #[rhai_fn(return_raw)]
    pub fn base64_decode(text: &str) -> HostResult<String> {
        decode_base64(text).map_err(invalid)
    }

    /// Escapes a text for use as one part of a URL: a path segment, a query's name or value.
    ///
    /// - `text`: anything; all but letters, digits, `-`, `.`, `_` and `~` is escaped.
    ///
    /// ```rhai
    /// assert(url_encode("a b/c") == "a%20b%2Fc");
    /// ```
    pub fn url_encode(text: &str) -> String {
        utf8_percent_encode(text, RESERVED).to_string()
    }

    /// Decodes the escapes of `url_encode`.
    ///
    /// - `text`: a text with `%` escapes; `+` stays `+`.
    ///
    /// Errors: `invalid` when the bytes are not UTF-8 text.
    ///
    /// ```rhai
    /// assert(url_decode("a%20b%2Fc") == "a b/c");
    /// ```
    #[rhai_fn(return_raw)]
    pub fn url_decode(text: &str) -> HostResult<String> {
        match percent_decode_str(text).decode_utf8() {
            Ok(decoded) => Ok(decoded.into_owned()),
            Err(error) => Err(invalid(format!("the decoded bytes are not text: {error}"))),
        }
    }

    /// Parses an absolute URL.
    ///
    /// - `url`: e.g. `https://user@example.com:8443/path?key=value#part`.
    ///
    /// Returns a map with `scheme`, `username`, `password`, `host`, `port` (by default the port of the
    /// scheme), `path`, `query` (a map; the last of equal names counts) and `fragment`. An absent part is
    /// `()`.
    ///
    /// Errors: `invalid` when it is not an absolute URL.
    ///
    /// ```rhai
    /// let url = url_parse("https://example.com/api?watch=1");
    /// assert(url.host == "example.com" && url.port == 443 && url.path == "/api");
    /// assert(url.query.watch == "1" && url.fragment == ());
    /// ```
    #[rhai_fn(return_raw)]
    pub fn url_parse(url: &str) -> HostResult<Map> {
        match Url::parse(url) {
            Ok(parsed) => Ok(url_parts(&parsed)),
            Err(error) => Err(invalid(format!("`{url}` is not an absolute URL: {error}"))),
        }
    }
}

/// The text behind a base64 text.
pub(super) fn decode_base64(text: &str) -> Result<String, String> {
    let compact: String = text.split_ascii_whitespace().collect();
    let bytes = BASE64_STANDARD
        .decode(compact)
        .map_err(|error| format!("not base64: {error}"))?;
    String::from_utf8(bytes).map_err(|error| format!("the decoded bytes are not text: {error}"))
}

/// A URL as the map that `url_parse` promises.
fn url_parts(url: &Url) -> Map {
    let some = |text: &str| {
        if text.is_empty() {
            Dynamic::UNIT
        } else {
            text.into()
        }
    };
    let query: BTreeMap<_, _> = url.query_pairs().collect();
    let query = query
        .into_iter()
        .map(|(key, value)| (key.as_ref().into(), value.into_owned().into()));
    let parts: [(&str, Dynamic); 8] = [
        ("scheme", url.scheme().into()),
        ("username", some(url.username())),
        ("password", some(url.password().unwrap_or_default())),
        ("host", some(url.host_str().unwrap_or_default())),
        (
            "port",
            url.port_or_known_default()
                .map_or(Dynamic::UNIT, |port| i64::from(port).into()),
        ),
        ("path", url.path().into()),
        ("query", query.collect::<Map>().into()),
        ("fragment", some(url.fragment().unwrap_or_default())),
    ];
    parts
        .into_iter()
        .map(|(key, value)| (key.into(), value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded_to_text_only() {
        assert_eq!(decode_base64("YWRt\naW4=\n").unwrap(), "admin");
        assert_eq!(decode_base64("").unwrap(), "");
        assert!(
            decode_base64("YWRtaW4")
                .unwrap_err()
                .starts_with("not base64")
        );
        assert!(decode_base64("/w==").unwrap_err().contains("not text"));
    }

    #[test]
    fn a_url_is_taken_apart() {
        let url = Url::parse("http://me:secret@[::1]:8080/a%20b?x=1&x=2&y#end").unwrap();
        let parts = url_parts(&url);
        let text = |key: &str| parts[key].to_string();
        assert_eq!(
            (text("username"), text("password")),
            ("me".into(), "secret".into())
        );
        assert_eq!(
            (text("host"), text("port")),
            ("[::1]".into(), "8080".into())
        );
        assert_eq!(
            (text("path"), text("fragment")),
            ("/a%20b".into(), "end".into())
        );
        let query = parts["query"].read_lock::<Map>().unwrap();
        assert_eq!(
            (query["x"].to_string(), query["y"].to_string()),
            ("2".into(), String::new())
        );
    }
}
