/** Thrown by a text that was read more often than allowed. The code that set the bound catches it. */
export class LookedTooOften extends Error {}

/**
 * A text that counts how often it is read. An engine that is linear for one match is not linear for all matches.
 * While it hopes for a longer match, each short match costs a scan of the rest. Counting reads is independent of the
 * machine; measuring time is not.
 */
export class CountedText extends String {
  readonly #text: string;
  #left: number;

  constructor(text: string, mostLooks: number) {
    super(text);
    this.#text = text;
    this.#left = mostLooks;
  }

  override charCodeAt(index: number): number {
    if (--this.#left < 0) throw new LookedTooOften();
    return this.#text.charCodeAt(index);
  }
}
