/** Makes a token of a ledger, as a person at a terminal would with `quittance tokens create`. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Role } from '../packages/server/src/http/api/role.ts';
import { openTokenStore } from '../packages/server/src/http/open-access.ts';
import { TokenFile, tokenFilePath } from '../packages/server/src/http/token-file.ts';
import { parseLedgerUrl } from '../packages/quittance/src/store/ledger-url.ts';
import { openLedger } from '../packages/quittance/src/store/open-ledger.ts';

/** Names of tokens are unique. */
const newName = (role: Role): string => `${role} ${randomUUID().slice(0, 8)}`;

export function makeFileToken(
  ledgerPath: string,
  role: Role = 'admin',
  name: string = newName(role),
): string {
  mkdirSync(dirname(ledgerPath), { recursive: true, mode: 0o700 });
  return new TokenFile(tokenFilePath(ledgerPath), Date.now).create({ name, role }).token;
}

/** The options that name a new token of the ledger, in a file next to it. */
export function tokenFileOptions(ledgerPath: string, role: Role = 'admin'): readonly [string, string] {
  const file = `${ledgerPath}.of-${role}`;
  writeFileSync(file, makeFileToken(ledgerPath, role), { mode: 0o600 });
  return ['--token-file', file];
}

/** The same, for a ledger in a file or in a database. */
export async function makeToken(
  url: string,
  sealKey?: Uint8Array,
  role: Role = 'admin',
  name: string = newName(role),
): Promise<string> {
  const address = parseLedgerUrl(url);
  if (address.kind === 'sqlite') return makeFileToken(address.path, role, name);
  const ledger = await openLedger(url, sealKey === undefined ? {} : { sealKey });
  try {
    const tokens = openTokenStore(ledger, undefined);
    await tokens.refresh();
    return (await tokens.create({ name, role })).token;
  } finally {
    await ledger.close();
  }
}
