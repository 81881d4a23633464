import { removeSession } from 'quittance/internal/ledger/removal';
import type { CliCommand } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { readRemovalReason, removalEffect, removalOptions, toUsageError } from '../removal-reason.ts';
import { requireOption } from '../require-option.ts';
import { safeJson, terminalText } from '../terminal-text.ts';

const line = 'quittance drop --session ticket-42 --reason "test data"';

export const dropCommand: CliCommand = {
  name: 'drop',
  summary: 'Remove a session permanently',
  about: [
    'Removes every entry of the session, its artifacts and sealed inputs. The chain of the ledger records that it existed, how its chain ended, who removed it and why, so anchors from before stay valid. Sessions with an open, held or unresolved call are refused. To keep the entries elsewhere first, use quittance archive.',
  ],
  options: {
    session: { value: 'ID', help: 'The session' },
    ...removalOptions,
  },
  examples: [[line, 'one session']],
  effect(given, context) {
    const wanted = requireOption(given, 'session', 'A removal needs a session', line);
    const question = `Remove the session ${terminalText(wanted)} permanently?`;
    return removalEffect(given, context, { line, question, word: 'drop' });
  },
  async run(given, context) {
    const wanted = requireOption(given, 'session', 'A removal needs a session', line);
    const reason = readRemovalReason(given, context);
    return context.withLedger(
      given,
      async (ledger, meant) => {
        const sessionId = meant.text('session') ?? wanted;
        const dropped = await removeSession(ledger, sessionId, reason).catch(toUsageError);
        if (given.has('json')) await context.out.print(safeJson({ sessionId, dropped }));
        else await context.out.say(dropped ? 'Removed the session.' : 'There is no such session.');
        return dropped ? exitCodes.good : exitCodes.bad;
      },
      'write',
    );
  },
};
