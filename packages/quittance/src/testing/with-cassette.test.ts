import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineTool } from 'quittance';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { withCassette } from './with-cassette.ts';

let folder: string;
let path: string;
let ran: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-with-'));
  path = join(folder, 'deep', 'cassette.json');
  ran = 0;
});
afterEach(() => rmSync(folder, { recursive: true }));

const findWithin = (timeoutMs: number) =>
  defineTool({
    name: 'find',
    mode: 'read',
    timeoutMs,
    run: ({ city }) => {
      ran++;
      return city === 'slow' ? new Promise(() => {}) : { weather: 'rain', city };
    },
  });
/** Longer than a test may take. */
const find = findWithin(3_600_000);
const options = { tools: [find], environment: {} };
const ask = (city: string, again = false, tools = options.tools) =>
  withCassette(path, { ...options, tools, record: again ? false : 'once' }, async ({ runtime, sessionId }) =>
    runtime.turn({ sessionId }).call({ id: 'c', name: 'find', arguments: { city } }),
  );

describe('withCassette', () => {
  test('records if there is no cassette, and plays from then on', async () => {
    const first = await ask('Oslo');
    expect(await ask('Oslo')).toMatchObject({ ...first, elapsedMs: expect.any(Number) as number });
    expect(ran).toBe(1);
  });

  test('plays a timeout without waiting for it', async () => {
    const first = await ask('slow', false, [findWithin(20)]);
    const second = await ask('slow');
    expect(second).toMatchObject({
      type: 'ToolTimeout',
      elapsedMs: (first as { elapsedMs: number }).elapsedMs,
    });
    expect(ran).toBe(1);
  });

  test('fails a test that differs from the recording', async () => {
    await ask('Oslo');
    await expect(ask('Rome')).rejects.toThrow(
      /not made:[^]*Oslo[^]*no recording in the cassette:[^]*\$\.city/,
    );
    await expect(withCassette(path, options, () => Promise.resolve('did nothing'))).rejects.toThrow(
      /1 call of the cassette was not made/,
    );
    expect(ran).toBe(1);
  });

  test('lets a difference pass if allowed', async () => {
    await ask('Oslo');
    expect(await withCassette(path, { ...options, allowUnused: true }, () => Promise.resolve(7))).toBe(7);
  });

  test('records only on request, and never in CI', async () => {
    await expect(ask('Oslo', true)).rejects.toThrow(/no cassette .*record: 'once'/);
    const inCi = { ...options, record: true, environment: { CI: 'true' } };
    await expect(withCassette(path, inCi, () => Promise.resolve(1))).rejects.toThrow(
      /nothing is recorded if CI/,
    );
    expect({ ran, file: existsSync(path) }).toEqual({ ran: 0, file: false });
  });

  test('writes no cassette for a failed test', async () => {
    const failing = withCassette(path, { ...options, record: true }, () =>
      Promise.reject(new Error('broken')),
    );
    await expect(failing).rejects.toThrow('broken');
    expect(existsSync(path)).toBe(false);
  });

  test('rejects a changed cassette', async () => {
    await ask('Oslo');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"rain"', '"sun"'));
    await expect(ask('Oslo')).rejects.toThrow(/changed after it was sealed/);
  });
});
