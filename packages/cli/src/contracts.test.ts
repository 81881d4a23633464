/** The contracts commands, as typed. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fillLedger } from '../../../test/fill-ledger.ts';
import type { Ran } from '../../../test/run-cli.ts';
import { runCli } from '../../../test/run-cli.ts';
import { runProgramHere } from '../../../test/run-program.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-contracts-'));
const ledger = join(folder, 'ledger.db');
const on = (args: readonly string[], columns?: number): Promise<Ran> =>
  runProgramHere(['contracts', ...args], {
    cwd: folder,
    ...(columns !== undefined && { env: { COLUMNS: String(columns) } }),
  });
const file = (name: string, content: string): void => writeFileSync(join(folder, name), content);
const json = (output: string): Record<string, unknown>[] =>
  output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const good = `apiVersion: quittance/v1
kind: Ruleset
metadata: {name: good}
defaults: {mode: enforce}
rules:
  - id: no-rm
    type: pre
    tool: Bash
    when: {args.command: {matches: "\\\\brm\\\\b"}}
    then: {action: block, message: "Not {args.command}."}
  - id: box
    type: sandbox
    tools: [Bash, "Read*"]
    within: [.]
    allows: {commands: [ls, cat]}
    outside: ask
    message: Stay inside.
  - id: hide
    type: post
    tool: "*"
    when: {output.text: {matches: "AKIA[0-9A-Z]{4,}"}}
    then: {action: redact, message: Hidden.}
  - id: big-refunds
    type: pre
    tool: refund
    when: {args.cents: {gt: 1, on_missing: skip}}
    then: {action: ask, message: "Refund {args.cents}?"}
`;

beforeAll(async () => {
  await fillLedger(ledger);
  file('good.yaml', good);
  file(
    'newer.yaml',
    good
      .replace('commands: [ls, cat]', 'commands: [ls]')
      .replace(/ {2}- id: hide[^]*?Hidden.}\n/, '')
      .replace('action: ask', 'action: block'),
  );
  file('bad.yaml', good.replace('action: block', 'action: blok').replace('outside: ask', 'outsde: ask'));
  file(
    'good.cases.yaml',
    `working_directory: /project
cases:
  - {id: ls, tool: Bash, args: {command: ls}, expect: allow}
  - {id: cat, tool: Bash, args: {command: cat a.txt}, expect: allow}
  - {id: rm, tool: Bash, args: {command: rm a}, expect: block, rule: no-rm, message_contains: 'not "rm a"'}
  - {id: etc, tool: Read, args: {path: /etc/passwd}, expect: ask, rule: box}
  - {id: key, tool: Read, args: {path: a}, result: {k: AKIA1234}, expect: redact, output: {k: "[REDACTED]"}}
`,
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('check', () => {
  test('reports that valid contracts load', async () => {
    expect(await on(['check', 'good.yaml'])).toEqual({
      code: 0,
      // One of its rules allows its own folder.
      out: expect.stringMatching(
        /^good\.yaml:\d+ {2}rule box {2}holds_own_files\n[^]+\nThe contracts load\. 4 rules, 1 warning\.\n$/,
      ) as string,
      err: '',
    });
  });

  test('reports every problem with its place, and marks it', async () => {
    const { code, out } = await on(['check', 'bad.yaml'], 80);
    expect(code).toBe(1);
    expect(out).toContain(
      'bad.yaml:10:20  rules[0].then.action\n  action is "blok"; expected block or ask.\n',
    );
    expect(out).toContain(
      '  10 |     then: {action: blok, message: "Not {args.command}."}\n     |                    ^\n',
    );
    expect(out).toContain('Did you mean outside?');
    expect(out).toContain('2 problems.');
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('warns about tools, named or seen in a ledger, that no rule covers', async () => {
    file('narrow.yaml', good.replace('tool: "*"', 'tool: Raed'));
    const named = await on(['check', 'narrow.yaml', '--tools', 'Bash,Read,Frobnicate,refund']);
    expect(named.code).toBe(0);
    expect(named.out).toContain('Frobnicate');
    expect(named.out).toContain('Did you mean Read?');
    const seen = await on(['check', 'narrow.yaml', '--ledger', ledger, '--strict', '--json']);
    expect(seen.code).toBe(1);
    expect(json(seen.out)).toContainEqual(
      expect.objectContaining({ type: 'warning', code: 'uncovered_tool' }),
    );
    expect(json(seen.out).at(-1)).toMatchObject({ type: 'totals', problems: 0, ok: true });
  });

  test.each<[string[], string, string]>([
    [['check'], 'Missing path of a contracts file.', 'quittance contracts check contracts.yaml'],
    [['check', 'nothing.yaml'], 'There is no file nothing.yaml.', 'quittance contracts check'],
    [['check', '.'], '. is a folder', '*.yaml'],
    [['chek', 'good.yaml'], 'Did you mean contracts check', 'quittance contracts check'],
    [[], 'needs a subcommand', 'quittance contracts explain'],
    [['test', 'newer.yaml'], 'Found no case file for newer.yaml', 'newer.cases.yaml'],
    [
      ['test', 'newer.yaml'],
      'Found no case file for newer.yaml',
      'quittance contracts test newer.yaml --cases FILE',
    ],
    [['diff', 'good.yaml'], 'Expected two versions to compare', 'quittance contracts diff old.yaml new.yaml'],
    [['explain', 'good.yaml'], 'Missing call: name a tool', '--tool Bash'],
    [['explain', 'good.yaml', '--tool', 'x', '--args', '{'], '--args takes JSON', "--args '{"],
    [['explain', 'good.yaml', '--tool', 'x', '--args', '[]'], '--args takes a JSON object', "--args '{"],
    [
      ['explain', 'good.yaml', '--tool', 'x', '--principal', '{"rol":"a"}'],
      'Did you mean role?',
      '--principal',
    ],
    [['explain', 'good.yaml', '--call', 'x', '--tool', 'y'], '--tool does not go with it', '--call x'],
  ])('contracts %j reports the problem and a command to try', async (args, sentence, tryThis) => {
    const { code, out, err } = await on(args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(sentence);
    expect(err).toContain('try:');
    expect(err).toContain(tryThis);
  });

  test('refers contracts that do not load to contracts check', async () => {
    for (const command of ['test', 'explain']) {
      const { code, err } = await on([
        command,
        'bad.yaml',
        ...(command === 'explain' ? ['--tool', 'x'] : []),
      ]);
      expect(code).toBe(1);
      expect(err).toContain('bad.yaml:10:20');
      expect(err).toContain('try: quittance contracts check bad.yaml');
    }
  });
});

describe('test', () => {
  test('runs the case file next to the document', async () => {
    expect(await on(['test', 'good.yaml'])).toEqual({ code: 0, out: '5 passed, 0 failed\n', err: '' });
  });

  test.each([80, 120])('lists failures and their causes in %i columns', async (columns) => {
    const { code, out } = await on(['test', 'newer.yaml', '--cases', 'good.cases.yaml'], columns);
    expect(code).toBe(1);
    const lines = out.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^CASE +EXPECTED +ACTUAL +RULE +WHY/);
    expect(out).toMatch(/^cat +allow +ask +box +Stay inside\./m);
    expect(out).toMatch(/^key +redact +allow /m);
    expect(lines).toContain('3 passed, 2 failed');
    for (const line of lines.slice(0, 3)) expect(line.length).toBeLessThanOrEqual(columns);
    expect(lines.at(-1)).toContain('quittance contracts explain newer.yaml --tool Bash --args');
  });

  test('reports a problem in a case with its line', async () => {
    file(
      'broken.cases.yaml',
      'cases:\n  - {id: a, tool: Bash, expect: deny}\n  - {id: a, tool: Bash, expct: allow}\n',
    );
    const { code, out } = await on(['test', 'good.yaml', '--cases', 'broken.cases.yaml']);
    expect(code).toBe(1);
    expect(out).toContain('broken.cases.yaml:2:33  cases[0].expect\n');
    expect(out).toContain('Did you mean expect?');
  });

  test('supports principals, environments, counters and errors', async () => {
    file(
      'facts.yaml',
      `apiVersion: quittance/v1
kind: Ruleset
metadata: {name: facts}
defaults: {mode: enforce}
rules:
  - {id: role, type: pre, tool: a, when: {principal.role: {equals: guest}}, then: {action: block, message: m}}
  - {id: word, type: pre, tool: b, when: {environment: {equals: staging}}, then: {action: block, message: m}}
  - {id: variable, type: pre, tool: c, when: {env.LEVEL: {gt: 3}}, then: {action: block, message: m}}
  - {id: limit, type: session, limits: {max_calls_per_tool: {d: 2}}, then: {action: block, message: m}}
  - {id: failures, type: session, limits: {max_consecutive_failures_per_tool: {f: 2}}, then: {action: block, message: m}}
  - {id: failed, type: pre, tool: g, when: {session.failures: {gte: 3}}, then: {action: ask, message: m}}
  - {id: error, type: post, tool: e, when: {output.text: {contains: pw}}, then: {action: redact, message: m}}
`,
    );
    file(
      'facts.cases.yaml',
      `cases:
  - {id: role, tool: a, principal: {role: guest}, expect: block, rule: role}
  - {id: nobody, tool: a, expect: allow}
  - {id: word, tool: b, environment: staging, expect: block, rule: word}
  - {id: other word, tool: b, expect: allow}
  - {id: variable, tool: c, environment: {LEVEL: 4}, expect: block, rule: variable}
  - {id: no variable of this machine, tool: c, expect: allow}
  - {id: limit, tool: d, session: {per_tool: {d: 2}}, expect: block, rule: limit}
  - {id: below the limit, tool: d, session: {per_tool: {d: 1}}, expect: allow}
  - {id: failures, tool: f, session: {consecutive_failures_per_tool: {f: 2}}, expect: block, rule: failures}
  - {id: failures of another tool, tool: f, session: {consecutive_failures_per_tool: {d: 9}}, expect: allow}
  - {id: failed, tool: g, session: {failures: 3}, expect: ask, rule: failed}
  - {id: not failed, tool: g, expect: allow}
  - {id: error, tool: e, error: the pw is, expect: redact, output: "the [REDACTED] is"}
`,
    );
    const { code, out } = await runCli(['contracts', 'test', 'facts.yaml'], {
      cwd: folder,
      env: { LEVEL: '9' },
    });
    expect({ code, out }).toEqual({ code: 0, out: '13 passed, 0 failed\n' });
  });

  test('is JSON for programs', async () => {
    const lines = json((await on(['test', 'good.yaml', '--json'])).out);
    expect(lines[2]).toMatchObject({
      type: 'case',
      id: 'rm',
      passed: true,
      came: 'block',
      ruleId: 'no-rm',
      line: 5,
    });
    expect(lines.at(-1)).toEqual({ type: 'totals', passed: 5, failed: 0 });
  });
});

describe('diff', () => {
  test('lists the rules and cases that differ', async () => {
    const { code, out } = await on(['diff', 'good.yaml', 'newer.yaml'], 80);
    expect(code).toBe(1);
    expect(out).toContain('~ changed  box');
    expect(out).toContain('- removed  hide');
    expect(out).toMatch(
      /^allow → ask {2}1\n {2}cat\n {4}Bash \{"command":"cat a\.txt"\}\n {4}box: Stay inside\./m,
    );
    expect(out).toMatch(/^redact → allow {2}1$/m);
    expect(out).toContain('2 decided differently. 5 calls compared.');
  });

  test('judges calls of a ledger by their stored form', async () => {
    const { code, out } = await on([
      'diff',
      'good.yaml',
      'newer.yaml',
      '--ledger',
      ledger,
      '--since',
      '1h',
      '--json',
    ]);
    expect(code).toBe(1);
    const lines = json(out);
    expect(lines).toContainEqual(
      expect.objectContaining({
        type: 'call',
        toolName: 'refund',
        before: 'ask',
        after: 'block',
        ruleAfter: 'big-refunds',
      }),
    );
    expect(lines.at(-1)).toMatchObject({
      type: 'totals',
      changes: { 'ask → block': expect.any(Number) as number },
    });
  });

  test('reports no difference for the same version', async () => {
    expect(await on(['diff', 'good.yaml', 'good.yaml'])).toEqual({
      code: 0,
      out: 'Every call is decided as before. 5 calls compared.\n',
      err: '',
    });
  });
});

describe('explain', () => {
  test.each([80, 120])('shows the findings of every rule, in %i columns', async (columns) => {
    const args = [
      '--tool',
      'Bash',
      '--args',
      '{"command":"cat /etc/passwd"}',
      '--working-directory',
      '/project',
    ];
    const { code, out } = await on(['explain', 'good.yaml', ...args], columns);
    expect(code).toBe(0);
    expect(out).toContain('Bash would be held for approval, by box:\n  Stay inside.\n');
    expect(out).toContain('false args.command matches');
    expect(out).toContain('outside path /etc/passwd');
    expect(out).toContain('1 rule is about other tools: big-refunds.');
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
  });

  test('masks secrets and escapes control characters', async () => {
    const command = 'rm \u001b[31m ghp_abcdefghijklmnopqrstuvwxyz0123456789';
    const { out } = await on([
      'explain',
      'good.yaml',
      '--tool',
      'Bash',
      '--args',
      JSON.stringify({ command }),
    ]);
    expect(out).not.toContain('\u001b');
    expect(out).not.toContain('ghp_');
  });

  test('takes a call from the ledger', async () => {
    const { code, out } = await on([
      'explain',
      'good.yaml',
      '--call',
      'call_refund',
      '--ledger',
      ledger,
      '--json',
    ]);
    expect(code).toBe(0);
    expect(json(out)[0]).toMatchObject({ toolName: 'refund', decision: 'ask', ruleId: 'big-refunds' });
    const missing = await on(['explain', 'good.yaml', '--call', 'call_nobody', '--ledger', ledger]);
    expect(missing.code).toBe(1);
    expect(missing.err).toContain('try: quittance calls');
  });

  test('says that a list needs any or every', async () => {
    const { out } = await on(['explain', 'good.yaml', '--tool', 'Bash', '--args', '{"command":["rm"]}']);
    expect(out).toContain('found ["rm"], a list: use any or every');
  });

  test('shows the redacted output', async () => {
    const args = ['--tool', 'x', '--result', '{"k":"AKIA12345"}'];
    const { out } = await on(['explain', 'good.yaml', ...args]);
    expect(out).toContain('x would be allowed, and its result redacted, by hide:');
    expect(out).toContain('{"k":"[REDACTED]"}');
    expect(out).not.toContain('AKIA12345');
  });
});

test('schema prints the published schema', async () => {
  const { code, out } = await on(['schema']);
  const published = (await import('../../quittance/schema/contracts.schema.json', { with: { type: 'json' } }))
    .default;
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual(published);
});

describe('upgrade', () => {
  const older = (text: string): string => text.replace('quittance/v1', "'edictum/v1' # as upstream\r");

  test('changes the version and no other byte', async () => {
    file('older.yaml', older(good));
    expect(await on(['upgrade', 'older.yaml', 'good.yaml'])).toMatchObject({
      code: 0,
      out: 'older.yaml: now says quittance/v1.\ngood.yaml: already says quittance/v1.\n',
    });
    const written = readFileSync(join(folder, 'older.yaml'), 'utf8');
    expect(written).toBe(older(good).replace('edictum/v1', 'quittance/v1'));
  });

  test('prints what quittance/v1 refuses, and leaves such a document as it is', async () => {
    const trap = older(good.replace('args.cents:', 'args.items.*.cents:'));
    file('trap.yaml', trap);
    const aliased = 'metadata: &v edictum/v1\napiVersion: *v\nkind: Ruleset\n';
    file('aliased.yaml', aliased);
    file('older.yaml', older(good));
    const ran = await on(['upgrade', 'trap.yaml', 'aliased.yaml', 'older.yaml']);
    expect(ran.code).toBe(1);
    expect(ran.out).toMatch(/trap\.yaml:\d+:\d+/);
    expect(ran.out).toMatch(
      /trap\.yaml: not rewritten\.[^]*aliased\.yaml: not rewritten\.[^]*older\.yaml: now/,
    );
    expect(readFileSync(join(folder, 'trap.yaml'), 'utf8')).toBe(trap);
    expect(readFileSync(join(folder, 'aliased.yaml'), 'utf8')).toBe(aliased);
  });
});

describe('help and completion', () => {
  test('support names of two words', async () => {
    const flag = await on(['check', '--help']);
    const word = await runProgramHere(['help', 'contracts', 'check']);
    const group = await on(['--help']);
    expect(flag).toMatchObject({ code: 0, err: '' });
    expect(word.out).toBe(flag.out);
    for (const name of ['check', 'test', 'diff', 'explain', 'schema', 'upgrade'])
      expect(group.out).toMatch(new RegExp(`^ {2}contracts ${name}\\b`, 'm'));
  });

  test('bash completes two-word names', async () => {
    const { out } = await runProgramHere(['completion', 'bash']);
    const lines = ['contrac', 'contracts ch', 'contracts check --st', 'calls --outcome fa'];
    const script = lines.map(
      (line) =>
        `COMP_WORDS=(quittance ${line}); COMP_CWORD=${line.split(' ').length}; _quittance; echo "\${COMPREPLY[@]}"`,
    );
    const shell = spawn('bash', ['-c', [out, ...script].join('\n')]);
    expect(await text(shell.stdout)).toBe('contracts\ncheck\n--strict\nfailed\n');
  });
});
