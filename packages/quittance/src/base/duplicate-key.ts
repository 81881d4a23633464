/**
 * The first key that occurs twice in one object of a JSON text. Parsers keep one of the two values without saying
 * which, so such a text is ambiguous. Expects valid JSON.
 */
export function findDuplicateKey(text: string): string | undefined {
  // The keys of the enclosing objects; undefined for an array.
  const open: (Set<string> | undefined)[] = [];
  let mayBeKey = false;
  for (let at = 0; at < text.length; at++) {
    switch (text.charAt(at)) {
      case '{':
        open.push(new Set());
        mayBeKey = true;
        break;
      case '[':
        open.push(undefined);
        mayBeKey = false;
        break;
      case '}':
      case ']':
        open.pop();
        mayBeKey = false;
        break;
      case ',':
        mayBeKey = open.at(-1) !== undefined;
        break;
      case '"': {
        const start = at;
        for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++;
        if (!mayBeKey) break;
        const keys = open.at(-1);
        const written = text.slice(start, at + 1);
        const key = written.includes('\\') ? (JSON.parse(written) as string) : written.slice(1, -1);
        if (keys?.has(key) === true) return key;
        keys?.add(key);
        mayBeKey = false;
        break;
      }
      default:
    }
  }
  return undefined;
}
