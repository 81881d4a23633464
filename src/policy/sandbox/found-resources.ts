/** The resources that a call names. */
import { type CommandLine } from './command-line.ts';
import { type FoundPath } from './found-path.ts';
import type { FoundHost } from './host-name.ts';
import { type ProgramRun } from './run-programs.ts';

export type FoundResources = {
  readonly paths: readonly FoundPath[];
  readonly commands: readonly FoundCommand[];
  readonly hosts: readonly FoundHost[];
};

export type FoundCommand = {
  readonly line: CommandLine;
  /** Only its form says that it is a command, neither the tool nor the name of its argument. */
  readonly guessed: boolean;
  /** The programs it runs, one by one; undefined if they cannot be read. */
  readonly runs: readonly ProgramRun[] | undefined;
  /**
   * The files it runs, if its first words are paths. They count as ordinary paths unless commands are judged by name.
   */
  readonly program: readonly FoundPath[];
};
