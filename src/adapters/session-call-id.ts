/**
 * The id of a call in its session. Providers promise unique ids within one answer of a model, and some begin to count
 * anew with the next. `answeredBefore` is how many calls of this id the conversation already holds an answer to: the
 * same when a framework resumes, since the call it resumes has none yet.
 */
export const sessionCallId = (id: string, answeredBefore: number): string =>
  answeredBefore === 0 ? id : `${id}~${answeredBefore + 1}`;
