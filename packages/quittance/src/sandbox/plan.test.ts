import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { contractsFromYamlString } from '../contracts/from-yaml.ts';
import type { OwnFile } from '../policy/own-files/own-file.ts';
import { realPath } from '../runtime/own-files.ts';
import { createAnchors } from './anchors.ts';
import { toBubblewrapArguments } from './bubblewrap-arguments.ts';
import {
  defaultLimits,
  planProtects,
  planSandbox,
  planShows,
  type PlanInput,
  type SandboxPlan,
} from './plan.ts';

let folder: string;
let project: string;
beforeEach(() => {
  folder = realPath(mkdtempSync(join(tmpdir(), 'quittance-plan-')));
  project = join(folder, 'project');
  for (const path of ['.git/hooks', 'src/deep', 'state/.quittance'])
    mkdirSync(join(project, path), { recursive: true });
  writeFileSync(join(project, '.env'), 'secret');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const here = `{ id: here, type: sandbox, tools: [Bash], within: ['.'], not_within: [.git, .env, .npmrc], message: m }`;

const toContracts = (rules: readonly string[], workingDirectory: string | undefined = project) =>
  contractsFromYamlString(
    `apiVersion: edictum/v1\nkind: Ruleset\nmetadata: { name: box }\ndefaults: { mode: enforce }\nrules:\n${rules.map((rule) => `  - ${rule}`).join('\n')}\n`,
    workingDirectory === '' ? {} : { workingDirectory },
  );

const plan = (rules: readonly string[] = [here], more: Partial<PlanInput> = {}): SandboxPlan =>
  planSandbox({
    toolName: 'Bash',
    contracts: toContracts(rules),
    ownFiles: [],
    readOnly: [],
    environment: {},
    hostEnvironment: {},
    homeDirectory: folder,
    limits: defaultLimits,
    ...more,
  });

const ledgerAt = (path: string): OwnFile => ({
  path: join(project, path),
  kind: 'ledger',
  access: 'sealed',
  withCompanions: true,
});

/** Paths of the test, from its folder. */
const short = (path: string): string => path.replace(`${folder}/`, '');
const coversOf = (made: SandboxPlan): readonly string[] =>
  made.covers.map(({ kind, path }) => `${kind} ${short(path)}`);

describe('the rules of a tool', () => {
  test('hide the target of an excluded link, also after a call replaced the link', () => {
    rmSync(join(project, '.env'));
    writeFileSync(join(project, 'src/env'), 'secret');
    symlinkSync('src/env', join(project, '.env'));
    const more = { contracts: toContracts([here]), anchors: createAnchors() };
    expect(coversOf(plan([here], more))).toContain('hidden_file project/src/env');
    rmSync(join(project, '.env'));
    writeFileSync(join(project, '.env'), 'other');
    expect(coversOf(plan([here], more))).toEqual(
      expect.arrayContaining(['hidden_file project/.env', 'hidden_file project/src/env']),
    );
  });

  test('make the folder of the project writable, hide what is excluded, and watch what does not exist yet', () => {
    const made = plan();
    expect(made.writable.map(short)).toEqual(['project']);
    expect(coversOf(made)).toEqual(['hidden_file project/.env', 'hidden_folder project/.git']);
    expect(made.watched.map(({ path }) => short(path))).toEqual(['project/.npmrc']);
    expect(made.workingDirectory).toBe(project);
    expect(made.hosts).toEqual([]);
  });

  test('combine: folders must be in every rule, exclusions of one rule count, hosts are checked by each rule', () => {
    const made = plan([
      here,
      `{ id: src, type: sandbox, tools: ['B*'], within: [src, /srv], not_within: [src/deep], message: m }`,
      `{ id: net, type: sandbox, tools: [Bash], allows: { domains: ['*.example.com'] }, not_allows: { domains: [x.example.com] }, message: m }`,
      `{ id: other, type: sandbox, tools: [Other], within: [/opt], message: m }`,
    ]);
    expect(made.ruleIds).toEqual(['here', 'src', 'net']);
    expect(made.writable.map(short)).toEqual(['project/src']);
    expect(coversOf(made)).toEqual(['hidden_folder project/src/deep']);
    expect(made.hosts).toEqual([{ ruleId: 'net', allowed: ['*.example.com'], denied: ['x.example.com'] }]);
  });

  test('the rules of a tool without within make nothing writable', () => {
    const made = plan([
      `{ id: words, type: sandbox, tools: [Bash], allows: { commands: [ls] }, message: m }`,
    ]);
    expect([made.writable, made.workingDirectory]).toEqual([[], '/tmp']);
  });

  test('the rules of a tool with /tmp give the private folder, not the one of the host', () => {
    expect(
      plan([`{ id: t, type: sandbox, tools: [Bash], within: ['.', /tmp], message: m }`]).writable.map(short),
    ).toEqual(['project']);
  });

  test.each([
    [
      'no rule for the tool',
      [`{ id: x, type: sandbox, tools: [Other], within: ['.'], message: m }`],
      /No sandbox rule applies.*type: sandbox, tools: \[Bash\]/,
    ],
    [
      'only an observing rule',
      [`{ id: x, type: sandbox, mode: observe, tools: [Bash], within: ['.'], message: m }`],
      /only observe: x/,
    ],
    [
      'the root folder',
      [`{ id: x, type: sandbox, tools: [Bash], within: [/], message: m }`],
      /would make parts of \/ writable/,
    ],
    [
      'a system folder',
      [`{ id: x, type: sandbox, tools: [Bash], within: [/etc], message: m }`],
      /would make parts of \/etc writable/,
    ],
    [
      'a missing folder',
      [`{ id: x, type: sandbox, tools: [Bash], within: [gone], message: m }`],
      /gone, which does not exist/,
    ],
  ])('are refused with the remedy: %s', (_, rules, message) => {
    expect(() => plan(rules)).toThrow(message);
  });

  test('need a working directory for relative paths', () => {
    expect(() => plan([here], { contracts: toContracts([here], '') })).toThrow(/Pass workingDirectory/);
  });
});

describe('own files', () => {
  test('are hidden with their whole folder, and the folders above cannot be renamed', () => {
    const made = plan([here], { ownFiles: [ledgerAt('state/.quittance/ledger.db')] });
    expect(coversOf(made)).toEqual([
      'hidden_file project/.env',
      'hidden_folder project/.git',
      'pinned project/state',
      'hidden_folder project/state/.quittance',
    ]);
    expect(planShows(made, join(project, 'state/.quittance/ledger.db-wal'))).toBe(false);
    expect(planShows(made, join(project, 'src/a.ts'))).toBe(true);
    expect(planShows(made, join(folder, 'other'))).toBe(false);
    expect(planShows(made, folder)).toBe(true);
  });

  test('are hidden before they exist', () => {
    expect(coversOf(plan([here], { ownFiles: [ledgerAt('new/place/ledger.db')] }))).toContain(
      'hidden_folder project/new/place',
    );
  });

  test('own files of a contract stay readable, and cannot be written', () => {
    const path = join(project, 'src/rules.yaml');
    writeFileSync(path, '');
    const made = plan([here], {
      ownFiles: [{ path, kind: 'contract_file', access: 'read_only', withCompanions: false }],
    });
    expect(coversOf(made)).toEqual(
      expect.arrayContaining(['pinned project/src', 'read_only project/src/rules.yaml']),
    );
  });

  test('own files in a hidden folder need no cover of their own', () => {
    const path = join(project, 'state/.quittance/rules.yaml');
    writeFileSync(path, '');
    const made = plan([here], {
      ownFiles: [
        ledgerAt('state/.quittance/ledger.db'),
        { path, kind: 'contract_file', access: 'read_only', withCompanions: false },
      ],
    });
    expect(coversOf(made).filter((each) => each.includes('rules.yaml'))).toEqual([]);
  });

  test('next to files of the project are refused, with a better place', () => {
    expect(() => plan([here], { ownFiles: [ledgerAt('ledger.db')] })).toThrow(
      /Put it in a folder of its own: .*\.quittance\/ledger\.db/,
    );
  });

  test('own files with a second name are refused', () => {
    writeFileSync(join(project, 'state/.quittance/ledger.db.key'), 'k');
    linkSync(join(project, 'state/.quittance/ledger.db.key'), join(project, 'src/alias'));
    expect(() => plan([here], { ownFiles: [ledgerAt('state/.quittance/ledger.db')] })).toThrow(
      /ledger\.db\.key .*hard link/,
    );
  });

  test('behind a link inside the project are refused', () => {
    mkdirSync(join(folder, 'real'));
    symlinkSync(join(folder, 'real'), join(project, 'linked'));
    expect(() => plan([here], { ownFiles: [ledgerAt('linked/ledger.db')] })).toThrow(/through the link/);
  });

  test('own files in a folder that readOnly shows are refused', () => {
    mkdirSync(join(folder, 'keys'));
    const sealed = {
      path: join(folder, 'keys/ledger.db'),
      kind: 'ledger',
      access: 'sealed',
      withCompanions: true,
    } as const;
    expect(() => plan([here], { ownFiles: [sealed], readOnly: [join(folder, 'keys')] })).toThrow(
      /readOnly shows/,
    );
  });
});

describe('an excluded path', () => {
  test('an excluded path that is a link is hidden at its target, and the link is watched', () => {
    writeFileSync(join(project, 'src/env'), 'secret');
    rmSync(join(project, '.env'));
    symlinkSync('src/env', join(project, '.env'));
    const made = plan();
    expect(coversOf(made)).toContain('hidden_file project/src/env');
    expect(made.watched.find(({ path }) => path.endsWith('.env'))?.inode).toMatch(/^\d+:\d+$/);
  });

  test('an excluded path with a second name is refused', () => {
    linkSync(join(project, '.env'), join(project, 'copy'));
    expect(() => plan()).toThrow(/\.env is excluded and has a second name/);
  });
});

describe('a path of a rule', () => {
  test.each(['%2eenv', 'file:///srv/.env', '*.env', '.en[v]'])('is refused as %s', (text) => {
    expect(() =>
      plan([`{ id: x, type: sandbox, tools: [Bash], within: ['.'], not_within: ['${text}'], message: m }`]),
    ).toThrow(/takes plain paths/);
  });

  test('excludes existing names that differ in case, as the text rule does', () => {
    const made = plan([
      `{ id: x, type: sandbox, tools: [Bash], within: ['.'], not_within: [.ENV, SRC/Deep], message: m }`,
    ]);
    expect(coversOf(made)).toEqual(
      expect.arrayContaining(['hidden_file project/.env', 'hidden_folder project/src/deep']),
    );
  });
});

describe('a folder that a call replaced by a link', () => {
  const outside = (): string => {
    const path = join(folder, 'outside');
    mkdirSync(path);
    return path;
  };
  const nested = `{ id: x, type: sandbox, tools: [Bash], within: ['.', src], message: m }`;
  const wide = `{ id: wide, type: sandbox, tools: [Bash], within: ['.'], message: m }`;
  const narrow = `{ id: narrow, type: sandbox, tools: [read_file], within: [src], message: m }`;

  test('is refused where the same tool may write the folder around it', () => {
    rmSync(join(project, 'src'), { recursive: true });
    symlinkSync(outside(), join(project, 'src'));
    expect(() => plan([nested])).toThrow(/through the link .*project\/src/);
  });

  test('is pinned for a tool with wider rules, and refused for the one with narrow rules', () => {
    const more = { contracts: toContracts([wide, narrow]), anchors: createAnchors() };
    expect(coversOf(plan([wide], more))).toEqual(['pinned project/src']);
    expect(plan([wide], { ...more, toolName: 'read_file' }).writable.map(short)).toEqual(['project/src']);
    rmSync(join(project, 'src'), { recursive: true });
    symlinkSync(outside(), join(project, 'src'));
    expect(() => plan([wide], { ...more, toolName: 'read_file' })).toThrow(/through the link/);
    expect(coversOf(plan([wide], more))).toEqual([]);
    // Other rules are loaded, and none of them allows the wider folder now.
    expect(() => plan([wide], { ...more, contracts: toContracts([narrow]), toolName: 'read_file' })).toThrow(
      /through the link/,
    );
  });

  test('is refused if it leads elsewhere than when the rules were loaded', () => {
    symlinkSync(project, join(folder, 'current'));
    const contracts = toContracts([wide], join(folder, 'current'));
    const anchors = createAnchors();
    expect(plan([wide], { contracts, anchors }).writable.map(short)).toEqual(['project']);
    rmSync(join(folder, 'current'));
    symlinkSync(outside(), join(folder, 'current'));
    expect(() => plan([wide], { contracts, anchors })).toThrow(/when the rules were loaded/);
  });

  test('is refused in readOnly, whose parents are pinned before', () => {
    const readOnly = [join(project, 'src/deep')];
    expect(coversOf(plan([wide], { readOnly }))).toEqual([
      'pinned project/src',
      'read_only project/src/deep',
    ]);
    rmSync(join(project, 'src/deep'), { recursive: true });
    symlinkSync(outside(), join(project, 'src/deep'));
    expect(() => plan([wide], { readOnly })).toThrow(/through the link/);
  });
});

describe('read-only own files', () => {
  const file = (path: string): OwnFile => ({
    path: join(project, path),
    kind: 'contract_file',
    access: 'read_only',
    withCompanions: false,
  });

  test('behind a link inside the project are refused', () => {
    writeFileSync(join(project, 'src/rules.yaml'), '');
    symlinkSync('src/rules.yaml', join(project, 'rules.yaml'));
    expect(() => plan([here], { ownFiles: [file('rules.yaml')] })).toThrow(/through the link/);
  });

  test('read-only own files that do not exist are watched, and do not count as protected', () => {
    const made = plan([here], { ownFiles: [file('new.yaml')] });
    expect(made.watched.map(({ path }) => short(path))).toContain('project/new.yaml');
    expect(planProtects(made, file('new.yaml'))).toBe(false);
  });

  test('count as protected if they are covered', () => {
    writeFileSync(join(project, 'rules.yaml'), '');
    expect(planProtects(plan([here], { ownFiles: [file('rules.yaml')] }), file('rules.yaml'))).toBe(true);
    expect(planProtects(plan(), file('rules.yaml'))).toBe(false);
  });
});

describe('the environment of a command', () => {
  test('has a short list of the names of the host, and what the host gives', () => {
    const { environment } = plan([here], {
      environment: { API_URL: 'https://x.example' },
      hostEnvironment: {
        LANG: 'de',
        DATABASE_URL: 'postgres://u:p@h/d',
        GITHUB_TOKEN: 't',
        QUITTANCE_TOKEN: 't',
        LD_PRELOAD: '/x.so',
        PATH: '/evil',
      },
    });
    expect(Object.keys(environment).sort()).toEqual(['API_URL', 'HOME', 'LANG', 'PATH', 'TMPDIR', 'USER']);
    expect(environment['PATH']).not.toContain('evil');
  });

  test('never has variables of the runtime', () => {
    expect(() => plan([here], { environment: { QUITTANCE_SEAL_KEY: 'k' } })).toThrow(/never get/);
  });
});

describe('the arguments of bubblewrap', () => {
  const words = (made: SandboxPlan): readonly string[] => toBubblewrapArguments(made, { node: '/opt/node' });
  const has = (all: readonly string[], ...wanted: readonly string[]): boolean =>
    all.some((_, at) => wanted.every((word, index) => all[at + index] === word));

  test('leave every namespace, all capabilities and the environment of the host behind', () => {
    const all = words(plan());
    for (const option of [
      '--unshare-all',
      '--unshare-user',
      '--disable-userns',
      '--clearenv',
      '--new-session',
      '--die-with-parent',
    ])
      expect(all).toContain(option);
    expect(has(all, '--cap-drop', 'ALL')).toBe(true);
    expect(all).not.toContain('--share-net');
    expect(all).not.toContain('--dev-bind');
  });

  test('show only listed folders, and none of them is the root', () => {
    const all = words(plan());
    const sources = all.flatMap((word, at) => (/^--(ro-)?bind$/.test(word) ? [all[at + 1]] : []));
    expect(sources).not.toContain('/');
    for (const path of ['/', '/etc', '/home', '/root', '/var', '/run', '/sys', folder])
      expect(sources).not.toContain(path);
    expect(has(all, '--bind', project, project)).toBe(true);
  });

  test('make /proc, /dev and the root read-only, also for root of the host', () => {
    const all = words(plan());
    for (const path of ['/proc', '/dev', '/']) expect(has(all, '--remount-ro', path)).toBe(true);
    expect(all.indexOf('--proc')).toBeLessThan(all.indexOf('--remount-ro'));
  });

  test('cover after the folder is shown, outer folders first', () => {
    const all = words(plan([here], { ownFiles: [ledgerAt('state/.quittance/ledger.db')] }));
    const at = (...wanted: readonly string[]): number =>
      all.findIndex((_, from) => wanted.every((word, index) => all[from + index] === word));
    const order = [
      at('--bind', project),
      at('--bind', join(project, 'state')),
      at('--tmpfs', join(project, 'state/.quittance')),
      at('--remount-ro', join(project, 'state/.quittance')),
      at('--remount-ro', '/'),
    ];
    expect(order).toEqual([...order].sort((left, right) => left - right));
    expect(order[0]).toBeGreaterThan(0);
  });

  test('show Node and the relay only to commands with a network', () => {
    expect(words(plan())).not.toContain('/opt/node');
    const made = plan([
      here,
      `{ id: net, type: sandbox, tools: [Bash], allows: { domains: [a.example] }, message: m }`,
    ]);
    expect(words(made)).toContain('/opt/node');
    expect(has(words(made), '--setenv', 'HTTPS_PROXY', 'http://127.0.0.1:3128')).toBe(true);
  });
});
