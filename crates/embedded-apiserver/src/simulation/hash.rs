//! Short hashes of templates, as they stand in names and labels.

use serde_json::Value;

/// No vowels and nothing that is read as another: no word comes out by chance.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// The hash of a template and of the number of collisions before; FNV-1a as the real one, though
/// over the template's JSON, so that its value is another.
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
