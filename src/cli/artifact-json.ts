import type { JsonObject } from '../base/json.ts';
import { formatPath } from '../base/json.ts';
import type { ArtifactArgument } from '../call/event.ts';

/** In the field names of the wire format. Undefined if there are no artifacts. */
export const artifactsToJson = (artifacts: readonly ArtifactArgument[]): readonly JsonObject[] | undefined =>
  artifacts.length === 0
    ? undefined
    : artifacts.map(({ path, artifactId, digest, sizeBytes, mimeType, preview, inPlace }) => ({
        path: formatPath(path),
        artifact_id: artifactId,
        digest,
        size_bytes: sizeBytes,
        mime_type: mimeType,
        preview,
        in_place: inPlace,
      }));
