/** Bytes without what is hidden. The same bytes where there was nothing. */
export function cleanBytes(
  bytes: Uint8Array,
  cleanText: (text: string) => string,
  hidden: readonly string[],
): Uint8Array {
  const text = readUtf8(bytes);
  if (text === undefined) return blot(bytes, hidden);
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

/** A picture or a document keeps its length; only the value itself goes. */
function blot(bytes: Uint8Array, hidden: readonly string[]): Uint8Array {
  const found = hidden.filter((value) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(value),
  );
  if (found.length === 0) return bytes;
  const copy = Buffer.from(bytes);
  for (const value of found) {
    const wanted = Buffer.from(value);
    for (let at = copy.indexOf(wanted); at >= 0; at = copy.indexOf(wanted, at + wanted.length))
      copy.fill(asterisk, at, at + wanted.length);
  }
  return new Uint8Array(copy);
}
