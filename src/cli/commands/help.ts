import type { CliCommand } from '../command.ts';
import { findCommand } from '../command-line.ts';
import { exitCodes } from '../exit-code.ts';
import { commandHelp, groupHelp, isGroup, programHelp } from '../program-help.ts';

/** Explains the given commands, including this one. */
export const createHelpCommand = (all: () => readonly CliCommand[]): CliCommand => ({
  name: 'help',
  summary: 'Explain this program or one of its commands',
  takes: '[<command>]',
  most: 2,
  options: {},
  examples: [
    ['quittance help', 'list all commands'],
    ['quittance help verify', 'one command'],
    ['quittance help contracts', 'the commands for contracts'],
  ],
  run: async (given, { out }) => {
    const name = given.args.join(' ');
    const lines =
      name === ''
        ? programHelp(all(), out)
        : isGroup(name, all())
          ? groupHelp(name, all(), out)
          : commandHelp(findCommand(name, all()), out);
    for (const line of lines) await out.print(line);
    return exitCodes.good;
  },
});
