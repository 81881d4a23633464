/** Read commands create, change and leave behind nothing, and work in a read-only folder. */
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLedger } from 'quittance/internal/store/open-ledger';
import { fillLedger } from '../../../test/fill-ledger.ts';
import { runCli } from '../../../test/run-cli.ts';
import { runProgramHere } from '../../../test/run-program.ts';
import { makeOlder } from '../../../test/older-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-look-'));
const filled = join(folder, 'filled');

beforeAll(async () => {
  chmodSync(folder, 0o755);
  await fillLedger(join(filled, 'ledger.db'));
});
afterAll(() => {
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o755);
  rmSync(folder, { recursive: true });
});

const commands: readonly (readonly string[])[] = [
  ['calls'],
  ['show', 'call_refund'],
  ['sessions'],
  ['pending', '--json'],
  ['grants', '--json'],
  ['handoff', '--json'],
  ['reconcile'],
  ['verify'],
  ['export', '--out', '-'],
];

/** A copy of the ledger, optionally as a version without the tables of lists left it. */
function copy(name: string, version?: number): string {
  const path = join(folder, name);
  cpSync(filled, path, { recursive: true });
  if (version !== undefined) makeOlder(join(path, 'ledger.db'), version);
  return path;
}

/** Every file with its content. */
const contentOf = (path: string): unknown =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .map((each) => join(each.parentPath, each.name))
    .sort()
    .map((file) => [file, statSync(file).isFile() ? readFileSync(file).toString('base64') : undefined]);

describe('reading a ledger', () => {
  test.each(commands)('leaves nothing behind: %s', async (...args) => {
    for (const path of [copy(`there-${args[0]}`), copy(`old-${args[0]}`, 5)]) {
      const before = contentOf(path);
      const { code, err } = await runProgramHere([...args, '--ledger', join(path, 'ledger.db')]);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(contentOf(path)).toEqual(before);
    }
  });

  test('needs neither write permission nor an owner', async () => {
    const path = copy('locked');
    mkdirSync(join(path, 'empty'));
    for (const each of readdirSync(path, { recursive: true, encoding: 'utf8' })) {
      const file = join(path, each);
      chmodSync(file, statSync(file).isDirectory() ? 0o555 : 0o444);
    }
    chmodSync(path, 0o555);
    // Permissions do not apply to root.
    const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const before = contentOf(path);
    for (const args of commands) {
      const ran = await runCli([...args, '--ledger', join(path, 'ledger.db')], user);
      const same = await runProgramHere([...args, '--ledger', join(filled, 'ledger.db')]);
      expect({ args, code: ran.code, err: ran.err }).toEqual({ args, code: 0, err: '' });
      expect(ran.out.split('\n').length).toBe(same.out.split('\n').length);
    }
    expect(contentOf(path)).toEqual(before);
    const rebuilt = await runCli(['rebuild', '--ledger', join(path, 'ledger.db')], user);
    expect(rebuilt.code).not.toBe(0);
  });

  test('sees concurrent writes of other processes', async () => {
    const path = join(copy('shared'), 'ledger.db');
    const writer = await openLedger(path);
    await writer.erase({ sessionId: 'ticket-43', by: 'Ada', reason: 'Asked to.' });
    const { code, out } = await runCli(['verify', '--ledger', path]);
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringContaining('had their bodies erased') as string,
    });
    const { ownerId } = writer;
    expect(readdirSync(`${path}.owners`)).toEqual([ownerId, `${ownerId}.process`]);
    await writer.close();
  });

  test('does not create a missing key', async () => {
    const path = copy('keyless');
    const ledger = await openLedger(join(path, 'ledger.db'), { readOnly: true });
    rmSync(join(path, 'ledger.db.key'), { force: true });
    expect(() => ledger.sealKey).toThrow(/There is no seal key file/);
    await ledger.close();
    expect(readdirSync(path)).not.toContain('ledger.db.key');
  });
});
