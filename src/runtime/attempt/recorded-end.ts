/** How the run of a body ended when it was recorded, for what a body cannot say itself. See `endAsRecorded`. */
import type { PersistenceFailed, RuleMark } from '../../call/event.ts';
import type { ToolTimeout } from '../../call/outcome.ts';
import type { ToolContext } from '../../tool/tool-context.ts';

export type RecordedEnd = {
  /** What the body is about to throw, if it throws. Unlike what any other body throws, it may give every reason. */
  readonly thrown: unknown;
  /** Where it ran out of time. */
  readonly timeout: Pick<ToolTimeout, 'elapsedMs' | 'deadlineMs' | 'retryable'> | undefined;
  /** What rules said about what it gave: the record has lost what they took out, and so they cannot find it again. */
  readonly rules: readonly RuleMark[];
  /** Which rules these were. */
  readonly policyVersion: string | undefined;
  /** What was said each time the same result was reported again. */
  readonly reportedAgain: readonly string[];
  /** Parts of its end that could not be stored in the ledger. */
  readonly unkept: readonly Pick<PersistenceFailed, 'boundary' | 'error' | 'keptIn'>[];
};

/** Gives the object it is made of, so that a class that extends it puts its private fields on that object. */
class Itself {
  constructor(object: object) {
    return object;
  }
}

/**
 * A mark on the context of an attempt. Its field is private to this class, which no door leads to and which a context,
 * unlike a class of its own, does not give away: a body can neither make such a mark nor find it.
 */
class Marked extends Itself {
  #end: RecordedEnd;

  constructor(context: ToolContext, end: RecordedEnd) {
    super(context);
    this.#end = end;
  }

  static read(context: ToolContext): RecordedEnd | undefined {
    return #end in context ? context.#end : undefined;
  }

  static put(context: ToolContext, end: RecordedEnd): void {
    if (#end in context) context.#end = end;
    else new Marked(context, end);
  }
}

/** Says how a recorded run ended, before its body ends. Only code of this package can. */
export const endAsRecorded = (context: ToolContext, end: RecordedEnd): void => Marked.put(context, end);

export const recordedEndOf = (context: ToolContext): RecordedEnd | undefined => Marked.read(context);
