import type { FileContracts } from 'quittance/internal/contracts/from-yaml';
import { contractsFromYaml } from 'quittance/internal/contracts/from-yaml';
import { loadOrExplain } from './load-or-explain.ts';
import { terminalText } from './terminal-text.ts';

type Say = (sentence: string) => Promise<void>;

/** Reloads contracts when their files change. Contracts that do not load leave the old ones in force. */
export async function loadContracts(paths: readonly string[], say: Say): Promise<FileContracts> {
  await loadOrExplain(paths, {}); // reports problems in the words of the command line
  return contractsFromYaml(paths, {
    watch: true,
    onReload: (result) => {
      if (result.ok) void say(`New contracts are in force: ${result.version.slice(0, 12)}.`);
      else void sayOldRulesStay(result.error, say);
    },
  });
}

/** The problem of changed contracts can be a list, one line each. */
export async function sayOldRulesStay(error: unknown, say: Say): Promise<void> {
  const [first = '', ...more] = (error instanceof Error ? error.message : String(error)).split('\n');
  await say(`The changed contracts do not load; the old ones stay in force. ${terminalText(first)}`);
  for (const line of more) await say(`  ${terminalText(line)}`);
}
