import type { ExitCode } from './exit-code.ts';
import { exitCodes } from './exit-code.ts';

/** A command that cannot run, with commands to try instead. */
export class UsageError extends Error {
  /** Command lines to try, or a sentence that leads to one. */
  readonly tryThis: readonly string[];
  readonly exitCode: ExitCode;
  /** Lines below the message, such as the problems of a file. */
  readonly details: readonly string[];

  constructor(
    message: string,
    tryThis: readonly string[] = [],
    exitCode: ExitCode = exitCodes.usage,
    details: readonly string[] = [],
  ) {
    super(message);
    this.details = details;
    this.name = 'UsageError';
    this.tryThis = tryThis;
    this.exitCode = exitCode;
  }
}
