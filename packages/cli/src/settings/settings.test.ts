/** Settings of the server from the command line, the environment and the configuration file. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { compileJsonSchema } from 'quittance/internal/tool/schema';
import { parseCommandLine } from '../command-line.ts';
import type { Given } from '../command.ts';
import { serveCommand } from '../commands/serve.ts';
import type { Environment } from '../terminal.ts';
import { createConfigSchema } from '../commands/config-schema.ts';
import { layerOptions } from './layered-options.ts';
import { tryConfigFile } from './read-config-file.ts';
import { serveSettings } from './serve-settings.ts';
import type { Setting, Settings } from './setting.ts';
import { settingKey, settingSections, settingVariable } from './setting.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-settings-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const config = (text: string): string => {
  const path = join(folder, `${++files}.yaml`);
  writeFileSync(path, text);
  return path;
};
const settings: Settings = {
  ...serveSettings,
  'sign-in-issuer': { value: 'URL', help: 'Issuer', key: 'sign_in.issuer' },
  'sign-in-roles': {
    value: 'JSON',
    help: 'Roles',
    key: 'sign_in.roles',
    kind: 'json',
    schema: { type: 'object', additionalProperties: { type: 'string' } },
  },
  loud: { help: 'Loud' },
  wait: { value: 'SPAN', help: 'Wait', kind: 'span' },
};
const command = { name: 'serve', options: { ...serveCommand.options, ...settings } };
const resolve = (args: readonly string[], env: Environment = {}): Given =>
  layerOptions(parseCommandLine(command, args), env, settings).given;
const problemsOf = (text: string): readonly string[] =>
  tryConfigFile(config(text), settings).problems.map(({ line, message }) => `${line}: ${message}`);

describe('precedence', () => {
  test('the command line wins over the environment, and the environment over the file', () => {
    const path = config('port: 1\nhost: file\npublic_url: https://file\nallow_host: [a, b]\n');
    const given = resolve(['--config', path, '--port', '3'], {
      QUITTANCE_PORT: '2',
      QUITTANCE_HOST: 'env',
      QUITTANCE_ALLOW_HOST: 'c',
    });
    expect(['port', 'host', 'public-url'].map((name) => given.text(name))).toEqual([
      '3',
      'env',
      'https://file',
    ]);
    expect(given.list('allow-host')).toEqual(['c']);
    expect(given.has('contracts')).toBe(false);
  });

  test('QUITTANCE_CONFIG names the file, and --config another one', () => {
    const [first, second] = [config('port: 1'), config('port: 2')];
    expect(resolve([], { QUITTANCE_CONFIG: first }).text('port')).toBe('1');
    expect(resolve(['--config', second], { QUITTANCE_CONFIG: first }).text('port')).toBe('2');
  });

  test('an empty variable counts as missing, and a switch can be switched off by a variable', () => {
    const path = config('loud: true\nhost: here');
    expect(resolve(['--config', path], { QUITTANCE_HOST: '' }).text('host')).toBe('here');
    expect(resolve(['--config', path]).has('loud')).toBe(true);
    expect(resolve(['--config', path], { QUITTANCE_LOUD: 'no' }).has('loud')).toBe(false);
  });

  const scalars = Object.entries(serveSettings).filter(([, { kind }]) => kind !== 'json');
  test.each(scalars)('%s has an option, a variable and a key', (name, setting) => {
    const { value } = setting;
    const sample = sampleOf(setting);
    const [first = '', second] = settingKey(name, setting).split('.');
    const text = second === undefined ? `${first}: ${sample}` : `${first}: { ${second}: ${sample} }`;
    const found = [
      resolve(['--config', config(text)]),
      resolve([], { [settingVariable(name)]: sample }),
      resolve(value === undefined ? [`--${name}`] : [`--${name}`, sample]),
    ].map((given) => [given.has(name), value === undefined ? sample : given.text(name)]);
    expect(found).toEqual([
      [true, sample],
      [true, sample],
      [true, sample],
    ]);
  });

  const lists = Object.keys(serveSettings).filter((name) => serveSettings[name]?.multiple === true);
  test.each(lists)('%s takes a JSON list from its variable', (name) => {
    expect(resolve([], { [settingVariable(name)]: '["a,b","c"]' }).list(name)).toEqual(['a,b', 'c']);
  });
});

function sampleOf({ value, choices, kind }: Setting): string {
  if (value === undefined) return 'true';
  return choices?.[0] ?? (kind === 'integer' ? '7' : kind === 'span' ? '7s' : '/x');
}

describe('the file', () => {
  test('resolves relative files from its folder, and leaves URLs alone', () => {
    const path = config('contracts: rules.yaml\nledger: sqlite:data/ledger.db\ntools: /t.json');
    const given = resolve(['--config', path]);
    expect(given.list('contracts')).toEqual([join(folder, 'rules.yaml')]);
    expect(given.text('ledger')).toBe(`sqlite:${join(folder, 'data/ledger.db')}`);
    expect(given.text('tools')).toBe('/t.json');
    const url = 'postgres://ada@db/quittance';
    expect(resolve(['--config', config(`ledger: ${url}`)]).text('ledger')).toBe(url);
  });

  test('may be JSON, and may have comments only', () => {
    expect(resolve(['--config', config('{"port": 8080, "sign_in": {"issuer": "x"}}')]).text('port')).toBe(
      '8080',
    );
    expect(resolve(['--config', config('# nothing yet\n\n')]).has('port')).toBe(false);
  });

  test('refuses unknown keys with the nearest name and its line', () => {
    expect(problemsOf('port: 1\npublic_ur: x')).toEqual([
      expect.stringMatching(/^2: Unknown field "public_ur" .* Did you mean public_url\?/),
    ]);
    expect(problemsOf('sign_in:\n  isuer: x')).toEqual([
      expect.stringMatching(/^2: .*Did you mean issuer\?/),
    ]);
  });

  test('reports every wrong value', () => {
    const problems = problemsOf(
      'port: much\nloud: maybe\nwait: soon\nallow_host: [1]\nsign_in: { roles: { ada: 7 }, issuer: [] }',
    );
    expect(problems.map((problem) => problem.split(':')[0])).toEqual(['1', '4', '2', '3', '5', '5']);
    expect(problemsOf('port: 1\nport: 2')).toHaveLength(1);
    expect(problemsOf('just text')).toHaveLength(1);
    expect(() => resolve(['--config', config('prot: 1')])).toThrow('Did you mean port?');
    expect(() => resolve(['--config', join(folder, 'none.yaml')])).toThrow('There is no configuration file');
  });

  test('takes objects, also from the environment, and checks them by their schema', () => {
    const roles = '{"ada":"admin"}';
    expect(resolve(['--config', config(`sign_in: { roles: ${roles} }`)]).text('sign-in-roles')).toBe(roles);
    expect(resolve([], { QUITTANCE_SIGN_IN_ROLES: roles }).text('sign-in-roles')).toBe(roles);
    expect(() => resolve([], { QUITTANCE_SIGN_IN_ROLES: '{"ada":1}' })).toThrow(
      'QUITTANCE_SIGN_IN_ROLES: ada',
    );
    expect(() => resolve(['--sign-in-roles', '{'])).toThrow('--sign-in-roles is not valid JSON');
  });

  test('matches its JSON Schema: what the schema refuses, the reader refuses', () => {
    const check = compileJsonSchema(createConfigSchema(settings));
    const good = {
      port: 1,
      allow_host: 'a',
      contracts: ['a'],
      sign_in: { issuer: 'x' },
      wait: '5m',
      loud: true,
    };
    expect(check(good)).toEqual([]);
    expect(problemsOf(JSON.stringify(good))).toEqual([]);
    const wrong = [
      { prot: 1 },
      { port: 'x' },
      { port: 1.5 },
      { allow_host: [1] },
      { sign_in: { isuer: 'x' } },
      { sign_in: 'x' },
      { wait: 'soon' },
      { loud: 'yes' },
      { host: '' },
      [],
    ];
    expect(wrong.filter((bad) => check(bad).length === 0)).toEqual([]);
    expect(wrong.filter((bad) => problemsOf(JSON.stringify(bad)).length === 0)).toEqual([]);
  });

  test('has no section with the name of a key', () => {
    const [top, ...sections] = [...settingSections(serveSettings)];
    for (const [section] of sections) expect(top?.[1].has(section)).toBe(false);
  });
});

test('a variable with a wrong value is refused with its name', () => {
  expect(() => resolve([], { QUITTANCE_LOUD: 'maybe' })).toThrow('QUITTANCE_LOUD is true or false');
  expect(() => resolve([], { QUITTANCE_ALLOW_HOST: '[1]' })).toThrow('QUITTANCE_ALLOW_HOST');
});
