import type { CliCommand, Topic } from '../command.ts';
import { reads } from '../command.ts';
import { findCommand } from '../command-line.ts';
import { exitCodes } from '../exit-code.ts';
import { commandHelp, groupHelp, isGroup, programHelp } from '../program-help.ts';

/** Explains the given commands, including this one. */
export const createHelpCommand = (topics: () => readonly Topic[]): CliCommand => ({
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
  effect: reads,
  run: async (given, { out }) => {
    const name = given.args.join(' ');
    const commands = topics().flatMap((topic) => topic.commands);
    const lines =
      name === ''
        ? programHelp(topics(), out)
        : isGroup(name, commands)
          ? groupHelp(name, commands, out)
          : commandHelp(findCommand(name, commands), out);
    for (const line of lines) await out.print(line);
    return exitCodes.good;
  },
});
