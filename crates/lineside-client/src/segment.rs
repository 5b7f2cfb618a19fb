//! Texts of others within the paths of the API.

/// A text as one segment of a path.
pub(crate) fn segment(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~');
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        if plain(byte) {
            segment.push(char::from(byte));
        } else {
            segment.push_str(&format!("%{byte:02X}"));
        }
    }
    segment
}

#[cfg(test)]
mod tests {
    use super::segment;

    #[test]
    fn a_segment_hides_what_would_lead_elsewhere() {
        assert_eq!(segment("s-1_~"), "s-1_~");
        assert_eq!(segment("../a b/ü?#%"), "%2E%2E%2Fa%20b%2F%C3%BC%3F%23%25");
    }
}
