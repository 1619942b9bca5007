//! Are the bytes of a row those that were written?

use rusqlite::types::ValueRef;

use crate::schema::Table;

/// Computes the checksum of a row: 8 bytes of BLAKE3 over the table's name and, for each column,
/// its type, its length where that varies, and its bytes.
pub(crate) fn of<'v>(table: &Table, values: impl Iterator<Item = ValueRef<'v>>) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(table.name.as_bytes());
    for value in values {
        match value {
            ValueRef::Null => hasher.update(&[0]),
            ValueRef::Integer(number) => hasher.update(&[1]).update(&number.to_le_bytes()),
            ValueRef::Real(number) => hasher.update(&[2]).update(&number.to_le_bytes()),
            ValueRef::Text(bytes) => long(&mut hasher, 3, bytes),
            ValueRef::Blob(bytes) => long(&mut hasher, 4, bytes),
        };
    }
    let mut checksum = [0; 8];
    hasher.finalize_xof().fill(&mut checksum);
    i64::from_le_bytes(checksum)
}

fn long<'h>(hasher: &'h mut blake3::Hasher, tag: u8, bytes: &[u8]) -> &'h mut blake3::Hasher {
    hasher.update(&[tag]).update(&(bytes.len() as u64).to_le_bytes()).update(bytes)
}

#[cfg(test)]
mod tests {
    use rusqlite::types::ValueRef;

    use super::of;
    use crate::schema::{EVENT, FORK, NAME};

    #[test]
    fn rows_that_differ_have_other_checksums() {
        let rows: [&[ValueRef<'_>]; 6] = [
            &[ValueRef::Null],
            &[ValueRef::Integer(0)],
            &[ValueRef::Text(b"ab"), ValueRef::Text(b"c")],
            &[ValueRef::Text(b"a"), ValueRef::Text(b"bc")],
            &[ValueRef::Blob(b"ab"), ValueRef::Text(b"c")],
            &[],
        ];
        let mut checksums: Vec<i64> = [NAME, FORK, EVENT]
            .iter()
            .flat_map(|table| rows.map(|row| of(table, row.iter().copied())))
            .collect();
        checksums.sort_unstable();
        checksums.dedup();
        assert_eq!(checksums.len(), 18);
    }

    /// Format 0: what is stored must be computed alike for ever.
    #[test]
    fn the_checksum_of_a_row_never_changes() {
        let row = [ValueRef::Integer(7), ValueRef::Text(b"ses_1")];
        assert_eq!(of(&NAME, row.into_iter()), 9_147_467_806_161_725_904);
    }
}
