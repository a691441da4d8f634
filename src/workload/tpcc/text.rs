//! Random text of clause 4.3.2, generated fast and without allocation.

use super::random::Stream;

/// Characters to draw from, all equally likely.
///
/// Two characters come from one table look-up, and eight from 64 random bits, read as a fraction whose successive
/// digits in base "number of pairs" are the look-ups. Some groups of eight are therefore more likely than others, by at
/// most one part in 80,000.
struct Alphabet {
    pairs: &'static [[u8; 2]],
}

const DIGITS: &[u8; 10] = b"0123456789";
const LETTERS: &[u8; 52] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BOTH: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The ten digits of an *n-string*.
static NUMERIC: Alphabet = Alphabet { pairs: &pairs::<10, 100>(DIGITS) };
/// The 52 letters of states and of the `DIST` columns.
static ALPHABETIC: Alphabet = Alphabet { pairs: &pairs::<52, 2_704>(LETTERS) };
/// The 62 letters and digits of an *a-string* (clause 4.3.2.2).
static ALPHANUMERIC: Alphabet = Alphabet { pairs: &pairs::<62, 3_844>(BOTH) };

const fn pairs<const N: usize, const SQUARED: usize>(characters: &[u8; N]) -> [[u8; 2]; SQUARED] {
    let mut pairs = [[0; 2]; SQUARED];
    let mut at = 0;
    while at < SQUARED {
        pairs[at] = [characters[at / N], characters[at % N]];
        at += 1;
    }
    pairs
}

impl Alphabet {
    #[inline]
    fn fill(&self, stream: &mut Stream, buffer: &mut [u8]) {
        let mut eights = buffer.chunks_exact_mut(8);
        for eight in &mut eights {
            eight.copy_from_slice(&self.eight(stream.bits()));
        }
        let rest = eights.into_remainder();
        if !rest.is_empty() {
            rest.copy_from_slice(&self.eight(stream.bits())[..rest.len()]);
        }
    }

    #[inline]
    fn eight(&self, bits: u64) -> [u8; 8] {
        let mut eight = [0; 8];
        let mut fraction = bits;
        for two in eight.chunks_exact_mut(2) {
            let product = u128::from(fraction) * self.pairs.len() as u128;
            two.copy_from_slice(&self.pairs[(product >> 64) as usize]);
            fraction = product as u64;
        }
        eight
    }
}

/// *random a-string \[shortest..length of buffer\]*: letters and digits, its length uniform (clause 4.3.2.2).
#[inline]
pub fn a_string<'a>(stream: &mut Stream, shortest: usize, buffer: &'a mut [u8]) -> &'a str {
    as_text(a_bytes(stream, shortest, buffer))
}

#[inline]
fn a_bytes<'a>(stream: &mut Stream, shortest: usize, buffer: &'a mut [u8]) -> &'a mut [u8] {
    let length = stream.within(shortest as i32, buffer.len() as i32) as usize;
    let buffer = &mut buffer[..length];
    ALPHANUMERIC.fill(stream, buffer);
    buffer
}

/// *random n-string* of the buffer's length: digits (clause 4.3.2.2).
#[inline]
pub fn n_string<'a>(stream: &mut Stream, buffer: &'a mut [u8]) -> &'a str {
    NUMERIC.fill(stream, buffer);
    as_text(buffer)
}

/// Random letters in the buffer's length.
#[inline]
pub fn letters<'a>(stream: &mut Stream, buffer: &'a mut [u8]) -> &'a str {
    ALPHABETIC.fill(stream, buffer);
    as_text(buffer)
}

/// A zip code: four random digits and 11111 (clause 4.3.2.7).
#[inline]
pub fn zip<'a>(stream: &mut Stream, buffer: &'a mut [u8; 9]) -> &'a str {
    *buffer = *b"000011111";
    NUMERIC.fill(stream, &mut buffer[..4]);
    as_text(buffer)
}

/// I_DATA or S_DATA: an a-string \[26..50\], and in a random tenth of them `ORIGINAL` at a random position (clause
/// 4.3.3.1).
#[inline]
pub fn data<'a>(stream: &mut Stream, buffer: &'a mut [u8; 50]) -> &'a str {
    const MARK: &[u8; 8] = b"ORIGINAL";
    let data = a_bytes(stream, 26, buffer);
    if stream.percent(10) {
        let at = stream.within(0, (data.len() - MARK.len()) as i32) as usize;
        data[at..at + MARK.len()].copy_from_slice(MARK);
    }
    as_text(data)
}

