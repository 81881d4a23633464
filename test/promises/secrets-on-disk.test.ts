/** Secrets in random places, and every byte that the calls leave behind. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { createRuntime, defineTool, ToolError } from 'quittance';
import type { JsonObject, JsonValue } from '../../packages/quittance/src/base/json.ts';
import { createHttpServer } from '@quittance/server';
import { describe, expect, it } from 'vitest';
import { openLedgerFile } from '../durable/ledger-file.ts';
import { runCli } from '../run-cli.ts';

const names = [
  'password',
  'apiKey',
  'API_KEY',
  'x-api-key',
  'clientSecret',
  'client_secret',
  'passwd',
  'passphrase',
  'private_key',
  'authToken',
  'refresh_token',
  'sessionToken',
  'credential',
];

/** Printable, at least 8 characters, with quotes, slashes and letters of other scripts. */
const secretText = fc
  .string({
    minLength: 8,
    maxLength: 60,
    unit: fc.constantFrom(...Array.from('abcXYZ0189-_.+/=\\"\'&<>% é密$#:;,{}[]')),
  })
  .filter((text) => text.trim().length >= 8 && /[a-zA-Z0-9]{3}/.test(text));

const innocent = fc.oneof(fc.string({ maxLength: 12 }), fc.integer(), fc.boolean(), fc.constant(null));

/** Arguments with the secret under a name, and repeated around it. */
const argumentsWith = (secret: string): fc.Arbitrary<JsonObject> => {
  const repeat = fc.constantFrom<JsonValue>(
    secret,
    `use ${secret} please`,
    [secret, { deep: `${secret}!` }],
    JSON.stringify({ note: secret }),
    JSON.stringify(JSON.stringify([secret])),
    `https://example.org/?q=${encodeURIComponent(secret)}`,
    Buffer.from(`bob:${secret}`).toString('base64'),
    { [`key ${secret}`]: 1 },
  );
  return fc
    .record({
      name: fc.constantFrom(...names),
      depth: fc.integer({ min: 0, max: 3 }),
      repeats: fc.array(repeat, { maxLength: 3 }),
      other: fc.dictionary(fc.constantFrom('a', 'b', 'note', 'path'), innocent, { maxKeys: 3 }),
    })
    .map(({ name, depth, repeats, other }) => {
      let named: JsonValue = { [name]: secret };
      for (let level = 0; level < depth; level++) named = level % 2 === 0 ? [named] : { inner: named };
      return { ...other, repeats, named };
    });
};

type Way = 'echo' | 'large' | 'throw' | 'log' | 'attach' | 'held' | 'spill';
const ways: readonly Way[] = ['echo', 'large', 'throw', 'log', 'attach', 'held', 'spill'];

describe('[secrets-stay-out] a secret of at least 8 characters that is identified by its key', () => {
  it('[secrets-stay-out] is in no file, no spill, no answer over HTTP, no output of the command line and no export', async () => {
    const calls = fc.sample(
      fc
        .tuple(secretText, fc.constantFrom(...ways))
        .chain(([secret, way]) => fc.tuple(fc.constant(secret), fc.constant(way), argumentsWith(secret))),
      { numRuns: 60 },
    );
    const folder = mkdtempSync(join(tmpdir(), 'quittance-secrets-'));
    try {
      const path = join(folder, 'ledger.db');
      const { ledger, protect, release } = openLedgerFile(path);
      const seen = new Map<string, string>();
      const runtime = createRuntime({
        ledger,
        inlineLimit: 2_000,
        onConfirm: () => ({ decision: 'approve', by: 'ada' }),
        tools: ways.map((way) =>
          defineTool({
            name: `do_${way}`,
            mode: way === 'held' ? 'destructive' : 'external',
            run: (args: unknown, context) => {
              const text = JSON.stringify(args);
              seen.set(context.callId, text);
              if (way === 'throw')
                throw new ToolError('tool.network_error', `bad ${text}`, { extras: { text } });
              if (way === 'log') context.log(`got ${text}`, { text });
              if (way === 'attach') context.attach({ mimeType: 'text/plain', content: text, name: 'x.txt' });
              if (way === 'spill') protect();
              return way === 'large' ? { text: text.padEnd(5_000, '.') } : args;
            },
          }),
        ),
      });
      const told: string[] = [];
      const turn = runtime.turn({ sessionId: 's' });
      let spilled = 0;
      for (const [index, [, way, args]] of calls.entries()) {
        told.push(JSON.stringify(await turn.call({ id: `c${index}`, name: `do_${way}`, arguments: args })));
        if (way !== 'spill') continue;
        const spills = readdirSync(`${path}.spill`).map((name) => readFileSync(join(`${path}.spill`, name)));
        if (spills.some((spill) => /\S/.test(spill.toString('utf8').replaceAll('\0', '')))) spilled++;
        told.push(...spills.map((spill) => spill.toString('utf8')));
        release();
        await runtime.recover();
      }
      expect(spilled).toBeGreaterThan(0);
      told.push(
        JSON.stringify([
          await runtime.events.list({ sessionId: 's' }),
          await runtime.calls.audit({ sessionId: 's' }),
        ]),
      );
      const server = await createHttpServer({ ledger, runtime, port: 0, localName: 'ada' });
      for (const route of [
        '/v1/calls?limit=100',
        '/v1/sessions/s',
        ...calls.map((_, index) => `/v1/sessions/s/calls/c${index}`),
        '/v1/audit',
        '/v1/export?sessionId=s',
      ]) {
        const answer = await fetch(server.url + route, {
          headers: { authorization: `Bearer ${server.token}` },
        });
        expect([route, answer.status]).toEqual([route, 200]);
        told.push(await answer.text());
      }
      await server.close();
      const bytes = (): string =>
        readdirSync(folder, { recursive: true, encoding: 'utf8' })
          .map((name) => join(folder, name))
          .filter((file) => statSync(file).isFile())
          .map((file) => readFileSync(file).toString('utf8'))
          .join('\n');
      told.push(bytes());
      await runtime.close();
      await ledger.close();
      told.push(bytes());
      for (const args of [
        ['calls', '--json'],
        ['show', 'c0'],
        ['export', '--session', 's'],
      ]) {
        const { out, err } = await runCli([...args, '--ledger', path]);
        told.push(out, err);
      }
      expect(seen.size).toBeGreaterThan(calls.length / 2);
      const everything = told.join('\n').replaceAll('[REDACTED]', '\0');
      for (const [index, [secret, way]] of calls.entries()) {
        // Some calls are denied because identical ones failed.
        const body = seen.get(`c${index}`);
        const inJson = JSON.stringify(secret).slice(1, -1);
        expect(body ?? inJson).toContain(inJson);
        for (const form of [
          secret,
          JSON.stringify(secret).slice(1, -1),
          JSON.stringify(JSON.stringify(secret)).slice(3, -3),
          encodeURIComponent(secret),
          Buffer.from(`bob:${secret}`).toString('base64').slice(6, -4),
        ])
          expect(form.length >= 8 && everything.includes(form), `${way}: ${form}`).toBe(false);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 240_000);
});
