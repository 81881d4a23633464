/**
 * A message that JSON-RPC does not allow. Its sender may wait for an answer, or may have answered a request that waits.
 * Both would wait until they give up, so such a message still ends what it is about.
 */
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { isFields, rpcCodes, textOf, toFields } from './relayed-request.ts';

export class UnreadableMessage extends Error {
  override readonly name = 'UnreadableMessage';
  /** What the sender means, as far as that is clear: the answer to a request. */
  readonly answer: JSONRPCMessage | undefined;
  /** The answer that the sender gets, if it made a request. */
  readonly refusal: JSONRPCMessage | undefined;

  constructor(message: unknown, options?: ErrorOptions) {
    super('A message is not valid JSON-RPC.', options);
    const { id, method } = toFields(message);
    if (typeof id !== 'string' && !isInteger(id)) return;
    if (method === undefined) this.answer = toAnswer(id, toFields(message));
    else
      this.refusal = {
        jsonrpc: '2.0',
        id,
        error: { code: rpcCodes.invalidRequest, message: 'Invalid Request' },
      };
  }
}

/** An error counts, whatever is next to it. A result that is not an object is an empty one. */
function toAnswer(
  id: string | number,
  { result, error }: { readonly result?: unknown; readonly error?: unknown },
): JSONRPCMessage {
  if (error === undefined || error === null)
    return { jsonrpc: '2.0', id, result: isFields(result) ? { ...result } : {} };
  const { code, message, data } = toFields(error);
  return {
    jsonrpc: '2.0',
    id,
    error: {
      code: isInteger(code) ? code : rpcCodes.internal,
      message: textOf(message) ?? textOf(error) ?? 'The server answered with an error that has no text.',
      ...(data !== undefined && { data }),
    },
  };
}

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);

/** The error of the SDK for a message over HTTP, which it reads itself. */
export const isUnreadable = (error: unknown): boolean =>
  error instanceof UnreadableMessage || (error instanceof Error && error.name === 'ZodError');
