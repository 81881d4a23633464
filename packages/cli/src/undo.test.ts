import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeFileToken } from '../../../test/make-token.ts';
import { confirming, runProgramHere } from '../../../test/run-program.ts';
import { root } from '../../../test/sources.ts';
import createNotes from '../../../test/undo-runtime.ts';
import { openLedger } from 'quittance/internal/store/open-ledger';
import { writeCredential } from './server/credentials.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-undo-'));
const path = join(folder, 'ledger.db');
const runtime = join(root, 'test/undo-runtime.ts');
const line = (...args: readonly string[]) => ['undo', ...args, '--ledger', path, '--runtime', runtime];
const undo = (...args: readonly string[]) => runProgramHere(line(...args));

beforeAll(async () => {
  const ledger = await openLedger(path);
  const notes = createNotes(ledger);
  const turn = notes.turn({ sessionId: 's1' });
  for (const id of ['c1', 'c2']) await turn.call({ id, name: 'add_note', arguments: { text: id } });
  await notes.close();
  await ledger.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('quittance undo', () => {
  test('needs a call, a runtime, and a person at a terminal or the token of an operator', async () => {
    expect(await runProgramHere(['undo'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('Missing call'),
    });
    expect(await undo('c1', '--yes')).toMatchObject({ code: 2, err: expect.stringContaining('--by') });
    expect(await undo('c1', '--by', 'Ada', '--yes')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('There is no terminal and no token'),
    });
    const viewer = { QUITTANCE_TOKEN: makeFileToken(path, 'viewer') };
    expect(await runProgramHere(line('c1', '--yes'), { env: viewer })).toMatchObject({
      code: 1,
      err: expect.stringContaining('this needs operator'),
    });
    const refused = await runProgramHere(line('c1', '--by', 'Ada', '--yes'), {
      readTyped: () => Promise.resolve('yes'),
    });
    expect(refused).toMatchObject({ code: 1, out: 'Nothing was undone.\n' });
    const without = await runProgramHere(['undo', 'c1', '--by', 'Ada', '--ledger', path], {
      readTyped: confirming,
    });
    expect(without).toMatchObject({ code: 2, err: expect.stringContaining('--runtime') });
  });

  test('undoes a call once, records the person and the optional reason, and then refuses', async () => {
    const undone = await runProgramHere(line('c1', '--by', 'Ada', '--reason', 'Wrong note.'), {
      readTyped: confirming,
    });
    expect(undone).toMatchObject({ code: 0, out: expect.stringContaining('succeeded.'), err: '' });
    const { out } = await runProgramHere(['show', 'c1', '--ledger', path, '--json']);
    expect(out).toContain('Wrong note.');
    expect(out).toContain('Ada');
    const env = { QUITTANCE_TOKEN: makeFileToken(path, 'operator', 'Bob') };
    const again = await runProgramHere(line('c1', '--by', 'Bob'), { env });
    expect(again).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/undone.*\n {2}try: quittance show/s),
    });
    const json = await runProgramHere(line('c2', '--json'), { env });
    expect(JSON.parse(json.out)).toMatchObject({ type: 'ToolExecutionResult' });
  });

  test('sends the same request to a server as the console does', async () => {
    const seen: unknown[] = [];
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        seen.push([request.method, request.url, request.headers.authorization, JSON.parse(body)]);
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ decision: seen.length === 1 ? 'settled' : 'held', callId: 'c1.undo' }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ask = (...args: readonly string[]) =>
      runProgramHere(['undo', 'c/1', '--server', url, '--yes', ...args], {
        env: { QUITTANCE_TOKEN: 'qt_x' },
      });
    expect(await ask()).toMatchObject({ code: 2, err: expect.stringContaining('--session') });
    expect(await ask('--session', 's 1', '--by', 'Ada')).toMatchObject({ code: 2 });
    expect(await ask('--session', 's 1', '--reason', 'Wrong.')).toMatchObject({ code: 0 });
    expect(await ask('--session', 's 1', '--force')).toMatchObject({
      code: 1,
      err: expect.stringContaining('awaits approval'),
    });
    const route = '/v1/sessions/s%201/calls/c%2F1/undo';
    expect(seen).toEqual([
      ['POST', route, 'Bearer qt_x', { reason: 'Wrong.' }],
      ['POST', route, 'Bearer qt_x', { force: true }],
    ]);
    // Every program of the user can read the stored sign-in.
    const credentials = join(folder, 'credentials.json');
    writeCredential({ QUITTANCE_CREDENTIALS: credentials }, { server: url, token: 'qt_stored' });
    const stored = { env: { QUITTANCE_CREDENTIALS: credentials } };
    for (const args of [
      ['undo', 'c/1', '--session', 's 1', '--yes'],
      ['run', 'add_note', '--session', 's 1', '--args', '{}'],
    ])
      expect({ args, ...(await runProgramHere([...args, '--server', url], stored)) }).toMatchObject({
        code: 2,
        err: expect.stringMatching(/stored\s+sign-in/),
      });
    expect(seen).toHaveLength(2);
    await new Promise((resolve) => server.close(resolve));
  });
});
