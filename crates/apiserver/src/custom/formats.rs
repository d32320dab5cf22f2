//! The formats of text and numbers that are checked; others are accepted as they are.

use std::sync::LazyLock;

use regex::Regex;

/// Formats of text, without dashes.
const TEXT: [&str; 26] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8sshortname",
    "k8slongname",
];

/// The format, where values of these types are checked by it; otherwise nothing.
pub(super) fn known<'a>(types: &[String], format: &'a str) -> &'a str {
    let known = match types {
        [] => TEXT.contains(&&*format.replace('-', "")),
        [one] => match one.as_str() {
            "string" => TEXT.contains(&&*format.replace('-', "")),
            "integer" => matches!(format, "int32" | "int64"),
            "number" => matches!(format, "float" | "double"),
            _ => false,
        },
        _ => TEXT.contains(&&*format.replace('-', "")),
    };
    if known { format } else { "" }
}

fn matches(pattern: &LazyLock<Regex>, text: &str) -> bool {
    pattern.is_match(text)
}

macro_rules! patterns {
    ($($name:ident = $pattern:expr;)*) => {
        $(static $name: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new($pattern).expect("a constant pattern")
        });)*
    };
}

patterns! {
    UUID = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    UUID3 = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    UUID4 = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    UUID5 = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    HOSTNAME = r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$";
    HEX_COLOR = r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$";
    RGB_COLOR = r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$";
    BASE64 = r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$";
    CARD = r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}|6[27][0-9]{14})$";
    SSN = r"^\d{3}[- ]?\d{2}[- ]?\d{4}$";
    OBJECT_ID = r"^[0-9a-fA-F]{24}$";
    DATE = r"^\d{4}-\d{2}-\d{2}$";
    DATE_TIME = r"^([0-9]{4})-([0-9]{2})-([0-9]{2})$|^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(([Zz])|([+-][0-9]{2}:[0-9]{2}))$";
    EMAIL = r"^(?:[^@<>\r\n]*<)?[^\s@<>]+@[^\s@<>]+>?$";
    MAC = r"^(?:[0-9a-fA-F]{2}([:-])(?:[0-9a-fA-F]{2}[:-]){4,}[0-9a-fA-F]{2}|(?:[0-9a-fA-F]{4}\.){2,}[0-9a-fA-F]{4})$";
    URI = r"^(?:/[^\s\x00-\x1f\x7f]*|[A-Za-z][A-Za-z0-9+.\-]*:[^\s\x00-\x1f\x7f]+)$";
    GO_DURATION = r"^[-+]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)$";
    LONG_DURATION = r"^(?:([0-9]+)\s*(ns|nano|us|µs|micro|ms|milli|s|sec|m|min|h|hr|hour|d|day|w|wk|week)[a-z]*\s*)+$";
}

/// Whether a text has the format.
pub(super) fn fits(format: &str, text: &str) -> bool {
    match format.replace('-', "").as_str() {
        "datetime" => date_time(text),
        "date" => matches(&DATE, text) && text.parse::<jiff::civil::Date>().is_ok(),
        "byte" => matches(&BASE64, text),
        "uuid" => matches(&UUID, text),
        "uuid3" => matches(&UUID3, text),
        "uuid4" => matches(&UUID4, text),
        "uuid5" => matches(&UUID5, text),
        "hostname" => matches(&HOSTNAME, text) && text.len() <= 255 && text.split('.').all(|part| part.len() <= 63),
        "ipv4" => ip(text).is_some_and(|ip| ip.is_ipv4()) || (text.contains('.') && ip(text).is_some()),
        "ipv6" => text.contains(':') && ip(text).is_some(),
        "cidr" => cidr(text),
        "mac" => matches(&MAC, text),
        "hexcolor" => matches(&HEX_COLOR, text),
        "rgbcolor" => matches(&RGB_COLOR, text),
        "ssn" => matches(&SSN, text),
        "bsonobjectid" => matches(&OBJECT_ID, text),
        "email" => matches(&EMAIL, text),
        "uri" => matches(&URI, text),
        "duration" => matches(&GO_DURATION, text) || matches(&LONG_DURATION, text),
        "creditcard" => card(text),
        "isbn" => isbn10(text) || isbn13(text),
        "isbn10" => isbn10(text),
        "isbn13" => isbn13(text),
        "k8sshortname" => crate::validation::names::is_dns1123_label(text).is_empty(),
        "k8slongname" => crate::validation::names::is_dns1123_subdomain(text).is_empty(),
        _ => true,
    }
}

fn date_time(text: &str) -> bool {
    if !matches(&DATE_TIME, text) || text.len() < 11 {
        return false;
    }
    let number = |from: usize, to: usize| text.get(from..to).and_then(|t| t.parse::<u32>().ok()).unwrap_or(99);
    text.get(..10).is_some_and(|day| day.parse::<jiff::civil::Date>().is_ok())
        && number(11, 13) < 24
        && number(14, 16) < 60
        && number(17, 19) < 60
}

/// An address; leading zeros are let through, as they always were here.
fn ip(text: &str) -> Option<std::net::IpAddr> {
    if !text.contains(':') {
        let parts: Vec<&str> = text.split('.').collect();
        let fits = |part: &&str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) && part.parse::<u64>().is_ok_and(|n| n < 256)
        };
        return (parts.len() == 4 && parts.iter().all(fits)).then_some(std::net::IpAddr::from([0, 0, 0, 0]));
    }
    text.parse().ok()
}

fn cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = if address.contains(':') { 128 } else { 32 };
    ip(address).is_some() && bits.bytes().all(|b| b.is_ascii_digit()) && bits.parse::<u32>().is_ok_and(|n| n <= most)
}

fn card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    if !matches(&CARD, &digits) {
        return false;
    }
    let mut sum = 0;
    for (i, digit) in digits.bytes().rev().map(|b| u32::from(b - b'0')).enumerate() {
        let doubled = if i % 2 == 1 { digit * 2 } else { digit };
        sum += if doubled > 9 { doubled - 9 } else { doubled };
    }
    sum % 10 == 0
}

fn isbn10(text: &str) -> bool {
    let plain: Vec<u8> = text.bytes().filter(|b| !matches!(b, b'-' | b' ')).collect();
    if plain.len() != 10
        || !plain[..9].iter().all(u8::is_ascii_digit)
        || !(plain[9].is_ascii_digit() || plain[9] == b'X')
    {
        return false;
    }
    let value = |b: u8| if b == b'X' { 10 } else { u32::from(b - b'0') };
    (1u32..).zip(&plain).map(|(i, b)| i * value(*b)).sum::<u32>() % 11 == 0
}

fn isbn13(text: &str) -> bool {
    let plain: Vec<u8> = text.bytes().filter(|b| !matches!(b, b'-' | b' ')).collect();
    if plain.len() != 13 || !plain.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: u32 = plain.iter().enumerate().map(|(i, b)| u32::from(b - b'0') * if i % 2 == 1 { 3 } else { 1 }).sum();
    sum.is_multiple_of(10)
}
