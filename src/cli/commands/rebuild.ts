import type { CliCommand } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { terminalText } from '../terminal-text.ts';
import { duration } from '../time-text.ts';

export const rebuildCommand: CliCommand = {
  name: 'rebuild',
  summary: 'Make the read tables again from the entries',
  about: [
    'What lists and filters calls is kept in tables beside the ledger, which hold nothing that is not in its entries. This empties them and fills them again. It may be stopped at any time: what is missing is filled in when it is next asked for.',
    'First it makes again what else can be made from the entries: who holds which idempotency key, what budgets have used and reserved, which effects are in doubt, and the index of entries. It changes no text of an entry. An entry that cannot be read is named and left out; exit code 1 then.',
  ],
  options: {},
  examples: [
    ['quittance rebuild', 'after `quittance verify` found a `read_table` or `side_row` to be wrong'],
  ],
  run: (given, { withLedger, out }) =>
    withLedger(
      given,
      async (ledger) => {
        const startedAt = performance.now();
        const problems = await ledger.integrity.rebuild();
        for (const problem of problems) await out.print(out.paint('red', terminalText(problem)));
        await out.say(
          `The read tables and what stands beside the entries are made anew, in ${duration(performance.now() - startedAt)}.`,
        );
        return problems.length === 0 ? exitCodes.good : exitCodes.bad;
      },
      'write',
    ),
};
