/** The resources that a call names. */
import { programWords, type CommandText } from '../../base/command-text.ts';
import type { FoundPath } from './found-path.ts';
import type { FoundHost } from './host-name.ts';
import { readPlain, type PlainCommand } from './programs.ts';

export type FoundResources = {
  readonly paths: readonly FoundPath[];
  readonly commands: readonly FoundCommand[];
  readonly hosts: readonly FoundHost[];
};

export type FoundCommand = {
  /** Is it certain that a shell runs exactly these commands? If not, they are the words that could be made out. */
  readonly readable: boolean;
  /** It has several commands, or redirections. */
  readonly chained: boolean;
  /** Only its form says that it is a command, neither the tool nor the name of its argument. */
  readonly guessed: boolean;
  readonly runs: readonly CommandRun[];
};

export type CommandRun = {
  /** The words from the program on. */
  readonly words: readonly string[];
  /** Undefined if the command is opaque: its words do not show what it does. */
  readonly plain: PlainCommand | undefined;
  /** The file it runs, if its first word is a path. It counts as a path unless commands are judged by name. */
  readonly program: readonly FoundPath[];
};

/** The commands of a text, before their paths are resolved. */
export function readRuns({ commands }: CommandText): readonly Omit<CommandRun, 'program'>[] | undefined {
  const runs: Omit<CommandRun, 'program'>[] = [];
  for (const command of commands) {
    const words = programWords(command);
    if (words === undefined) return undefined;
    runs.push({ words, plain: readPlain(words) });
  }
  return runs;
}
