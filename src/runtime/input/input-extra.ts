import type { JsonObject } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';

/** A longer input is only on the record of the call. */
const longestInput = 12_000;

/** The stored form of a failed call's input, for the extras of its failure. */
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
