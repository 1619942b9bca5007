//! What stands in the columns of a row? Read one after the other, after the checksum was checked.

use std::fmt;

use receipts::UnixMillis;
use rusqlite::{Row, types::ValueRef};
use store::{Result, StoreError};

use crate::{
    checksum,
    schema::Table,
    transaction::{NONE, Transaction},
    word::Word,
};

/// A row whose checksum is right, read column by column.
pub(crate) struct Cells<'r> {
    transaction: &'r Transaction<'r>,
    table: &'static Table,
    row: &'r Row<'r>,
    next: usize,
}

impl fmt::Debug for Cells<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cells({} at {})", self.table.name, self.next)
    }
}

impl<'r> Cells<'r> {
    /// Takes a whole row of a table.
    ///
    /// # Errors
    ///
    /// [`StoreError::Corrupt`] when its checksum is not that of its columns.
    pub(crate) fn checked(
        transaction: &'r Transaction<'_>,
        table: &'static Table,
        row: &'r Row<'r>,
    ) -> Result<Self> {
        let cells = Self { transaction, table, row, next: 0 };
        if is_intact(table, row) { Ok(cells) } else { Err(cells.corrupt("its checksum is wrong")) }
    }

    /// Says that the row is not what was written.
    pub(crate) fn corrupt(&self, what: &str) -> StoreError {
        StoreError::Corrupt {
            what: what.to_owned(),
            place: place(self.transaction.file(), self.table, self.row),
        }
    }

    /// The transaction that reads.
    pub(crate) fn transaction(&self) -> &'r Transaction<'r> {
        self.transaction
    }

    fn value(&mut self) -> Result<ValueRef<'r>> {
        let value = self.row.get_ref(self.next);
        self.next += 1;
        value.ok().ok_or_else(|| self.corrupt("it has too few columns"))
    }

    /// Passes over one column.
    pub(crate) fn skip(&mut self) {
        self.next += 1;
    }

    pub(crate) fn opt_int(&mut self) -> Result<Option<i64>> {
        match self.value()? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(number) => Ok(Some(number)),
            ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_) => Err(self.other_type()),
        }
    }

    pub(crate) fn int(&mut self) -> Result<i64> {
        self.opt_int()?.ok_or_else(|| self.other_type())
    }

    /// An unsigned number, kept bit for bit.
    pub(crate) fn count(&mut self) -> Result<u64> {
        self.int().map(i64::cast_unsigned)
    }

    pub(crate) fn opt_count(&mut self) -> Result<Option<u64>> {
        Ok(self.opt_int()?.map(i64::cast_unsigned))
    }

    pub(crate) fn time(&mut self) -> Result<UnixMillis> {
        self.int().map(UnixMillis)
    }

    pub(crate) fn opt_time(&mut self) -> Result<Option<UnixMillis>> {
        Ok(self.opt_int()?.map(UnixMillis))
    }

    pub(crate) fn opt_text(&mut self) -> Result<Option<&'r str>> {
        match self.value()? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(bytes) => {
                let text = std::str::from_utf8(bytes);
                text.map(Some).ok().ok_or_else(|| self.corrupt("a text is no UTF-8"))
            }
            ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => Err(self.other_type()),
        }
    }

    pub(crate) fn text(&mut self) -> Result<&'r str> {
        self.opt_text()?.ok_or_else(|| self.other_type())
    }

    pub(crate) fn bytes(&mut self) -> Result<&'r [u8]> {
        match self.value()? {
            ValueRef::Blob(bytes) => Ok(bytes),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Text(_) => {
                Err(self.other_type())
            }
        }
    }

    /// An interned text that must be there, as an id of its kind.
    pub(crate) fn id<T: Word>(&mut self) -> Result<T> {
        self.opt_id()?.ok_or_else(|| self.corrupt("an id is missing"))
    }

    /// An interned text, or none.
    pub(crate) fn opt_id<T: Word>(&mut self) -> Result<Option<T>> {
        match self.int()? {
            NONE => Ok(None),
            id => self.word(&self.transaction.name(id)?).map(Some),
        }
    }

    /// Checks a text as an id of its kind.
    pub(crate) fn word<T: Word>(&self, text: &str) -> Result<T> {
        T::of(text).ok_or_else(|| self.corrupt("an id is not of its kind"))
    }

    /// Takes a small number as the one of a list that it stands for.
    pub(crate) fn choice<T: Clone>(&mut self, choices: &[T]) -> Result<T> {
        let choice = usize::try_from(self.int()?).ok().and_then(|at| choices.get(at)).cloned();
        choice.ok_or_else(|| self.corrupt("a code has no meaning"))
    }

    fn other_type(&self) -> StoreError {
        self.corrupt("a column has another type")
    }
}

/// Tells whether a whole row has the checksum of its columns.
pub(crate) fn is_intact(table: &Table, row: &Row<'_>) -> bool {
    let columns = table.columns.len();
    let values = (0..columns).map(|at| row.get_ref(at).unwrap_or(ValueRef::Null));
    row.get_ref(columns) == Ok(ValueRef::Integer(checksum::of(table, values)))
}

/// Names a row, for people.
pub(crate) fn place(file: &str, table: &Table, row: &Row<'_>) -> String {
    match row.get_ref(0) {
        Ok(ValueRef::Integer(id)) => format!("{file}: table {} row {id}", table.name),
        _ => format!("{file}: table {}", table.name),
    }
}
