//! Values of options, which come as texts, numbers or bytes.

use crate::error::wrong_argument;
use adbc_core::error::Result;
use adbc_core::options::OptionValue;

/// The value as text.
pub(crate) fn text(key: &str, value: &OptionValue) -> Result<String> {
    match value {
        OptionValue::String(text) => Ok(text.clone()),
        OptionValue::Int(number) => Ok(number.to_string()),
        OptionValue::Double(number) => Ok(number.to_string()),
        _ => Err(wrong_argument(format!("option '{key}' is a text"))),
    }
}

/// The value as true or false.
pub(crate) fn truth(key: &str, value: &OptionValue) -> Result<bool> {
    match text(key, value)?.as_str() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        other => Err(wrong_argument(format!("option '{key}' is true or false, not '{other}'"))),
    }
}

/// The value as a whole number.
pub(crate) fn number(key: &str, value: &OptionValue) -> Result<usize> {
    let text = text(key, value)?;
    text.parse().map_err(|_| wrong_argument(format!("option '{key}' is a whole number, not '{text}'")))
}

/// The getters of options that are kept as texts, for callers who ask for another type.
macro_rules! only_texts {
    ($option:ty) => {
        fn get_option_bytes(&self, key: $option) -> adbc_core::error::Result<Vec<u8>> {
            Ok(self.get_option_string(key)?.into_bytes())
        }

        fn get_option_int(&self, key: $option) -> adbc_core::error::Result<i64> {
            let text = self.get_option_string(key.clone())?;
            text.parse()
                .map_err(|_| $crate::error::wrong_argument(format!("option '{}' is no whole number", key.as_ref())))
        }

        fn get_option_double(&self, key: $option) -> adbc_core::error::Result<f64> {
            let text = self.get_option_string(key.clone())?;
            text.parse().map_err(|_| $crate::error::wrong_argument(format!("option '{}' is no number", key.as_ref())))
        }
    };
}
pub(crate) use only_texts;
