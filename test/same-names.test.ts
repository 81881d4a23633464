/** The command line, HTTP and exports use the same field names. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer } from './http/start-server.ts';
import type { TestServer } from './http/start-server.ts';
import { runProgramHere } from './run-program.ts';

type Fields = { readonly [name: string]: unknown };

let app: TestServer;
beforeAll(async () => {
  app = await startServer();
  await app.ask('read', 'read_note', { id: '1' }, { waitMs: 60_000 });
  await app.ask('held', 'delete_file', { path: '/a', password: 'secret' });
  await app.ask('weather', 'get_weather', { city: 'Bern' });
  await app.post('/v1/grants', {
    sessionId: 's1',
    toolName: 'send_mail',
    uses: 3,
    forMs: 86_400_000,
    reason: 'ok',
  });
});
afterAll(() => app.close());

async function cli(...args: string[]): Promise<readonly Fields[]> {
  const { out } = await runProgramHere([...args, '--ledger', app.ledgerPath]);
  return out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Fields);
}
const http = async (path: string): Promise<Fields> => (await app.get<Fields>(path)).body;
const rowsOf = async (path: string): Promise<readonly Fields[]> =>
  (await http(path))['rows'] as readonly Fields[];

/** The names of all fields, including nested ones. Arguments and other data of the user are skipped. */
function namesIn(value: unknown, path = ''): readonly string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap((item) => namesIn(item, `${path}[]`)))];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, field]) => [
    `${path}.${name}`,
    ...namesIn(field, `${path}.${name}`),
  ]);
}
const sorted = (value: unknown): readonly string[] => [...namesIn(value)].toSorted();

describe('has the same field names on the command line and over HTTP:', () => {
  test('a call', async () => {
    const calls = await cli('calls', '--json');
    expect(calls.length).toBe(3);
    for (const call of calls)
      expect(sorted(call)).toEqual(
        sorted((await rowsOf('/v1/calls')).find(({ callId }) => callId === call['callId'])),
      );
  });

  test('a call in full', async () => {
    const [shown = {}] = await cli('show', 'read', '--json');
    const detail = await http('/v1/sessions/s1/calls/read');
    const call = detail['call'] as Fields;
    const known = new Set([...Object.keys(call), ...Object.keys(detail['summary'] as Fields), 'audit']);
    const own = ['changes', 'decisions', 'handoff', 'timeline'];
    expect(Object.keys(shown).filter((name) => !known.has(name))).toEqual(own);
    for (const field of ['settled', 'requestedInput', 'artifacts', 'late'])
      expect([field, sorted(shown[field])]).toEqual([field, sorted(call[field])]);
  });

  test('a confirmation', async () => {
    const [row] = await rowsOf('/v1/confirmations');
    expect(sorted((await cli('pending', '--json'))[0])).toEqual(sorted(row));
    expect(sorted(row)).toContain('.confirmationId');
  });

  test('a session', async () => {
    const [row] = await rowsOf('/v1/sessions');
    expect(sorted((await cli('sessions', '--json'))[0])).toEqual(sorted(row));
  });

  test('a grant', async () => {
    const [row] = await rowsOf('/v1/grants?sessionId=s1');
    expect(sorted((await cli('grants', '--session', 's1', '--json'))[0])).toEqual(sorted(row));
    expect(sorted(row)).toContain('.givenAt');
  });

  test('a hand-off', async () => {
    const [row] = await rowsOf('/v1/handoffs');
    expect(sorted((await cli('handoff', 'list', '--json'))[0])).toEqual(sorted(row));
  });

  test('an audit record', async () => {
    const [shown = {}] = await cli('show', 'read', '--json');
    const detail = await http('/v1/sessions/s1/calls/read');
    expect(sorted(shown['audit'])).toEqual(sorted(detail['audit']));
    const { records } = (await http('/v1/audit?callId=read')) as { readonly records: readonly Fields[] };
    const unplaced = records.map((record) =>
      Object.fromEntries(Object.entries(record).filter(([name]) => name !== 'position')),
    );
    expect(sorted(unplaced)).toEqual(sorted(detail['audit']));
  });
});

test('an export names sessions, chains and times as HTTP does', async () => {
  const lines = await cli('export', '--out', '-');
  const overHttp = (await app.get<string>('/v1/export')).body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Fields);
  expect(lines.map(sorted)).toEqual(overHttp.map(sorted));
  const [first = {}, entry = {}] = lines;
  expect(sorted(first['heads'])).toEqual(sorted(await rowsOf('/v1/heads')));
  expect(Object.keys(first)).toContain('createdAt');
  expect(Object.keys(entry)).toEqual(['sessionId', 'sequence', 'text', 'bodies', 'salt', 'hash']);
});

test('no field name on the command line or over HTTP has an underscore', async () => {
  const answers = [
    ...(await cli('calls', '--json')),
    ...(await cli('show', 'held', '--json')),
    ...(await cli('pending', '--json')),
    ...(await cli('sessions', '--json')),
    ...(await cli('grants', '--session', 's1', '--json')),
    ...(await cli('handoff', 'list', '--json')),
    ...(await cli('trace', 's1', '--json')),
    ...(await cli('verify', '--json')),
    ...(await cli('export', '--out', '-')),
    await http('/v1/sessions/s1/calls/held'),
    await http('/v1/stats'),
    await http('/v1/tools'),
    await http('/v1/contracts'),
    (await app.get<Fields>('/v1/events?after=0', 'admin', { accept: 'application/json' })).body,
  ];
  // The `state` of an event about grants or workflows is a stored document, in the spelling of its format.
  const names = new Set(answers.flatMap((each) => namesIn(each)).filter((name) => !name.includes('.state.')));
  expect([...names].filter((name) => name.includes('_'))).toEqual([]);
});
