import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import { createRuntime } from 'quittance';
import { cli } from './connect.ts';

const folder = mkdtempSync(join(tmpdir(), 'desktop-mcp-'));
const ledger = join(folder, 'ledger.db');
const quittance = async (...args: readonly string[]): Promise<string> =>
  (await promisify(execFile)(process.execPath, [...process.execArgv, cli, ...args, '--ledger', ledger]))
    .stdout;

test('reads run, a cancelation waits for a person, and a rule blocks', async (context) => {
  const said: string[] = [];
  context.mock.method(console, 'log', (...words: readonly string[]) => said.push(words.join(' ')));
  process.env['QUITTANCE_LEDGER'] = ledger;
  try {
    const ended = import('./main.ts');
    let pending = '';
    while (pending === '') pending = await quittance('pending', '--json').catch(() => '');
    const { confirmationId, inputDigest } = JSON.parse(pending) as Record<
      'confirmationId' | 'inputDigest',
      string
    >;
    // The command `quittance approve` needs a person at a terminal, or a token. A test decides with the library.
    const inbox = createRuntime({ tools: [], ledger: `sqlite:${ledger}` });
    await inbox.confirmations.decide(confirmationId, { decision: 'approve', by: 'Ada', inputDigest });
    await inbox.close();
    await ended;
    const [read, blocked, , canceled] = said;
    assert.match(read ?? '', /shipped/);
    assert.match(blocked ?? '', /Old orders are closed/);
    assert.match(canceled ?? '', /canceled/);
    assert.match(await quittance('calls', '--tool', 'cancel_order', '--outcome', 'succeeded'), /A-7/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
