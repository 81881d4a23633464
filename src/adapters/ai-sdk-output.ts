/**
 * What a wrapped tool gives back to the AI SDK, and what its model is fed of it. The output must say everything by
 * itself: an application may keep it as JSON and have it turned into a message much later.
 */
import { isJsonObject } from '../base/json.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { isOutcomeType } from '../call/outcome.ts';
import { outcomeToModelContent } from '../call/model-content.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { toAnswer } from './answer.ts';

/** The output of a success that has nothing else to say; otherwise the outcome. */
export function toOutput(outcome: ToolOutcome): unknown {
  if (outcome.type !== 'ToolExecutionResult' || outcome.modelNote !== undefined || outcome.files?.length)
    return outcome;
  // What looks like an outcome, of any call, would be read as one.
  return isOutcome(outcome.output) ? outcome : outcome.output;
}

export type ToModelOutput = (options: {
  readonly toolCallId: string;
  readonly input: unknown;
  readonly output: unknown;
}) => unknown;

/** Tells the model what the ledger holds. A tool's own view of its output is asked about successes alone. */
export function modelOutput(
  ledger: Ledger,
  sessionId: string,
  own: ((options: never) => unknown) | undefined,
): ToModelOutput {
  return async (options) => {
    const { output } = options;
    if (!isOutcome(output))
      return own === undefined
        ? { type: 'text', value: JSON.stringify(output) ?? 'null' }
        : own(options as never); // it is given what the SDK would give it
    const { content, note, files, isError } = await toAnswer(ledger, sessionId, output);
    if (note === undefined && files.length === 0)
      return { type: isError ? 'error-text' : 'text', value: content };
    return {
      type: 'content',
      value: [
        { type: 'text', text: content },
        ...(note === undefined ? [] : [{ type: 'text', text: note }]),
        ...files.map(({ mimeType, name, content: data }) => ({
          type: 'file-data',
          data: toBase64(data),
          mediaType: mimeType,
          ...(name !== undefined && { filename: name }),
        })),
      ],
    };
  };
}

const toBase64 = (data: Uint8Array | string): string => Buffer.from(data as string).toString('base64');

function isOutcome(value: unknown): value is ToolOutcome {
  if (!isJsonObject(value) || !Object.hasOwn(value, 'type') || !isOutcomeType(value['type'])) return false;
  if (typeof value['toolName'] !== 'string' || typeof value['callId'] !== 'string') return false;
  try {
    // What was told under this type can be told again.
    return typeof outcomeToModelContent(value as ToolOutcome) === 'string';
  } catch {
    return false;
  }
}
