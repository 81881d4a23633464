import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join, resolve } from 'node:path';
import { openLedger } from '../../store/open-ledger.ts';
import type { CliCommand } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { shellWord } from '../find-call.ts';
import { makeFolder } from '../make-folder.ts';
import { projectName } from '../project-name.ts';
import {
  starterAgentFile,
  starterContractsFile,
  starterIgnoreFile,
  starterPackageFile,
  starterRuntimeFile,
} from '../starter-files.ts';
import { terminalText } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';

export const initCommand: CliCommand = {
  name: 'init',
  summary: 'Create a small working project: a tool, contracts and a ledger',
  takes: '[folder]',
  most: 1,
  about: [
    "Writes quittance.mjs (a tool and the runtime), agent.mjs (calls the tool) and contracts.yaml (the rules). Creates an empty ledger in .quittance and a workspace folder for the agent's files. Adds package.json and .gitignore if they are missing. Existing files are never changed.",
  ],
  options: {},
  examples: [
    ['quittance init', 'in this folder'],
    ['quittance init my-agent', 'in a new folder'],
  ],
  async run(given, { out, version }) {
    const [typed = '.'] = given.args;
    const folder = resolve(typed);
    const name = projectName(basename(folder));
    const files = [
      ['quittance.mjs', starterRuntimeFile],
      ['agent.mjs', starterAgentFile],
      ['contracts.yaml', starterContractsFile(name)],
    ] as const;
    const taken = files.map(([file]) => file).filter((file) => existsSync(join(folder, file)));
    if (taken.length > 0)
      throw new UsageError(`init would overwrite ${taken.join(', ')}.`, ['quittance init another-folder']);
    makeFolder(folder, ['quittance init another-folder']);
    // The agent's folder contains neither the contracts nor the ledger.
    for (const inner of ['.quittance', 'workspace'])
      makeFolder(join(folder, inner), ['quittance init another-folder']);
    const written: string[] = [];
    const write = (file: string, text: string): void => {
      writeFileSync(join(folder, file), text, { flag: 'wx' });
      written.push(file);
    };
    for (const [file, text] of files) write(file, text);
    if (!existsSync(join(folder, 'package.json'))) write('package.json', starterPackageFile(name, version));
    const ignored = readText(join(folder, '.gitignore'));
    if (ignored === undefined) write('.gitignore', starterIgnoreFile);
    await (await openLedger(join(folder, '.quittance', 'ledger.db'))).close();
    for (const file of [...written, 'workspace/', '.quittance/ledger.db'])
      await out.print(`wrote ${terminalText(file)}`);
    await out.print('');
    if (typed !== '.') await out.print(`cd ${shellWord(terminalText(typed))}`);
    if (ignored !== undefined && !/^\/?\.quittance\/?$/m.test(ignored))
      await out.print("echo '.quittance/' >> .gitignore");
    if (!hasPackage(folder))
      await out.print(
        `npm install path/to/quittance-${version}.tgz   # made by \`npm pack\`: the package is not published yet`,
      );
    await out.print('node agent.mjs');
    await out.print('npx quittance calls');
    await out.print('npx quittance serve --runtime quittance.mjs');
    return exitCodes.good;
  },
};

/** Can the package be imported from there? It may be installed in a parent folder, as in a workspace. */
function hasPackage(folder: string): boolean {
  try {
    createRequire(join(folder, 'package.json')).resolve('quittance/package.json');
    return true;
  } catch {
    return false;
  }
}

const readText = (path: string): string | undefined =>
  existsSync(path) ? readFileSync(path, 'utf8') : undefined;
