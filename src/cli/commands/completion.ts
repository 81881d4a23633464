import { completionScript, shells } from '../completion-script.ts';
import type { CliCommand } from '../command.ts';
import { reads } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { UsageError } from '../usage-error.ts';

/** Completes the given commands, including this one. */
export const createCompletionCommand = (all: () => readonly CliCommand[]): CliCommand => ({
  name: 'completion',
  summary: 'Print a shell script that completes these commands',
  takes: '<shell>',
  most: 1,
  about: ['Shells: bash, zsh and fish.'],
  options: {},
  examples: [
    ['eval "$(quittance completion bash)"', 'in ~/.bashrc'],
    ['eval "$(quittance completion zsh)"', 'in ~/.zshrc, after compinit'],
    ['quittance completion fish > ~/.config/fish/completions/quittance.fish', 'once'],
  ],
  effect: reads,
  run: async (given, { out }) => {
    const [wanted] = given.args;
    const shell = shells.find((each) => each === wanted);
    if (shell === undefined)
      throw new UsageError(
        wanted === undefined
          ? 'Missing shell name.'
          : `Supported shells: ${shells.join(', ')}; found ${JSON.stringify(wanted)}.`,
        shells.map((each) => `quittance completion ${each}`),
      );
    await out.write(completionScript(shell, all()));
    return exitCodes.good;
  },
});
