import { mkdirSync, mkdtempSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ReadMcpConfigOptions } from '../../../packages/mcp/src/config/read-mcp-config.ts';
import { readMcpConfig } from '../../../packages/mcp/src/config/read-mcp-config.ts';

import { clientFile, secret } from './client-files.ts';

const tempFolder = (): string => mkdtempSync(join(tmpdir(), 'quittance-mcp-'));

const env = {
  API_KEY: 'key-1',
  FIGMA_OAUTH_TOKEN: 'figma-1',
  REGION: 'eu',
  QUITTANCE_INPUT_PERPLEXITY_KEY: 'p-1',
};
const options: ReadMcpConfigOptions = { env, home: '/home/ada' };

function write(text: string, name = 'mcp.json'): string {
  const path = join(tempFolder(), name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const readClient = (client: string, more: Partial<ReadMcpConfigOptions> = {}) => {
  const { name, text } = clientFile(client);
  return readMcpConfig(write(text, name), { ...options, ...more });
};

/** Reads a text and returns the message of the refusal. */
async function refusal(
  text: string,
  name = 'mcp.json',
  more: Partial<ReadMcpConfigOptions> = {},
): Promise<string> {
  const path = write(text, name);
  const error: unknown = await readMcpConfig(path, { ...options, ...more }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ code: 'config.invalid' });
  return (error as Error).message.replaceAll(dirname(path), '');
}

const servers = (entries: Record<string, unknown>, more: object = {}): string =>
  JSON.stringify({ mcpServers: entries, ...more }, null, 2);

describe('the configuration of a client is read unchanged', () => {
  test('Claude Desktop: a byte order mark, CRLF, backslashes, docker with a token', async () => {
    const { servers: found, observe } = await readClient('Claude Desktop');
    expect(observe).toBe(false);
    expect(found).toEqual([
      {
        name: 'filesystem',
        type: 'stdio',
        command: String.raw`C:\Program Files\nodejs\npx.cmd`,
        args: ['-y', '@modelcontextprotocol/server-filesystem', String.raw`C:\Users\ada\Desktop`],
        env: {},
        isTrusted: false,
        isDisabled: false,
        tools: {},
      },
      expect.objectContaining({ name: 'github', env: { GITHUB_PERSONAL_ACCESS_TOKEN: secret } }),
    ]);
  });

  test('Claude Code: variables with and without a default, http and sse', async () => {
    const { servers: found } = await readClient('Claude Code, a project');
    expect(found).toMatchObject([
      { name: 'shared-server', command: '/path/to/server' },
      { name: 'api', type: 'http', headers: { Authorization: 'Bearer key-1' } },
      { name: 'asana', type: 'sse' },
    ]);
    expect(found[1]).toMatchObject({ url: new URL('https://api.example.com/mcp') });
  });

  test('Claude Code: servers of the user, and of one project', async () => {
    const names = async (project?: string): Promise<string[]> => {
      const read = await readClient('Claude Code, the file', project === undefined ? {} : { project });
      return read.servers.map(({ name }) => name);
    };
    expect(await names()).toEqual(['sentry']);
    expect(await names('/home/ada/shop')).toEqual(['sentry', 'db']);
    expect(await names('/home/ada/elsewhere')).toEqual(['sentry']);
  });

  test('Cursor: its variables', async () => {
    const { servers: found } = await readClient('Cursor', { project: '/work/shop' });
    expect(found).toMatchObject([
      { args: ['/work/shop/tools/mcp_server.py', '--home', '/home/ada'], env: { API_KEY: 'key-1' } },
      { type: 'http', headers: { Authorization: 'Bearer key-1' } },
    ]);
  });

  test('VS Code: inputs, an environment file, comments and trailing commas', async () => {
    const { name, text } = clientFile('VS Code');
    const path = write(text, name);
    writeFileSync(join(dirname(path), '..', '.env'), 'FROM_FILE=1\nPERPLEXITY_API_KEY=overridden\n');
    const { servers: found } = await readMcpConfig(path, options);
    expect(found).toMatchObject([
      {
        args: ['-y', 'server-perplexity-ask', '--region=eu'],
        env: { PERPLEXITY_API_KEY: 'p-1', FROM_FILE: '1' },
      },
      { name: 'github', type: 'http' },
      { name: 'playwright', type: 'stdio' },
    ]);
  });

  test('Copilot: the type "local"', async () => {
    const { servers: found } = await readClient('Copilot');
    expect(found).toMatchObject([{ type: 'stdio' }, { type: 'http', headers: { CONTEXT7_API_KEY: secret } }]);
  });

  test('Codex: tables, variables by name, headers and tokens from the environment', async () => {
    const { servers: found } = await readClient('Codex');
    expect(found).toMatchObject([
      {
        name: 'context7',
        args: ['-y', '@upstash/context7-mcp'],
        env: { API_KEY: 'key-1', REGION: 'eu', MY_ENV_VAR: '[mcp_servers.fake]' },
      },
      { headers: { 'X-Figma-Region': 'us-east-1', Authorization: 'Bearer figma-1' } },
      { name: 'chrome devtools', isDisabled: true, headers: { 'X-Key': 'key-1' } },
    ]);
  });

  test('Copilot and Codex: lists of tools that a client may see', async () => {
    const text = servers({ a: { command: 'x', tools: ['list'] }, b: { command: 'x', tools: ['*'] } });
    expect((await readMcpConfig(write(text), options)).servers.map(({ onlyTools }) => onlyTools)).toEqual([
      ['list'],
      undefined,
    ]);
    const toml = '[mcp_servers.a]\ncommand = "x"\nenabled_tools = ["a"]\ndisabled_tools = ["b"]\n';
    const codex = await readMcpConfig(write(toml, 'config.toml'), options);
    expect(codex.servers).toMatchObject([{ onlyTools: ['a'], hiddenTools: ['b'] }]);
  });

  test('a file behind a link', async () => {
    const path = write(servers({ a: { command: 'a' } }));
    symlinkSync(path, `${path}.link.json`);
    expect((await readMcpConfig(`${path}.link.json`, options)).servers).toHaveLength(1);
  });
});

describe('settings of Quittance', () => {
  const entry = { command: 'node' };

  test('stand in the file, in the server, or in a file of their own', async () => {
    const own = write(
      JSON.stringify({
        observe: true,
        askInClient: ['b'],
        mediaLimit: 5_000,
        servers: { a: { tools: { wipe: { mode: 'destructive' } } } },
      }),
      'own.json',
    );
    const text = servers(
      { a: { ...entry, quittance: { trusted: true, tools: { pay: { idempotencyKey: 'id' } } } }, b: entry },
      {
        quittance: {
          askInClient: ['a'],
          textLimit: 20_000,
          mediaLimit: 9_000,
          servers: { b: { tools: { look: { mode: 'read', ask: 'in_client' } } } },
        },
      },
    );
    expect(await readMcpConfig(write(text), { ...options, settings: own })).toMatchObject({
      observe: true,
      askInClient: ['a', 'b'],
      textLimit: 20_000,
      mediaLimit: 5_000,
      servers: [
        {
          name: 'a',
          isTrusted: true,
          tools: { pay: { idempotencyKey: 'id' }, wipe: { mode: 'destructive' } },
        },
        { name: 'b', isTrusted: false, tools: { look: { mode: 'read', ask: 'in_client' } } },
      ],
    });
  });

  test.each([
    [
      { quittance: { obseve: true } },
      'mcp.json:7: quittance has an unknown key. No key named "obseve". Known keys: observe,',
    ],
    [{ quittance: { servers: { z: {} } } }, 'quittance.servers.z names no server of this file. Servers: a.'],
    [{ quittance: { observe: 'yes' } }, 'quittance.observe is not true or false.'],
    [{ quittance: { textLimit: '9' } }, 'quittance.textLimit is not a limit.'],
    [{ quittance: { mediaLimit: 0 } }, 'quittance.mediaLimit is not a limit.'],
    [{ quittance: { askInClient: 'all' } }, 'quittance.askInClient is not a list of texts.'],
    [{ quittance: { servers: { a: { tools: { x: { mode: 'reed' } } } } } }, 'a.tools.x.mode is not a mode.'],
    [{ quittance: { servers: { a: { tools: { x: { ask: true } } } } } }, 'a.tools.x.ask is not "in_client".'],
    [{ quittance: [] }, 'quittance is not an object.'],
  ])('are refused if they are misspelt: %j', async (more, message) => {
    expect(await refusal(servers({ a: entry }, more))).toContain(message);
  });

  test('keys of other programs are ignored', async () => {
    const text = servers(
      { a: { ...entry, autoApprove: ['x'], timeout: 5, gallery: true } },
      { theme: 'dark' },
    );
    expect((await readMcpConfig(write(text), options)).servers).toHaveLength(1);
  });
});

describe('what cannot be understood is not started', () => {
  test.each([
    ['{"mcpServers": {"a": {"command": "x",,}}}', '/mcp.json:1: not valid JSON'],
    ['[]', '/mcp.json:1: expected a JSON object'],
    ['{}', '/mcp.json:1: The file has no servers'],
    ['{"mcpServers": {}, "servers": {}}', 'servers is a second list of servers.'],
    ['{"mcpServers": []}', 'mcpServers is not an object.'],
    ['{"mcpServers": {"a": "npx"}}', 'mcpServers.a is not an object.'],
    ['{"servers": {"a": {"command": "x", "sandboxEnabled": true}}}', 'runs in a sandbox of its client'],
    ['{"mcpServers": {"a": {}}}', 'has neither a command nor a url.'],
    ['{"mcpServers": {"a": {"command": "x", "url": "https://a.b"}}}', 'has both a command and a url.'],
    ['{"mcpServers": {"a": {"command": ["npx"]}}}', 'mcpServers.a.command is not a text.'],
    ['{"mcpServers": {"a": {"command": "x", "args": "-y"}}}', 'mcpServers.a.args is not a list of texts.'],
    ['{"mcpServers": {"a": {"command": "x", "env": {"K": {}}}}}', 'mcpServers.a.env.K is not a text.'],
    ['{"mcpServers": {"a": {"command": "x", "env": {"A=B": "1"}}}}', 'has a name that no variable can have.'],
    ['{"mcpServers": {"a": {"command": "x", "type": "http"}}}', 'type does not fit the entry.'],
    ['{"mcpServers": {"a": {"url": "https://a.b", "type": "ws"}}}', 'type is not a known transport.'],
    ['{"mcpServers": {"a": {"url": "a.b/mcp"}}}', 'mcpServers.a.url is not a URL.'],
    [
      '{"mcpServers": {"a": {"url": "https://a.b", "headers": {"X": "a\\r\\nB: c"}}}}',
      'has a header that HTTP',
    ],
    ['{"mcpServers": {"a": {"url": "https://a.b", "headersHelper": "x.sh"}}}', 'only its client can do.'],
    ['{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', 'has the same key twice'],
    [
      '{"mcpServers": {"a": {"command": "x", "envFile": "none.env"}}}',
      'names no environment file that can be read.',
    ],
  ])('%s', async (text, message) => {
    expect(await refusal(text)).toContain(message);
  });

  test('the line is that of the problem', async () => {
    expect(await refusal(servers({ a: { command: 'x', args: ['${NOT_SET}'] } }))).toBe(
      '/mcp.json:6: mcpServers.a.args.0 needs the environment variable NOT_SET, which is not set. Set NOT_SET, or write a default.',
    );
    const toml = '[mcp_servers.a]\ncommand = "x"\n\n[mcp_servers.b]\ncommand = "x"\ncwd = 5\n';
    expect(await refusal(toml, 'config.toml')).toBe(
      '/config.toml:6: mcp_servers.b.cwd is not a text. Write it in quotes.',
    );
    expect(await refusal('[mcp_servers.a\n', 'config.toml')).toContain('/config.toml:1: not valid TOML.');
  });

  test('an input of VS Code without a value names the variable to set', async () => {
    const text =
      '{"inputs": [{"id": "api-key"}], "servers": {"a": {"command": "x", "args": ["${input:api-key}"]}}}';
    expect(await refusal(text)).toContain('Set the variable QUITTANCE_INPUT_API_KEY for this program.');
  });

  test('a disabled server need not be complete', async () => {
    const text = servers({ a: { command: '${NOT_SET}', disabled: true }, b: { command: 'x' } });
    expect((await readMcpConfig(write(text), options)).servers.map(({ name }) => name)).toEqual(['b']);
  });
});

describe('a hostile configuration', () => {
  test('cannot reach a prototype', async () => {
    for (const text of [
      '{"__proto__": {"mcpServers": {"a": {"command": "x"}}}}',
      '{"mcpServers": {"__proto__": {"command": "x"}}}',
      '{"mcpServers": {"a": {"__proto__": {"command": "x"}}}}',
      '{"mcpServers": {"a": {"command": "x", "env": {"__proto__": "y"}}}}',
    ])
      await refusal(text);
    await refusal('[mcp_servers.__proto__]\ncommand = "x"\n', 'config.toml');
    const text =
      '{"mcpServers": {"constructor": {"command": "x", "quittance": {"tools": {"__proto__": {"mode": "read"}}}}}}';
    const { servers: found } = await readMcpConfig(write(text), options);
    expect(found[0]?.name).toBe('constructor');
    expect(found[0]?.tools['toString']).toBeUndefined();
    expect(({} as Record<string, unknown>)['mode']).toBeUndefined();
  });

  test('cannot hide characters: NUL, invisible names, terminal escapes in errors', async () => {
    expect(await refusal('{"mcpServers": {"a": {"command": "x\\u0000y"}}}')).toContain(
      'has a NUL character.',
    );
    expect(await refusal('{"mcpServers": {}}\0')).toContain('is not UTF-8 text.');
    expect(await refusal('{"mcpServers": {"a\\u200b": {"command": "x"}}}')).toContain('name cannot be used');
    expect(await refusal('{"mcpServers": {"\\u001b[2J": {"command": "x"}}}')).not.toContain('\u001B');
    expect(
      await refusal('{"mcpServers": {"a": {"url": "https://a.b", "env": {}, "type": "\\u001b[2J"}}}'),
    ).not.toContain('\u001B');
  });

  test('cannot exhaust the program: 50 MB, deep nesting, a pipe', async () => {
    const large = write('{}');
    truncateSync(large, 50 * 1024 * 1024);
    await expect(readMcpConfig(large, options)).rejects.toThrow('A configuration may have up to');
    expect(await refusal('['.repeat(200_000))).toMatch(/nested too deeply|not valid JSON/);
    expect(await refusal(`{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`)).toContain(
      'nested too deeply',
    );
    await refusal(`a = ${'['.repeat(50_000)}${']'.repeat(50_000)}`, 'config.toml');
    const pipe = join(tempFolder(), 'mcp.json');
    execFileSync('mkfifo', [pipe]);
    await expect(readMcpConfig(pipe, options)).rejects.toThrow('is not a regular file');
  });

  test('cannot expand a variable within a variable, or the value of one', async () => {
    expect(await refusal(servers({ a: { command: '${A:-${B}}' } }))).toContain(
      'a variable within a variable',
    );
    expect(await refusal(servers({ a: { command: '${constructor}' } }))).toContain(
      'constructor, which is not set',
    );
    expect(await refusal(servers({ a: { command: '${command:run}' } }))).toContain('unknown variable');
    const text = servers({ a: { command: 'x', args: ['${LOOP}'] } });
    const read = await readMcpConfig(write(text), { ...options, env: { LOOP: '${LOOP}${API_KEY}' } });
    expect(read.servers[0]).toMatchObject({ args: ['${LOOP}${API_KEY}'] });
  });

  test('secrets are not in errors', async () => {
    for (const entry of [
      { url: `https://user:${secret}@example.com/mcp` },
      { url: `http://example.com/mcp?key=${secret}` },
      { url: `nonsense ${secret}` },
      { url: 'https://a.b', headers: { Authorization: `Bearer ${secret}\n` } },
      { command: 'x', args: [secret, 5] },
      { command: 'x', env: { TOKEN: [secret] } },
    ])
      expect(await refusal(servers({ a: entry }))).not.toContain(secret);
    expect(await refusal(`[mcp_servers.a]\nbearer_token = "${secret}\n`, 'c.toml')).not.toContain(secret);
    expect(await refusal(`{"mcpServers": {"a": {"env": {"T": "${secret}" "U"}}}}`)).not.toContain(secret);
  });
});
