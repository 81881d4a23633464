import { proofOptions } from '../proof.ts';
import type { CliCommand } from '../command.ts';
import { reads } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { runTui } from '../tui/run-tui.ts';
import { UsageError } from '../usage-error.ts';

export const tuiCommand: CliCommand = {
  name: 'tui',
  summary: 'Follow calls and decide held calls in a terminal',
  about: [
    'Two lists, updated every second: the inbox, riskiest first, and the newest calls. Enter opens a question with everything that would run. After you scrolled to the end, a approves. d denies, with an optional reason. Esc goes back, q or Ctrl-C quits.',
    'Your keys are the confirmation. With a token, decisions record its name; otherwise give --by.',
    'A decision applies to exactly what the page showed: its digest and preview revision. Without --by you can look, and not decide.',
  ],
  options: { by: { value: 'NAME', help: 'Name of the person who decides' }, ...proofOptions },
  examples: [
    ['quittance tui --by "Ada"', 'decide as Ada'],
    ['quittance tui --ledger shop.db', 'look only'],
  ],
  effect(given, { keyboard }) {
    const by = given.text('by');
    if (keyboard === undefined)
      throw new UsageError('quittance tui needs a terminal: input and output must not be redirected.', [
        'quittance pending',
        'quittance calls --follow',
      ]);
    if (by !== undefined && by.trim() === '')
      throw new UsageError('--by is the name of a person.', ['quittance tui --by NAME']);
    return by !== undefined || given.has('token-file')
      ? { kind: 'decides', role: 'approver', line: 'quittance tui' }
      : reads;
  },
  async run(given, context) {
    const { keyboard, env, signal } = context;
    if (keyboard === undefined) return exitCodes.usage;
    // Every decision is a key that the person presses after they read to the end.
    const decider = context.proof?.decider;
    return context.withLedger(
      given,
      async (ledger) => {
        await runTui({ ledger, ...keyboard, env, signal, decider });
        return exitCodes.good;
      },
      decider === undefined ? 'look' : 'write',
    );
  },
};
