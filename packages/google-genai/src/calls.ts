/** Reads function calls from the answer of a Gemini model, in any format of the SDK. */
import { QuittanceError } from 'quittance/internal/base/error';
import { isJsonObject, ownValue } from 'quittance/internal/base/json';

/** A function call. */
export type GenAiFoundCall = {
  /**
   * Equal for the same call in a copy of its response: its place in the response with this id. Without the id of a
   * response, only the same object is the same call.
   */
  readonly source: string | object;
  /** Undefined if the model gave none, as most Gemini models do. */
  readonly id: string | undefined;
  readonly name: string;
  readonly args: unknown;
  readonly isCutOff: boolean;
};

/**
 * Accepts a response, the chunks of a streamed one, a content, parts, function calls, or a message of the Live API.
 */
export function readGenAiCalls(said: unknown): readonly GenAiFoundCall[] {
  const responseId = at(Array.isArray(said) ? said[0] : said, 'responseId');
  const calls = callsIn(said).map((call, index): GenAiFoundCall => {
    refusePieces(call);
    const given = ownValue(call, 'id');
    const id = typeof given === 'string' && given !== '' ? given : undefined;
    // The code that reads calls rejects wrong types, with a message.
    const name = ownValue(call, 'name') as string;
    const args = ownValue(call, 'args') ?? {};
    const source = typeof responseId === 'string' ? JSON.stringify([responseId, index]) : call;
    return { source, id, name, args, isCutOff: false };
  });
  // An answer that reached its length limit may be cut off in its last call.
  const last = calls.at(-1);
  return last !== undefined && isShort(said) ? [...calls.slice(0, -1), { ...last, isCutOff: true }] : calls;
}

/** The function calls themselves, in any form. */
export function callsIn(said: unknown): readonly object[] {
  if (Array.isArray(said)) return said.flatMap((item: unknown) => (isCall(item) ? [item] : callsIn(item)));
  if (typeof said !== 'object' || said === null) return [];
  // As the SDK reads a response: the first candidate counts.
  const candidate = readList(said, 'candidates')[0];
  if (candidate !== undefined) return callsIn(at(candidate, 'content'));
  const parts = readList(said, 'parts');
  if (parts.length > 0) return parts.flatMap(callsIn);
  const call = at(said, 'functionCall');
  if (typeof call === 'object' && call !== null) return [call];
  const message = at(said, 'toolCall') ?? said;
  return readList(message, 'functionCalls').filter((one) => typeof one === 'object' && one !== null);
}

/** A single function call, as in `response.functionCalls`. */
const isCall = (item: unknown): item is object =>
  isJsonObject(item) && typeof item['name'] === 'string' && !('functionCall' in item);

/** A call that arrives in pieces has incomplete arguments and must not run. */
function refusePieces(call: object): void {
  const pieces = ownValue(call, 'partialArgs');
  if (ownValue(call, 'willContinue') !== true && (!Array.isArray(pieces) || pieces.length === 0)) return;
  throw new QuittanceError(
    'config.invalid',
    'A function call arrived in pieces (streamFunctionCallArguments), so its arguments are ' +
      'incomplete. Nothing ran. Leave streamFunctionCallArguments out of functionCallingConfig.',
  );
}

const isShort = (said: unknown): boolean =>
  (Array.isArray(said) ? (said as readonly unknown[]) : [said]).some(
    (one) => at(readList(one, 'candidates')[0], 'finishReason') === 'MAX_TOKENS',
  );

const at = (holder: unknown, key: string): unknown =>
  typeof holder === 'object' && holder !== null ? ownValue(holder, key) : undefined;

export function readList(holder: unknown, key: string): readonly unknown[] {
  const list = at(holder, key);
  return Array.isArray(list) ? list : [];
}
