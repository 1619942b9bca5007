//! How is a driver written? Seven columns of the tables `session` and `selection`.

use receipts::ExecId;
use store::{Driver, Endpoint, Generation, ProcessIdentity, ProviderGeneration, Result};

use crate::{
    cells::Cells,
    transaction::{NewRow, Transaction},
};

/// Writes the columns; all are empty where nobody ever drove.
pub(super) fn write<'v>(
    tx: &Transaction<'_>,
    row: NewRow<'v>,
    driver: Option<&'v Driver>,
) -> Result<NewRow<'v>> {
    let exec = driver.and_then(|driver| driver.exec.as_ref());
    let provider_exec = driver.and_then(|driver| driver.provider_exec.as_ref());
    let endpoint = driver.and_then(|driver| driver.endpoint.as_ref());
    let process = driver.and_then(|driver| driver.process);
    Ok(row
        .int(tx.intern_opt(exec.map(ExecId::as_str))?)
        .opt_count(driver.map(|driver| driver.generation.0))
        .opt_count(driver.map(|driver| driver.provider_generation.0))
        .int(tx.intern_opt(provider_exec.map(ExecId::as_str))?)
        .opt_text(endpoint.map(Endpoint::as_str))
        .opt_int(process.map(|process| i64::from(process.pid)))
        .opt_count(process.map(|process| process.start_time)))
}

/// Reads the columns.
pub(super) fn read(cells: &mut Cells<'_>) -> Result<Option<Driver>> {
    let exec = cells.opt_id()?;
    let generation = cells.opt_count()?.map(Generation);
    let provider_generation = cells.opt_count()?.map(ProviderGeneration);
    let provider_exec = cells.opt_id()?;
    let endpoint = cells.opt_text()?.map(|text| cells.word(text)).transpose()?;
    let pid = cells.opt_int()?;
    let start_time = cells.opt_count()?;
    let process = match (pid, start_time) {
        (Some(pid), Some(start_time)) => {
            let pid =
                u32::try_from(pid).ok().ok_or_else(|| cells.corrupt("its pid is too large"))?;
            Some(ProcessIdentity { pid, start_time })
        }
        (Some(_) | None, Some(_) | None) => None,
    };
    match (generation, provider_generation) {
        (Some(generation), Some(provider_generation)) => Ok(Some(Driver {
            exec,
            generation,
            provider_generation,
            provider_exec,
            endpoint,
            process,
        })),
        (Some(_) | None, Some(_) | None) => Ok(None),
    }
}
