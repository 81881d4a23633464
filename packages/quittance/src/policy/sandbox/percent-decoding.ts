/**
 * Decodes percent escapes as any later decoder might. Lenient on purpose: overlong UTF-8 (`%c0%ae` for a dot) and
 * `%u002e` are read as the most careless decoder would. A gate must see every path that code behind it could see.
 * Other text stays as it is; nothing throws.
 */

/** One round of decoding. Returns the same text if there was nothing to decode. */
export function decodePercent(text: string): string {
  if (!text.includes('%')) return text;
  return text.replace(/(?:%[0-9a-f]{2})+|%u[0-9a-f]{4}/gi, (run) =>
    /^%u/i.test(run) ? String.fromCharCode(Number.parseInt(run.slice(2), 16)) : decodeRun(run),
  );
}

function decodeRun(run: string): string {
  let decoded = '';
  for (let at = 0; at < run.length;) {
    const lead = byteAt(run, at);
    const length =
      lead < 0x80 ? 1 : lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf8 ? 4 : 0;
    const code = length === 0 ? undefined : joinBytes(run, at, lead, length);
    decoded += code === undefined ? '\ufffd' : String.fromCodePoint(code);
    at += 3 * (code === undefined ? 1 : length);
  }
  return decoded;
}

/** The shortest form is not required: overlong forms are the trick that this must detect. */
function joinBytes(run: string, at: number, lead: number, length: number): number | undefined {
  let code = length === 1 ? lead : lead & (0xff >> (length + 1));
  for (let index = 1; index < length; index++) {
    const next = byteAt(run, at + 3 * index);
    if ((next & 0xc0) !== 0x80) return undefined;
    code = (code << 6) | (next & 0x3f);
  }
  return code > 0x10ffff ? undefined : code;
}

/** The byte of the escape at this position; past the end, a byte that continues nothing. */
const byteAt = (run: string, at: number): number =>
  at < run.length ? Number.parseInt(run.slice(at + 1, at + 3), 16) : 0;
