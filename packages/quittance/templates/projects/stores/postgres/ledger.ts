/** Calls are recorded on a PostgreSQL server, for processes on any number of machines. */
import { openLedger } from 'quittance/ledger';
import type { OpenLedger } from 'quittance/store';

export async function openProjectLedger(): Promise<OpenLedger> {
  const url = process.env['QUITTANCE_LEDGER'];
  if (url === undefined || url === '')
    throw new Error(
      'QUITTANCE_LEDGER is not set. Set it to the URL of your database, for example ' +
        'postgres://app@localhost/agents, or write it into the file .env.',
    );
  return openLedger(url);
}
