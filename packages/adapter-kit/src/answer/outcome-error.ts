/** Reports an unsuccessful call to frameworks in which tools fail by throwing. */
import { isJsonObject } from 'quittance/internal/base/json';
import { isToolOutcome } from 'quittance/internal/call/is-tool-outcome';
import { outcomeToModelContent } from 'quittance/internal/call/model-content';
import type { ToolOutcome } from 'quittance/internal/call/outcome';

/** Thrown to the framework if a call was denied, failed or timed out. The message is the text for the model. */
export class ToolOutcomeError extends Error {
  override readonly name = 'ToolOutcomeError';
  readonly outcome: ToolOutcome;

  constructor(outcome: ToolOutcome) {
    super(toSingleText(outcomeToModelContent(outcome), outcome.modelNote));
    this.outcome = outcome;
  }

  /** Some frameworks send this to their model instead of the message. */
  override toString(): string {
    return this.message;
  }
}

/** True also for errors of another copy of this package. */
export const isToolOutcomeError = (error: unknown): error is ToolOutcomeError =>
  error instanceof Error &&
  error.name === 'ToolOutcomeError' &&
  'outcome' in error &&
  isToolOutcome(error.outcome);

/**
 * The content and a note in one text, for frameworks that send their model exactly one. It stays JSON: an object gets
 * a member `note`; any other value becomes the member `output` of an object.
 */
export function toSingleText(content: string, note: string | undefined): string {
  if (note === undefined) return content;
  const said: unknown = JSON.parse(content);
  return JSON.stringify(
    isJsonObject(said) && !Object.hasOwn(said, 'note') ? { ...said, note } : { output: said, note },
  );
}
