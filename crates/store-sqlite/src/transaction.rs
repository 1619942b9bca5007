//! How does one transaction read and write rows? Names, checksums and errors for all tables.

use std::{
    cell::{Cell, RefCell},
    collections::HashSet,
    sync::Arc,
};

use rusqlite::{
    CachedStatement, Connection, Params,
    types::{ToSqlOutput, Value, ValueRef},
};
use store::{Result, Seq, StoreError};

use crate::{
    cells::Cells,
    checksum,
    error::{classify, corrupt},
    names::Names,
    schema::{NAME, Table},
};

/// The id of the empty name, which stands for "none".
pub(crate) const NONE: i64 = 0;

/// An open transaction on one connection.
#[derive(Debug)]
pub(crate) struct Transaction<'c> {
    connection: &'c Connection,
    names: &'c RefCell<Names>,
    file: &'c str,
    written: Cell<u64>,
    /// The last id that was given to a name, once it is known.
    last_name: Cell<Option<i64>>,
    /// Names that no row had when they were looked for, and that were not written since.
    absent: RefCell<HashSet<Box<str>>>,
    /// The place of the last event, once it is known.
    head: Cell<Option<Seq>>,
    /// The first error of the engine, after which nothing more is done: the engine may have rolled
    /// back, and what came then would be on its own.
    failed: RefCell<Option<StoreError>>,
}

impl<'c> Transaction<'c> {
    pub(crate) fn new(
        connection: &'c Connection,
        names: &'c RefCell<Names>,
        file: &'c str,
    ) -> Self {
        Self {
            connection,
            names,
            file,
            written: Cell::new(0),
            last_name: Cell::new(None),
            absent: RefCell::default(),
            head: Cell::new(None),
            failed: RefCell::new(None),
        }
    }

    /// Names the file, for errors.
    pub(crate) fn file(&self) -> &str {
        self.file
    }

    pub(crate) fn written(&self) -> u64 {
        self.written.get()
    }

    /// Tells whether names may be remembered that stand or fall with this transaction.
    pub(crate) fn has_new_names(&self) -> bool {
        self.last_name.get().is_some()
    }

    pub(crate) fn head(&self) -> Option<Seq> {
        self.head.get()
    }

    /// Remembers the place of the last event.
    pub(crate) fn set_head(&self, head: Seq) {
        self.head.set(Some(head));
    }

    /// Fails when the engine failed before.
    pub(crate) fn check_usable(&self) -> Result<()> {
        match &*self.failed.borrow() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Sorts an error of the engine, and remembers the first.
    pub(crate) fn engine<T>(&self, result: rusqlite::Result<T>) -> Result<T> {
        result.map_err(|error| {
            let error = classify(self.file, error);
            self.failed.borrow_mut().get_or_insert_with(|| error.clone());
            error
        })
    }

    fn statement(&self, sql: &str) -> Result<CachedStatement<'c>> {
        self.check_usable()?;
        self.engine(self.connection.prepare_cached(sql))
    }

