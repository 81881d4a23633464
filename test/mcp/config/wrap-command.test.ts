/** The command line that `mcp install` writes means to `mcp wrap` exactly what was written. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseCommandLine } from '../../../packages/cli/src/command-line.ts';
import { mcpWrapCommand, readWrapConfig } from '../../../packages/cli/src/commands/mcp-wrap.ts';
import type { Context } from '../../../packages/cli/src/command.ts';
import type { WrapArguments } from '../../../packages/mcp/src/config/wrap-arguments.ts';
import {
  readWrapOptions,
  readWrapWords,
  toWrapWords,
} from '../../../packages/mcp/src/config/wrap-arguments.ts';
import { secret } from './client-files.ts';

const parse = (words: readonly string[]) => parseCommandLine(mcpWrapCommand, words.slice(2));
const read = (words: readonly string[], env: Record<string, string> = {}) =>
  // The command reads only the environment.
  readWrapConfig(parse(words), { env } as unknown as Context);

const base: Omit<WrapArguments, 'target'> = { name: 'shop', trusted: false, observe: false };

test('for all servers, the words are read as they were written', () => {
  const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 10 });
  const name = fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,8}$/);
  const target = fc.oneof(
    fc.record({
      type: fc.constant('stdio' as const),
      command: word,
      args: fc.array(fc.oneof(word, fc.constantFrom('--', '--name', '-y', '--env', 'mcp', 'wrap')), {
        maxLength: 5,
      }),
      env: fc.uniqueArray(name, { maxLength: 3 }),
    }),
    fc.record({
      type: fc.constantFrom('http' as const, 'sse' as const),
      url: fc.oneof(fc.record({ text: fc.webUrl() }), fc.record({ variable: name })),
      headers: fc.uniqueArray(fc.tuple(fc.stringMatching(/^[\w-]{1,8}$/), name), {
        maxLength: 3,
        selector: ([header]) => header,
      }),
    }),
  );
  fc.assert(
    fc.property(
      word,
      fc.option(word, { nil: undefined }),
      fc.boolean(),
      target,
      (server, ledger, observe, to) => {
        const written: WrapArguments = {
          ...base,
          name: server,
          observe,
          target: to,
          ...(ledger !== undefined && { ledger }),
        };
        const words = toWrapWords(written);
        expect(readWrapWords(['/usr/bin/node', 'cli.js', ...words])).toEqual(written);
        const given = parse(words);
        expect(readWrapOptions(given, given.args)).toEqual(written);
      },
    ),
    { numRuns: 300 },
  );
});

describe('the command', () => {
  test('passes on only the variables that it names', async () => {
    const target = { type: 'stdio', command: 'x', args: [], env: ['TOKEN', 'NOT_SET'] } as const;
    const config = await read(toWrapWords({ ...base, target }), { TOKEN: secret, OTHER: '1', PATH: '/bin' });
    expect(config.servers).toMatchObject([{ name: 'shop', env: { TOKEN: secret }, isTrusted: false }]);
    expect(Object.keys((config.servers[0] as { env: object }).env)).toEqual(['TOKEN']);
  });

  test('does not expand what its client has already expanded', async () => {
    const target = { type: 'stdio', command: '${HOME}', args: ['${TOKEN}'], env: [] } as const;
    const config = await read(toWrapWords({ ...base, target }), { TOKEN: secret });
    expect(config.servers).toMatchObject([{ command: '${HOME}', args: ['${TOKEN}'] }]);
  });

  test('takes header values and addresses from variables, and checks them', async () => {
    const target = {
      type: 'http',
      url: { variable: 'U' },
      headers: [['X-Key', 'K']],
      bearerVariable: 'B',
    } as const;
    const words = toWrapWords({ ...base, target });
    const config = await read(words, { U: 'https://a.b/mcp?k=1', K: 'key', B: 'token' });
    expect(config.servers).toMatchObject([{ headers: { 'X-Key': 'key', Authorization: 'Bearer token' } }]);
    await expect(read(words, { U: 'https://a.b', K: 'key' })).rejects.toThrow(
      'needs the environment variable B',
    );
    for (const url of ['http://169.254.169.254/', `http://a.b/?key=${secret}`, `https://u:${secret}@a.b`]) {
      const refused = read(words, { U: url, K: 'key', B: 'token' });
      await expect(refused).rejects.toThrow('The server "shop"');
      await expect(refused).rejects.not.toThrow(secret);
    }
  });

  test('reads its settings from a file', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'quittance-mcp-')), 'own.json');
    const own = {
      observe: true,
      allowHttp: ['a.b'],
      askInClient: ['large-refund'],
      textLimit: 20_000,
      servers: {
        shop: {
          trusted: true,
          onlyFor: ['group:ops'],
          oauth: { clientId: 'c', clientSecretVariable: 'S', issuer: 'https://login.example' },
          tools: { pay: { mode: 'external' } },
        },
      },
    };
    writeFileSync(file, JSON.stringify(own));
    const target = { type: 'http', url: { text: 'http://a.b/mcp' }, headers: [] } as const;
    const words = toWrapWords({ ...base, settings: file, target });
    expect(await read(words, { S: 'hush' })).toMatchObject({
      observe: true,
      askInClient: ['large-refund'],
      textLimit: 20_000,
      servers: [
        {
          isTrusted: true,
          onlyFor: ['group:ops'],
          oauth: { clientId: 'c', clientSecret: 'hush' },
          tools: { pay: { mode: 'external' } },
        },
      ],
    });
    await expect(read(words)).rejects.toThrow('The server "shop" needs the environment variable S');
  });

  test.each([[[]], [['--url', 'https://a.b', '--', 'x']], [['--url', 'https://a.b', '--header-env', 'X']]])(
    'needs one server: %j',
    async (words) => {
      await expect(read(['mcp', 'wrap', ...words])).rejects.toThrow('Name one server');
    },
  );
});
