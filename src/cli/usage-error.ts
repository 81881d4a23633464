import type { ExitCode } from './exit-code.ts';
import { exitCodes } from './exit-code.ts';

/** A command that cannot run, with commands to try instead. */
export class UsageError extends Error {
  /** Command lines to try, or a sentence that leads to one. */
  readonly tryThis: readonly string[];
  readonly exitCode: ExitCode;

  constructor(message: string, tryThis: readonly string[] = [], exitCode: ExitCode = exitCodes.usage) {
    super(message);
    this.name = 'UsageError';
    this.tryThis = tryThis;
    this.exitCode = exitCode;
  }
}
