/**
 * The next round of a request whose server asks for input before it answers. The server gets the request again with the
 * answers, so a server that never stops to ask would get it without end. The limits are those of the SDK.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fields } from './relayed-request.ts';
import { toFields } from './relayed-request.ts';

const mostRounds = 10;
/** Before a request is sent again because the server wants that, without a question. */
const pauseMs = 250;

export type Round = {
  /** Counted from 1. */
  readonly round: number;
  /** Parameters of the first request. */
  readonly params: Fields;
  /** What the server answered: `input_required`. */
  readonly result: Fields;
  readonly signal: AbortSignal | undefined;
  readonly ask: (requests: Fields) => Promise<Fields>;
};

/** Returns the parameters to send. */
export async function toNextRound({ round, params, result, signal, ask }: Round): Promise<Fields> {
  if (round > mostRounds) throw new Error(`The server still asked for input after ${mostRounds} rounds.`);
  const requests = toFields(result['inputRequests']);
  const { requestState } = result;
  const isAsked = Object.keys(requests).length > 0;
  const inputResponses = isAsked ? await ask(requests) : await sleep(pauseMs, undefined, { signal });
  return {
    ...params,
    ...(inputResponses !== undefined && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
  };
}
