import type { JsonValue } from '../base/json.ts';
import { defineMember, isJsonObject, readJsonText } from '../base/json.ts';
import type { CassetteArtifact } from './cassette.ts';

/** The artifacts of a cassette by their names in it. */
export type RecordedArtifacts = ReadonlyMap<string, CassetteArtifact>;

/**
 * An input with the contents of its artifacts, as the runtime passes it to a tool. The name of an artifact without
 * content stays, so that no new input matches it.
 */
export function fillRecordedArtifacts(
  value: JsonValue,
  artifacts: RecordedArtifacts,
  isRoot = true,
): JsonValue {
  if (artifacts.size === 0) return value;
  if (Array.isArray(value))
    return (value as readonly JsonValue[]).map((item) => fillRecordedArtifacts(item, artifacts, false));
  if (!isJsonObject(value)) return value;
  if (!isRoot && Object.hasOwn(value, '$artifact')) {
    const name = value['$artifact'];
    const artifact = typeof name === 'string' ? artifacts.get(name) : undefined;
    return typeof artifact?.content === 'string'
      ? readContent(artifact.content, artifact.mimeType, value['as'] === 'text')
      : value;
  }
  const filled: { [key: string]: JsonValue } = {};
  for (const key of Object.keys(value))
    defineMember(filled, key, fillRecordedArtifacts(value[key] ?? null, artifacts, false));
  return filled;
}

function readContent(content: string, mimeType: string, asText: boolean): JsonValue {
  if (asText || mimeType !== 'application/json') return content;
  try {
    return readJsonText(content);
  } catch {
    return content;
  }
}