#[inline]
#[expect(clippy::expect_used, reason = "every alphabet is ASCII")]
fn as_text(characters: &[u8]) -> &str {
    std::str::from_utf8(characters).expect("all alphabets are ASCII")
}

#[cfg(test)]
mod tests {
    use super::super::random::{Source, Topic};
    use super::*;

    fn stream() -> Stream {
        Source::new(5, Topic::Stock).stream(5)
    }

    /// The frequency of each byte at each position modulo 8: each position of a look-up word is computed differently.
    fn counts(make: impl Fn(&mut Stream, &mut [u8]), length: usize, strings: usize) -> Vec<[u32; 256]> {
        let mut stream = stream();
        let mut counts = vec![[0; 256]; 8];
        let mut buffer = vec![0; length];
        for _ in 0..strings {
            make(&mut stream, &mut buffer);
            for (at, &byte) in buffer.iter().enumerate() {
                counts[at % 8][byte as usize] += 1;
            }
        }
        counts
    }

    #[test]
    fn characters_are_uniform_at_every_place() {
        for (alphabet, characters) in [(&NUMERIC, &DIGITS[..]), (&ALPHABETIC, &LETTERS[..]), (&ALPHANUMERIC, &BOTH[..])]
        {
            // 13 characters: a whole word and a truncated one.
            for place in counts(|stream, buffer| alphabet.fill(stream, buffer), 13, 100_000) {
                let drawn: u32 = place.iter().sum();
                let expected = f64::from(drawn) / characters.len() as f64;
                let chi_square: f64 = characters
                    .iter()
                    .map(|&byte| (f64::from(place[byte as usize]) - expected).powi(2) / expected)
                    .sum();
                let freedom = (characters.len() - 1) as f64;
                assert!(chi_square < freedom + 5.0 * (2.0 * freedom).sqrt(), "{chi_square} of {freedom}");
                assert_eq!(
                    characters.iter().map(|&byte| place[byte as usize]).sum::<u32>(),
                    drawn,
                    "a foreign character"
                );
            }
        }
    }

    #[test]
    fn characters_of_one_word_are_independent() {
        let mut stream = stream();
        let mut seen = [[0u32; 10]; 10];
        for _ in 0..100_000 {
            let mut buffer = [0; 8];
            let digits = n_string(&mut stream, &mut buffer).as_bytes();
            seen[usize::from(digits[1] - b'0')][usize::from(digits[2] - b'0')] += 1;
        }
        assert!(seen.iter().flatten().all(|count| (830..1_170).contains(count)), "{seen:?}");
    }

    #[test]
    fn lengths_are_uniform_and_include_both_ends() {
        let mut stream = stream();
        let mut seen = [0; 25];
        for _ in 0..25_000 {
            let mut buffer = [0; 50];
            seen[data(&mut stream, &mut buffer).len() - 26] += 1;
        }
        assert!(seen.iter().all(|count| (830..1_170).contains(count)), "{seen:?}");
    }

    #[test]
    fn the_mark_is_in_a_tenth_of_the_data_and_reaches_both_ends() {
        let mut stream = stream();
        let (mut marked, mut first, mut last) = (0, 0, 0);
        for _ in 0..100_000 {
            let mut buffer = [0; 50];
            let data = data(&mut stream, &mut buffer);
            marked += u32::from(data.contains("ORIGINAL"));
            first += u32::from(data.starts_with("ORIGINAL"));
            last += u32::from(data.ends_with("ORIGINAL"));
        }
        assert!((9_500..=10_500).contains(&marked), "{marked}");
        // At one of 19 to 43 positions.
        assert!((250..450).contains(&first) && (250..450).contains(&last), "{first} {last}");
    }

    #[test]
    fn a_zip_code_is_four_digits_and_the_constant() {
        let mut stream = stream();
        for _ in 0..1_000 {
            let mut buffer = [0; 9];
            let zip = zip(&mut stream, &mut buffer);
            assert!(zip.len() == 9 && zip.ends_with("11111") && zip.bytes().all(|byte| byte.is_ascii_digit()), "{zip}");
        }
    }
}
