/** How a recorded run of a body ended, for facts that a body cannot state itself. See `endAsRecorded`. */
import type { PersistenceFailed, RuleMark } from '../../call/event.ts';
import type { ToolTimeout } from '../../call/outcome.ts';
import type { ToolContext } from '../../tool/tool-context.ts';

export type RecordedEnd = {
  /**
   * The error that the body will throw, if it throws. It may claim any reason code, unlike the error of any
   * other body.
   */
  readonly thrown: unknown;
  /** Set if it timed out. */
  readonly timeout: Pick<ToolTimeout, 'elapsedMs' | 'deadlineMs' | 'retryable'> | undefined;
  /**
   * The rulings about its output. The record no longer has the removed data, so the rules could not find it
   * again.
   */
  readonly rules: readonly RuleMark[];
  /** Version of these rules. */
  readonly policyVersion: string | undefined;
  /** The notes for each repeated report of the same result. */
  readonly reportedAgain: readonly string[];
  /** Parts of its end that could not be stored in the ledger. */
  readonly unkept: readonly Pick<PersistenceFailed, 'boundary' | 'error' | 'keptIn'>[];
};

/** Returns the given object as `this`, so that a subclass puts its private fields on that object. */
class Itself {
  constructor(object: object) {
    return object;
  }
}

/**
 * A mark on the context of an attempt. Its private field belongs to this class, which the package does not
 * export and which a body cannot reach through the context. So a body can neither make nor read such a mark.
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

/** States how a recorded run ended, before its body ends. Only code of this package can call it. */
export const endAsRecorded = (context: ToolContext, end: RecordedEnd): void => Marked.put(context, end);

export const recordedEndOf = (context: ToolContext): RecordedEnd | undefined => Marked.read(context);
