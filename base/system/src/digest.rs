//! The digest of the bytes that run.

use std::fmt;
use std::io;

/// The sha256 of what would run, written `sha256:<hex>`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// Reads to the end and returns the digest of the bytes, without keeping them.
    ///
    /// # Errors
    ///
    /// Fails if the reader does.
    pub fn of_reader(mut reader: impl io::Read) -> io::Result<Self> {
        use sha2::Digest as _;
        let mut hasher = sha2::Sha256::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(Self(hasher.finalize().into())),
                Ok(read) => hasher.update(buffer.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Creates a digest from the result of a hasher.
    #[doc(hidden)]
    pub fn from_hash(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// Returns the digest without its prefix: 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        let digit = |it: u8| char::from_digit(it.into(), 16).unwrap_or_default();
        self.0.iter().flat_map(|it| [digit(it >> 4), digit(it & 15)]).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let hex = text.strip_prefix("sha256:").filter(|hex| hex.len() == 64).ok_or(DigestError)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
            let is_digit = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
            let pair = str::from_utf8(pair).ok().filter(|pair| pair.bytes().all(|it| is_digit(&it)));
            *byte = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or(DigestError)?;
        }
        Ok(Self(bytes))
    }
}

/// The error for a text that is not a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected sha256: and 64 hexadecimal digits in lower case")]
pub struct DigestError;

crate::serde_by_text!(Digest);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_written_with_its_algorithm() {
        assert_eq!(
            Digest::of(b"").to_string(),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }

    #[test]
    fn a_digest_is_the_same_whether_the_bytes_are_held_or_streamed() {
        for len in [0, 1, 64 << 10, (64 << 10) + 1, 200_000] {
            let bytes = vec![7; len];
            assert_eq!(Digest::of_reader(&bytes[..]).unwrap(), Digest::of(&bytes), "{len}");
        }
    }
}
