import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { systemClock } from 'quittance/internal/base/deadlines';
import { sharePostgres } from '../../../test/postgres/shared-postgres.ts';
import { confirming, runProgramHere } from '../../../test/run-program.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-archive-'));
const inFolder = (...args: string[]): ReturnType<typeof runProgramHere> =>
  runProgramHere(args, { cwd: folder, readTyped: confirming });
afterAll(() => rmSync(folder, { recursive: true }));

type Store = 'sqlite' | 'postgres';
const places: { readonly [Name in Store]: (name: string) => Promise<string> } = {
  sqlite: async (name) => join(folder, `${name}.db`),
  postgres: async (name) => `${(await sharePostgres()).url}?schema=archive_${name}_${process.pid}`,
};

/** Two old sessions, one of which waits for a person, and one of today. Returns the place of the ledger. */
async function fill(store: Store, name: string): Promise<string> {
  const place = await places[store](name);
  let now = Date.now() - 100 * 86_400_000;
  const clock = { ...systemClock, now: () => now };
  const ledger = await openLedger(place, { clock });
  const runtime = createRuntime({
    ledger,
    tools: [
      defineTool({ name: 'send_mail', mode: 'external', run: () => 'sent' }),
      defineTool({ name: 'delete_all', mode: 'destructive', run: () => 'deleted' }),
    ],
  });
  const mail = { id: 'c', name: 'send_mail', arguments: {} };
  await runtime.turn({ sessionId: 'old' }).call(mail);
  await runtime.turn({ sessionId: 'held' }).call({ ...mail, name: 'delete_all' }, { ifHeld: 'return' });
  now = Date.now();
  await runtime.turn({ sessionId: 'new' }).call(mail);
  await runtime.close();
  await ledger.close();
  return place;
}

describe.each(['sqlite', 'postgres'] as const)('on %s', (store) => {
  test('[tamper-evident] old sessions are archived, removed, and still match an anchor from before', async () => {
    const at = ['--ledger', await fill(store, 'archived')];
    expect((await inFolder('verify', ...at, '--write-anchor', `before-${store}.json`)).code).toBe(0);
    const kept = await inFolder('archive', ...at, '--before', '90d', '--out', `looked-${store}.jsonl`);
    expect(kept).toMatchObject({ code: 0 });
    expect((await inFolder('sessions', ...at)).out).toContain('old');

    const remove = ['--remove', '--by', 'Ada', '--reason', 'retention'];
    const done = await inFolder(
      'archive',
      ...at,
      '--before',
      '90d',
      '--out',
      `old-${store}.jsonl`,
      ...remove,
    );
    expect(done).toMatchObject({ code: 0, err: expect.stringContaining('Removed 1 of 1 sessions') });
    const left = (await inFolder('sessions', ...at)).out;
    expect(left).not.toContain('old');
    expect(left).toContain('held');
    expect(left).toContain('new');
    expect((await inFolder('verify', ...at, '--anchor', `before-${store}.json`)).code).toBe(0);
    expect(
      (await inFolder('verify', '--export', `old-${store}.jsonl`, '--anchor', `before-${store}.json`)).code,
    ).toBe(0);
    const text = readFileSync(join(folder, `old-${store}.jsonl`), 'utf8');
    writeFileSync(join(folder, `changed-${store}.jsonl`), text.replace('send_mail', 'send_nail'));
    expect((await inFolder('verify', '--export', `changed-${store}.jsonl`)).code).toBe(1);
  });

  test('a session with an open call stays, also if it is named', async () => {
    const ledger = await fill(store, 'open');
    const remove = ['--remove', '--by', 'Ada', '--reason', 'retention'];
    const named = ['--session', 'held', '--session', 'old'];
    const done = await inFolder(
      'archive',
      '--ledger',
      ledger,
      ...named,
      '--out',
      `held-${store}.jsonl`,
      ...remove,
    );
    expect(done).toMatchObject({
      code: 1,
      err: expect.stringContaining('has an open or unresolved call. It stays.'),
    });
    expect((await inFolder('sessions', '--ledger', ledger)).out).toContain('held');
  });
});

test('a removal needs a name and a reason, and an archive needs a choice and a new file', async () => {
  const ledger = await fill('sqlite', 'asked');
  const base = ['archive', '--ledger', ledger];
  expect(await inFolder(...base, '--before', '1d', '--out', 'x.jsonl', '--remove')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--by and --reason'),
  });
  expect((await inFolder(...base, '--out', 'x.jsonl')).code).toBe(2);
  expect((await inFolder(...base, '--before', '1d', '--out', '-')).code).toBe(2);
  expect(existsSync(join(folder, 'x.jsonl'))).toBe(false);
  writeFileSync(join(folder, 'old.jsonl'), '');
  expect((await inFolder(...base, '--before', '1d', '--out', 'old.jsonl')).err).toContain('already exists');
});
