//! Encodings of streams, by PostgreSQL's names: what comes becomes UTF-8, and what goes is UTF-8 before.

use crate::{Error, Result};
use encoding_rs::{Decoder, DecoderResult, EncoderResult, Encoding};
use gingham_storage::{Problem, SqlState};

/// PostgreSQL's names, without the marks between their parts, and those of the Web.
const NAMED: &[(&str, &str)] = &[
    ("latin2", "iso-8859-2"),
    ("latin3", "iso-8859-3"),
    ("latin4", "iso-8859-4"),
    ("latin5", "windows-1254"),
    ("latin6", "iso-8859-10"),
    ("latin8", "iso-8859-14"),
    ("latin9", "iso-8859-15"),
    ("latin10", "iso-8859-16"),
    ("iso88595", "iso-8859-5"),
    ("iso88596", "iso-8859-6"),
    ("iso88597", "iso-8859-7"),
    ("iso88598", "iso-8859-8"),
    ("win866", "ibm866"),
    ("win874", "windows-874"),
    ("win1250", "windows-1250"),
    ("win1251", "windows-1251"),
    ("win1252", "windows-1252"),
    ("win1253", "windows-1253"),
    ("win1254", "windows-1254"),
    ("win1255", "windows-1255"),
    ("win1256", "windows-1256"),
    ("win1257", "windows-1257"),
    ("win1258", "windows-1258"),
    ("koi8r", "koi8-r"),
    ("koi8u", "koi8-u"),
    ("eucjp", "euc-jp"),
    ("euckr", "euc-kr"),
    ("uhc", "euc-kr"),
    ("euccn", "gbk"),
    ("gbk", "gbk"),
    ("gb18030", "gb18030"),
    ("big5", "big5"),
    ("sjis", "shift_jis"),
];
/// Most bytes of UTF-8 that a byte of another encoding becomes.
const GROWTH: usize = 3;

/// The encoding of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamEncoding(EncodingKind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EncodingKind {
    Utf8,
    /// Each byte is the character of its number.
    Latin1,
    Named(&'static Encoding),
}

impl StreamEncoding {
    /// What there is without a word of it.
    pub(super) const UTF8: Self = Self(EncodingKind::Utf8);

    /// The encoding of that name.
    pub(super) fn named(name: &str) -> Result<Self> {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        match plain.as_str() {
            "utf8" | "unicode" | "sqlascii" => return Ok(Self(EncodingKind::Utf8)),
            "latin1" | "iso88591" => return Ok(Self(EncodingKind::Latin1)),
            _ => {}
        }
        let plain = plain.strip_prefix("windows").map(|rest| format!("win{rest}")).unwrap_or(plain);
        let found =
            NAMED.iter().find(|(own, _)| *own == plain).and_then(|(_, web)| Encoding::for_label(web.as_bytes()));
        found.map(|found| Self(EncodingKind::Named(found))).ok_or_else(|| {
            let names = NAMED.iter().map(|(own, _)| *own).collect::<Vec<_>>().join(", ");
            let text = format!("COPY: the encoding '{name}' is not known; there are utf8, latin1, {names}");
            Error::invalid(SqlState::InvalidParameterValue, text)
        })
    }

    /// What makes UTF-8 of bytes that come piece by piece.
    pub(super) fn decoder(self) -> StreamDecoder {
        let decoder = if let EncodingKind::Named(encoding) = self.0 {
            Some(encoding.new_decoder_without_bom_handling())
        } else {
            None
        };
        StreamDecoder { encoding: self, decoder }
    }

