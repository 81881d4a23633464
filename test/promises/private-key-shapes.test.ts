/** Private keys and tokens in the shapes that programs give them, through outputs, errors, logs and artifacts. */
import { generateKeyPairSync } from 'node:crypto';
import type { JsonValue } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { readWholeArtifact } from '../../packages/quittance/src/ledger/reads.ts';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const pkcs1 = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
const jwk = ec.export({ format: 'jwk' });
const lines = pem.trim().split('\n');
const inner = lines.slice(1, -1).join('\n');
const mid = lines[10] ?? '';
const token = `ghp_${'A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8'}`;
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const hex = (text: string): string => Buffer.from(text).toString('hex');
const reversed = (text: string): string => Array.from(text).toReversed().join('');
const percent = (text: string): string => Array.from(text, (each) => `%${hex(each)}`).join('');
const codes = [...Buffer.from(mid)].slice(0, 20).join(',');

const members: readonly (readonly [name: string, value: JsonValue, secret: string])[] = [
  ['nested rows', { rows: lines.map((text, n) => ({ n, cell: { text } })) }, mid],
  ['rows that are lists', { rows: lines.map((text, n) => [n, text]) }, mid],
  ['fields of an object', Object.fromEntries(lines.map((text, n) => [`line_${n}`, text])), mid],
  [
    'a head and a tail',
    { head: lines.slice(0, 14).join('\n'), tail: lines.slice(14).join('\n') },
    lines[16] ?? '',
  ],
  ['lines from the last to the first', { lines: lines.toReversed() }, mid],
  ['a text from the last line to the first', lines.toReversed().join('\n'), mid],
  ['letters from the last to the first', { text: reversed(pem) }, reversed(mid)],
  ['base64', { text: base64(pem) }, base64(pem).slice(400, 460)],
  ['lines of base64', { lines: base64(pem).match(/.{1,76}/g) ?? [] }, base64(pem).slice(460, 500)],
  ['base64 of base64', { text: base64(base64(pem)) }, base64(base64(pem)).slice(400, 460)],
  ['hexadecimal digits', { text: hex(pem) }, hex(pem).slice(400, 460)],
  ['lines of hexadecimal digits', { lines: hex(pem).match(/.{1,60}/g) ?? [] }, hex(pem).slice(420, 470)],
  ['a list of numbers', { bytes: [...Buffer.from(pem)] }, codes],
  ['a buffer as JSON', Buffer.from(pem).toJSON(), codes],
  ['PKCS #1', { key: pkcs1 }, pkcs1.split('\n')[10] ?? ''],
  ['OpenSSH', `-----BEGIN OPENSSH PRIVATE KEY-----\n${inner}\n-----END OPENSSH PRIVATE KEY-----`, mid],
  [
    'PGP',
    `-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n${inner}\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----`,
    mid,
  ],
  ['an encrypted key', pem.replaceAll('PRIVATE KEY', 'ENCRYPTED PRIVATE KEY'), mid],
  ['escaped line ends', { key: pem.replaceAll('\n', String.raw`\n`) }, mid],
  ['one line with blanks', { key: pem.replaceAll('\n', ' ') }, mid],
  ['numbered lines', lines.map((text, n) => `${n + 1}\t${text}`).join('\n'), mid],
  ['quoted lines', lines.map((text) => `> ${text}`).join('\n'), mid],
  ['cells of a table', lines.map((text, n) => `${n},${text}`).join('\n'), mid],
  ['a web key', { kty: 'EC', d: jwk.d ?? '' }, jwk.d ?? ''],
  ['a web key in a text', { text: `key ${JSON.stringify(jwk)}` }, jwk.d ?? ''],
  [
    'a token in an address, encoded twice',
    { url: encodeURIComponent(encodeURIComponent(`[token=${token}]`)) },
    token,
  ],
  [
    'a key in an address, encoded twice',
    { url: encodeURIComponent(encodeURIComponent(pem)) },
    encodeURIComponent(encodeURIComponent(mid)),
  ],
  ['a token with every letter encoded', { url: percent(token) }, percent(token)],
  ['base64 in an address', { url: encodeURIComponent(base64(pem)) }, base64(pem).slice(400, 430)],
];

type Way =
  | 'output'
  | 'error'
  | 'log'
  | 'artifact'
  | 'file'
  | 'partial record'
  | 'preview'
  | 'late result'
  | 'reached target'
  | 'report'
  | 'reported error'
  | 'notes of a report';
