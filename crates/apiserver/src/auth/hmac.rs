//! HMAC-SHA256 (RFC 2104), and comparing without telling how far two texts agree.

use sha2::{Digest, Sha256};

const BLOCK: usize = 64;

/// The code of a message under a key.
pub fn sign(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0u8; BLOCK];
    if key.len() > BLOCK {
        for (to, from) in block.iter_mut().zip(Sha256::digest(key)) {
            *to = from;
        }
    } else {
        for (to, from) in block.iter_mut().zip(key) {
            *to = *from;
        }
    }
    let inner = Sha256::new().chain_update(block.map(|b| b ^ 0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(block.map(|b| b ^ 0x5c)).chain_update(inner).finalize().into()
}

/// Whether two codes are equal; takes as long for unequal ones.
pub fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0u8, |differences, (x, y)| differences | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, cases 1, 2 and 6 (a key longer than a block).
    #[test]
    fn published_vectors() {
        let cases: [(&[u8], &[u8], &str); 3] = [
            (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ];
        for (key, message, want) in cases {
            let hex: String = sign(key, message).iter().map(|b| format!("{b:02x}")).collect();
            assert_eq!(hex, want);
        }
    }

    #[test]
    fn comparing() {
        assert!(equal(b"abc", b"abc"));
        assert!(!equal(b"abc", b"abd") && !equal(b"abc", b"ab") && !equal(b"", b"a"));
    }
}
