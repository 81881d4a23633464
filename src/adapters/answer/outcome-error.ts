/** How a call that did not succeed reaches a framework that knows failed tools by what they throw. */
import { isJsonObject } from '../../base/json.ts';
import { isToolOutcome } from '../../call/is-tool-outcome.ts';
import { outcomeToModelContent } from '../../call/model-content.ts';
import type { ToolOutcome } from '../../call/outcome.ts';

/** Thrown to the framework where a call was denied, failed or timed out. The message is what the model is told. */
export class ToolOutcomeError extends Error {
  override readonly name = 'ToolOutcomeError';
  readonly outcome: ToolOutcome;

  constructor(outcome: ToolOutcome) {
    super(toSingleText(outcomeToModelContent(outcome), outcome.modelNote));
    this.outcome = outcome;
  }

  /** Some frameworks tell their model this instead of the message. */
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
 * The content and a note in one text, for frameworks that tell their model exactly one. It stays JSON: an object gets a
 * member `note`, anything else becomes the member `output` of an object.
 */
export function toSingleText(content: string, note: string | undefined): string {
  if (note === undefined) return content;
  const said: unknown = JSON.parse(content);
  return JSON.stringify(
    isJsonObject(said) && !Object.hasOwn(said, 'note') ? { ...said, note } : { output: said, note },
  );
}
