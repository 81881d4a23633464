import type { JsonValue } from '../base/json.ts';
import { previewEndedWith } from '../runtime/preview.ts';
import type { PreviewRevision } from '../tool/preview.ts';
import { withoutArtifactNames } from './artifact-names.ts';
import type { RecordedCall, RecordedPreview, RecordedVersion } from './cassette.ts';
import { recordingKey } from './recording-shelf.ts';

/** Returns recorded previews by tool and input, in order. It asks no tool. */
export type PlayPreview = (
  toolName: string,
  input: JsonValue,
) => PreviewRevision | AsyncIterable<PreviewRevision>;

export function playRecordedPreviews(
  calls: readonly RecordedCall[],
  keep: (toolName: string, input: JsonValue) => JsonValue,
): PlayPreview {
  const waiting = new Map<string, RecordedPreview[]>();
  const keyFor = (toolName: string, input: JsonValue): string =>
    recordingKey({ toolName, input: withoutArtifactNames(keep(toolName, input)) });
  for (const { toolName, requestedInput, previews } of calls)
    for (const preview of previews) {
      const key = keyFor(toolName, preview.input ?? requestedInput);
      const known = waiting.get(key);
      if (known === undefined) waiting.set(key, [preview]);
      else known.push(preview);
    }
  return (toolName, input) => show(waiting.get(keyFor(toolName, input))?.shift());
}

function show(preview: RecordedPreview | undefined): PreviewRevision | AsyncIterable<PreviewRevision> {
  // The tool itself reports a call without a recording.
  if (preview === undefined) return { kind: 'text', text: 'No preview was recorded for this call.' };
  const [only, ...others] = preview.versions;
  // A stream of one version would be recorded twice: as the first and as the last.
  return only !== undefined && others.length === 0 && preview.problem === undefined
    ? toRevision(only)
    : stream(preview);
}

async function* stream({
  versions,
  problem,
}: RecordedPreview): AsyncGenerator<PreviewRevision, void, undefined> {
  for (const version of versions) yield toRevision(version);
  if (problem !== undefined) throw previewEndedWith(problem);
}

const toRevision = ({ preview, snapshot, expiresInMs }: RecordedVersion): PreviewRevision => ({
  ...preview,
  snapshot,
  ...(expiresInMs !== undefined && { expiresInMs }),
});
