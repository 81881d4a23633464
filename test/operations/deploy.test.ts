/**
 * The files for a service, checked statically: no container engine and no service manager runs here. Every file they copy,
 * every command, option, variable and user they name must exist.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { parseCommandLine } from '../../packages/cli/src/command-line.ts';
import { serveCommand } from '../../packages/cli/src/commands/serve.ts';
import { layerOptions } from '../../packages/cli/src/settings/layered-options.ts';
import { serveSettings } from '../../packages/cli/src/settings/serve-settings.ts';
import { settingVariable } from '../../packages/cli/src/settings/setting.ts';
import { parseSpan } from '../../packages/cli/src/time-text.ts';
import { readPackages } from '../../scripts/packages.ts';
import { root } from '../sources.ts';

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
};
/** What a setting of the server may need: the peers of its packages. */
const peers = new Set(
  readPackages().flatMap(({ manifest: { peerDependencies } }) => Object.keys(peerDependencies ?? {})),
);
const variables = [...Object.keys(serveSettings).map(settingVariable), 'QUITTANCE_CONFIG', 'NODE_ENV'];

/** The options that the service gets, or an error as the program prints it. */
const readServe = (args: readonly string[], env: Readonly<Record<string, string>>): void => {
  layerOptions(parseCommandLine(serveCommand, args), env, serveSettings);
};

