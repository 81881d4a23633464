/**
 * Every number about people, grants and texts that a user could ask about. The runtime checks them for every caller; HTTP,
 * the command line and the console only read them.
 */
import { QuittanceError } from '../../base/error.ts';

export const limits = {
  /** An approval that also covers similar calls of the session. */
  forSession: { longestMs: 86_400_000, uses: 1_000 },
  delegation: { longestMs: 7_776_000_000, active: 500 },
  /** Active grants of a session. Every event carries the whole state. */
  activeGrants: 100,
  /** Characters of a condition of a grant, as JSON. */
  grantWhereChars: 10_000,
  /** Characters of the name of a person. */
  nameChars: 1_000,
  /** Characters of a reason on a grant or a delegation. */
  shortReasonChars: 1_000,
  /** Characters of a reason for a decision, a resolution, an undo or a removal. */
  reasonChars: 10_000,
  /** Characters of an answer to the model. */
  responseChars: 100_000,
} as const;

/** Throws unless this is the name of a person: one visible line. */
export function checkName(where: string, name: unknown): asserts name is string {
  if (typeof name !== 'string' || name.trim() === '')
    throw new QuittanceError('config.invalid', `${where}: by must be the name of the person who decides.`);
  if (name.length > limits.nameChars || /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(name))
    throw new QuittanceError(
      'config.invalid',
      `${where}: by must be one line of at most ${limits.nameChars} characters, without control characters.`,
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