    /// A text in the encoding. Errors on a character that it has not.
    pub(super) fn encoded(self, text: Vec<u8>) -> Result<Vec<u8>> {
        let EncodingKind::Named(encoding) = self.0 else {
            return if self.0 == EncodingKind::Utf8 { Ok(text) } else { as_latin1(&text) };
        };
        let text = String::from_utf8(text).map_err(|error| Error::Internal(format!("a text of COPY: {error}")))?;
        let mut encoder = encoding.new_encoder();
        let room = encoder.max_buffer_length_from_utf8_without_replacement(text.len());
        let mut bytes = Vec::with_capacity(room.unwrap_or(text.len() * GROWTH));
        match encoder.encode_from_utf8_to_vec_without_replacement(&text, &mut bytes, true).0 {
            EncoderResult::Unmappable(character) => Err(unmappable(character)),
            EncoderResult::InputEmpty | EncoderResult::OutputFull => Ok(bytes),
        }
    }
}

fn as_latin1(text: &[u8]) -> Result<Vec<u8>> {
    let text = std::str::from_utf8(text).map_err(|error| Error::Internal(format!("a text of COPY: {error}")))?;
    text.chars().map(|character| u8::try_from(u32::from(character)).map_err(|_| unmappable(character))).collect()
}

fn unmappable(character: char) -> Error {
    let text = format!("COPY: the encoding has no character '{character}'; write UTF8");
    Error::invalid(SqlState::UntranslatableCharacter, text)
}

/// Makes UTF-8 of bytes of another encoding.
pub(super) struct StreamDecoder {
    encoding: StreamEncoding,
    decoder: Option<Decoder>,
}

impl StreamDecoder {
    /// Adds a piece of the stream, the last one perhaps, to `text`.
    pub(super) fn decode(&mut self, mut piece: &[u8], is_last: bool, text: &mut Vec<u8>) -> Result<(), Problem> {
        let Some(decoder) = &mut self.decoder else {
            match self.encoding.0 {
                EncodingKind::Latin1 => {
                    let mut room = [0; 4];
                    let characters = piece.iter().map(|byte| char::from(*byte));
                    characters.for_each(|own| text.extend_from_slice(own.encode_utf8(&mut room).as_bytes()));
                }
                _ => text.extend_from_slice(piece),
            }
            return Ok(());
        };
        loop {
            let before = text.len();
            text.resize(before + piece.len() * GROWTH + 16, 0);
            let (result, read, written) =
                decoder.decode_to_utf8_without_replacement(piece, &mut text[before..], is_last);
            text.truncate(before + written);
            let tried = piece.get(read.saturating_sub(1)).copied();
            piece = &piece[read..];
            match result {
                DecoderResult::InputEmpty => return Ok(()),
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(..) => {
                    let byte = tried.map(|byte| format!(": 0x{byte:02x}")).unwrap_or_default();
                    let text = format!("the bytes are no text in the encoding that the statement says{byte}");
                    return Err(Problem::new(SqlState::CharacterNotInRepertoire, text));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_go_both_ways() {
        for (name, text) in [("LATIN1", "ÿ£é"), ("win1251", "Жук"), ("SJIS", "日本"), ("utf-8", "日é"), ("LATIN9", "€")]
        {
            let encoding = StreamEncoding::named(name).unwrap();
            let bytes = encoding.encoded(text.as_bytes().to_vec()).unwrap();
            let (mut decoder, mut read) = (encoding.decoder(), Vec::new());
            for byte in &bytes {
                decoder.decode(std::slice::from_ref(byte), false, &mut read).unwrap();
            }
            decoder.decode(&[], true, &mut read).unwrap();
            assert_eq!(String::from_utf8(read).unwrap(), text, "{name}");
        }
        assert_eq!(StreamEncoding::named("latin1").unwrap().encoded("日".into()).unwrap_err().sqlstate(), "22P05");
        assert_eq!(StreamEncoding::named("win1251").unwrap().encoded("日".into()).unwrap_err().sqlstate(), "22P05");
        assert_eq!(StreamEncoding::named("klingon").unwrap_err().sqlstate(), "22023");
        let mut decoder = StreamEncoding::named("euc_jp").unwrap().decoder();
        assert!(decoder.decode(&[0xff, 0xff], true, &mut Vec::new()).is_err());
    }
}
