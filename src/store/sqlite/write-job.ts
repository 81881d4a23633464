/** One unit of work inside a transaction. */
export interface WriteJob {
  /** Reads and writes. All its writes are committed or rolled back together. */
  perform(): void;
  /** After an error: was it committed anyway, because only the answer to the commit was lost? */
  isKept(): boolean;
  resolve(): void;
  reject(error: unknown): void;
}
