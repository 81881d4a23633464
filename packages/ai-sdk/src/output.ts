/**
 * The result of a wrapped tool for the AI SDK, and the text for its model. An application may store the output as
 * JSON and convert it to a message much later. A note is therefore found through the record of the call.
 */
import { isJsonObject, toJson } from 'quittance/internal/base/json';
import { isSameJson } from 'quittance/internal/base/same-json';
import { isToolOutcome } from 'quittance/internal/call/is-tool-outcome';
import type { ToolOutcome } from 'quittance/internal/call/outcome';
import { sessionCallId } from 'quittance/internal/call/session-call-id';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { Answer, AnswerFile } from '@quittance/adapter-kit/internal/answer/answer';
import { toAnswer } from '@quittance/adapter-kit/internal/answer/answer';
import { fillMcpFiles } from '@quittance/adapter-kit/internal/adopt/keep-mcp-files';
import { isToolOutcomeError, ToolOutcomeError } from '@quittance/adapter-kit/internal/answer/outcome-error';

/**
 * The tool's output after a success. Throws if the call was denied, failed or timed out: the SDK turns that into an
 * error part. A large output is returned as the outcome with its reference.
 */
export function toOutput(outcome: ToolOutcome): unknown {
  switch (outcome.type) {
    case 'ToolExecutionResult':
      // An output that looks like an outcome would be read as one.
      return isToolOutcome(outcome.output) ? outcome : outcome.output;
    case 'ToolArtifactReference':
      return outcome;
    case 'ToolDenied':
    case 'ToolFailure':
    case 'ToolTimeout':
      throw new ToolOutcomeError(outcome);
  }
}

/** For frameworks that show an output without its call id: the outcome, if it contains more than the output. */
export function toOutputOrOutcome(outcome: ToolOutcome): unknown {
  if (outcome.type !== 'ToolExecutionResult' || outcome.modelNote !== undefined || outcome.files?.length)
    return outcome;
  return isToolOutcome(outcome.output) ? outcome : outcome.output;
}

/**
 * For `onError` of `toUIMessageStreamResponse`: the text of a failed tool part. Without it the SDK writes "An error
 * occurred." and later sends the same to the model. Other errors stay hidden.
 */
export const toErrorText = (error: unknown): string =>
  isToolOutcomeError(error) ? error.message : 'An error occurred.';

type ModelOutputOptions = {
  readonly toolCallId: string;
  readonly input: unknown;
  readonly output: unknown;
};
export type ToModelOutput = (options: ModelOutputOptions) => unknown;

/** Finds the outcome of an output. */
export type FindOutcome = (toolCallId: string, output: unknown) => Promise<ToolOutcome | undefined>;

/** Gives the model the recorded content. A tool's own `toModelOutput` is used for successes only. */
export function modelOutput(
  ledger: OpenLedger,
  sessionId: string,
  findOutcome: FindOutcome,
  own: ((options: never) => unknown) | undefined,
): ToModelOutput {
  return async (options) => {
    const { output, toolCallId } = options;
    const isOutcome = isToolOutcome(output);
    const outcome = isOutcome ? output : await findOutcome(toolCallId, output);
    const answer = outcome && (await toAnswer(ledger, sessionId, outcome));
    if (own === undefined || isOutcome)
      return answer === undefined
        ? { type: 'text', value: JSON.stringify(output) ?? 'null' }
        : withMore(contentOf(answer), answer);
    // The tool's own function gets the files of an MCP result where it expects them.
    const { value, rest } = fillMcpFiles(output, answer?.files ?? []);
    const view = await own({ ...options, output: value } as never); // as the SDK passes it
    if (answer === undefined) return view ?? { type: 'text', value: JSON.stringify(output) ?? 'null' };
    return withMore(view ?? contentOf(answer), { ...answer, files: rest });
  };
}

const contentOf = ({ content, isError }: Answer): object => ({
  type: isError ? 'error-text' : 'text',
  value: content,
});

/** The note and the files as separate parts. */
function withMore(view: unknown, { note, files }: Answer): unknown {
  if (note === undefined && files.length === 0) return view;
  const parts = partsOf(view);
  // A view without parts, such as the tool's own error, stays as its author made it.
  if (parts === undefined) return view;
  const more = note === undefined ? [] : [{ type: 'text', text: note }];
  return { type: 'content', value: [...parts, ...more, ...files.map(toFilePart)] };
}

function partsOf(view: unknown): readonly unknown[] | undefined {
  if (!isJsonObject(view)) return undefined;
  const { type, value } = view;
  if (type === 'content' && Array.isArray(value)) return value;
  if ((type === 'text' || type === 'error-text') && typeof value === 'string')
    return [{ type: 'text', text: value }];
  return type === 'json' ? [{ type: 'text', text: JSON.stringify(value) }] : undefined;
}

const toFilePart = ({ mimeType, name, content }: AnswerFile): object => ({
  type: 'file-data',
  data: Buffer.from(content as string).toString('base64'),
  mediaType: mimeType,
  ...(name !== undefined && { filename: name }),
});

/** Remembers the calls of one run and finds earlier ones in the ledger. */
export function rememberOutcomes(
  runtime: Runtime,
  sessionId: string,
): { readonly find: FindOutcome; readonly add: (toolCallId: string, outcome: ToolOutcome) => void } {
  const latest = new Map<string, ToolOutcome>();
  return {
    add: (toolCallId, outcome) => void latest.set(toolCallId, outcome),
    async find(toolCallId, output) {
      const known = latest.get(toolCallId);
      if (gave(known, output)) return known;
      let found: ToolOutcome | undefined;
      // A provider may reuse an id. Only the output tells which of these calls a stored message belongs to.
      for (let earlier = 0; ; earlier++) {
        const [call] = await runtime.calls.list({ sessionId, callId: sessionCallId(toolCallId, earlier) });
        if (call === undefined) return found;
        const outcome = call.settled?.outcome;
        if (gave(outcome, output)) found = outcome;
      }
    },
  };
}

function gave(outcome: ToolOutcome | undefined, output: unknown): boolean {
  if (outcome?.type !== 'ToolExecutionResult') return false;
  const json = toJson(output);
  return json.ok && isSameJson(outcome.output, json.value);
}