describe('the Dockerfile', () => {
  const text = readFileSync(join(root, 'packages/cli/deploy/Dockerfile'), 'utf8');
  const lines = text
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const instructions = lines.map((line) => {
    const [, name = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    return { name, rest };
  });
  const of = (name: string): readonly string[] =>
    instructions.filter((each) => each.name === name).map(({ rest }) => rest);
  const last = instructions.slice(instructions.findLastIndex(({ name }) => name === 'FROM'));
  const env = Object.fromEntries(
    last
      .filter(({ name }) => name === 'ENV')
      .flatMap(({ rest }) => rest.split(/\s+/))
      .map((pair) => pair.split('=') as [string, string]),
  );

  test('has only instructions that exist, in several stages', () => {
    const known =
      'ARG FROM WORKDIR COPY RUN ENV USER VOLUME EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD'.split(' ');
    expect(instructions.filter(({ name }) => !known.includes(name))).toEqual([]);
    expect(of('FROM').length).toBeGreaterThanOrEqual(3);
    const [, major = '0'] = /^NODE=(\d+)/.exec(of('ARG')[0] ?? '') ?? [];
    expect(Number(major)).toBeGreaterThanOrEqual(Number(/\d+/.exec(manifest.engines.node)?.[0]));
  });

  test('copies files that exist, and the result of earlier stages', () => {
    const stages = of('FROM').flatMap((from) => / AS (\w+)$/.exec(from)?.[1] ?? []);
    for (const copy of of('COPY')) {
      const from = /--from=(\w+)/.exec(copy)?.[1];
      const sources = copy
        .split(/\s+/)
        .filter((word) => !word.startsWith('--'))
        .slice(0, -1);
      const missing = from === undefined ? sources.filter((path) => !existsSync(join(root, path))) : [];
      expect([copy, missing, from === undefined || stages.includes(from)]).toEqual([copy, [], true]);
    }
  });

  test('runs scripts and installs packages that exist', () => {
    const scripts = of('RUN').flatMap((run) =>
      [...run.matchAll(/npm run (\S+)/g)].map(([, name = '']) => name),
    );
    expect(scripts.filter((name) => manifest.scripts[name] === undefined)).toEqual([]);
    const [installed = ''] = of('RUN').filter((run) => run.includes('npm install'));
    const names = installed.slice(installed.indexOf('.tgz ') + 5).split(' ');
    expect(names.filter((name) => !peers.has(name))).toEqual([]);
    // Every optional package that a setting of the server can need, except telemetry, which the host loads.
    expect(names.toSorted()).toEqual(['nodemailer', 'openid-client', 'pg']);
  });

  test('runs the program as a user without rights, with settings that it knows', () => {
    const user = last.findLast(({ name }) => name === 'USER')?.rest ?? 'root';
    expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    const after = last.slice(last.findLastIndex(({ name }) => name === 'USER'));
    expect(after.filter(({ name }) => name === 'RUN')).toEqual([]);
    expect(Object.keys(env).filter((name) => !variables.includes(name))).toEqual([]);
    const entry = JSON.parse(last.find(({ name }) => name === 'ENTRYPOINT')?.rest ?? '[]') as string[];
    expect(entry).toEqual(['node', 'node_modules/@quittance/cli/dist/main.js']);
    const [command, ...args] = JSON.parse(last.find(({ name }) => name === 'CMD')?.rest ?? '[]') as string[];
    expect(command).toBe(serveCommand.name);
    expect(() => readServe(args, env)).not.toThrow();
  });

  test('is healthy only while the server is ready, and gets time to stop', () => {
    const health = last.find(({ name }) => name === 'HEALTHCHECK')?.rest ?? '';
    const [, , script = ''] = JSON.parse(health.slice(health.indexOf('['))) as string[];
    expect(script).toContain('/readyz');
    expect(() => new Script(script)).not.toThrow();
    expect(parseSpan(env['QUITTANCE_STOP_TIMEOUT'] ?? '', 'stop-timeout')).toBeLessThan(30_000);
    expect(readFileSync(join(root, 'packages/cli/deploy/Dockerfile.dockerignore'), 'utf8')).toMatch(
      /^\*\*\/\*\.key$/m,
    );
  });
});

describe('the systemd unit', () => {
  const unit = new Map<string, string[]>();
  let section = '';
  for (const line of readFileSync(join(root, 'packages/cli/deploy/quittance.service'), 'utf8').split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    section = /^\[(\w+)\]$/.exec(line)?.[1] ?? section;
    const [, name, value = ''] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (name !== undefined)
      unit.set(`${section}.${name}`, [...(unit.get(`${section}.${name}`) ?? []), value]);
  }
  const value = (name: string): string => unit.get(`Service.${name}`)?.at(-1) ?? '';

  test('starts the server with options and variables that it knows', () => {
    const [program, command, ...args] = value('ExecStart').split(' ');
    expect([program, command]).toEqual(['/usr/bin/quittance', serveCommand.name]);
    const pairs = value('Environment')
      .split(' ')
      .map((pair) => pair.split('=') as [string, string]);
    expect(pairs.map(([name]) => name).filter((name) => !variables.includes(name))).toEqual([]);
    const { QUITTANCE_CONFIG: config, ...env } = Object.fromEntries(pairs);
    expect(config).toBe('/etc/quittance/quittance.yaml');
    expect(() => readServe(args, env)).not.toThrow();
  });

  test('runs without rights, and waits longer for a stop than the server does', () => {
    expect(value('User')).toBe('quittance');
    for (const name of ['NoNewPrivileges', 'PrivateTmp', 'PrivateDevices', 'ProtectHome', 'LockPersonality'])
      expect([name, value(name)]).toEqual([name, 'yes']);
    expect([value('ProtectSystem'), value('CapabilityBoundingSet'), value('UMask')]).toEqual([
      'strict',
      '',
      '0077',
    ]);
    expect(Number(value('TimeoutStopSec'))).toBeGreaterThan(30);
    expect(value('SuccessExitStatus')).toBe('143');
    // The ledger is in the folder that the unit may write, and the configuration file may name another one.
    expect(value('WorkingDirectory')).toBe(`/var/lib/${value('StateDirectory')}`);
    const settings = Object.keys(serveSettings).map(settingVariable);
    expect(settings.filter((name) => value('Environment').includes(`${name}=`))).toEqual([]);
  });

  test('lets a refused system call fail, and does not refuse those that the server makes', () => {
    expect(value('SystemCallErrorNumber')).toBe('EPERM');
    const refused = (unit.get('Service.SystemCallFilter') ?? []).filter((each) => each.startsWith('~'));
    // setpriority is in this set: threads lower their own priority.
    expect(refused.filter((each) => each.includes('@resources'))).toEqual([]);
  });
});
