//! How are lists of words written into one column?

use store::{Labels, Result};

use crate::{
    cells::Cells,
    codec::{Decoded, Decoder, Encoder},
};

/// Writes labels as a list of their names and values, one after the other.
pub(super) fn encode(labels: &Labels) -> Vec<u8> {
    let count = labels.iter().count();
    words(2 * count, labels.iter().flat_map(|(name, value)| [name, value]))
}

/// Writes how many words there are, and the words.
pub(super) fn words<'a>(count: usize, words: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut encoder = Encoder::default();
    if count > 0 {
        encoder.count(count as u64);
    }
    words.for_each(|word| encoder.text(word));
    encoder.bytes
}

/// Reads labels.
pub(super) fn read(cells: &mut Cells<'_>) -> Result<Labels> {
    let words = read_words(cells)?;
    let pairs = words.chunks_exact(2).filter_map(|pair| match pair {
        [name, value] => Some((name, value)),
        _ => None,
    });
    Labels::new(pairs).ok().ok_or_else(|| cells.corrupt("its labels are not readable"))
}

/// Reads what [`words`] wrote.
pub(super) fn read_words(cells: &mut Cells<'_>) -> Result<Vec<Box<str>>> {
    let bytes = cells.bytes()?;
    decode(bytes).ok().ok_or_else(|| cells.corrupt("a list of words is not readable"))
}

fn decode(bytes: &[u8]) -> Decoded<Vec<Box<str>>> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let mut decoder = Decoder::new(bytes);
    (0..decoder.count()?).map(|_| decoder.text().map(Box::from)).collect()
}
