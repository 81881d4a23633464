/** How to start the server of `mcp-notes-server.ts`, alone or behind the gateway. */
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tokenFileOptions } from '../../make-token.ts';
import { cliCommand } from '../../run-cli.ts';
import { packageArguments } from '../suite/package-arguments.ts';

export type NotesServer = {
  readonly command: string;
  readonly args: string[];
  readonly ledger: string;
  readonly effects: () => readonly string[];
};

export function notesServer(behind: 'alone' | 'gateway' = 'alone'): NotesServer {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-notes-'));
  const file = join(folder, 'effects');
  const ledger = join(folder, 'ledger.db');
  const server = [...packageArguments(), join(import.meta.dirname, 'mcp-notes-server.ts'), file];
  const [, ...wrap] = cliCommand(
    'mcp',
    'wrap',
    '--name',
    'notes',
    '--ledger',
    ledger,
    '--observe',
    ...tokenFileOptions(ledger),
    '--',
  );
  return {
    command: process.execPath,
    args: behind === 'alone' ? server : [...wrap, process.execPath, ...server],
    ledger,
    effects: () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []),
  };
}
