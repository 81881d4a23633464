import { resolve } from 'node:path';
import type { OwnFile } from '../../policy/own-files/own-file.ts';
import type { PostgresLedgerOptions } from './postgres-ledger-options.ts';

export const defaultSpillFolder = '.quittance/spill';

/** The files of this host that belong to the ledger: no call may touch them. */
export function postgresOwnFiles({
  readOnly,
  spillFolder = defaultSpillFolder,
  sealKeyFile,
}: Pick<PostgresLedgerOptions, 'readOnly' | 'spillFolder' | 'sealKeyFile'>): readonly OwnFile[] {
  const paths = [
    ...(readOnly === true ? [] : [spillFolder]),
    ...(sealKeyFile === undefined ? [] : [sealKeyFile]),
  ];
  return paths.map((path) => ({
    path: resolve(path),
    kind: 'ledger',
    access: 'sealed',
    withCompanions: false,
  }));
}
