//! Encodings of text: which one a file has, and its text as UTF-8.

use crate::{Error, Result};
use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use gingham_storage::SqlState;
use std::io::{self, Read};

/// Bytes that are decoded at a time.
const INPUT_BYTES: usize = 64 << 10;
/// Most bytes of UTF-8 that a byte of another encoding becomes.
const GROWTH: usize = 3;

/// The encoding of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TextEncoding {
    /// UTF-8.
    #[default]
    Utf8,
    /// Each byte is the character of its number: ISO 8859-1.
    Latin1,
    /// UTF-16 in the order of its mark, or little endian where it has none.
    Utf16,
    /// One that has a name among those of the Web.
    Named(&'static Encoding),
}

impl TextEncoding {
    /// The encoding of that name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let lower = name.trim().to_ascii_lowercase();
        match lower.as_str() {
            "utf-8" | "utf8" => return Ok(Self::Utf8),
            "latin1" | "latin-1" | "iso-8859-1" | "iso8859-1" => return Ok(Self::Latin1),
            "utf-16" | "utf16" => return Ok(Self::Utf16),
            _ => {}
        }
        // The Web calls windows-1250 so; others write cp1250 and windows1250.
        let plain = lower.strip_prefix("windows1").map(|rest| format!("windows-1{rest}")).unwrap_or(lower);
        match Encoding::for_label(plain.as_bytes()) {
            Some(found) if found == UTF_8 => Ok(Self::Utf8),
            Some(found) => Ok(Self::Named(found)),
            None => Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!(
                    "encoding '{name}' is not known; there are utf-8, utf-16, latin1, windows-1250 to windows-1258, iso-8859-2 to iso-8859-16, \
                     koi8-r, shift_jis, euc-jp, euc-kr, gbk, gb18030 and big5"
                ),
            )),
        }
    }

    /// The encoding that a mark at the beginning of a text says, where it says one.
    pub(super) fn of_marked(self, start: &[u8]) -> Self {
        match start {
            [0xff, 0xfe, ..] if matches!(self, Self::Utf8 | Self::Utf16) => Self::Named(UTF_16LE),
            [0xfe, 0xff, ..] if matches!(self, Self::Utf8 | Self::Utf16) => Self::Named(UTF_16BE),
            _ if self == Self::Utf16 => Self::Named(UTF_16LE),
            _ => self,
        }
    }

    /// Whether the bytes of a file are its text.
    pub(super) fn is_utf8(self) -> bool {
        self == Self::Utf8
    }
}

/// A text as UTF-8.
pub(super) struct DecodedText {
    from: Box<dyn Read + Send>,
    encoding: TextEncoding,
    decoder: Option<Decoder>,
    input: Vec<u8>,
    /// Bytes of the input that were decoded.
    used: usize,
    /// Bytes of the input that hold something.
    filled: usize,
    /// Bytes before the input.
    before: u64,
    text: Vec<u8>,
    given: usize,
    ended: bool,
}

impl DecodedText {
    pub(super) fn new(from: Box<dyn Read + Send>, encoding: TextEncoding) -> Self {
        let decoder = match encoding {
            TextEncoding::Named(encoding) => Some(encoding.new_decoder_with_bom_removal()),
            TextEncoding::Utf8 | TextEncoding::Utf16 | TextEncoding::Latin1 => None,
        };
        Self {
            from,
            encoding,
            decoder,
            input: vec![0; INPUT_BYTES],
            used: 0,
            filled: 0,
            before: 0,
            text: Vec::new(),
            given: 0,
            ended: false,
        }
    }

    /// Decodes on, until there is some text or the end.
    fn decode(&mut self) -> io::Result<()> {
        (self.given, self.before) = (0, self.before + self.filled as u64);
        (self.filled, self.used) = (self.from.read(&mut self.input)?, 0);
        self.ended = self.filled == 0;
        self.text.resize(INPUT_BYTES * GROWTH + 16, 0);
        let input = &self.input[..self.filled];
        let written = match &mut self.decoder {
            None => encoding_rs::mem::convert_latin1_to_utf8(input, &mut self.text),
            Some(decoder) => {
                let (result, used, written) =
                    decoder.decode_to_utf8_without_replacement(input, &mut self.text, self.ended);
                if let DecoderResult::Malformed(..) = result {
                    let TextEncoding::Named(encoding) = self.encoding else {
                        return Err(io::ErrorKind::InvalidData.into());
                    };
                    let place = self.before + used as u64;
                    let text = format!("what ends at byte {place} is no character of {}", encoding.name());
                    return Err(io::Error::new(io::ErrorKind::InvalidData, text));
                }
                written
            }
        };
        self.text.truncate(written);
        Ok(())
    }
}

