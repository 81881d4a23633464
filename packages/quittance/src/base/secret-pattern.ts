/** A part of a text: its start, and the position after it. */
export type CharacterSpan = [start: number, end: number];

/** One shape of a secret in a text. */
export interface SecretPattern {
  readonly name: string;
  /** Hides its group named `secret` if it has one, else the whole match. */
  readonly pattern: RegExp;
  /** Checks a match more closely than a pattern can. */
  readonly confirm?: (secret: string) => boolean;
}

/** Replaces a hidden value. */
export const redacted = '[REDACTED]';
