/**
 * Files that a body attached and that no result lists, because there was none: they are named in the extras of the
 * failure, under `files`, or under `recorded_files` where the author of the tool has used that word.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import type { OutputFile } from './outcome.ts';

export const attachedFilesToExtra = (files: readonly OutputFile[]): JsonValue =>
  files.map(({ artifactId, mimeType, sizeBytes, digest, name }) => ({
    $artifact: artifactId,
    mime_type: mimeType,
    size_bytes: sizeBytes,
    ...(digest !== undefined && { digest }),
    ...(name !== undefined && { name }),
  }));

/** A file, as extras name it. */
export type AttachedFile = Pick<OutputFile, 'artifactId' | 'mimeType' | 'name'>;

/** Where extras name such files, and which. */
export function attachedFilesOf(
  extras: JsonObject | undefined,
): { readonly key: string; readonly files: readonly AttachedFile[] } | undefined {
  const key = ['recorded_files', 'files'].find((each) => extras !== undefined && Object.hasOwn(extras, each));
  const listed = key === undefined ? undefined : extras?.[key];
  if (key === undefined || !Array.isArray(listed)) return undefined;
  const files = (listed as readonly JsonValue[]).flatMap(toFile);
  return files.length === 0 || files.length < listed.length ? undefined : { key, files };
}

function toFile(value: JsonValue): readonly AttachedFile[] {
  if (!isJsonObject(value)) return [];
  const { $artifact: artifactId, mime_type: mimeType, name } = value;
  if (typeof artifactId !== 'string' || typeof mimeType !== 'string') return [];
  return [{ artifactId, mimeType, ...(typeof name === 'string' && { name }) }];
}
