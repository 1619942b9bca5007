//! How is evidence kept? Its row for ever, its content until it is pruned.

use receipts::UnixMillis;
use store::{EvidenceDigest, Result, StoreError};

use crate::{
    error::corrupt,
    schema::{CONTENT, EVIDENCE},
    transaction::{NewRow, Transaction},
};

/// How hard is compressed: the level that zstd itself takes for its best ratio of speed and size.
const LEVEL: i32 = 3;

/// Finds the row of a digest.
pub(super) fn find(tx: &Transaction<'_>, digest: &EvidenceDigest) -> Result<Option<i64>> {
    let sql = "SELECT * FROM evidence WHERE digest = ?1";
    tx.one(&EVIDENCE, sql, [digest.0.as_slice()], |cells| cells.int())
}

/// Gives the digest of a row.
pub(super) fn digest(tx: &Transaction<'_>, id: i64) -> Result<EvidenceDigest> {
    let found = tx.one(&EVIDENCE, "SELECT * FROM evidence WHERE id = ?1", [id], |cells| {
        cells.skip();
        let bytes = cells.bytes()?;
        bytes.try_into().ok().ok_or_else(|| cells.corrupt("its digest has another length"))
    })?;
    let missing = || corrupt(tx.file(), format!("table evidence has no row {id}"));
    found.map(EvidenceDigest).ok_or_else(missing)
}

/// Reads a content, and holds it against its digest.
pub(super) fn content(tx: &Transaction<'_>, digest: &EvidenceDigest) -> Result<Option<Vec<u8>>> {
    let sql = "SELECT * FROM evidence WHERE digest = ?1";
    let row = tx.one(&EVIDENCE, sql, [digest.0.as_slice()], |cells| {
        let id = cells.int()?;
        cells.skip();
        cells.skip();
        Ok((id, cells.count()?))
    })?;
    let Some((id, size)) = row else { return Ok(None) };
    tx.one(&CONTENT, "SELECT * FROM content WHERE evidence = ?1", [id], |cells| {
        cells.skip();
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let content = zstd::bulk::decompress(cells.bytes()?, size);
        match content {
            Ok(content) if EvidenceDigest::of(&content) == *digest => Ok(content),
            Ok(_) | Err(_) => Err(cells.corrupt("it is not the content of its digest")),
        }
    })
}

/// Keeps a content; a row whose content was dropped gets it back.
pub(super) fn put(
    tx: &Transaction<'_>,
    digest: &EvidenceDigest,
    content: &[u8],
    at: UnixMillis,
) -> Result<()> {
    let id = match find(tx, digest)? {
        Some(id) => id,
        None => tx.number("SELECT max(id) FROM evidence", ())?.unwrap_or(0) + 1,
    };
    let compressed = zstd::bulk::compress(content, LEVEL).map_err(StoreError::unavailable)?;
    let row = NewRow::new().int(id).bytes(&digest.0).int(at.0).count(content.len() as u64);
    tx.put(&EVIDENCE, row)?;
    // The content is a part of its row, which was counted.
    tx.put_part(&CONTENT, NewRow::new().int(id).blob(compressed))
}

/// Drops the contents that were kept before a time; gives how many.
pub(super) fn drop_before(tx: &Transaction<'_>, before: UnixMillis) -> Result<u64> {
    let sql = "DELETE FROM content
               WHERE evidence IN (SELECT id FROM evidence WHERE kept_at < ?1)";
    tx.delete(sql, [before.0])
}
