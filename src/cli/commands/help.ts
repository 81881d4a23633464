import type { Command } from '../command.ts';
import { findCommand } from '../command-line.ts';
import { exitCodes } from '../exit-code.ts';
import { commandHelp, programHelp } from '../help-text.ts';

/** Explains the commands it is given, itself among them. */
export const createHelpCommand = (all: () => readonly Command[]): Command => ({
  name: 'help',
  summary: 'Explain this program, or one of its commands',
  takes: '[<command>]',
  most: 1,
  options: {},
  examples: [
    ['quittance help', 'what there is'],
    ['quittance help verify', 'one command'],
  ],
  run: async (given, { out }) => {
    const [name] = given.args;
    const lines = name === undefined ? programHelp(all(), out) : commandHelp(findCommand(name, all()), out);
    for (const line of lines) await out.print(line);
    return exitCodes.good;
  },
});
