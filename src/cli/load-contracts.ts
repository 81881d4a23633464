import type { FileContracts } from '../contracts/from-yaml.ts';
import { contractsFromYaml } from '../contracts/from-yaml.ts';
import type { Context } from './command.ts';
import { loadOrExplain } from './load-or-explain.ts';
import { terminalText } from './terminal-text.ts';

/** Reloads contracts when their files change. Contracts that do not load leave the old ones in force. */
export async function loadContracts(paths: readonly string[], { err }: Context): Promise<FileContracts> {
  await loadOrExplain(paths, {}); // reports problems in the words of the command line
  return contractsFromYaml(paths, {
    watch: true,
    onReload: (result) => {
      if (result.ok) void err.say(`New contracts are in force: ${result.version.slice(0, 12)}.`);
      else void sayOldRulesStay(result.error, err);
    },
  });
}

/** The problem of changed contracts can be a list, one line each. */
export async function sayOldRulesStay(error: unknown, err: Context['err']): Promise<void> {
  const [first = '', ...more] = (error instanceof Error ? error.message : String(error)).split('\n');
  await err.say(`The changed contracts do not load; the old ones stay in force. ${terminalText(first)}`);
  for (const line of more) await err.say(`  ${terminalText(line)}`);
}
