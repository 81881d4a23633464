import type { CliCommand } from '../command.ts';
import { makes } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { terminalText } from '../terminal-text.ts';
import { duration } from '../time-text.ts';

export const rebuildCommand: CliCommand = {
  name: 'rebuild',
  summary: 'Rebuild the read tables from the entries',
  about: [
    'Lists, search and counts use read tables, which hold only data from the entries. This command makes their rows anew, in short steps: other processes can go on. If it is stopped, the next process that opens a SQLite ledger does the rest.',
    'It first rebuilds other data derived from the entries: owners of idempotency keys, used and reserved budgets, unresolved effects, and the index of entries. It never changes an entry. It skips and names an entry that it cannot read, and exits with 1.',
  ],
  options: {},
  examples: [
    ['quittance rebuild', 'after `quittance verify` found a `read_table` or `side_row` to be wrong'],
  ],
  effect: makes,
  run: (given, { withLedger, out }) =>
    withLedger(
      given,
      async (ledger) => {
        const startedAt = performance.now();
        const problems = await ledger.rebuild();
        for (const problem of problems) await out.print(out.paint('red', terminalText(problem)));
        await out.say(
          `Rebuilt the read tables and the other derived data in ${duration(performance.now() - startedAt)}.`,
        );
        return problems.length === 0 ? exitCodes.good : exitCodes.bad;
      },
      'write',
    ),
};
