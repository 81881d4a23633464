import { freezeJson } from '../base/json.ts';

/** Which write failed. */
export type PersistenceBoundary =
  | 'request'
  | 'intent'
  | 'hold'
  | 'decision'
  | 'artifact'
  | 'report'
  | 'settle';

/** The writes that may fail, and the consequence of each for the call. */
export const persistenceBoundaries: { readonly [Boundary in PersistenceBoundary]: string } = freezeJson({
  request: 'The request itself: the call is not accepted and nothing runs. Its id may be used again.',
  intent: 'The intent: the body does not run.',
  hold: 'The hold for a person: no person is asked yet.',
  decision: 'The decision of a person: it does not count yet.',
  artifact: 'A large output: it is stored in the record of the call instead.',
  report: 'The report of a hand-off: the worker has to report again.',
  settle:
    'The outcome, or a late result: the body ran. It goes to the spill file or stays in memory, and is written later.',
});

/** Narrows a word to a boundary. */
export const isPersistenceBoundary = (value: unknown): value is PersistenceBoundary =>
  typeof value === 'string' && Object.hasOwn(persistenceBoundaries, value);
