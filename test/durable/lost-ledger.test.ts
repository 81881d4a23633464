/** A ledger that lost its main file is not a new one. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterAll, describe, expect, test } from 'vitest';

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

  test.each(['spill', 'owners', 'artifacts'])('is refused next to a file in %s', async (what) => {
    const path = place();
    mkdirSync(`${path}.${what}`);
    writeFileSync(join(`${path}.${what}`, 'own_000000000000000000000000'), 'x');
    expect(await opened(path)).toContain('ledger.damaged');
    expect(readdirSync(join(path, '..'))).toEqual([`ledger.db.${what}`]);
  });

  test('is accepted next to a key, and next to empty folders', async () => {
    const path = place();
    await fill(path);
    removeMain(path);
    for (const what of ['spill', 'artifacts', 'owners']) {
      rmSync(`${path}.${what}`, { recursive: true, force: true });
      mkdirSync(`${path}.${what}`);
    }
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
