import { readFileSync, writeFileSync } from 'node:fs';
import type { ContractsProblem } from 'quittance/internal/policy/language/contracts-problem';
import { DocumentReader } from 'quittance/internal/policy/read/document-reader';
import { readDocumentText } from 'quittance/internal/policy/read/document-text';
import { readDocument } from 'quittance/internal/policy/read/parse-document';
import { readYamlDocument } from 'quittance/internal/policy/read/yaml-document';
import type { CliCommand, Context } from '../command.ts';
import { makes } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { needFiles, problemLines } from '../load-or-explain.ts';
import { terminalText } from '../terminal-text.ts';

export const contractsUpgradeCommand: CliCommand = {
  name: 'contracts upgrade',
  summary: 'Rewrite documents from edictum/v1 to quittance/v1',
  takes: '<file>…',
  most: Number.POSITIVE_INFINITY,
  about: [
    'quittance/v1 contains all of edictum/v1 and our additions. The command changes the value of apiVersion and nothing else, so every rule keeps its meaning. A document that already says quittance/v1 is left unchanged.',
    'quittance/v1 refuses a few spellings that edictum/v1 only warns about, such as args.files.* for the items of a list. If a document has one, the command prints it with its line and writes nothing. Exit code 1: at least one document was not rewritten because of a problem.',
  ],
  options: {},
  examples: [
    ['quittance contracts upgrade contracts.yaml', 'one document'],
    ['quittance contracts upgrade rules/*.yaml', 'several documents'],
  ],
  effect: makes,
  run: async (given, { out }) => {
    let isGood = true;
    for (const path of needFiles(given.args, 'contracts upgrade')) {
      const upgrade = upgradeDocument(readFileSync(path), path);
      if (upgrade.type === 'rewritten') writeFileSync(path, upgrade.text);
      if (upgrade.type === 'problems') isGood = false;
      await printUpgrade(upgrade, path, out);
    }
    return isGood ? exitCodes.good : exitCodes.bad;
  },
};

type Upgrade =
  | { readonly type: 'rewritten'; readonly text: string }
  | { readonly type: 'unchanged' }
  | { readonly type: 'problems'; readonly problems: readonly ContractsProblem[] };

function upgradeDocument(bytes: Uint8Array, source: string): Upgrade {
  const problems: ContractsProblem[] = [];
  const given = readDocumentText(bytes, source, problems);
  const node = given && readYamlDocument(given.text, given.reading);
  if (given === undefined || node === undefined) return { type: 'problems', problems };
  const version =
    node.type === 'map' ? node.entries.find(({ key }) => key === 'apiVersion')?.value : undefined;
  const isOlder = version?.type === 'scalar' && version.value === 'edictum/v1';
  const [before, after] = [
    given.text.slice(0, version?.offset ?? 0),
    given.text.slice(version?.offset ?? 0).replace(/^(["']?)edictum\/v1/, '$1quittance/v1'),
  ];
  const text = isOlder ? before + after : given.text;
  if (isOlder && text === given.text)
    new DocumentReader(version, given.reading).refuse(
      'apiVersion is not written plainly; change it by hand.',
    );
  const read = readDocument(text, source);
  if (!read.ok || problems.length > 0)
    return { type: 'problems', problems: read.ok ? problems : read.problems };
  return isOlder ? { type: 'rewritten', text } : { type: 'unchanged' };
}

async function printUpgrade(upgrade: Upgrade, path: string, out: Context['out']): Promise<void> {
  const file = terminalText(path);
  switch (upgrade.type) {
    case 'rewritten':
      return out.print(`${file}: now says quittance/v1.`);
    case 'unchanged':
      return out.print(`${file}: already says quittance/v1.`);
    case 'problems':
      for (const problem of upgrade.problems)
        for (const line of problemLines(problem, out)) await out.print(line);
      return out.print(out.paint(['bold', 'red'], `${file}: not rewritten.`));
  }
}
