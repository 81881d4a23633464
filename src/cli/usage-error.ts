import type { ExitCode } from './exit-code.ts';
import { exitCodes } from './exit-code.ts';

/** Why a command is not carried out, and what to type instead. */
export class UsageError extends Error {
  /** Lines to type, or a sentence that leads to one. */
  readonly tryThis: readonly string[];
  readonly exitCode: ExitCode;

  constructor(message: string, tryThis: readonly string[] = [], exitCode: ExitCode = exitCodes.usage) {
    super(message);
    this.name = 'UsageError';
    this.tryThis = tryThis;
    this.exitCode = exitCode;
  }
}
