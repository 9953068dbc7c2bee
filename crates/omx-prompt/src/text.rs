//! Text functions for the scan. Everything borrows; nothing allocates.

/// Whether a character is white space or has no width.
pub fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}')
}

/// Trims blanks at both ends.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_blank)
}

/// Trims blanks at the start.
pub fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_blank)
}

/// Whether a character belongs to a word. Apostrophes are handled separately.
pub fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}')
}

/// The maximum length of a word; longer ones are cut off, since none of them has a meaning.
const LONGEST: usize = 64;

/// Returns the word at the start of a text: letters, digits and inner apostrophes.
pub fn leading_word(text: &str) -> &str {
    let mut end = 0;
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let next_is_letter = rest.peek().is_some_and(|(_, next)| is_word_char(*next));
        let inner = is_apostrophe(c) && end > 0 && next_is_letter;
        if !is_word_char(c) && !inner || end >= LONGEST {
            break;
        }
        end = at + c.len_utf8();
    }
    &text[..end]
}

/// Returns the word at the end of a text.
pub fn trailing_word(text: &str) -> &str {
    let start = text
        .char_indices()
        .rev()
        .take(LONGEST)
        .take_while(|(_, c)| is_word_char(*c) || is_apostrophe(*c))
        .last()
        .map_or(text.len(), |(at, _)| at);
    &text[start..]
}

/// Iterates over the words of a text.
#[derive(Clone, Debug)]
pub struct WordIter<'a>(&'a str);

/// Returns the words of a text.
pub fn words(text: &str) -> WordIter<'_> {
    WordIter(text)
}

impl<'a> Iterator for WordIter<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let start = self.0.find(is_word_char)?;
        let word = leading_word(&self.0[start..]);
        self.0 = &self.0[start + word.len()..];
        Some(word)
    }
}

/// Whether a word equals `other`, which is lowercase. Ignores case and apostrophes.
pub fn eq_word(word: &str, other: &str) -> bool {
    if word.is_ascii() {
        let plain = |byte: &u8| *byte != b'\'';
        let left = word.bytes().filter(plain).map(|byte| byte.to_ascii_lowercase());
        return left.eq(other.bytes().filter(plain));
    }
    let left = word.chars().filter(|c| !is_apostrophe(*c)).flat_map(char::to_lowercase);
    left.eq(other.chars().filter(|c| !is_apostrophe(*c)))
}

/// Whether a word is in a list of words separated by spaces.
pub fn is_in_list(word: &str, list: &str) -> bool {
    // All words of all lists are shorter.
    !word.is_empty()
        && word.len() <= 40
        && list.split_ascii_whitespace().any(|other| eq_word(word, other))
}

/// Removes a prefix, ignoring ASCII case.
pub fn strip_prefix_ignore_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// Whether a text contains a part, ignoring ASCII case. For short texts.
pub fn contains_ignore_case(text: &str, part: &str) -> bool {
    text.as_bytes().windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

/// Removes words from the start of a text, with any space between them.
pub fn strip_words<'a>(text: &'a str, wanted: &[&str]) -> Option<&'a str> {
    let mut rest = text;
    for (number, want) in wanted.iter().enumerate() {
        if number > 0 {
            let spaced = rest.trim_start_matches(is_blank);
            if spaced.len() == rest.len() {
                return None;
            }
            rest = spaced;
        }
        let word = leading_word(rest);
        if !eq_word(word, want) {
            return None;
        }
        rest = &rest[word.len()..];
    }
    Some(rest)
}

/// Returns the longest prefix of at most `bytes` bytes that ends at a character boundary.
pub fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the longest suffix of at most `bytes` bytes that starts at a character boundary.
pub fn tail(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_inner_apostrophe_and_nothing_else() {
        let found: Vec<&str> = words("'Don't' stop — naïve, ralph's: 修复 x_1").collect();
        assert_eq!(found, ["Don't", "stop", "naïve", "ralph's", "修复", "x_1"]);
        assert_eq!(trailing_word("that's what I didn’t"), "didn’t");
        assert_eq!(leading_word(""), "");
        assert!(eq_word("DON’T", "don't") && eq_word("dont", "don't") && !eq_word("do", "don't"));
    }

    #[test]
    fn words_in_a_row_may_have_any_space_between() {
        assert_eq!(
            strip_words("Keep  going\tuntil green", &["keep", "going", "until"]),
            Some(" green")
        );
        assert_eq!(strip_words("keepgoing", &["keep", "going"]), None);
        assert_eq!(strip_words("keep-going", &["keep", "going"]), None);
        assert_eq!(strip_prefix_ignore_case("Ré", "r"), Some("é"));
        assert_eq!(strip_prefix_ignore_case("é", "e"), None);
        assert_eq!((head("é", 1), tail("é", 1)), ("", ""));
    }
}
