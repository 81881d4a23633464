/** What each command line does to what exists. The program asks for the proof by this, before the command runs. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseCommandLine } from './command-line.ts';
import type { Context, Effect } from './command.ts';
import { commands } from './commands.ts';
import { prove } from './proof.ts';

const folder = mkdtempSync(join(tmpdir(), 'effects-'));
const ledger = join(folder, 'ledger.db');
const config = join(folder, 'mcp.json');
writeFileSync(config, JSON.stringify({ mcpServers: { notes: { command: 'notes' } } }));
const wrapped = join(folder, 'wrapped.json');
writeFileSync(
  wrapped,
  JSON.stringify({
    mcpServers: { notes: { command: 'quittance', args: ['mcp', 'wrap', '--name', 'notes', '--', 'notes'] } },
  }),
);
const rules = join(folder, 'quittance.yaml');
writeFileSync(rules, 'retention:\n  rules:\n    - { older_than: 90d, action: drop }\n');

/** Command lines by their effect. A `|` separates those of one command. */
const expected: Readonly<Record<Effect['kind'], string>> = {
  reads: `
    calls | show call_7 | sessions | errors | trace call_7 | diff a b | pending | backtest | doctor | help | completion bash
    whoami | verify | config schema
    contracts check x.yaml | contracts test x.yaml | contracts diff a b | contracts explain x | contracts schema
    cassette show x
    grants | grants list | delegations | delegations list | reconcile | reconcile call_7 | handoff | handoff list
    retention --older-than 90d --dry-run | behaviors | behaviors list | notifications check x | notifications log
    tokens | tokens list | sign-ins | sign-ins list | tui | mcp review --json | mcp uninstall --config ${config} --yes
  `,
  makes: `
    init | contracts upgrade x.yaml | run refund | fork s1 | handoff report | export | archive --before 90d --out ${folder}/new.jsonl | rebuild
    copy a b | backup ${folder}/new | restore a ${folder}/b.db | migrate | notifications send x y | login | logout
    cassette export s1 | cassette seal x | mcp --config ${config} | mcp wrap --url https://example.com/mcp
    mcp install --config ${config} | mcp login x
  `,
  serves: `serve | demo`,
  decides: `
    approve call_7 | deny call_7 | respond call_7 | edit call_7 | grants give refund --session s | grants revoke g
    delegations give --to dan | delegations revoke d | reconcile call_7 --as failed | tui --by Ada | tui --token-file x
    undo call_7 | undo call_7 --runtime x.ts --server https://q.example.org | handoff claim call_7 --worker w --json
    archive --session s --out ${folder}/new.jsonl --remove --by Ada --reason r | retention --older-than 90d --reason r
    retention --older-than 90d --erase --reason r | erase --session s --reason r | drop --session s --reason r
    backup ${folder}/new --with-seal-key | restore a ${folder}/b.db --tokens | rotate-key | rotate-key --lost
    serve --config ${rules} | behaviors drop b | behaviors drop b --force | notifications resend
    tokens create --name a --role admin | tokens revoke a | sign-ins end a
    mcp --config ${config} --observe | mcp wrap --url https://example.com/mcp --observe
    mcp install --config ${config} --observe --yes | mcp uninstall --config ${wrapped} --yes
    mcp review --approve a/b | mcp review --block a/b --json | mcp review --forget a/b
  `,
  decides_at_server: `
    approve call_7 --server https://q.example.org | deny call_7 --server https://q.example.org
    respond call_7 --server https://q.example.org | edit call_7 --server https://q.example.org
    undo call_7 --session s --server https://q.example.org
  `,
};

const linesOf = (kind: Effect['kind']): readonly string[] =>
  expected[kind]
    .split(/[|\n]/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
const rows = (Object.keys(expected) as Effect['kind'][]).flatMap((kind) =>
  linesOf(kind).map((line) => ({ line, kind })),
);

const read = (line: string) => {
  const named = commands
    .filter(({ name }) => line === name || line.startsWith(`${name} `))
    .toSorted((one, other) => other.name.length - one.name.length)[0];
  if (named === undefined) throw new Error(`No command in "${line}".`);
  const given = parseCommandLine(named, line.slice(named.name.length).split(' ').filter(Boolean));
  return { command: named, given };
};

const context = {
  env: { HOME: folder },
  userName: 'ada',
  keyboard: {},
  ledgerUrl: () => ledger,
  withLedger: () => Promise.resolve('opened'),
} as unknown as Context; // what effects read

test.each(rows)('quittance $line: $kind', async ({ line, kind }) => {
  const { command, given } = read(line);
  const effect = typeof command.effect === 'function' ? await command.effect(given, context) : command.effect;
  expect(effect.kind).toBe(kind);
});

describe('the table', () => {
  test('has every command', () => {
    const known = new Set(rows.map(({ line }) => read(line).command.name));
    expect(commands.map(({ name }) => name).filter((name) => !known.has(name))).toEqual([]);
  });

  test('has every word that a command accepts as its action', () => {
    const missing = commands.flatMap(({ name, words = [] }) =>
      name === 'completion' || name === 'help'
        ? []
        : words
            .map((word) => `${name} ${word}`)
            .filter((start) => !rows.some(({ line }) => line === start || line.startsWith(`${start} `))),
    );
    expect(missing).toEqual([]);
  });

  test('has a line that needs proof for every command that offers to give one', () => {
    const kinds = (name: string) =>
      new Set(rows.filter(({ line }) => read(line).command.name === name).map(({ kind }) => kind));
    for (const { name, options } of commands) {
      const asks =
        kinds(name).has('decides') || kinds(name).has('decides_at_server') || kinds(name).has('serves');
      const mayServe = Object.hasOwn(options, 'tokens') && name === 'restore';
      expect({ name, offers: Object.hasOwn(options, 'token-file') || mayServe }).toEqual({
        name,
        offers: asks,
      });
    }
  });
});

test('a command that declares that it only reads cannot open a ledger for writing', async () => {
  const { command, given } = read('calls');
  const proven = await prove(command, given, context);
  expect(await proven.withLedger(given, () => Promise.resolve(), 'look')).toBe('opened');
  expect(() => proven.withLedger(given, () => Promise.resolve(), 'write')).toThrow(
    '"calls" declares that it only reads.',
  );
  expect(proven.proof).toBeUndefined();
});

test('without a terminal and a token, a decision ends before its command runs', async () => {
  for (const { line, kind } of rows.filter(({ kind: each }) => each.startsWith('decides'))) {
    const { command, given } = read(line.startsWith('tui --token-file') ? 'tui --by Ada' : line);
    const proven = prove(command, given, context);
    await expect(proven, `${kind} ${line}`).rejects.toThrow(
      /needs more than this command|stored sign-in needs a person|--by is missing/,
    );
  }
});
