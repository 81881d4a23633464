/** The ledger of a command stays the same file from the proof to the effect. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { confirming, runProgramHere } from '../../../test/run-program.ts';

let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-find-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of ['a', 'b']) {
    mkdirSync(join(folder, name));
    const ledger = await openLedger(join(folder, name, 'ledger.db'));
    const tools = [defineTool({ name: 'look', mode: 'read', run: () => 1 })];
    const runtime = createRuntime({ ledger, tools });
    await runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'look', arguments: {} });
    await runtime.close();
    await ledger.close();
  }
  symlinkSync('a', join(folder, 'current'));
});

/** Removes a session, and does something while the person reads the question. */
const dropWhile = (meanwhile: () => void) =>
  runProgramHere(['drop', '--session', 's', '--reason', 'r', '--ledger', 'current/ledger.db'], {
    cwd: folder,
    readTyped: (prompt) => {
      meanwhile();
      return confirming(prompt);
    },
  });
const sessionsOf = async (name: string): Promise<string> =>
  (await runProgramHere(['sessions', '--json', '--ledger', join(folder, name, 'ledger.db')])).out;

test('a folder link that is changed after the proof does not lead to another ledger', async () => {
  const ran = await dropWhile(() => {
    rmSync(join(folder, 'current'));
    symlinkSync('b', join(folder, 'current'));
  });
  expect(ran).toMatchObject({ code: 0 });
  expect(await sessionsOf('a')).toBe('');
  expect(await sessionsOf('b')).toContain('"s"');
});

test('a folder that takes the place of the ledger after the proof is refused', async () => {
  const ran = await dropWhile(() => {
    renameSync(join(folder, 'a'), join(folder, 'aside'));
    renameSync(join(folder, 'b'), join(folder, 'a'));
  });
  expect(ran).toMatchObject({
    code: 1,
    err: expect.stringContaining('Another file took the place') as string,
  });
  expect(await sessionsOf('a')).toContain('"s"');
  expect(await sessionsOf('aside')).toContain('"s"');
});
