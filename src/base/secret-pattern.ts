/** A part of a text: where it starts, and the place behind it. */
export type CharacterSpan = [start: number, end: number];

/** One shape of a secret in a text. */
export interface SecretPattern {
  readonly name: string;
  /** Hides its group named `secret` where it has one, else the whole match. */
  readonly pattern: RegExp;
  /** Looks closer at a match than a pattern can. */
  readonly confirm?: (secret: string) => boolean;
}
