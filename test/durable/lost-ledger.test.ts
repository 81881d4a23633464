/** A ledger that lost its main file is not a new one. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterAll, describe, expect, test } from 'vitest';
import { writeSpillLine } from '../../packages/quittance/src/store/files/spill-file.ts';
import { findLedgerId } from '../../packages/quittance/src/store/sqlite/key-check.ts';
import { openLedgerFile } from '../../packages/quittance/src/store/sqlite/open-file.ts';
import { makeEntries } from '../make-ledger.ts';
import { confirming, runProgramHere } from '../run-program.ts';
import { findCalls } from '../../packages/quittance/src/ledger/reads.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-lost-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
const place = (): string => {
  const own = join(folder, String(count++));
  mkdirSync(own);
  return join(own, 'ledger.db');
};

/** A ledger with an artifact, closed. */
async function fill(path: string): Promise<void> {
  const ledger = await openLedger(path);
  const long = defineTool({ name: 'long', mode: 'read', run: () => 'x'.repeat(20_000) });
  const runtime = createRuntime({ tools: [long], ledger });
  const told = await runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'long', arguments: {} });
  expect(told.type).toBe('ToolArtifactReference');
  await runtime.close();
  await ledger.close();
}

const opened = async (path: string): Promise<string> => {
  try {
    const ledger = await openLedger(path);
    await ledger.close();
    return 'opened';
  } catch (error) {
    return isQuittanceError(error) ? `${error.code}: ${error.message}` : String(error);
  }
};

const removeMain = (path: string): void => {
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
};

describe('[nothing-lost] opening a ledger whose main file is gone', () => {
  test('is refused next to its artifacts, and the message names the way on', async () => {
    const path = place();
    await fill(path);
    removeMain(path);
    const said = await opened(path);
    expect(said).toContain('ledger.damaged');
    expect(said).toContain('artifacts');
    expect(said).toContain('quittance restore');
    expect(existsSync(path)).toBe(false);
    const command = /mkdir '(.+)' && mv (.+) '.+'$/.exec(said);
    mkdirSync(command?.[1] ?? '');
    for (const [, each = ''] of (command?.[2] ?? '').matchAll(/'([^']+)'/g))
      renameSync(each, join(command?.[1] ?? '', each.slice(path.length + 1)));
    expect(await opened(path)).toBe('opened');
  });

  test.each(['is gone', 'is empty'])(
    'is refused next to the place of its last entry if it %s',
    async (how) => {
      const path = place();
      const ledger = await openLedger(path);
      const ran: string[] = [];
      const pay = defineTool({ name: 'pay', mode: 'external', run: () => ran.push('paid') });
      const runtime = createRuntime({ tools: [pay], ledger, ownFiles: 'reachable' });
      await runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'pay', arguments: {} });
      await runtime.calls.list({ sessionId: 's' });
      await runtime.close();
      await ledger.close();
      expect(existsSync(`${path}.last`)).toBe(true);
      removeMain(path);
      if (how === 'is empty') writeFileSync(path, '');
      expect(await opened(path)).toMatch(
        /^ledger.damaged: .* the place of its last entry of a ledger are next to it/u,
      );
    },
  );

  test('is refused next to a log', async () => {
    const path = place();
    writeFileSync(`${path}-wal`, 'x');
    expect(await opened(path)).toMatch(/^ledger.damaged: .* is missing, but a log of a ledger/u);
    expect(readdirSync(join(path, '..'))).toEqual(['ledger.db-wal']);
  });

  test.each(['spill', 'owners', 'artifacts'])('is refused next to a file in %s', async (what) => {
    const path = place();
    mkdirSync(`${path}.${what}`);
    writeFileSync(join(`${path}.${what}`, 'own_000000000000000000000000'), 'x');
    expect(await opened(path)).toContain('ledger.damaged');
    expect(readdirSync(join(path, '..'))).toEqual([`ledger.db.${what}`]);
  });

  test('is refused if an empty file took its place', async () => {
    const path = place();
    await fill(path);
    removeMain(path);
    writeFileSync(path, '');
    expect(await opened(path)).toMatch(/^ledger.damaged.* is empty, but/);
    expect(readFileSync(path, 'utf8')).toBe('');
  });

  test('is accepted next to a key, and next to empty folders', async () => {
    const path = place();
    await fill(path);
    removeMain(path);
    for (const what of ['spill', 'artifacts', 'owners']) {
      rmSync(`${path}.${what}`, { recursive: true, force: true });
      mkdirSync(`${path}.${what}`);
    }
    rmSync(`${path}.last`, { force: true });
    expect(existsSync(`${path}.key`)).toBe(true);
    expect(await opened(path)).toBe('opened');
  });

  test('is accepted for many processes that create it at the same time', async () => {
    const path = place();
    expect(await Promise.all(Array.from({ length: 8 }, () => opened(path)))).toEqual(Array(8).fill('opened'));
  });
});

describe('a main file restored without its artifacts', () => {
  test('is refused, and the message names them', async () => {
    const path = place();
    await fill(path);
    cpSync(`${path}.artifacts`, `${path}.aside`, { recursive: true });
    rmSync(`${path}.artifacts`, { recursive: true });
    const said = await opened(path);
    expect(said).toContain('ledger.damaged');
    expect(said).toContain(`${path}.artifacts`);
    renameSync(`${path}.aside`, `${path}.artifacts`);
    expect(await opened(path)).toBe('opened');
  });
});

