/** One name in the spellings that some file system or program takes for the same. */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { contractsFromYamlString } from '../../packages/quittance/src/contracts.ts';
import { createRuntime, defineTool } from '../../packages/quittance/src/index.ts';
import { openLedger } from '../../packages/quittance/src/store/open-ledger.ts';

const fullWidth = (text: string): string =>
  text.replace(/[!-~]/g, (letter) => String.fromCodePoint((letter.codePointAt(0) ?? 0) + 0xfee0));

const spellings = (name: string): readonly string[] => [
  ...new Set([
    ...['NFC', 'NFD', 'NFKC', 'NFKD'].map((form) => name.normalize(form)),
    ...['\u200b', '\u00ad', '\ufe0f', '\u2060', '\u034f', '\u{e0061}'].map(
      (letter) => name[0] + letter + name.slice(1),
    ),
    name.toUpperCase(),
    name.toLowerCase(),
    fullWidth(name),
    name.replace('s', 'ſ'),
    name.replace('k', '\u212a'),
    name.replace('ß', 'ss'),
    name.replace('ß', 'ẞ'),
    name.replace('ﬁ', 'fi'),
    name.replace('.', '\u2024'),
    name.replaceAll('Σ', 'ς'),
    name.replaceAll('e', '𝐞'),
    `${name}.`,
    `${name} `,
    `${name}\u200d`,
  ]),
];

const names = ['café', 'straße', 'secrets', 'İst', 'ﬁles', 'ΣΑΣ', 'K-key', '.git'];

const folder = (): string => mkdtempSync(join(tmpdir(), 'spellings-'));

const rule = (root: string, within: string, notWithin: string) =>
  contractsFromYamlString(
    `
apiVersion: edictum/v1
kind: Ruleset
metadata: { name: spellings }
defaults: { mode: enforce }
rules:
  - id: folder
    type: sandbox
    tool: read_file
    within: [${JSON.stringify(within)}]
    not_within: [${JSON.stringify(notWithin)}]
    outside: block
    message: outside
`,
    { workingDirectory: root },
  );

test.each(names)('an excluded folder %s is excluded in every spelling', async (name) => {
  const root = folder();
  mkdirSync(join(root, name));
  const contracts = rule(root, root, join(root, name));
  const allowed: string[] = [];
  for (const each of spellings(name))
    for (const path of [
      `${root}/${each}/key`,
      `${each}/key`,
      `x/../${each}/key`,
      each,
      `${each}∕key`,
      `${each}/k*`,
    ])
      if ((await contracts.evaluate({ toolName: 'read_file', input: { path } })).decision !== 'block')
        allowed.push(path);
  expect(allowed).toEqual([]);
});

test.each(names)('an allowed folder %s is allowed only as the rule spells it', async (name) => {
  const root = folder();
  mkdirSync(join(root, name));
  const contracts = rule(root, join(root, name), join(root, 'none'));
  const allowed: string[] = [];
  for (const each of spellings(name))
    if (
      (await contracts.evaluate({ toolName: 'read_file', input: { path: `${root}/${each}/key` } }))
        .decision === 'allow'
    )
      allowed.push(each);
  expect(allowed.filter((each) => each !== name)).toEqual([]);
});

test('a folder with the ledger is protected in every spelling', async () => {
  const root = folder();
  const reached: string[] = [];
  for (const name of ['straße', 'Ledger', 'café']) {
    mkdirSync(join(root, name));
    const ledger = await openLedger(`sqlite:${join(root, name, 'kept.db')}`);
    const tool = defineTool({
      name: 'read_file',
      description: 'x',
      input: { type: 'object' },
      run: () => 'ran',
    });
    const runtime = createRuntime({ ledger, tools: [tool] });
    const turn = runtime.turn({ sessionId: 's' });
    const paths = [
      ...spellings(name).map((each) => `${root}/${each}/kept.db`),
      ...spellings('kept.db').map((each) => `${root}/${name}/${each}`),
    ];
    for (const [index, path] of paths.entries()) {
      const outcome = await turn.call({ id: `c${index}`, name: 'read_file', arguments: { path } });
      if (outcome.type === 'ToolExecutionResult') reached.push(path);
    }
    await runtime.close();
    await ledger.close();
  }
  expect(reached).toEqual([]);
});
