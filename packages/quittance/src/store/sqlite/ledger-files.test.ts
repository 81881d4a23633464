/** The files on disk: ledger, key, spill and artifacts, and what happens when they are not as expected. */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createVerifier } from '../../ledger/verify.ts';
import { createRuntimeOn } from '../../runtime/create-runtime.ts';
import { makeOlder } from '../../../../../test/older-file.ts';
import { SampleCall } from '../../testing/sample-call.ts';
import { openLedger } from '../open-ledger.ts';
import type { SqliteLedger } from './sqlite-ledger.ts';
import { openSqliteLedger } from './open-sqlite-ledger.ts';
import {
  readHeads,
  findCalls,
  readState,
  readSideRows,
  statusOfOwner,
  findOpenCalls,
  findGoneOwners,
  readWholeArtifact,
  takeCursor,
  listCursors,
  moveCursor,
  readCursor,
} from '../../ledger/reads.ts';
import { openBare } from '../../../../../test/bare-database.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-files-'));
afterAll(() => rmSync(folder, { recursive: true }));
let count = 0;
const newPath = (): string => join(folder, `l${count++}`, 'ledger.db');

async function using<Result>(
  path: string,
  work: (ledger: SqliteLedger) => Promise<Result>,
  options = {},
): Promise<Result> {
  const ledger = await openSqliteLedger(path, options);
  try {
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}

async function refusalOf(run: () => Promise<unknown>): Promise<unknown> {
  try {
    await run();
    return undefined;
  } catch (error) {
    return error;
  }
}

const problemsOf = async (ledger: SqliteLedger): Promise<readonly unknown[]> => {
  const verifier = createVerifier({ heads: await readHeads(ledger) });
  const problems = (await ledger.readEntries({ limit: 100_000 })).flatMap((entry) => verifier.add(entry));
  return [...problems, ...verifier.end()];
};

describe('openLedger', () => {
  test.skipIf(process.platform === 'win32')(
    'creates files that only their owner can read, and keeps the permissions of existing ones',
    async () => {
      const path = newPath();
      await using(path, async (ledger) => {
        await ledger.append(new SampleCall('c').whole());
        await findCalls(ledger, {});
        const beside = readdirSync(join(path, '..'), { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map(({ parentPath, name }) => join(parentPath, name));
        expect(beside.map((file) => basename(file))).toEqual(
          expect.arrayContaining(['ledger.db', 'ledger.db-wal']),
        );
        expect(beside.filter((file) => (statSync(file).mode & 0o077) !== 0)).toEqual([]);
      });
      chmodSync(path, 0o640);
      await using(path, async () => expect(statSync(path).mode & 0o777).toBe(0o640));
    },
  );

  test('accepts memory, sqlite and bare paths', async () => {
    const memory = await openLedger('memory:');
    await memory.append(new SampleCall('c').whole());
    expect(await memory.readSession('session')).toHaveLength(4);
    for (const prefix of ['sqlite:', 'SQLITE:', 'sqlite://', '']) {
      const path = newPath();
      const ledger = await openLedger(prefix + path);
      await ledger.append(new SampleCall('c').whole());
      await ledger.close();
      expect(existsSync(path)).toBe(true);
    }
  });

  test.each(['mysql://x', 'sqlite:', '', ':memory:', 'sqlite::memory:', 'memory:x'])(
    'rejects %j and says what it accepts',
    async (url) => {
      expect(await refusalOf(async () => openLedger(url))).toMatchObject({
        code: 'config.invalid',
        message: expect.stringMatching(/"memory:", "sqlite:/) as string,
      });
    },
  );

  test('uses the given clock and key', async () => {
    const sealKey = new Uint8Array(32).fill(7);
    const clock = { now: () => 42, monotonicMs: () => 0, startTimer: () => ({ stop() {}, keepAlive() {} }) };
    for (const url of ['memory:', newPath()]) {
      const ledger = await openLedger(url, { clock, sealKey });
      expect([ledger.now(), ledger.sealKey]).toEqual([42, sealKey]);
      await ledger.close();
      expect(existsSync(`${url}.key`)).toBe(false);
    }
  });
});

describe('a ledger file', () => {
  test('is stored and found again, with intact chains', async () => {
    const path = newPath();
    const call = new SampleCall('c');
    await using(path, async (ledger) => {
      await ledger.append(call.begin());
    });
    await using(path, async (ledger) => {
      expect(await ledger.append(call.end())).toEqual({ status: 'appended', version: 2 });
      expect(await ledger.append(new SampleCall('c').begin())).toEqual({
        status: 'conflict',
        version: 2,
      });
      expect(await problemsOf(ledger)).toEqual([]);
    });
  });

  test('reads its entries by call and by session, after each time it was opened', async () => {
    const path = newPath();
    for (let round = 0; round < 4; round++)
      await using(path, async (ledger) => {
        for (let n = 0; n < 5; n++) {
          const call = new SampleCall(`c${round}.${n}`, { sessionId: `s${n % 2}` });
          await ledger.append(call.begin());
          await ledger.append(call.end());
          await ledger.append(call.recall());
          expect((await ledger.readCall(call.sessionId, call.callId))?.events).toHaveLength(5);
        }
        expect(await ledger.readSession('s0')).toHaveLength((round + 1) * 15);
        expect(await ledger.readEntries({ sessionId: 's1', after: 4, limit: 3 })).toHaveLength(3);
        expect(await problemsOf(ledger)).toEqual([]);
      });
  });

  test('is created once by any number of processes that open it at the same time', async () => {
    const path = newPath();
    const ledgers = await Promise.all(Array.from({ length: 6 }, async () => openSqliteLedger(path)));
    await Promise.all(ledgers.map(async (ledger, n) => ledger.append(new SampleCall(`c${n}`).whole())));
    expect(await ledgers[0]?.readSession('session')).toHaveLength(24);
    for (const { sealKey } of ledgers) expect(sealKey).toEqual(ledgers[0]?.sealKey);
    for (const ledger of ledgers) await ledger.close();
  });

  /** A file as an earlier version of the package created it. */
  const makeOld = async (version: number): Promise<string> => {
    const path = newPath();
    await using(path, async (ledger) => {
      await ledger.append(new SampleCall('c').whole());
    });
    makeOlder(path, version);
    return path;
  };
  const cursor = { name: 'watch', holder: 'h', startAfter: 1 };

  test.each([1, 2, 3, 4, 5])(
    'a ledger file of version %i is upgraded, and keeps its content',
    async (version) => {
      const path = await makeOld(version);
      for (let time = 0; time < 2; time++)
        await using(path, async (ledger) => {
          expect((await takeCursor(ledger, { ...cursor, holder: `h${time}`, instead: 'h0' })).position).toBe(
            1,
          );
          expect(await readState(ledger, 'session', 'workflow/w')).toBeUndefined();
          expect((await ledger.readCall('session', 'c'))?.version).toBe(1);
          expect((await findCalls(ledger, { text: 'person ' })).rows).toHaveLength(1);
          expect(await problemsOf(ledger)).toEqual([]);
        });
    },
  );

  test.each([1, 2, 3, 5])(
    'a ledger file of version %i can be read as it is, and nothing is written to it',
    async (version) => {
      const path = await makeOld(version);
      const before = readFileSync(path);
      await using(
        path,
        async (ledger) => {
          expect(await listCursors(ledger)).toEqual([]);
          expect(await readState(ledger, 'session', 'workflow/w')).toBeUndefined();
          expect((await findCalls(ledger, {})).rows).toHaveLength(1);
          for await (const row of readSideRows(ledger)) expect(row.kind).toBe('counter');
          const refused = {
            code: 'ledger.unavailable',
            message: expect.stringContaining('is read-only') as string,
          };
          expect(await refusalOf(async () => takeCursor(ledger, cursor))).toMatchObject(refused);
          expect(await refusalOf(async () => ledger.rebuild())).toMatchObject(refused);
          expect(await listCursors(ledger)).toEqual([]);
        },
        { readOnly: true },
      );
      expect(readFileSync(path).equals(before)).toBe(true);
    },
  );

  test('keeps the positions of readers when it is closed and opened again', async () => {
    const path = newPath();
    await using(path, async (ledger) => {
      await takeCursor(ledger, cursor);
      expect(await moveCursor(ledger, { name: 'watch', holder: 'h', from: 1, to: 9 })).toBe(true);
    });
    await using(path, async (ledger) => {
      const { position, holder, ownerId = '' } = (await readCursor(ledger, 'watch')) ?? {};
      expect([position, holder, await statusOfOwner(ledger, ownerId)]).toEqual([9, 'h', 'gone']);
    });
    await using(
      path,
      async (ledger) => {
        expect(await listCursors(ledger)).toMatchObject([{ name: 'watch', position: 9 }]);
        const move = { name: 'watch', holder: 'h', from: 9, to: 10 };
        expect(await refusalOf(async () => moveCursor(ledger, move))).toMatchObject({
          code: 'ledger.unavailable',
        });
      },
      { readOnly: true },
    );
  });

  test('a ledger file of a newer version is rejected and left unchanged', async () => {
    const path = newPath();
    await using(path, async () => undefined);
    const database = openBare(path);
    database.pragma('user_version = 99');
    database.close();
    const before = readFileSync(path);
    expect(await refusalOf(async () => openSqliteLedger(path))).toMatchObject({
      code: 'ledger.newer',
      message: expect.stringContaining('format 99') as string,
    });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test('a ledger file that is another database, or not a database, is rejected', async () => {
    const other = join(folder, 'other.db');
    const database = openBare(other);
    database.exec('CREATE TABLE mine (x)');
    database.close();
    expect(await refusalOf(async () => openSqliteLedger(other))).toMatchObject({
      code: 'config.invalid',
      message: expect.stringContaining('not a Quittance ledger') as string,
    });
    const text = join(folder, 'notes.txt');
    writeFileSync(text, 'not a database, and long enough to be looked at as one: '.repeat(40));
    expect(await refusalOf(async () => openSqliteLedger(text))).toMatchObject({
      code: 'config.invalid',
      message: expect.stringContaining('not a SQLite database') as string,
    });
    expect(readFileSync(text, 'utf8')).toMatch(/^not a database/);
    const path = join(folder, 'a-folder');
    mkdirSync(path);
    expect(await refusalOf(async () => openSqliteLedger(path))).toMatchObject({ code: 'config.invalid' });
  });

  test('a ledger file that is empty becomes a ledger', async () => {
    const path = join(folder, 'empty.db');
    writeFileSync(path, '');
    await using(path, async (ledger) => {
      expect((await ledger.append(new SampleCall('c').whole())).status).toBe('appended');
    });
  });

  test('can be opened read-only: nothing is written or created, and appends fail with an error', async () => {
    const path = newPath();
    expect(await refusalOf(async () => openSqliteLedger(path, { readOnly: true }))).toMatchObject({
      code: 'config.invalid',
      message: expect.stringContaining('no such file') as string,
    });
    await using(path, async (ledger) => {
      await ledger.append(new SampleCall('c').begin());
    });
    const owners = readdirSync(`${path}.owners`);
    await using(
      path,
      async (ledger) => {
        expect((await ledger.readCall('session', 'c'))?.version).toBe(1);
        expect((await findCalls(ledger, {})).rows).toHaveLength(1);
        expect(await findOpenCalls(ledger)).toHaveLength(1);
        expect(await refusalOf(async () => ledger.append(new SampleCall('d').begin()))).toMatchObject({
          code: 'ledger.unavailable',
        });
        expect([
          await ledger.spill.canWrite(),
          await statusOfOwner(ledger, ledger.ownerId),
          await findGoneOwners(ledger),
        ]).toEqual([false, 'gone', []]);
        expect(readdirSync(`${path}.owners`)).toEqual(owners);
      },
      { readOnly: true },
    );
    expect(existsSync(`${path}.key`)).toBe(false);
  });

  test('a ledger file that is full rejects what does not fit, stores none of it, and works again when there is room', async () => {
    const path = newPath();
    await using(
      path,
      async (ledger) => {
        const kept: SampleCall[] = [];
        let refused: unknown;
        while (refused === undefined && kept.length < 2_000) {
          const call = new SampleCall(`c${kept.length}`, { toolName: 'x'.repeat(3_000) });
          refused = await refusalOf(async () => ledger.append(call.whole()));
          if (refused === undefined) kept.push(call);
        }
        expect(refused).toMatchObject({ errcode: 13, message: 'database or disk is full' });
        expect(await ledger.readCall('session', `c${kept.length}`)).toBeUndefined();
        expect(await ledger.readSession('session')).toHaveLength(kept.length * 4);
        expect(kept.length).toBeGreaterThan(10);
        // In a batch with one entry that does not fit, each entry is stored or refused separately.
        const answers = await Promise.allSettled(
          ['a', 'b', 'c'].map(async (id) =>
            ledger.append(new SampleCall(id, { toolName: 'x'.repeat(9_000) }).whole()),
          ),
        );
        for (const [index, id] of ['a', 'b', 'c'].entries())
          expect((await ledger.readCall('session', id)) !== undefined).toBe(
            answers[index]?.status === 'fulfilled',
          );
        expect(await problemsOf(ledger)).toEqual([]);
        expect((await findCalls(ledger, { limit: 1_000 })).rows.length).toBeGreaterThanOrEqual(kept.length);
        await ledger.dropSession({ sessionId: 'session', by: 'ada', reason: 'room' });
        expect((await ledger.append(new SampleCall('again').whole())).status).toBe('appended');
        // The sample calls have times from before the removal.
        expect(await problemsOf(ledger)).toMatchObject([{ kind: 'head', sessionId: 'session' }]);
      },
      { maxBytes: 600_000 },
    );
  });

  test('a ledger file whose log was cut takes no append, even if nothing was read before', async () => {
    const path = newPath();
    const ledger = await openSqliteLedger(path);
    try {
      await ledger.append(new SampleCall('a', { sessionId: 's' }).whole());
      truncateSync(`${path}-wal`, statSync(`${path}-wal`).size - 1);
      await expect(ledger.append(new SampleCall('b', { sessionId: 'other' }).whole())).rejects.toThrow(
        /log of the ledger.*was cut/,
      );
    } finally {
      await ledger.close();
    }
  });

  test('does not remove a session that was appended to after it was checked', async () => {
    await using(newPath(), async (ledger) => {
      await ledger.append(new SampleCall('ended').whole());
      const removal = { sessionId: 'session', by: 'ada', reason: 'room' };
      // The first checks at once but writes in its turn: after the second.
      const [removed, appended] = await Promise.allSettled([
        ledger.dropSession(removal),
        ledger.append(new SampleCall('open').begin()),
      ]);
      expect(appended).toMatchObject({ value: { status: 'appended' } });
      expect(removed).toMatchObject({ status: 'rejected', reason: { code: 'ledger.in_use' } });
      expect(await ledger.readCall('session', 'open')).toBeDefined();
    });
  });

  test('rejects an id that is not a string with a precise error', async () => {
    await using(newPath(), async (ledger) => {
      const runtime = createRuntimeOn({ ledger, tools: [] });
      const wrong = 5 as never;
      const asked: readonly Promise<unknown>[] = [
        runtime.confirmations.decide(wrong, { decision: 'deny', by: 'ada' }),
        runtime.grants.list({ sessionId: wrong }),
        runtime.calls.undo({ sessionId: wrong, callId: 'c' }, { by: 'ada' }),
      ];
      for (const each of await Promise.allSettled(asked))
        expect(each).toMatchObject({ status: 'rejected', reason: { code: 'config.invalid' } });
      await runtime.close();
    });
  });

  test('contains no erased bodies, not even in unused pages', async () => {
    const path = newPath();
    await using(path, async (ledger) => {
      for (let n = 0; n < 50; n++)
        await ledger.append(new SampleCall(`c${n}`, { sessionId: `s${n % 2}` }).whole());
      expect(await ledger.erase({ sessionId: 's0', by: 'ada', reason: 'asked to' })).toBe(25);
      await findCalls(ledger, {});
      expect(await problemsOf(ledger)).toEqual([]);
      for (const file of readdirSync(join(path, '..'), { recursive: true, withFileTypes: true })) {
        if (!file.isFile()) continue;
        const bytes = readFileSync(join(file.parentPath, file.name), 'latin1');
        expect(bytes).not.toContain('person about c2"');
        expect(bytes).not.toContain('person about c48"');
      }
    });
    expect(readFileSync(path, 'latin1')).toContain('person about c1"');
  });
});

describe('the seal key', () => {
  test('is created once, for its user only, and read again', async () => {
    const path = newPath();
    const key = await using(path, async ({ sealKey }) => sealKey);
    expect(statSync(`${path}.key`).mode & 0o777).toBe(0o600);
    expect(await using(path, async ({ sealKey }) => sealKey)).toEqual(key);
    expect(readdirSync(join(path, '..')).filter((name) => name.includes('.key'))).toHaveLength(1);
    expect(readFileSync(path).includes(Buffer.from(key))).toBe(false);
  });

  test('the seal key of another length is rejected', async () => {
    const path = newPath();
    await using(path, async () => undefined);
    writeFileSync(`${path}.key`, 'short', { mode: 0o600 });
    await using(path, async (ledger) => {
      expect(await refusalOf(async () => ledger.sealKey)).toMatchObject({
        code: 'config.invalid',
        message: expect.stringContaining('found 5') as string,
      });
    });
  });
});

describe('the spill', () => {
  const spillOf = (path: string): string => join(`${path}.spill`, readdirSync(`${path}.spill`)[0] as string);

  test('is allocated in advance, and removed if nothing was spilled', async () => {
    const path = newPath();
    await using(path, async () => {
      expect(statSync(spillOf(path)).size).toBe(1_048_576);
      expect(statSync(spillOf(path)).blocks * 512).toBeGreaterThanOrEqual(1_048_576);
    });
    expect(readdirSync(`${path}.spill`)).toEqual([]);
  });

  test('the spill that is full says so, and is usable again once it was emptied', async () => {
    const path = newPath();
    await using(
      path,
      async (ledger) => {
        expect(await ledger.spill.canWrite()).toBe(true);
        const entries = Array.from({ length: 40 }, (_, n) => new SampleCall(`c${n}`).begin());
        const answers = await Promise.all(entries.map((entry) => ledger.spill.write(entry)));
        const kept = answers.indexOf(false);
        expect(kept).toBeGreaterThan(3);
        expect(await ledger.spill.canWrite()).toBe(false);
        expect(await ledger.spill.read()).toEqual([
          { ownerId: ledger.ownerId, entries: entries.slice(0, kept) },
        ]);
        expect(statSync(spillOf(path)).size).toBe(8_192);
        expect(await ledger.spill.drop(ledger.ownerId)).toBe(true);
        expect([await ledger.spill.canWrite(), await ledger.spill.read()]).toEqual([true, []]);
        expect(await ledger.spill.write(entries[0] as (typeof entries)[0])).toBe(true);
      },
      { spillBytes: 8_192 },
    );
  });

  test('the spill of an owner that was killed counts up to the torn line', async () => {
    const path = newPath();
    const entry = new SampleCall('c').begin();
    const ownerId = await using(path, async (ledger) => {
      await ledger.spill.write(entry);
      await ledger.spill.write(new SampleCall('d').begin());
      return ledger.ownerId;
    });
    const text = readFileSync(spillOf(path), 'latin1');
    const [first = '', second = ''] = text.split('\n');
    writeFileSync(spillOf(path), `${first}\n${second.slice(0, -20)}`, 'latin1');
    await using(path, async (ledger) => {
      expect(await ledger.spill.read()).toEqual([{ ownerId, entries: [entry] }]);
      appendFileSync(join(`${path}.spill`, ownerId), 'x');
      expect(await ledger.spill.read()).toHaveLength(1);
      expect(await ledger.spill.drop(ownerId)).toBe(true);
      expect(await ledger.spill.read()).toEqual([]);
    });
  });
});

describe('artifacts', () => {
  const filesOf = (path: string): string[] =>
    existsSync(`${path}.artifacts`)
      ? readdirSync(`${path}.artifacts`, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map(({ name }) => name)
      : [];

  test('artifacts of equal content share one file, named after it, until no session has it any more', async () => {
    const path = newPath();
    await using(path, async (ledger) => {
      const put = async (sessionId: string, artifactId: string, content: string): Promise<void> => {
        await ledger.append(new SampleCall(artifactId, { sessionId }).whole());
        await ledger.putArtifact({
          sessionId,
          artifactId,
          callId: artifactId,
          mimeType: 'text/plain',
          content,
        });
      };
      await Promise.all(['a', 'b', '../../c', '/etc/passwd'].map(async (id) => put('one', id, 'same')));
      await put('two', 'a', 'same');
      await put('two', 'b', 'other');
      expect(filesOf(path)).toHaveLength(2);
      for (const name of filesOf(path)) expect(name).toMatch(/^[0-9a-f]{64}$/);
      expect(existsSync(join(path, '..', 'c'))).toBe(false);
      await ledger.dropSession({ sessionId: 'two', by: 'ada', reason: 'old' });
      expect(filesOf(path)).toHaveLength(1);
      expect((await readWholeArtifact(ledger, 'one', '../../c'))?.content).toBe('same');
      await ledger.dropSession({ sessionId: 'one', by: 'ada', reason: 'old' });
      expect(filesOf(path)).toEqual([]);
    });
  });
});

test('the place of the last entry tells an older ledger, and is ignored if it is of another ledger or unreadable', async () => {
  const path = newPath();
  const fill = async (where: string, calls: number): Promise<void> =>
    using(where, async (ledger) => {
      for (let n = 0; n < calls; n++) await ledger.append(new SampleCall(`c${calls}-${n}`).whole());
    });
  const read = async () => using(path, async (ledger) => (await findCalls(ledger, {})).rows.length);
  await fill(path, 5);
  expect(statSync(`${path}.last`).mode & 0o077).toBe(0);
  writeFileSync(`${path}.last`, 'nonsense');
  expect(await read()).toBe(5);
  const other = newPath();
  await fill(other, 9);
  writeFileSync(`${path}.last`, readFileSync(`${other}.last`));
  expect(await read()).toBe(5);
  execFileSync('cp', [path, `${path}.copy`]);
  await fill(path, 1);
  execFileSync('mv', [`${path}.copy`, path]);
  await expect(read()).rejects.toThrow('is older than the files next to it');
});

test('the empty spill file of a gone owner is removed when the owner is forgotten', async () => {
  const path = newPath();
  const gone = `own_${'1'.repeat(24)}`;
  const left = join(`${path}.spill`, gone);
  await using(path, async (ledger) => {
    writeFileSync(left, Buffer.alloc(65_536));
    await ledger.forgetOwner(ledger.ownerId);
    expect(existsSync(left)).toBe(true);
    await ledger.forgetOwner(gone);
    expect(existsSync(left)).toBe(false);
  });
});
