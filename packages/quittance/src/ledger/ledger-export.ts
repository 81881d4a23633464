/**
 * A ledger as a file in JSON Lines. The first line describes the content, the last one has the count and digest of
 * all lines, so a cut or changed file is detected. Each line between is an entry exactly as stored. The file alone is
 * enough to verify the chains. It contains no sealed data.
 */
import { createHash } from 'node:crypto';
import { QuittanceError } from '../base/error.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject, readJsonText } from '../base/json.ts';
import type { Head } from './chain.ts';
import { headFromWire } from './chain.ts';
import type { StoredEntry } from './stored-entry.ts';

/** The first line. */
export type ExportManifest = {
  /** Milliseconds since 1970, by the ledger's clock. */
  readonly createdAt: number;
  /** Version of the program that wrote it. */
  readonly toolVersion: string;
  /** The end of each exported session's chain. Later entries are not in the export. */
  readonly heads: readonly Head[];
};

export type LedgerExport = {
  readonly manifest: ExportManifest;
  /**
   * The entries, numbered in order. Throws `ledger.damaged` with the line number if the text was changed. The export is
   * known to be complete only after its last entry.
   */
  readonly entries: AsyncIterable<StoredEntry>;
};

/** Writes an export, line by line, each with its line break. Entries after the heads of the manifest are left out. */
export async function* writeExport(
  entries: AsyncIterable<StoredEntry> | Iterable<StoredEntry>,
  manifest: ExportManifest,
): AsyncGenerator<string, void, undefined> {
  const lengths = new Map(manifest.heads.map(({ sessionId, sequence }) => [sessionId, sequence]));
  async function* within(): AsyncGenerator<StoredEntry, void, undefined> {
    for await (const entry of entries) if (entry.sequence <= (lengths.get(entry.sessionId) ?? 0)) yield entry;
  }
  yield* writeLines([`${toLine(manifestToWire(manifest))}\n`], within());
}

/** The content of the first line except the heads. */
export type ExportOutline = Omit<ExportManifest, 'heads'> & {
  readonly sessions: number;
  readonly entries: number;
};

/** Writes an export with more heads than fit in memory, in pages. The entries must be exactly those of the heads. */
export async function* writePagedExport(
  entries: AsyncIterable<StoredEntry>,
  outline: ExportOutline,
  pages: AsyncIterable<readonly Head[]>,
): AsyncGenerator<string, void, undefined> {
  async function* first(): AsyncGenerator<string, void, undefined> {
    yield toLine(outlineToWire(outline, [])).slice(0, -']}'.length);
    let [separator, sessions, length] = ['', 0, 0];
    for await (const heads of pages) {
      yield separator + heads.map((head) => toLine(headFields(head))).join();
      separator = ',';
      sessions += heads.length;
      length += countOf(heads);
    }
    if (sessions !== outline.sessions || length !== outline.entries)
      throw new QuittanceError(
        'ledger.unavailable',
        'Sessions were removed during the export, so it is incomplete. Export again.',
      );
    yield ']}\n';
  }
  yield* writeLines(first(), entries);
}

async function* writeLines(
  first: AsyncIterable<string> | Iterable<string>,
  entries: AsyncIterable<StoredEntry>,
): AsyncGenerator<string, void, undefined> {
  const digest = createHash('sha256');
  const noted = (text: string): string => {
    digest.update(text);
    return text;
  };
  for await (const piece of first) yield noted(piece);
  let count = 0;
  for await (const { sessionId, sequence, text, bodies = null, salt = null, hash } of entries) {
    count++;
    yield noted(`${toLine({ sessionId, sequence, text, bodies, salt, hash })}\n`);
  }
  yield `${endLine(2, count, digest.digest('hex'))}\n`;
}

/** Some line readers break at these two characters, which JSON does not escape. */
const toLine = (value: JsonObject): string =>
  JSON.stringify(value).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');

/** Format 1 had other names: `quittance_export`, `created`, `tool_version`, `session`. It is still read. */
type Format = 1 | 2;

const endLine = (format: Format, entries: number, digest: string): string =>
  JSON.stringify({
    ...(format === 1 ? { quittance_export_end: 1 } : { quittanceExportEnd: 2 }),
    entries,
    digest: `sha256:${digest}`,
  });

