/** Estimates the serialised size of values in memory. */
import type { ArtifactFacts, NewArtifact } from '../../ledger/artifacts.ts';

/** Approximate number of bytes of the value as JSON, without serialising it. */
export function measureJson(value: unknown): number {
  let bytes = 0;
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    if (typeof next === 'string') bytes += next.length + 2;
    else if (typeof next !== 'object' || next === null) bytes += 5;
    else
      for (const [name, inner] of Object.entries(next)) {
        bytes += Array.isArray(next) ? 1 : name.length + 4;
        rest.push(inner);
      }
  }
  return bytes;
}

export function measureArtifact({ mimeType, content }: NewArtifact): ArtifactFacts {
  if (typeof content !== 'string') return { mimeType, encoding: 'bytes', bytes: content.byteLength };
  const encoding = content.isWellFormed() ? 'utf8' : 'utf16le';
  return { mimeType, encoding, bytes: Buffer.byteLength(content, encoding) };
}

export function toBytes({ content }: NewArtifact): Uint8Array {
  if (typeof content !== 'string') return content;
  return Buffer.from(content, content.isWellFormed() ? 'utf8' : 'utf16le');
}