    /// Shows the rows of a query over whole rows of `table`; each is checked first.
    pub(crate) fn each(
        &self,
        table: &'static Table,
        sql: &str,
        params: impl Params,
        mut show: impl FnMut(&mut Cells<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut statement = self.statement(sql)?;
        let mut rows = self.engine(statement.query(params))?;
        while let Some(row) = self.engine(rows.next())? {
            show(&mut Cells::checked(self, table, row)?)?;
        }
        Ok(())
    }

    /// Reads all rows of a query.
    pub(crate) fn all<T>(
        &self,
        table: &'static Table,
        sql: &str,
        params: impl Params,
        read: impl Fn(&mut Cells<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        self.each(table, sql, params, |cells| {
            found.push(read(cells)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Reads the first row of a query.
    pub(crate) fn one<T>(
        &self,
        table: &'static Table,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&mut Cells<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut statement = self.statement(sql)?;
        let mut rows = self.engine(statement.query(params))?;
        match self.engine(rows.next())? {
            Some(row) => read(&mut Cells::checked(self, table, row)?).map(Some),
            None => Ok(None),
        }
    }

    /// Reads one number that no row holds as such, such as a maximum.
    pub(crate) fn number(&self, sql: &str, params: impl Params) -> Result<Option<i64>> {
        let mut statement = self.statement(sql)?;
        let mut rows = self.engine(statement.query(params))?;
        match self.engine(rows.next())? {
            Some(row) => self.engine(row.get(0)),
            None => Ok(None),
        }
    }

    /// Adds a row, or overwrites the one with its key.
    pub(crate) fn put(&self, table: &'static Table, row: NewRow<'_>) -> Result<()> {
        self.write(table, table.upsert, row)?;
        self.count(1);
        Ok(())
    }

    /// [`Self::put`] for a part of a row that is kept in a table of its own.
    pub(crate) fn put_part(&self, table: &'static Table, row: NewRow<'_>) -> Result<()> {
        self.write(table, table.upsert, row).map(drop)
    }

    /// Adds a row.
    pub(crate) fn add(&self, table: &'static Table, row: NewRow<'_>) -> Result<()> {
        self.write(table, table.insert, row)?;
        self.count(1);
        Ok(())
    }

    fn count(&self, rows: u64) {
        self.written.set(self.written.get() + rows);
    }

    /// Gives how many rows were added or changed.
    fn write(&self, table: &'static Table, sql: &str, row: NewRow<'_>) -> Result<usize> {
        let mut statement = self.statement(sql)?;
        self.engine(statement.execute(rusqlite::params_from_iter(row.sealed(table))))
    }

    /// Deletes rows; gives how many. Only evidence that is pruned is ever deleted.
    pub(crate) fn delete(&self, sql: &str, params: impl Params) -> Result<u64> {
        let mut statement = self.statement(sql)?;
        let deleted = self.engine(statement.execute(params))? as u64;
        self.count(deleted);
        Ok(deleted)
    }

    /// Gives the text of a name.
    pub(crate) fn name(&self, id: i64) -> Result<Arc<str>> {
        if let Some(text) = self.names.borrow().text(id) {
            return Ok(text);
        }
        let sql = "SELECT * FROM name WHERE id = ?1";
        let found = self.one(&NAME, sql, [id], |cells| {
            cells.skip();
            cells.text().map(Arc::<str>::from)
        })?;
        let missing = || corrupt(self.file, format!("table name has no row {id}"));
        let text = found.ok_or_else(missing)?;
        self.names.borrow_mut().remember(id, Arc::clone(&text));
        Ok(text)
    }

    /// Finds the id of a text; `None` when no row names it.
    pub(crate) fn find_name(&self, text: &str) -> Result<Option<i64>> {
        if let Some(id) = self.names.borrow().id(text) {
            return Ok(Some(id));
        }
        if self.absent.borrow().contains(text) {
            return Ok(None);
        }
        let sql = "SELECT * FROM name WHERE text = ?1";
        let id = self.one(&NAME, sql, [text], |cells| cells.int())?;
        match id {
            Some(id) => self.names.borrow_mut().remember(id, Arc::from(text)),
            None => drop(self.absent.borrow_mut().insert(text.into())),
        }
        Ok(id)
    }

    /// Gives the id of a text; stores it where it is new.
    pub(crate) fn intern(&self, text: &str) -> Result<i64> {
        if let Some(id) = self.names.borrow().id(text) {
            return Ok(id);
        }
        let last = match self.last_name.get() {
            Some(id) => id,
            None => self.number("SELECT max(id) FROM name", ())?.unwrap_or(NONE),
        };
        self.last_name.set(Some(last));
        let id = last + 1;
        // Most names that are not remembered are new: it is not asked first.
        let sql = "INSERT INTO name VALUES (:id, :text, :checksum) ON CONFLICT (text) DO NOTHING";
        if self.write(&NAME, sql, NewRow::new().int(id).text(text))? == 0 {
            let missing = || corrupt(self.file, "table name has a text that it does not find");
            return self.find_name(text)?.ok_or_else(missing);
        }
        self.last_name.set(Some(id));
        self.absent.borrow_mut().remove(text);
        self.names.borrow_mut().remember(id, Arc::from(text));
        Ok(id)
    }

    /// [`Self::intern`] of what may be none.
    pub(crate) fn intern_opt(&self, text: Option<&str>) -> Result<i64> {
        text.map_or(Ok(NONE), |text| self.intern(text))
    }

    pub(crate) fn connection(&self) -> &'c Connection {
        self.connection
    }
}

/// The columns of a row that is about to be written, in the table's order.
#[derive(Debug, Default)]
pub(crate) struct NewRow<'v> {
    values: Vec<ToSqlOutput<'v>>,
}

impl<'v> NewRow<'v> {
    pub(crate) fn new() -> Self {
        Self { values: Vec::with_capacity(20) }
    }

    fn push(mut self, value: ToSqlOutput<'v>) -> Self {
        self.values.push(value);
        self
    }

    pub(crate) fn int(self, number: i64) -> Self {
        self.push(ToSqlOutput::Owned(Value::Integer(number)))
    }

    pub(crate) fn opt_int(self, number: Option<i64>) -> Self {
        match number {
            Some(number) => self.int(number),
            None => self.push(ToSqlOutput::Owned(Value::Null)),
        }
    }

    /// An unsigned number, kept bit for bit.
    pub(crate) fn count(self, number: u64) -> Self {
        self.int(number.cast_signed())
    }

    pub(crate) fn opt_count(self, number: Option<u64>) -> Self {
        self.opt_int(number.map(u64::cast_signed))
    }

    pub(crate) fn text(self, text: &'v str) -> Self {
        self.push(ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())))
    }

    pub(crate) fn opt_text(self, text: Option<&'v str>) -> Self {
        match text {
            Some(text) => self.text(text),
            None => self.opt_int(None),
        }
    }

    pub(crate) fn bytes(self, bytes: &'v [u8]) -> Self {
        self.push(ToSqlOutput::Borrowed(ValueRef::Blob(bytes)))
    }

    pub(crate) fn blob(self, bytes: Vec<u8>) -> Self {
        self.push(ToSqlOutput::Owned(Value::Blob(bytes)))
    }

    /// Adds the checksum.
    pub(crate) fn sealed(self, table: &Table) -> Vec<ToSqlOutput<'v>> {
        debug_assert_eq!(self.values.len(), table.columns.len(), "table {}", table.name);
        let values = self.values.iter().map(|value| match value {
            ToSqlOutput::Borrowed(value) => *value,
            ToSqlOutput::Owned(value) => ValueRef::from(value),
            _ => ValueRef::Null,
        });
        let checksum = checksum::of(table, values);
        self.int(checksum).values
    }
}
