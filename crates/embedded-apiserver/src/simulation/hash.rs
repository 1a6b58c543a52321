//! Short hashes of templates in names and labels.

use serde_json::Value;

/// The letters of a hash: no vowels, so that no words result, and no letters that are easily confused.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Returns the hash of a template and of the number of earlier collisions. It is FNV-1a like the real one,
/// but over the JSON of the template, so its value differs.
pub(super) fn template(template: &Value, collisions: i64) -> String {
    let mut hash: u32 = 0x811c_9dc5;
    let text = format!("{template}{collisions}");
    for byte in text.bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    let digits = hash.to_string();
    let letter = |digit: u8| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()]);
    digits.bytes().map(letter).collect()
}
