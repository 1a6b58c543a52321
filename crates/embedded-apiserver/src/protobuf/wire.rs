//! The wire format of protobuf: numbered records.
//!
//! <https://protobuf.dev/programming-guides/encoding/>

/// The error for bytes that are not a protobuf message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// The value of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record<'a> {
    /// A varint.
    Number(u64),
    /// Eight bytes.
    Fixed(u64),
    /// A string, bytes, a message, or packed numbers.
    Bytes(&'a [u8]),
}

/// Returns the records of a message with their field numbers.
pub(super) fn records(bytes: &[u8]) -> impl Iterator<Item = Result<(u64, Record<'_>), Malformed>> {
    each(bytes, record)
}

/// Returns the varints of a packed record.
pub(super) fn varints(bytes: &[u8]) -> impl Iterator<Item = Result<u64, Malformed>> {
    each(bytes, varint)
}

/// Parses items until the bytes end or an item is malformed.
fn each<'a, T>(
    mut rest: &'a [u8],
    read: fn(&mut &'a [u8]) -> Result<T, Malformed>,
) -> impl Iterator<Item = Result<T, Malformed>> {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let found = read(&mut rest);
        if found.is_err() {
            rest = &[];
        }
        Some(found)
    })
}

fn record<'a>(rest: &mut &'a [u8]) -> Result<(u64, Record<'a>), Malformed> {
    let key = varint(rest)?;
    let record = match key & 7 {
        0 => Record::Number(varint(rest)?),
        1 => {
            let bytes = take(rest, 8)?.try_into().map_err(|_| Malformed)?;
            Record::Fixed(u64::from_le_bytes(bytes))
        }
        2 => {
            let length = usize::try_from(varint(rest)?).map_err(|_| Malformed)?;
            Record::Bytes(take(rest, length)?)
        }
        5 => {
            let bytes = take(rest, 4)?.try_into().map_err(|_| Malformed)?;
            Record::Fixed(u64::from(u32::from_le_bytes(bytes)))
        }
        _ => return Err(Malformed),
    };
    Ok((key >> 3, record))
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], Malformed> {
    let (taken, left) = rest.split_at_checked(length).ok_or(Malformed)?;
    *rest = left;
    Ok(taken)
}

fn varint(rest: &mut &[u8]) -> Result<u64, Malformed> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, left) = rest.split_first().ok_or(Malformed)?;
        *rest = left;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Malformed)
}

/// Writes a record with a varint.
pub(super) fn write_number(out: &mut Vec<u8>, field: u64, number: u64) {
    write_varint(out, field << 3);
    write_varint(out, number);
}

/// Writes a record with eight bytes.
pub(super) fn write_fixed(out: &mut Vec<u8>, field: u64, bits: u64) {
    write_varint(out, field << 3 | 1);
    out.extend(bits.to_le_bytes());
}

/// Writes a record with a string, bytes or a message.
pub(super) fn write_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    write_varint(out, field << 3 | 2);
    write_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn write_varint(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}
