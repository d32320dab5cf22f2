//! Certificates and requests for them, as far as rules look into them: blocks of PEM, and a little of the DER inside.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

/// As Go reads it: the bits behind the last byte do not matter. What it reads and this did not would be a way around the rules.
const LENIENT: GeneralPurpose =
    GeneralPurpose::new(&alphabet::STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OBJECT_IDENTIFIER: u8 = 0x06;
/// A text of two bytes a letter.
const BMP_STRING: u8 = 0x1e;
/// `O=` in a name: 2.5.4.10.
const ORGANIZATION: [u8; 3] = [0x55, 0x04, 0x0a];

/// A block of PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block<'a> {
    /// What it says that it is: `CERTIFICATE` and the like.
    pub kind: &'a str,
    /// Whether lines of the form `key: value` stand before its content.
    pub has_headers: bool,
    /// What is inside.
    pub der: Vec<u8>,
}

/// The blocks of a text. What stands between them does not matter, and neither do blocks that cannot be read.
pub fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut out = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(kind) = line.trim_end().strip_prefix("-----BEGIN ").and_then(|rest| rest.strip_suffix("-----")) else {
            continue;
        };
        let end = format!("-----END {kind}-----");
        let mut rest = lines.clone();
        let mut closed = false;
        // A block ends where another begins: of many beginnings, each is looked at once.
        let inside: Vec<&str> = rest
            .by_ref()
            .map(str::trim)
            .take_while(|line| {
                closed = *line == end;
                !line.starts_with("-----")
            })
            .collect();
        let headers = inside.iter().take_while(|line| line.contains(':')).count();
        let content = inside.get(headers..).and_then(|lines| {
            let letters: String =
                lines.iter().flat_map(|line| line.chars()).filter(|c| !" \t\r".contains(*c)).collect();
            LENIENT.decode(letters).ok()
        });
        let Some(content) = content.filter(|_| closed) else { continue };
        out.push(Block { kind, has_headers: headers > 0, der: content });
        lines = rest;
    }
    out
}

/// Whether this has the form of an X.509 certificate: what is signed, how, and the signature.
pub fn is_certificate(der: &[u8]) -> bool {
    let mut outer = Der(der);
    let Some(mut parts) = outer.open(SEQUENCE).filter(|_| outer.0.is_empty()) else { return false };
    let is_whole = parts.open(SEQUENCE).is_some() && parts.open(SEQUENCE).is_some() && parts.open(BIT_STRING).is_some();
    is_whole && parts.0.is_empty()
}

/// The organizations that a certificate request asks to be certified. `None` where that cannot be read.
pub fn organizations(request: &[u8]) -> Option<Vec<String>> {
    let mut info = Der(request).open(SEQUENCE)?.open(SEQUENCE)?;
    info.open(INTEGER)?;
    let mut subject = info.open(SEQUENCE)?;
    let mut out = Vec::new();
    while !subject.0.is_empty() {
        let mut set = subject.open(SET)?;
        while !set.0.is_empty() {
            let mut attribute = set.open(SEQUENCE)?;
            let Der(kind) = attribute.open(OBJECT_IDENTIFIER)?;
            let (tag, value) = attribute.next()?;
            if kind == ORGANIZATION {
                out.push(text(tag, value));
            }
        }
    }
    Some(out)
}

fn text(tag: u8, value: &[u8]) -> String {
    if tag != BMP_STRING {
        return String::from_utf8_lossy(value).into_owned();
    }
    let letters: Vec<u16> = value.as_chunks().0.iter().map(|pair| u16::from_be_bytes(*pair)).collect();
    String::from_utf16_lossy(&letters)
}

/// The values of a piece of DER, one after the other.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The next value: its tag, and its content.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (tag, rest) = self.0.split_first()?;
        let (first, mut rest) = rest.split_first()?;
        let mut length = usize::from(*first);
        if length >= 0x80 {
            // The length of the length.
            let (bytes, after) =
                rest.split_at_checked(length - 0x80).filter(|(bytes, _)| (1..=4).contains(&bytes.len()))?;
            length = bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
            rest = after;
        }
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, content))
    }

    /// The content of the next value, where that is what is expected.
    fn open(&mut self, tag: u8) -> Option<Self> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, content)| Self(content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_what_is_between_them() {
        let text = "words\n-----BEGIN A-----\nk: v\n\nAQI=\n-----END A-----\n-----BEGIN B-----\n!\n-----END B-----\n-----BEGIN C-----\n-----BEGIN C-----\nAw==\n-----END C-----\n-----BEGIN D-----\n";
        let seen = blocks(text);
        let expected = [("A", true, vec![1, 2]), ("C", false, vec![3])];
        assert_eq!(seen, expected.map(|(kind, has_headers, der)| Block { kind, has_headers, der }));
    }

    #[test]
    fn blocks_are_read_as_go_reads_them() {
        let seen = blocks("-----BEGIN A-----\nA Q\tJ=\n-----END A-----\n");
        assert_eq!(seen, [Block { kind: "A", has_headers: false, der: vec![1, 2] }]);
    }

    #[test]
    fn a_request_and_a_certificate_are_read() {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut wanted = rcgen::CertificateParams::default();
        wanted.distinguished_name.push(rcgen::DnType::CommonName, "jane");
        wanted.distinguished_name.push(rcgen::DnType::OrganizationName, "system:masters");
        let request = wanted.serialize_request(&key).unwrap();
        assert_eq!(organizations(request.der()), Some(vec!["system:masters".to_owned()]));
        assert_eq!(organizations(b"\x30\x84\xff"), None);
        assert_eq!(text(BMP_STRING, b"\0O\0K"), "OK");
        let certificate = wanted.self_signed(&key).unwrap();
        assert!(is_certificate(certificate.der()));
        assert!(!is_certificate(&certificate.der()[1..]));
        assert!(!is_certificate(request.der().get(..20).unwrap()));
    }
}
