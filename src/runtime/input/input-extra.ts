import type { JsonObject } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';

/** A longer input is on the record of the call and is not written a second time. */
const longestInput = 12_000;

/** The input of a call that failed, as it is kept, for the extras of its failure. */
export function inputExtra(
  { call }: { readonly call: Call | undefined },
  keyOf: (key: string) => string = (key) => key,
): JsonObject {
  const input = call?.effectiveInput ?? call?.requestedInput;
  if (input === undefined || input === null) return {};
  const { length } = JSON.stringify(input);
  return length > longestInput
    ? { [keyOf('input_omitted')]: `The input has ${length} characters and is on the record of the call.` }
    : { [keyOf('input')]: input };
}
