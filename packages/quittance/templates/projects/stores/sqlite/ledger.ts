/** Calls are recorded in a file in .quittance, for the processes of one machine. */
import { mkdirSync } from 'node:fs';
import { openLedger } from 'quittance/ledger';
import type { OpenLedger } from 'quittance/store';

export function openProjectLedger(): Promise<OpenLedger> {
  mkdirSync(`${import.meta.dirname}/.quittance`, { recursive: true });
  return openLedger(process.env['QUITTANCE_LEDGER'] ?? `${import.meta.dirname}/.quittance/ledger.db`);
}
