/**
 * The thread that writes the ledger under load has ended by itself, for example for lack of memory. Nothing is lost:
 * the main thread of the process writes instead, and a new thread is started after a while if the load demands it.
 */
export type StoppedWriter = {
  readonly type: 'ledger.writer_stopped';
  readonly message: string;
  readonly error: unknown;
};

/** A problem of a store that belongs to no request. */
export type StoreTrouble = StoppedWriter;
