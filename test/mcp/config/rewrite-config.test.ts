import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseConfigDocument } from '../../../packages/mcp/src/config/config-document.ts';
import { readMcpConfig } from '../../../packages/mcp/src/config/read-mcp-config.ts';
import type { Rewrite } from '../../../packages/mcp/src/config/rewrite-config.ts';
import { installGateway, uninstallGateway } from '../../../packages/mcp/src/config/rewrite-config.ts';
import { findAllServers } from '../../../packages/mcp/src/config/server-table.ts';
import type { Wrapper } from '../../../packages/mcp/src/config/wrap-entry.ts';
import { isWrapped } from '../../../packages/mcp/src/config/wrap-entry.ts';
import { clientFile, clientFiles, secret } from './client-files.ts';

const wrapper: Wrapper = {
  program: ['/usr/bin/node', '/opt/quittance/dist/cli.js'],
  ledger: '/home/ada/.quittance/ledger.db',
  observe: false,
};
const install = (name: string, text: string): Rewrite =>
  installGateway(parseConfigDocument(name, text), wrapper);
const uninstall = (name: string, text: string, record: Rewrite['changed'] = []): Rewrite =>
  uninstallGateway(parseConfigDocument(name, text), record);

/** The servers that a gateway would start from this text. */
async function read(name: string, text: string) {
  const path = join(mkdtempSync(join(tmpdir(), 'quittance-mcp-')), name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  writeFileSync(join(dirname(path), '.env'), 'FROM_FILE=1\n');
  return readMcpConfig(path, {
    env: {
      API_KEY: 'key-1',
      REGION: 'eu',
      FIGMA_OAUTH_TOKEN: 'figma-1',
      QUITTANCE_INPUT_PERPLEXITY_KEY: 'p-1',
    },
    home: '/home/ada',
    project: name === '.claude.json' ? '/home/ada/shop' : dirname(path),
  });
}

describe.each(clientFiles)('$client', ({ name, text }) => {
  test('every server is put behind the gateway, and stays the same server', async () => {
    const { text: installed, left, changed } = install(name, text);
    expect(left).toEqual([]);
    const { rows } = findAllServers(parseConfigDocument(name, installed));
    expect(rows.map(({ entry }) => isWrapped(entry))).toEqual(rows.map(() => true));
    expect(changed).toHaveLength(rows.length);
    const strip = ({ servers }: Awaited<ReturnType<typeof read>>, folder = /\/[^/]*quittance-mcp-[^/]*/g) =>
      JSON.parse(JSON.stringify(servers).replaceAll(folder, '')) as unknown;
    expect(strip(await read(name, installed))).toEqual(strip(await read(name, text)));
  });

  test('no secret moves into the arguments of the program', () => {
    const { rows } = findAllServers(parseConfigDocument(name, install(name, text).text));
    expect(JSON.stringify(rows.map(({ entry }) => entry['args']))).not.toContain(secret);
  });

  test('a second installation changes nothing', () => {
    const first = install(name, text);
    expect(install(name, first.text)).toMatchObject({ text: first.text, changed: [], left: [] });
  });

  test('uninstalling restores every byte', () => {
    const { text: installed, changed } = install(name, text);
    expect(uninstall(name, installed, changed).text).toBe(text);
  });

  test('uninstalling without a record restores the meaning', () => {
    const { text: restored } = uninstall(name, install(name, text).text);
    expect(parseConfigDocument(name, restored).root).toEqual(parseConfigDocument(name, text).root);
  });
});

test('a URL with a query, a variable or a long word moves into the environment', () => {
  const urls = [
    `https://a.b/s/${secret}/mcp`,
    `https://a.b/mcp?key=${secret}`,
    'https://a.b/${input:key}/mcp',
  ];
  for (const url of urls) {
    const [entry] = install('mcp.json', JSON.stringify({ mcpServers: { a: { url } } })).changed;
    expect(entry?.to['env']).toEqual({ QUITTANCE_MCP_URL: url });
    expect(JSON.stringify(entry?.to['args'])).not.toContain(url);
  }
});

test('the transport may be named by "transport", and stays what it is', () => {
  const text = JSON.stringify({ mcpServers: { a: { transport: 'sse', url: 'https://a.b/sse' } } });
  const installed = install('mcp.json', text);
  expect(installed.changed[0]?.to).toMatchObject({
    transport: 'stdio',
    args: expect.arrayContaining(['--sse']),
  });
  expect(JSON.parse(uninstall('mcp.json', installed.text).text)).toEqual(JSON.parse(text));
});

describe('comments and formatting', () => {
  test('comments and formatting of JSON stay, also within an entry', () => {
    const { text: installed } = install('mcp.json', clientFile('VS Code').text);
    expect(installed).toContain('// The key is asked for once.');
    expect(installed).toContain('/* remote */');
    expect(installed).toContain('"PERPLEXITY_API_KEY": "${input:perplexity-key}",\n');
    expect(installed).toContain('// from npm');
  });

  test('comments and formatting of TOML stay', () => {
    const { text: installed } = install('config.toml', clientFile('Codex').text);
    expect(installed).toContain('# Documentation\n[mcp_servers.context7]\ncommand = "/usr/bin/node"\n');
    expect(installed).toContain('startup_timeout_sec = 20\n\n[mcp_servers.context7.env]\n');
    expect(installed).toContain('enabled_tools = ["open", "screenshot"]\n');
    expect(installed).toContain('[profiles.fast]\nmodel = "gpt-5.2-mini"\n');
  });
});

describe('after the user edited the file', () => {
  const { name, text } = clientFile('Claude Desktop');
  const { text: installed, changed } = install(name, text);

  test('other parts keep their edits, and our entries are turned back exactly', () => {
    const edit = (from: string): string =>
      from
        .replace('"Ctrl+Space"', '"Alt+Q"')
        .replace('"mcpServers": {', '"mcpServers": {\r\n    "new": { "command": "uvx", "args": ["x"] },');
    expect(uninstall(name, edit(installed), changed).text).toBe(edit(text));
  });

  test('an entry that was edited keeps the edit', () => {
    const edited = installed.replace(secret, 'new-token');
    const { text: restored, changed: back } = uninstall(name, edited, changed);
    expect(parseConfigDocument(name, restored).root).toEqual(
      parseConfigDocument(name, text.replace(secret, 'new-token')).root,
    );
    expect(back.map(({ note }) => note)).toEqual([
      undefined,
      'It was edited since: its own settings are kept.',
    ]);
  });

  test('an entry that was removed stays removed, and one that was replaced stays', () => {
    const { filesystem: _, ...others } = (parseConfigDocument(name, installed).root['mcpServers'] ??
      {}) as Record<string, unknown>;
    const removed = JSON.stringify({ mcpServers: { ...others, filesystem: { command: 'mine' } } });
    const { text: restored } = uninstall(name, removed, changed);
    expect(parseConfigDocument(name, restored).root['mcpServers']).toMatchObject({
      filesystem: { command: 'mine' },
      github: { command: 'docker' },
    });
  });
});

describe('left alone, with a reason:', () => {
  test.each([
    [{ url: 'https://a.b', headersHelper: 'token.sh' }, 'its client signs in by "headersHelper"'],
    [{ url: 'https://a.b', auth: { CLIENT_ID: 'x' } }, 'its client signs in by "auth"'],
    [{ command: 'x', args: 'y' }, 'its "args" are not a list of texts'],
    [{ command: 'x', env: 'A=1' }, 'its "env" is not an object'],
    [{ url: 'https://a.b', env: { A: 1 } }, 'its "env" is not an object of texts'],
    [{ command: 'x', env: { '--observe': '1' } }, 'a name in its "env" starts with "-"'],
    [{ command: 'x', sandboxEnabled: true }, 'its client runs it in a sandbox'],
    [{ command: 'x', url: 'https://a.b' }, 'it has both a "command" and a "url"; remove one of them'],
    [{ note: 'nothing' }, 'it has neither a "command" nor a "url"'],
    [{ command: 'x', httpUrl: 'https://a.b' }, 'it has both a "command" and a "httpUrl"; remove one of them'],
    [{ command: '' }, 'its "command" is empty'],
    [{ type: 'ws', url: 'wss://a.b' }, 'its transport is not known'],
    [{ type: 'stdio', url: 'https://a.b' }, 'its transport does not fit the entry'],
    [{ url: 'wss://a.b' }, 'its "url" must start with https:// or http://'],
    [{ url: 'a.b/mcp' }, 'its "url" is not a URL'],
    [{ url: `https://u:${secret}@a.b` }, 'its "url" must not hold a user name or password; use a header'],
    [
      { url: 'http://a.b/mcp' },
      'its "url" sends everything unencrypted to a.b; use https, or list the host in "allowHttp" of the settings',
    ],
  ])('%j', (entry, reason) => {
    const text = JSON.stringify({ mcpServers: { a: entry } });
    expect(install('mcp.json', text)).toEqual({ text, changed: [], left: [{ name: 'a', reason }] });
  });

  test('a TOML entry that is not a table of its own', () => {
    const text = '[mcp_servers]\na = { command = "x" }\nb.command = "y"\n';
    expect(install('config.toml', text)).toMatchObject({
      text,
      changed: [],
      left: [{ name: 'a' }, { name: 'b' }],
    });
  });
});

describe('for all configurations', () => {
  const word = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    .filter((each) => !each.includes('\0'));
  const key = fc.oneof(
    fc.stringMatching(/^[a-z][\w -]{0,10}$/),
    fc.constantFrom('mcp', 'wrap', 'a.b', 'a"b', '--'),
  );
  const texts = fc.dictionary(fc.stringMatching(/^[A-Z_]{1,8}$/), word, { maxKeys: 3 });
  const entry = fc.oneof(
    fc.record(
      { command: word, args: fc.array(word, { maxLength: 4 }), env: texts },
      { requiredKeys: ['command', 'args'] },
    ),
    fc.record(
      {
        url: fc.constantFrom('https://a.b/mcp', 'https://a.b/mcp?key=1', 'https://${HOST}/x'),
        headers: fc.dictionary(fc.stringMatching(/^[A-Z_]{1,8}$/), word, { minKeys: 1, maxKeys: 3 }),
        type: fc.constantFrom('http', 'sse'),
        tools: fc.array(word, { maxLength: 2 }),
      },
      { requiredKeys: ['url'] },
    ),
  );
  const servers = fc.dictionary(key, entry, { maxKeys: 4, noNullPrototype: true });

  test('JSON: installing and uninstalling gives the same bytes', () => {
    fc.assert(
      fc.property(
        servers,
        fc.constantFrom(0, 1, 2, 4, '\t'),
        fc.constantFrom('\n', '\r\n', ' // note\n', '\n/* note */\n'),
        fc.boolean(),
        fc.constantFrom('', '\n', '\r\n\r\n'),
        (entries, indent, newline, hasMark, end) => {
          const json = JSON.stringify({ theme: 'dark', mcpServers: entries, last: [1] }, null, indent);
          const text = (hasMark ? '\uFEFF' : '') + json.replaceAll('\n', newline) + end;
          const { text: installed, changed } = install('mcp.json', text);
          const { rows } = findAllServers(parseConfigDocument('mcp.json', installed));
          expect(rows.every((row) => isWrapped(row.entry))).toBe(true);
          expect(uninstall('mcp.json', installed, changed).text).toBe(text);
          expect(parseConfigDocument('mcp.json', uninstall('mcp.json', installed).text).root).toEqual(
            parseConfigDocument('mcp.json', text).root,
          );
        },
      ),
      { numRuns: 150 },
    );
  });

  test('TOML: installing and uninstalling gives the same bytes', () => {
    const quote = (text: string): string => JSON.stringify(text).replaceAll('\u007F', String.raw`\u007f`);
    const toToml = (
      [name, { command, args, env, url, headers }]: [
        string,
        {
          readonly command?: string;
          readonly args?: readonly string[];
          readonly env?: object;
          readonly url?: string;
          readonly headers?: object;
        },
      ],
      eol: string,
    ): string =>
      [
        `[mcp_servers.${quote(name)}] # ${name.replaceAll(/\W/g, '')}`,
        ...(command === undefined ? [`url = ${quote(url ?? '')}`] : [`command = ${quote(command)}`]),
        ...(args === undefined ? [] : ['args = [', ...args.map((arg) => `  ${quote(arg)},`), ']']),
        'enabled = true',
        ...Object.entries({ env, http_headers: headers }).flatMap(([table, values]) =>
          values === undefined
            ? []
            : [
                '',
                `[mcp_servers.${quote(name)}.${table}]`,
                ...Object.entries(values).map(([a, b]) => `${a} = ${quote(String(b))}`),
              ],
        ),
        '',
      ].join(eol);
    fc.assert(
      fc.property(servers, fc.constantFrom('\n', '\r\n'), fc.boolean(), (entries, eol, isCut) => {
        const tables = Object.entries(entries).map((each) => toToml(each, eol));
        const whole = [`model = "x"${eol}`, ...tables, ...(isCut ? [] : [`[tui]${eol}theme = 1${eol}`])].join(
          eol,
        );
        const text = isCut ? whole.trimEnd() : whole;
        if (tables.length === 0) return;
        const { text: installed, changed, left } = install('config.toml', text);
        expect(left).toEqual([]);
        expect(uninstall('config.toml', installed, changed).text).toBe(text);
        const { rows } = findAllServers(parseConfigDocument('config.toml', installed));
        expect(rows.every((row) => isWrapped(row.entry))).toBe(true);
      }),
      { numRuns: 150 },
    );
  });
});
