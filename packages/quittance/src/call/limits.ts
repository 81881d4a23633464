/**
 * Every number about people, grants and texts that a user could ask about. The runtime and the ledger check them for every
 * caller; HTTP, the command line and the console only read them.
 */
import { QuittanceError } from '../base/error.ts';

export const limits = {
  /** Rows of a page of a list. */
  pageRows: 1_000,
  /** Characters of the search for calls. Every word of it is looked up. */
  searchChars: 500,
  /** An approval that also covers similar calls of the session. The console offers these. */
  forSession: {
    longestMs: 86_400_000,
    uses: 1_000,
    offered: [900_000, 3_600_000, 28_800_000, 86_400_000],
    offeredUses: [3, 10, 30, 100],
    usual: { forMs: 3_600_000, uses: 10 },
  },
  /** A grant. Without an end it lasts as long as its session. */
  grant: {
    /** Characters of the name of a tool, or of the glob. */
    toolNameChars: 1_000,
    /** Active grants of a session. Every event carries the whole state. */
    active: 100,
    /** Characters of a condition, as JSON. */
    whereChars: 10_000,
    /** The console offers these durations, and a grant without an end. */
    offered: [900_000, 3_600_000, 28_800_000, 604_800_000],
    usualMs: 3_600_000,
  },
  /** A decision link. */
  link: { longestMs: 604_800_000, tokenChars: 8_192 },
  /** How long a person is remembered after their last sign-in, for the grants that they gave. */
  personKeptMs: 7_776_000_000,
  delegation: { longestMs: 7_776_000_000, active: 500 },
  /** Reminders that a host adds to those of the rules. */
  reminders: { times: 100, leastApartMs: 10_000 },
  /** Characters of the name of a person. */
  nameChars: 256,
  /** Characters of the name of a worker. */
  workerChars: 200,
  /** Characters of the id of a claim, and how many lost claims one may name. */
  requestIdChars: 200,
  reclaimed: 100,
  /** Characters of a reason on a grant, a delegation or a removal. */
  shortReasonChars: 1_000,
  /** Characters of a reason for a decision, a resolution or an undo. */
  reasonChars: 10_000,
  /** Characters of an answer to the model. */
  responseChars: 100_000,
} as const;

/** Throws unless this is the name of a person: one visible line. */
export function checkName(
  where: string,
  name: unknown,
  field = 'by',
  most: number = limits.nameChars,
): asserts name is string {
  if (typeof name !== 'string' || name.trim() === '')
    throw new QuittanceError(
      'config.invalid',
      `${where}: ${field} must be a name${field === 'by' ? ': the person who does this' : ''}.`,
    );
  if (name.length > most || /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(name))
    throw new QuittanceError(
      'config.invalid',
      `${where}: ${field} must be one line of at most ${most} characters, without control characters.`,
    );
}

/** Throws unless this is a text of at most so many characters, or left out. */
export function checkText(where: string, field: string, text: unknown, most: number): void {
  if (text === undefined || (typeof text === 'string' && text.length <= most)) return;
  throw new QuittanceError(
    'config.invalid',
    `${where}: ${field} must be a text of at most ${most.toLocaleString('en')} characters.`,
  );
}

/** Throws unless a list is asked for with a number of rows that a page may have. */
export function checkPage(where: string, { limit }: { readonly limit?: number | undefined }): void {
  if (limit === undefined || (Number.isSafeInteger(limit) && limit >= 1 && limit <= limits.pageRows)) return;
  throw new QuittanceError(
    'config.invalid',
    `${where}: limit must be a whole number from 1 to ${limits.pageRows.toLocaleString('en')}. Read more with the cursor of the page.`,
  );
}

/** Between the name of a token and that of its worker. Neither may contain it, so that different pairs have different names. */
export const nameSeparator = '/';