const ways: readonly Way[] = [
  'output',
  'error',
  'log',
  'artifact',
  'file',
  'partial record',
  'preview',
  'late result',
  'reached target',
  'report',
  'reported error',
  'notes of a report',
];

/** Everything that is returned or stored about one call of a tool that gives this value, in one text, and its artifacts. */
async function giveAway(
  value: JsonValue,
  way: Way,
): Promise<{ readonly text: string; readonly artifacts: readonly string[] }> {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const clock = createManualClock();
  const ledger = createMemoryLedger({ clock });
  const late = Promise.withResolvers<JsonValue>();
  const tool = defineTool({
    name: 'get_file',
    mode: way === 'preview' ? 'destructive' : 'read',
    timeoutMs: 1_000,
    ...(way === 'preview' && {
      preview: () => ({
        kind: 'fields' as const,
        fields: [
          { name: 'what', before: value, after: text },
          { name: 'rows', after: [value] },
        ],
      }),
    }),
    run(_, context): JsonValue | Promise<JsonValue> {
      switch (way) {
        case 'error':
          throw new Error(text);
        case 'artifact':
          return { padding: 'x'.repeat(20_000), value };
        case 'file':
          return { file: context.attach({ mimeType: 'text/plain', name: 'key.txt', content: text }) };
        case 'partial record':
          context.record({ value });
          throw new Error('The disk is full.');
        case 'late result':
          return late.promise;
        case 'reached target':
          context.reached(text);
          return 'done';
        case 'log':
          context.log(text, { value });
          return 'done';
        case 'output':
        case 'preview':
        case 'report':
        case 'reported error':
        case 'notes of a report':
          return value;
      }
    },
  });
  const remote = defineTool({ name: 'get_file', mode: 'read', handoff: true, timeoutMs: 60_000 });
  const isReport = way === 'report' || way === 'reported error' || way === 'notes of a report';
  const runtime = createRuntime({ tools: [isReport ? remote : tool], ledger, clock });
  const turn = runtime.turn({ sessionId: 's' });
  const calling = turn.call({ id: 'c', name: 'get_file', arguments: {} }, { ifHeld: 'return' });
  if (isReport) {
    const claim = await eventually(async () => {
      const found = await runtime.handoffs.claim({ toolName: 'get_file' }, { worker: 'farm' });
      if (found === undefined) throw new Error('The call does not wait yet.');
      return found;
    });
    await runtime.handoffs.report(
      claim.token,
      way === 'report' ? { output: value } : way === 'reported error' ? { error: text } : { output: 'done' },
      way === 'notes of a report' ? { log: [{ message: text, fields: { value } }], reached: [text] } : {},
    );
  }
  if (way === 'late result') {
    await eventually(() => {
      clock.advance(1_001);
      return runtime.events.list({ sessionId: 's' }).then((events) => {
        if (!JSON.stringify(events).includes('tool.responded')) throw new Error('It has not ended yet.');
      });
    });
    late.resolve(value);
    await eventually(async () => {
      const events = await runtime.events.list({ sessionId: 's' });
      if (!JSON.stringify(events).includes('tool.late')) throw new Error('It is not recorded yet.');
    });
  }
  const told = await calling;
  const events = await runtime.events.list({ sessionId: 's' });
  const said = JSON.stringify([told, events, await runtime.confirmations.list()]);
  const artifacts: string[] = [];
  for (const [artifactId] of said.matchAll(/\bart_\w+/g)) {
    const stored = await readWholeArtifact(ledger, 's', artifactId);
    const content = stored?.content ?? '';
    artifacts.push(typeof content === 'string' ? content : Buffer.from(content).toString());
  }
  await runtime.close();
  return { text: said, artifacts };
}

// Else the test below would prove nothing.
test.each(ways)('what a call gives by %s is returned or stored', async (way) => {
  const { text, artifacts } = await giveAway({ rows: ['kwzvqjhrmtyp'] }, way);
  expect([text, ...artifacts].some((each) => each.includes('kwzvqjhrmtyp'))).toBe(true);
});

describe('[secrets-stay-out] a secret in another shape', () => {
  test.each(members)('%s stays out of everything that a call tells and stores', async (_, value, secret) => {
    expect(secret.length).toBeGreaterThan(10);
    const leaks: string[] = [];
    for (const way of ways) {
      const { text, artifacts } = await giveAway(value, way);
      if ([text, ...artifacts].some((each) => each.includes(secret))) leaks.push(way);
    }
    expect(leaks).toEqual([]);
  });
});
