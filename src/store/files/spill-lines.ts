/** The lines of a spill file: one entry each, prefixed with its digest. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import { writeEntry } from '../../ledger/formats/v1/write-entry.ts';
import type { Entry } from '../../ledger/journal.ts';

/** The owner and the ledger of a spill. */
export type SpillOwner = { readonly folder: string; readonly ownerId: string; readonly ledgerId: string };

/** `rest`: content of the file other than these entries. */
export type SpillLines = {
  readonly entries: readonly Entry[];
  readonly rest: 'nothing' | 'damaged' | 'of_another_ledger';
};

/** Reads every complete line. A broken line at the end was torn by a crash; one before a complete line is damage. */
export const readSpillLines = (path: string, ledgerId: string): SpillLines =>
  new SpillReader(ledgerId).read(path);

type ReadText = SpillLines & { readonly text: string; readonly endsBroken: boolean };
const nothing: ReadText = { text: '', entries: [], rest: 'nothing', endsBroken: false };

/**
 * Reads spill files again and again, and parses only what was added. While the ledger fails, each new call looks here for
 * its outcome.
 */
export class SpillReader {
  readonly #ledgerId: string;
  readonly #known = new Map<string, ReadText>();

  constructor(ledgerId: string) {
    this.#ledgerId = ledgerId;
  }

  read(path: string): SpillLines {
    const text = readText(path);
    const known = this.#known.get(path) ?? nothing;
    if (text === known.text) return known;
    const read = this.#continue(text.startsWith(known.text) ? known : nothing, text);
    // Only whole lines can be continued.
    if (text.endsWith('\n')) this.#known.set(path, read);
    else this.#known.delete(path);
    return read;
  }

  /** The file is gone. */
  forget(path: string): void {
    this.#known.delete(path);
  }

  #continue(known: ReadText, text: string): ReadText {
    const entries = [...known.entries];
    let { rest, endsBroken } = known;
    for (const line of text.slice(known.text.length).split('\n')) {
      const spilled = parseLine(line);
      if (spilled === undefined) {
        endsBroken ||= line.replaceAll('\0', '') !== '';
        continue;
      }
      if (endsBroken) rest = 'damaged';
      if (spilled.of !== undefined && spilled.of !== this.#ledgerId) rest = 'of_another_ledger';
      else entries.push(spilled.entry);
    }
    return { text, entries, rest, endsBroken };
  }
}

/** The text of a spill without the blank rest of its file, which is usually almost all of it. */
function readText(path: string): string {
  try {
    const bytes = readFileSync(path);
    return bytes.toString('utf8', 0, lengthWithoutBlanks(bytes));
  } catch (error) {
    if (isAbsent(error)) return ''; // another process has imported it meanwhile
    throw error;
  }
}

const blank = Buffer.alloc(65_536);

function lengthWithoutBlanks(bytes: Buffer): number {
  let end = bytes.length;
  while (end > 0) {
    const from = Math.max(0, end - blank.length);
    if (!bytes.subarray(from, end).equals(blank.subarray(0, end - from))) break;
    end = from;
  }
  while (end > 0 && bytes[end - 1] === 0) end--;
  return end;
}

export const isAbsent = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

function parseLine(line: string): { readonly entry: Entry; readonly of: string | undefined } | undefined {
  const text = line.slice(65);
  if (line[64] !== ' ' || line.slice(0, 64) !== hash('sha256', text)) return undefined;
  try {
    const spilled = JSON.parse(text) as SpilledText;
    return { entry: fromSpilled(spilled), of: spilled.ledger };
  } catch {
    return undefined; // its digest matches, so another program wrote it
  }
}

export function writeSpillLine(entry: Entry, place: SpillOwner, salt: () => string): Buffer {
  const text = JSON.stringify(toSpilled(entry, place, salt));
  return Buffer.from(`${hash('sha256', text)} ${text}\n`);
}

/** As the ledger would have written it, plus the state that the ledger stores outside entries. */
type SpilledText = {
  readonly text: string;
  readonly bodies?: string | undefined;
  readonly sealed?: string | undefined;
  readonly dropSealed?: boolean | undefined;
  /** Files of earlier versions do not name their ledger. */
  readonly ledger?: string | undefined;
};

function toSpilled(entry: Entry, { ownerId, ledgerId }: SpillOwner, salt: () => string): SpilledText {
  const { text, bodies } = writeEntry(entry, ownerId, salt);
  return { text, bodies, sealed: entry.sealed, dropSealed: entry.dropSealed, ledger: ledgerId };
}

function fromSpilled({ text, bodies, sealed, dropSealed }: SpilledText): Entry {
  const { entryId, sessionId, callId, expectedVersion, events, ...parts } = readEntry({ text, bodies });
  const { claim, releaseClaim, reserve, settle, moves, depth } = parts;
  return {
    entryId,
    sessionId,
    callId,
    expectedVersion,
    events: events as Entry['events'], // written by us: of known types
    ...(claim !== undefined && { claim }),
    ...(releaseClaim !== undefined && { releaseClaim }),
    ...(reserve !== undefined && { reserve }),
    ...(settle !== undefined && { settle }),
    ...(moves !== undefined && { moves }),
    ...(depth > 0 && { depth }),
    ...(sealed !== undefined && { sealed }),
    ...(dropSealed !== undefined && { dropSealed }),
  };
}
