import type { KnownSecrets } from '../../base/known-secrets.ts';
import { createKnownSecrets, shortestEchoed } from '../../base/known-secrets.ts';

/** Bytes without hidden values. Returns the same bytes if nothing was found. */
export function cleanBytes(
  bytes: Uint8Array,
  cleanText: (text: string) => string,
  known: KnownSecrets,
): Uint8Array {
  const text = readUtf8(bytes);
  if (text === undefined) return blot(bytes, known);
  const clean = cleanText(text);
  return clean === text ? bytes : new TextEncoder().encode(clean);
}

function readUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const asterisk = 0x2a;

/**
 * A binary file keeps its length; only the value itself is overwritten. One character stands for each byte.
 */
function blot(bytes: Uint8Array, known: KnownSecrets): Uint8Array {
  if (known.isEmpty) return bytes;
  const written = known.values.flatMap((value) => [
    Buffer.from(value, 'utf8').toString('latin1'),
    Buffer.from(value, 'utf16le').toString('latin1'),
  ]);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const spans = createKnownSecrets(written, shortestEchoed).spans(text);
  if (spans.length === 0) return bytes;
  const copy = new Uint8Array(bytes);
  for (const [start, end] of spans) copy.fill(asterisk, start, end);
  return copy;
}
