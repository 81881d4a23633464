/** Calls that people make from the command line: `run` and `fork`, here and on a server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runProgramHere } from '../../../test/run-program.ts';
import { root } from '../../../test/sources.ts';
import createNotes from '../../../test/undo-runtime.ts';
import { openLedger } from 'quittance/internal/store/open-ledger';

const folder = mkdtempSync(join(tmpdir(), 'quittance-fork-'));
const path = join(folder, 'ledger.db');
const runtime = join(root, 'test/undo-runtime.ts');
const here = (...args: readonly string[]) =>
  runProgramHere([...args, '--ledger', path, '--runtime', runtime]);
const show = async (id: string, session: string): Promise<string> =>
  (await runProgramHere(['show', id, '--session', session, '--ledger', path, '--json'])).out;

beforeAll(async () => {
  const ledger = await openLedger(path);
  const notes = createNotes(ledger);
  const turn = notes.turn({ sessionId: 's1' });
  for (const id of ['c1', 'c2'])
    await turn.call(
      { id, name: 'add_note', arguments: { text: id } },
      { principal: { userId: 'ada', claims: { team: 'ops' } } },
    );
  await turn.call({ id: 'secret', name: 'add_note', arguments: { text: 'x', password: 'hunter2' } });
  await turn.call({ id: 'gone', name: 'remove_note', arguments: {} });
  await notes.close();
  await ledger.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('quittance fork', () => {
  test('needs a session, a runtime, and a yes in advance without a terminal', async () => {
    expect(await here('fork')).toMatchObject({ code: 2, err: expect.stringContaining('Missing session') });
    expect(await here('fork', 's1')).toMatchObject({ code: 2, err: expect.stringContaining('--yes') });
    const without = await runProgramHere(['fork', 's1', '--ledger', path, '--yes']);
    expect(without).toMatchObject({ code: 2, err: expect.stringContaining('--runtime') });
    const unknown = await here('fork', 's1', '--at', 'nothing', '--yes');
    expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining('nothing') });
  });

  test('refuses hidden arguments and missing tools, before anything is recorded', async () => {
    const hidden = await here('fork', 's1', '--at', 'secret', '--as', 'neverrecorded', '--yes');
    expect(hidden).toMatchObject({ code: 1, err: expect.stringContaining('hides a part') });
    const missing = await here('fork', 's1', '--at', 'gone', '--as', 'neverrecorded', '--yes');
    expect(missing).toMatchObject({ code: 1, err: expect.stringContaining('cannot run "remove_note"') });
    const { out } = await runProgramHere(['sessions', '--ledger', path, '--json']);
    expect(out).not.toContain('neverrecorded');
  });

  test('makes the calls again in a new session, records who asked, and names the comparison', async () => {
    const ledger = await openLedger(path);
    const notes = createNotes(ledger);
    const turn = notes.turn({ sessionId: 's2' });
    for (const id of ['a', 'b']) await turn.call({ id, name: 'add_note', arguments: { text: id } });
    await notes.close();
    await ledger.close();
    const forked = await here('fork', 's2', '--at', 'b', '--as', 's2-again', '--yes');
    expect(forked).toMatchObject({ code: 0, err: '' });
    expect(forked.out).toMatch(
      /makes 1 call again\.[^]*b {2}add_note: succeeded[^]*quittance diff s2 s2-again/,
    );
    expect(await show('b', 's2-again')).toContain('os_user');
    const twice = await here('fork', 's2', '--as', 's2-again', '--yes');
    expect(twice).toMatchObject({ code: 1, err: expect.stringContaining('already exists') });
    // Without --at it begins with the first call, because none failed.
    const whole = await here('fork', 's2', '--yes', '--json');
    const [started, ...made] = whole.out
      .trim()
      .split('\n')
      .map((each) => JSON.parse(each) as object);
    expect(started).toMatchObject({ calls: 2, fork: { atCallId: 'a', position: 0, after: 'live' } });
    expect(made).toMatchObject([
      { callId: 'a', isSame: true },
      { callId: 'b', isSame: true },
    ]);
  });
});

describe('quittance run', () => {
  test('needs a tool or a call, arguments in JSON, and a tool that the runtime has', async () => {
    expect(await here('run')).toMatchObject({ code: 2, err: expect.stringContaining('--again') });
    expect(await here('run', 'add_note', '--again', 'c1')).toMatchObject({ code: 2 });
    expect(await here('run', 'add_note', '--args', '[1]')).toMatchObject({ code: 2 });
    expect(await here('run', 'nothing')).toMatchObject({
      code: 1,
      err: expect.stringContaining('add_note'),
    });
    const hidden = await here('run', '--again', 'secret');
    expect(hidden).toMatchObject({ code: 1, err: expect.stringContaining('hides $.password') });
  });

  test('makes a call with all checks, and again with what is on record', async () => {
    const made = await here('run', 'add_note', '--args', '{"text":"new"}', '--as', 'mine', '--json');
    expect(made.code).toBe(0);
    expect(JSON.parse(made.out)).toMatchObject({
      sessionId: 'mine',
      outcome: { type: 'ToolExecutionResult' },
    });
    const again = await here('run', '--again', 'c2', '--as', 'mine');
    expect(again).toMatchObject({ code: 0, out: expect.stringContaining('succeeded.') });
    const ledger = await openLedger(path);
    const record = JSON.stringify(await ledger.readSession('mine'));
    await ledger.close();
    expect(record).toMatch(/"userId":"ada"/);
    expect(record).toMatch(/"requested_in":"cli","repeats":\{"session_id":"s1","call_id":"c2"\}/);
    expect(record).not.toContain('"team"');
  });
});

test('a server gets the same requests as from the console', async () => {
  const seen: unknown[] = [];
  const answers = new Map<string, object>([
    [
      '/v1/calls?sessionId=s+1&limit=200',
      {
        rows: [
          { callId: 'b', outcome: 'ToolFailure' },
          { callId: 'a', outcome: 'ToolExecutionResult' },
        ],
      },
    ],
    ['/v1/sessions/s%201/forks', { sessionId: 's-fork', calls: 1 }],
    [
      '/v1/sessions/s%201/calls/a',
      { call: { sessionId: 's 1', callId: 'a', toolName: 'pay', requestedInput: { cents: 1 }, hidden: [] } },
    ],
    [
      '/v1/calls',
      { decision: 'settled', outcome: { type: 'ToolFailure', error: 'No.' }, content: 'Failed: No.' },
    ],
  ]);
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      if (body !== '') seen.push([request.url, request.headers.authorization, JSON.parse(body)]);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(answers.get(request.url ?? '')));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask = (...args: readonly string[]) =>
    runProgramHere([...args, '--server', url], { env: { QUITTANCE_TOKEN: 'qt_x' } });
  expect(await ask('fork', 's 1', '--yes', '--continue')).toMatchObject({
    code: 0,
    out: expect.stringContaining('Session s-fork: the server makes 1 call again.'),
  });
  expect(await ask('run', '--again', 'a')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--session'),
  });
  expect(await ask('run', '--again', 'a', '--session', 's 1', '--as', 'x')).toMatchObject({
    code: 1,
    out: expect.stringContaining('Failed: No.'),
  });
  const id = expect.stringMatching(/^cli_/) as unknown;
  expect(seen).toEqual([
    ['/v1/sessions/s%201/forks', 'Bearer qt_x', { callId: 'b', continue: true }],
    [
      '/v1/calls',
      'Bearer qt_x',
      {
        sessionId: 'x',
        call: { id, name: 'pay', arguments: { cents: 1 } },
        attrs: { requested_in: 'cli', repeats: { session_id: 's 1', call_id: 'a' } },
        waitMs: 2_000,
        claim: false,
      },
    ],
  ]);
  await new Promise((resolve) => server.close(resolve));
});