describe('[nothing-lost] a main file that is older than the files next to it', () => {
  const call = async (path: string, id: string): Promise<void> => {
    const ledger = await openLedger(path);
    const pay = defineTool({ name: 'pay', mode: 'external', run: () => 'paid' });
    const runtime = createRuntime({ tools: [pay], ledger });
    await runtime.turn({ sessionId: 's' }).call({ id, name: 'pay', arguments: {} });
    expect((await findCalls(ledger, { limit: 1 })).rows).toMatchObject([{ callId: id }]);
    await runtime.close();
    await ledger.close();
  };

  test('is refused, is reported by verify and doctor, and the message names the way on', async () => {
    const path = place();
    await call(path, 'a');
    cpSync(path, `${path}.backup`);
    await call(path, 'b');
    cpSync(path, `${path}.newest`);
    cpSync(`${path}.backup`, path);
    const said = await opened(path);
    expect(said).toContain('ledger.damaged');
    expect(said).toContain('is older than the files next to it');
    for (const command of ['verify', 'doctor']) {
      const { code, out } = await runProgramHere([command, '--ledger', path], { cwd: folder });
      expect([command, code]).toEqual([command, 1]);
      expect(out.replaceAll(/\s+/g, ' ')).toMatch(/entries were cut off|is older than the files next to it/);
    }
    expect(
      await runProgramHere(['rebuild', '--ledger', path], { cwd: folder, readTyped: confirming }),
    ).toMatchObject({
      code: 1,
      err: expect.stringContaining('is older than') as string,
    });
    cpSync(`${path}.newest`, path);
    expect(await opened(path)).toBe('opened');
    cpSync(`${path}.backup`, path);
    for (const [, file = ''] of (/rm -f (.+)$/.exec(said)?.[1] ?? '').matchAll(/'([^']+)'/g))
      rmSync(file, { force: true });
    expect(await opened(path)).toBe('opened');
  });

  test('is refused after a removal too', async () => {
    const path = place();
    await call(path, 'a');
    const ledger = await openLedger(path);
    await ledger.dropSession({ sessionId: 's', by: 'Ada', reason: 'Old.' });
    await ledger.close();
    cpSync(path, `${path}.backup`);
    await call(path, 'b');
    cpSync(`${path}.backup`, path);
    expect(await opened(path)).toMatch(/^ledger.damaged.* was made from entry \d+, and the ledger ends at/);
  });

  test('is refused if it went on elsewhere and is as long, or longer', async () => {
    for (const ids of [['fork'], ['fork', 'more']]) {
      const path = place();
      await call(path, 'a');
      const elsewhere = place();
      cpSync(path, elsewhere);
      cpSync(`${path}.key`, `${elsewhere}.key`);
      for (const id of ids) await call(elsewhere, id);
      await call(path, 'b');
      cpSync(elsewhere, path);
      expect(await opened(path)).toMatch(/^ledger.damaged.* was made from another entry/);
      for (const command of ['verify', 'doctor'])
        expect(await runProgramHere([command, '--ledger', path], { cwd: folder })).toMatchObject({ code: 1 });
    }
  });

  test('is refused if it is another ledger, by its seal key', async () => {
    const [path, other] = [place(), place()];
    await call(path, 'a');
    await call(other, 'b');
    cpSync(other, path);
    expect(await opened(path)).toMatch(/^config.invalid.*key/);
  });

  test('is accepted after a session with its last entries was removed', async () => {
    const path = place();
    await call(path, 'a');
    const ledger = await openLedger(path);
    await ledger.dropSession({ sessionId: 's', by: 'Ada', reason: 'Old.' });
    await ledger.close();
    expect(await opened(path)).toBe('opened');
  });

  test('is found only by an anchor without the place of its last entry', async () => {
    const path = place();
    await call(path, 'a');
    cpSync(path, `${path}.backup`);
    await call(path, 'b');
    const anchor = join(place(), '..', 'monday.anchor');
    const run = (...words: string[]) => runProgramHere([...words, '--ledger', path], { cwd: folder });
    expect(await run('verify', '--write-anchor', anchor)).toMatchObject({ code: 0 });
    cpSync(`${path}.backup`, path);
    rmSync(`${path}.last`);
    expect(await opened(path)).toBe('opened');
    expect(await run('verify')).toMatchObject({ code: 0 });
    const { code, out } = await run('verify', '--anchor', anchor);
    expect(code).toBe(1);
    expect(out).toContain('The chain was cut');
  });

  test('is accepted where a power loss may drop the last commits by the choice of the host', async () => {
    const path = place();
    await call(path, 'a');
    cpSync(path, `${path}.backup`);
    await call(path, 'b');
    cpSync(`${path}.backup`, path);
    const ledger = await openLedger(path, { synchronous: 'normal' });
    expect(await ledger.readCall('s', 'b')).toBeUndefined();
    await ledger.close();
  });

  test('takes no spilled result that belongs to a later entry, and keeps it', async () => {
    const path = place();
    await fill(path);
    const dead = 'own_000000000000000000000000';
    const ledger = await openLedger(path);
    const database = await openLedgerFile(path, true);
    const ledgerId = findLedgerId(database);
    database.close();
    const [first, second] = makeEntries([{ session: 's', call: 'later', story: 'write' }]);
    if (first === undefined || second === undefined) throw new Error('The story has two entries.');
    const spill = { folder: `${path}.spill`, ownerId: dead, ledgerId };
    mkdirSync(spill.folder, { recursive: true });
    writeFileSync(
      join(spill.folder, dead),
      writeSpillLine(second, spill, () => 'A'.repeat(24)),
    );
    const runtime = createRuntime({ tools: [], ledger });
    await expect(runtime.recover()).rejects.toThrow('is older than its spilled results');
    expect(readFileSync(join(spill.folder, dead), 'utf8')).toContain('later');
    await ledger.append(first);
    await runtime.recover();
    expect(existsSync(join(spill.folder, dead))).toBe(false);
    await runtime.close();
    await ledger.close();
  });
});
