/**
 * The text of an artifact as a reader wants it. Outputs are stored as JSON. If an output is one text, the quotes and
 * escapes of JSON do not belong to it.
 */
import { parseJson } from '../../base/json.ts';
import type { StoredArtifact } from '../../ledger/artifacts.ts';

export type ReadableArtifact = { readonly mimeType: string; readonly content: StoredArtifact['content'] };

export function toReadableArtifact({ mimeType, content }: ReadableArtifact): ReadableArtifact {
  if (mimeType !== 'application/json' || typeof content !== 'string' || !content.startsWith('"'))
    return { mimeType, content };
  const read = parseJson(content);
  return read.ok && typeof read.value === 'string'
    ? { mimeType: 'text/plain', content: read.value }
    : { mimeType, content };
}
