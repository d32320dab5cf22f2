//! The format itself: tags, varints, lengths.

use super::DecodeError;

/// A value as it stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
    /// A group: long deprecated, only skipped.
    Group,
}

impl<'a> Wire<'a> {
    fn number(self) -> u8 {
        match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Group => 3,
            Self::Fixed32(_) => 5,
        }
    }

    pub(super) fn bytes(self, field: &str) -> Result<&'a [u8], DecodeError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            other => Err(other.wrong(field)),
        }
    }

    pub(super) fn varint(self, field: &str) -> Result<u64, DecodeError> {
        match self {
            Self::Varint(n) => Ok(n),
            other => Err(other.wrong(field)),
        }
    }

    pub(super) fn text(self, field: &str) -> Result<String, DecodeError> {
        Ok(String::from_utf8_lossy(self.bytes(field)?).into_owned())
    }

    pub(super) fn wrong(self, field: &str) -> DecodeError {
        DecodeError(format!("proto: wrong wireType = {} for field {field}", self.number()))
    }
}

/// Reads the fields of one message.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next field's number and value.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Wire<'a>)>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (number, kind) = self.tag()?;
        let value = match kind {
            3 => {
                self.skip_group()?;
                Wire::Group
            }
            4 => return Err(DecodeError("proto: wiretype end group for non-group".into())),
            kind => self.value(kind)?,
        };
        Ok(Some((number, value)))
    }

    fn tag(&mut self) -> Result<(u32, u64), DecodeError> {
        let tag = self.varint()?;
        let kind = tag & 7;
        match u32::try_from(tag >> 3) {
            Ok(number) if (1..=0x1fff_ffff).contains(&number) => Ok((number, kind)),
            _ => Err(DecodeError(format!("proto: illegal tag {} (wire type {kind})", tag >> 3))),
        }
    }

    fn value(&mut self, kind: u64) -> Result<Wire<'a>, DecodeError> {
        Ok(match kind {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = self.varint()?;
                let length = usize::try_from(length)
                    .ok()
                    .filter(|l| isize::try_from(*l).is_ok())
                    .ok_or_else(|| DecodeError("proto: negative length found during unmarshaling".into()))?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Fixed32(u32::from_le_bytes(self.array()?)),
            other => return Err(DecodeError(format!("proto: illegal wireType {other}"))),
        })
    }

    /// Groups nest; a counter instead of recursion, so that depth costs nothing.
    fn skip_group(&mut self) -> Result<(), DecodeError> {
        let mut depth = 1u32;
        while depth > 0 {
            match self.tag()?.1 {
                3 => depth = depth.saturating_add(1),
                4 => depth -= 1,
                kind => {
                    self.value(kind)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut out = 0u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            out |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(out);
            }
        }
        Err(DecodeError("proto: integer overflow".into()))
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (first, rest) = self.rest.split_first_chunk::<N>().ok_or_else(unexpected_end)?;
        self.rest = rest;
        Ok(*first)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (first, rest) = self.rest.split_at_checked(length).ok_or_else(unexpected_end)?;
        self.rest = rest;
        Ok(first)
    }
}

fn unexpected_end() -> DecodeError {
    DecodeError("unexpected EOF".into())
}

pub(super) fn put_varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push((n as u8 & 0x7f) | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// A whole number; negative ones take ten bytes, as 64-bit ones do.
pub(super) fn put_number(out: &mut Vec<u8>, field: u32, n: i64) {
    put_varint(out, u64::from(field) << 3);
    put_varint(out, n.cast_unsigned());
}

pub(super) fn put_double(out: &mut Vec<u8>, field: u32, n: f64) {
    put_varint(out, (u64::from(field) << 3) | 1);
    out.extend_from_slice(&n.to_bits().to_le_bytes());
}

pub(super) fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_varint(out, (u64::from(field) << 3) | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A message inside a message; `fill` writes its fields.
pub(super) fn put_message(out: &mut Vec<u8>, field: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    put_varint(out, (u64::from(field) << 3) | 2);
    // Most messages are shorter than 128 bytes: one byte is left for the length, and longer ones are moved.
    let at = out.len();
    out.push(0);
    fill(out);
    let length = out.len() - at - 1;
    if length < 0x80 {
        if let Some(byte) = out.get_mut(at) {
            *byte = length as u8;
        }
        return;
    }
    let mut prefix = Vec::with_capacity(10);
    put_varint(&mut prefix, length as u64);
    out.splice(at..=at, prefix);
}
