import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { openLedger } from '../../store/open-ledger.ts';
import type { Command } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { agentFile, contractsFile, ignoreFile, packageFile, runtimeFile } from '../starter-files.ts';
import { safeText } from '../safe-text.ts';
import { UsageError } from '../usage-error.ts';

export const initCommand: Command = {
  name: 'init',
  summary: 'Write a small project that runs: a tool, rules and a ledger',
  takes: '[folder]',
  most: 1,
  about: [
    'Writes quittance.mjs (a tool and the runtime), agent.mjs (calls it), contracts.yaml (what is allowed), an empty ledger in .quittance, and package.json and .gitignore where there are none. Nothing that is there already is touched.',
  ],
  options: {},
  examples: [
    ['quittance init', 'in this folder'],
    ['quittance init my-agent', 'in a new one'],
  ],
  async run(given, { out, version }) {
    const [typed = '.'] = given.args;
    const folder = resolve(typed);
    const files = [
      ['quittance.mjs', runtimeFile],
      ['agent.mjs', agentFile],
      ['contracts.yaml', contractsFile],
    ] as const;
    const taken = files.map(([name]) => name).filter((name) => existsSync(join(folder, name)));
    if (taken.length > 0)
      throw new UsageError(`${taken.join(', ')} would be written, and is there already.`, [
        'quittance init another-folder',
      ]);
    mkdirSync(join(folder, '.quittance'), { recursive: true });
    const written: string[] = [];
    const write = (name: string, text: string): void => {
      writeFileSync(join(folder, name), text, { flag: 'wx' });
      written.push(name);
    };
    for (const [name, text] of files) write(name, text);
    if (!existsSync(join(folder, 'package.json'))) write('package.json', packageFile(version));
    if (!existsSync(join(folder, '.gitignore'))) write('.gitignore', ignoreFile);
    await (await openLedger(join(folder, '.quittance', 'ledger.db'))).close();
    for (const name of [...written, '.quittance/ledger.db']) await out.print(`wrote ${safeText(name)}`);
    await out.print('');
    if (typed !== '.') await out.print(`cd ${safeText(typed)}`);
    if (!hasPackage(folder)) await out.print('npm install');
    await out.print('node agent.mjs');
    await out.print('npx quittance calls');
    await out.print('npx quittance serve --runtime quittance.mjs');
    return exitCodes.good;
  },
};

/** Whether the package can be imported from there. */
function hasPackage(folder: string): boolean {
  try {
    const { name } = JSON.parse(
      readFileSync(join(folder, 'node_modules/quittance/package.json'), 'utf8'),
    ) as { name?: string };
    return name === 'quittance';
  } catch {
    return false;
  }
}
