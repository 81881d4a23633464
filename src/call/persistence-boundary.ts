import { freezeJson } from '../base/json.ts';

/** Which write could not be made. */
export type PersistenceBoundary =
  'request' | 'intent' | 'hold' | 'decision' | 'artifact' | 'report' | 'settle';

/** Where a write may fail, and what that means for the call. */
export const persistenceBoundaries: { readonly [Boundary in PersistenceBoundary]: string } = freezeJson({
  request: 'The request itself: the call is not accepted and nothing runs. Its id may be asked for again.',
  intent: 'The intent: the body does not run.',
  hold: 'The hold for a person: no person is asked yet.',
  decision: 'The decision of a person: it does not count yet.',
  artifact: 'An output kept aside.',
  report: 'What a hand-off reported: the worker has to report again.',
  settle: 'The outcome, or a late result: the body ran. It is spilled, or kept in memory, and written later.',
});

/** Narrows a word to a boundary. */
export const isPersistenceBoundary = (value: unknown): value is PersistenceBoundary =>
  typeof value === 'string' && Object.hasOwn(persistenceBoundaries, value);
