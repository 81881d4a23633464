/** The part of the index between two positions. */
export type IndexSpan = { readonly from: number; readonly until: number };

const noSpan: IndexSpan = { from: -1, until: -1 };

/** Which part of the index this process has written, without another process in between. */
export class OwnIndex {
  #span = noSpan;
  #ofThread = noSpan;

  /** The part that this thread wrote last, without what was rolled back. */
  get span(): IndexSpan {
    return this.#span;
  }

  /** This thread has moved the end of the index. */
  wrote(from: number, until: number): void {
    this.#span = { from: from === this.#span.until ? this.#span.from : from, until };
  }

  /** The other thread of this process has written this part. */
  noteThread(span: IndexSpan): void {
    this.#ofThread = span;
  }

  /** After a rollback. */
  forget(): void {
    this.#span = noSpan;
  }

  /** Has only this process written the index between these positions? */
  includes(from: number, until: number): boolean {
    if (from === until) return true;
    return [this.#span, this.#ofThread].some((span) => span.until === until && from >= span.from);
  }
}