impl Read for DecodedText {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() && !self.ended {
            self.decode()?;
        }
        let given = buffer.len().min(self.text.len() - self.given);
        buffer[..given].copy_from_slice(&self.text[self.given..self.given + given]);
        self.given += given;
        Ok(given)
    }
}

/// The likeliest encoding of a text that is not UTF-8, by its letters.
pub(super) fn likely(text: &[u8]) -> &'static str {
    let zeros = |odd: usize| text.iter().skip(odd).step_by(2).take(1000).filter(|byte| **byte == 0).count();
    let half = text.len().min(2000) / 2;
    if half > 1 && zeros(1) * 10 > half * 7 {
        return "utf-16le";
    }
    if half > 1 && zeros(0) * 10 > half * 7 {
        return "utf-16be";
    }
    let high: Vec<u8> = text.iter().copied().filter(|byte| *byte >= 0x80).collect();
    // Words of Cyrillic letters are nothing but such bytes; elsewhere they stand between letters of ASCII.
    let pairs = text.windows(2).filter(|pair| pair[0] >= 0xc0 && pair[1] >= 0xc0).count();
    if pairs * 2 > high.len() {
        return "windows-1251";
    }
    // ą ę ł ń ś ź ż, č ď ě ň ř š ť ů ž and ő ű, where the two have different letters.
    const CENTRAL: &[u8] = b"\xa5\xb9\xca\xea\xa3\xb3\xd1\xf1\x8c\x9c\x8f\x9f\xaf\xbf\xc8\xe8\xcf\xef\xcc\xec\xd2\xf2\xd8\xf8\x8d\x9d\xd9\xf9\xd5\xf5\xdb\xfb";
    // à â ã å æ ç è ê î ï ñ õ ø ù û, and quotes and dashes between words.
    const WESTERN: &[u8] =
        b"\xc0\xe0\xc2\xe2\xc3\xe3\xc5\xe5\xc6\xe6\xc7\xe7\xe8\xea\xee\xef\xf1\xf5\xf8\xf9\xfb\xbf\xa1";
    let count = |letters: &[u8]| high.iter().filter(|byte| letters.contains(byte)).count();
    if count(CENTRAL) > count(WESTERN) {
        return "windows-1250";
    }
    if high.iter().any(|byte| *byte < 0xa0) { "windows-1252" } else { "latin1" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8], name: &str) -> io::Result<String> {
        let encoding = TextEncoding::named(name).expect("an encoding").of_marked(bytes);
        let mut text = String::new();
        DecodedText::new(Box::new(io::Cursor::new(bytes.to_vec())), encoding).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn texts_are_decoded() {
        assert_eq!(decoded(b"caf\xe9 \x80", "latin1").unwrap(), "café \u{80}");
        assert_eq!(decoded(b"caf\xe9 \x80", "windows-1252").unwrap(), "café €");
        assert_eq!(decoded(b"\x9al\xe9pka", "cp1250").unwrap(), "šlépka");
        assert_eq!(decoded(b"\xcf\xf0\xe8\xe2\xe5\xf2", "windows1251").unwrap(), "Привет");
        assert_eq!(decoded(b"\xff\xfea\0\xe9\0", "utf-8").unwrap(), "aé");
        assert_eq!(decoded(b"\xfe\xff\0a\0\xe9", "utf-16").unwrap(), "aé");
        assert_eq!(decoded(b"a\0\xe9\0", "utf-16").unwrap(), "aé");
        let long = "ü".repeat(300_000);
        let utf16: Vec<u8> = long.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decoded(&utf16, "utf-16le").unwrap(), long);
        let error = decoded(b"a\0\0\xd8b\0", "utf-16le").unwrap_err();
        assert!(error.to_string().contains("no character of UTF-16LE"), "{error}");
        assert!(TextEncoding::named("ebcdic").unwrap_err().to_string().contains("windows-1250"));
    }

    #[test]
    fn a_text_tells_its_encoding() {
        assert_eq!(likely(b"Caf\xe9 M\xfcller"), "latin1");
        assert_eq!(likely(b"Caf\xe9 \x96 10 \x80"), "windows-1252");
        assert_eq!(likely(b"\xa3\xf3d\x9f, Krak\xf3w, Gda\xf1sk, wi\xeacej"), "windows-1250");
        assert_eq!(likely(b"\xcc\xee\xf1\xea\xe2\xe0, \xca\xe0\xe7\xe0\xed\xfc"), "windows-1251");
        assert_eq!(likely(b"a\0,\0b\0\n\0"), "utf-16le");
        assert_eq!(likely(b"\0a\0,\0b\0\n"), "utf-16be");
    }
}