/** Reads an export from its lines, with or without line breaks. */
export async function readExport(lines: AsyncIterable<string> | Iterable<string>): Promise<LedgerExport> {
  const source = numbered(lines);
  const first = await source.next();
  if (first.done === true) throw damaged(1, 'the file is empty');
  const digest = createHash('sha256').update(`${first.value.text}\n`);
  const { format, manifest } = readFirstLine(parse(first.value));
  async function* read(): AsyncGenerator<StoredEntry, void, undefined> {
    let count = 0;
    let last = 1;
    for await (const line of source) {
      last = line.number;
      const value = parse(line);
      if ('quittance_export_end' in value || 'quittanceExportEnd' in value) {
        if (value['entries'] !== count)
          throw damaged(
            last,
            `it counts ${JSON.stringify(value['entries'])} entries, but there are ${count}`,
          );
        // The digest does not cover its own line, so that line must match exactly.
        if (line.text !== endLine(format, count, digest.digest('hex')))
          throw damaged(last, 'this line or the lines before it were changed');
        const more = await source.next();
        if (more.done !== true) throw damaged(more.value.number, 'the export ends before this line');
        return;
      }
      digest.update(`${line.text}\n`);
      yield entryFromWire(value, ++count, last);
    }
    throw damaged(last + 1, 'the export was cut: its last line is missing');
  }
  return { manifest, entries: read() };
}

type Line = { readonly text: string; readonly number: number };

/** Empty lines at the end come from splitting the text. */
async function* numbered(
  lines: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<Line, void, undefined> {
  let number = 0;
  let empty: Line[] = [];
  for await (const line of lines) {
    const text = line.endsWith('\n') ? line.slice(0, -1) : line;
    const next = { text, number: ++number };
    if (text === '') empty.push(next);
    else {
      yield* empty;
      empty = [];
      yield next;
    }
  }
}

const manifestToWire = ({ heads, ...rest }: ExportManifest): JsonObject =>
  outlineToWire({ ...rest, sessions: heads.length, entries: countOf(heads) }, heads);

/** The heads come last, so that they can be written after all the rest. */
const outlineToWire = (
  { createdAt, toolVersion, sessions, entries }: ExportOutline,
  heads: readonly Head[],
): JsonObject => ({
  quittanceExport: 2,
  createdAt,
  toolVersion,
  sessions,
  entries,
  heads: heads.map(headFields),
});

const headFields = ({ sessionId, sequence, hash }: Head): JsonObject => ({ sessionId, sequence, hash });

function readFirstLine(value: JsonObject): { readonly format: Format; readonly manifest: ExportManifest } {
  const number = value['quittanceExport'] ?? value['quittance_export'];
  if (typeof number !== 'number') throw damaged(1, 'it is not the first line of an export');
  const format = 'quittanceExport' in value ? 2 : 1;
  const { sessions, entries, heads } = value;
  const createdAt = format === 1 ? value['created'] : value['createdAt'];
  const toolVersion = format === 1 ? value['tool_version'] : value['toolVersion'];
  if (number > format)
    throw new QuittanceError(
      'ledger.newer',
      `This export was written by a newer version (${JSON.stringify(toolVersion)}). Update the package.`,
    );
  if (typeof createdAt !== 'number' || typeof toolVersion !== 'string' || !Array.isArray(heads))
    throw damaged(1, '"createdAt", "toolVersion" or "heads" is missing');
  const all = (heads as readonly JsonValue[]).map(format === 1 ? headFromWire : readHead);
  if (sessions !== all.length || entries !== countOf(all))
    throw damaged(1, 'its counts of sessions or entries do not match its list');
  return { format, manifest: { createdAt, toolVersion, heads: all } };
}

function readHead(value: JsonValue): Head {
  const { sessionId, sequence, hash } = isJsonObject(value) ? value : {};
  if (typeof sessionId === 'string' && typeof sequence === 'number' && typeof hash === 'string')
    return { sessionId, sequence, hash };
  throw new QuittanceError('ledger.damaged', 'The head of a chain must be {sessionId, sequence, hash}.');
}

const countOf = (heads: readonly Head[]): number =>
  heads.reduce((entries, { sequence }) => entries + sequence, 0);

function entryFromWire(value: JsonObject, position: number, line: number): StoredEntry {
  const { sequence, text, bodies, salt, hash } = value;
  const sessionId = value['sessionId'] ?? value['session'];
  if (typeof sessionId !== 'string' || typeof sequence !== 'number' || typeof text !== 'string')
    throw damaged(line, '"sessionId", "sequence" or "text" is missing');
  if (!isTextOrNull(bodies) || !isTextOrNull(salt) || typeof hash !== 'string')
    throw damaged(line, '"bodies", "salt" or "hash" is missing');
  return {
    position,
    sessionId,
    sequence,
    text,
    bodies: bodies ?? undefined,
    salt: salt ?? undefined,
    hash,
  };
}

const isTextOrNull = (value: JsonValue | undefined): value is string | null =>
  typeof value === 'string' || value === null;

function parse({ text, number }: Line): JsonObject {
  let value: JsonValue;
  try {
    value = readJsonText(text);
  } catch (cause) {
    throw damaged(number, 'it is not JSON', cause);
  }
  if (!isJsonObject(value)) throw damaged(number, 'it is not an object');
  return value;
}

const damaged = (line: number, problem: string, cause?: unknown): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `Line ${line} of the export is invalid: ${problem}.`,
    { line: String(line) },
    cause,
  );
