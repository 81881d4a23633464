/** Decodes the bytes of a document to text, with the stamp of exactly these bytes. */
import type { DocumentReading } from './document-reading.ts';
import { DocumentReader } from './document-reader.ts';
import { sha256Hex } from '../language/join-versions.ts';

const mostBytes = 2 ** 20;

export type DocumentText = {
  readonly text: string;
  /** sha256 of the raw bytes, in hex. */
  readonly version: string;
};

/** Undefined if the document contains something forbidden; then there are problems. */
export function readDocumentText(
  given: string | Uint8Array,
  source: string,
  problems: DocumentReading['problems'],
): (DocumentText & { readonly reading: DocumentReading }) | undefined {
  const bytes = typeof given === 'string' ? new TextEncoder().encode(given) : given;
  const text = typeof given === 'string' ? given : decode(given);
  const reading: DocumentReading = { source, locate: createLocator(text ?? ''), problems };
  const refuse = (offset: number, message: string): undefined =>
    new DocumentReader({ type: 'scalar', value: null, offset }, reading).refuse(message);

  if (bytes.byteLength > mostBytes)
    return refuse(0, `The document has ${bytes.byteLength} bytes; expected at most ${mostBytes} (1 MiB).`);
  if (text === undefined) return refuse(0, 'The document is not UTF-8 text.');
  // Such text has no bytes of its own: two different documents would get one stamp.
  if (!text.isWellFormed()) return refuse(0, 'The document contains half a character (a lone surrogate).');
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const control = text.search(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/);
  if (control >= 0) {
    const code = text.charCodeAt(control).toString(16).toUpperCase().padStart(4, '0');
    return refuse(
      control,
      `The document contains a control character (U+${code}); write it as an escape in quotes.`,
    );
  }
  return { text, version: sha256Hex(bytes), reading };
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Line and column by position. Lines are counted on first use. */
export function createLocator(text: string): DocumentReading['locate'] {
  let starts: readonly number[] | undefined;
  return (offset) => {
    starts ??= [0, ...text.matchAll(/\n/g).map(({ index }) => index + 1)];
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}
