/**
 * The id of a call in its session. Providers promise unique ids within one answer of a model at best, and some count
 * from 0 again with every answer. `earlier` is the number of assistant messages before the one of this call that hold
 * the same provider id: whoever has the conversation derives the same id, in any process.
 */
export const sessionCallId = (id: string, earlier: number): string =>
  earlier === 0 ? id : `${id}~${earlier + 1}`;
