import type { JsonObject } from '../base/json.ts';

/** The artifact with the output of a tool that reported an error, if it was large. */
export function outputArtifactOf(extras: JsonObject | undefined): string | undefined {
  const key = outputArtifactKey(extras);
  const name = key === undefined ? undefined : extras?.[key];
  return typeof name === 'string' ? name : undefined;
}

/** The runtime uses another key if the author of the tool already used this one. */
export const outputArtifactKey = (extras: JsonObject | undefined): string | undefined =>
  ['recorded_output_artifact', 'output_artifact'].find(
    (key) => extras !== undefined && Object.hasOwn(extras, key),
  );
