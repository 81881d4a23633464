/** Thrown by a text that was looked at more often than allowed. Caught by whoever set the bound. */
export class LookedTooOften extends Error {}

/**
 * A text that counts how often it is looked at. An engine that is linear for one match is not for all of them: where a
 * longer match is hoped for to the very end, each short one costs a walk over the whole rest. Time would depend on the
 * machine; looks do not.
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
