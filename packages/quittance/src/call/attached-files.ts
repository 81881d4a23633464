/**
 * Attached files of a call without a result that could list them. The extras of the failure name them under
 * `files`, or under `recorded_files` if the tool's author has used that key.
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

/** A file as extras name it. */
export type AttachedFile = Pick<OutputFile, 'artifactId' | 'mimeType' | 'name'>;

/** The files that extras name, and their key. */
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
