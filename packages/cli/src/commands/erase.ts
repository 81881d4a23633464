import { eraseContents } from 'quittance/internal/ledger/removal';
import type { CliCommand } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { readRemovalReason, removalEffect, removalOptions, toUsageError } from '../removal-reason.ts';
import { requireOption } from '../require-option.ts';
import { safeJson, terminalText } from '../terminal-text.ts';

const line = 'quittance erase --session ticket-42 --reason "request of the customer"';

export const eraseCommand: CliCommand = {
  name: 'erase',
  summary: 'Empty the contents of a session or a call permanently',
  about: [
    'Removes inputs, outputs, messages, artifacts and sealed inputs. The chain stays valid and shows that calls were made, when, and how they ended. It records who erased the contents and why. Calls without an outcome and unresolved calls are refused.',
  ],
  options: {
    session: { value: 'ID', help: 'The session' },
    call: { value: 'ID', help: 'Only this call of the session' },
    ...removalOptions,
  },
  examples: [[line, 'a whole session']],
  effect(given, context) {
    const wanted = requireOption(given, 'session', 'A removal needs a session', line);
    const question = `Empty ${given.has('call') ? 'this call' : 'the session'} ${terminalText(given.text('call') ?? wanted)} permanently?`;
    return removalEffect(given, context, { line, question, word: 'erase' });
  },
  async run(given, context) {
    const wanted = requireOption(given, 'session', 'A removal needs a session', line);
    const reason = readRemovalReason(given, context);
    return context.withLedger(
      given,
      async (ledger, meant) => {
        const sessionId = meant.text('session') ?? wanted;
        const callId = meant.text('call');
        const entries = await eraseContents(ledger, { sessionId, callId }, reason).catch(toUsageError);
        if (given.has('json')) await context.out.print(safeJson({ sessionId, callId, entries }));
        else
          await context.out.say(
            entries === 0 ? 'Nothing was left to erase.' : `Erased the contents of ${entries} entries.`,
          );
        return entries === 0 ? exitCodes.bad : exitCodes.good;
      },
      'write',
    );
  },
};
