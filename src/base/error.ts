/**
 * An error is our refusal to go on: thrown, local, about how Quittance is used. What goes wrong with a
 * call is a failure: data in the ledger, never one of these.
 */
import type { ErrorFacts } from './error-facts.ts';

/** The stable word for why we refuse. */
export type ErrorCode = keyof ErrorFacts;

/** Every code an error of ours may carry, with what it means and what to do. */
export const errorTable: {
  readonly [Code in ErrorCode]: { readonly means: string; readonly remedy: string };
} = {
  'config.invalid': {
    means: 'A tool or a runtime was configured in a way that cannot work.',
    remedy: 'Read the message: it names the field, what was found and what is expected.',
  },
  'adapter.unsafe': {
    means: 'The self-test of an adapter failed: with this framework, a call that policy blocks could run.',
    remedy: 'Use a version of the framework that the page of the adapter names.',
  },
  'contracts.invalid': {
    means: 'A contract document is not one, or contradicts itself. None of it is in force.',
    remedy:
      'Read the message: it lists every problem with its line. `quittance contracts check FILE` does the same.',
  },
  'call.malformed': {
    means: 'The envelope of a tool call is not one: it must be exactly {id, name, arguments}.',
    remedy:
      'Pass id and name as non-empty strings and nothing else but arguments; per-call metadata goes in the options of turn.call.',
  },
  'call.pending': {
    means:
      'The call is held for a person, or somebody else is making it, and the turn is over. This is not an outcome.',
    remedy:
      "Decide a held call with `runtime.confirmations.decide` (`runtime.confirmations.list({ status: 'pending' })` lists it), in any process that shares the ledger. " +
      'Ask again with the same call id, in any turn of the session, to rejoin the call. ' +
      'To have calls decided at once give createRuntime an `onConfirm`; to run tools of a mode unasked set `treatments`.',
  },
  'call.unknown': {
    means: 'There is no such call in this ledger.',
    remedy:
      'Check the session and the call id; `runtime.calls.list({sessionId})` lists the calls of a session.',
  },
  'call.resolved': {
    means: 'The call cannot be resolved: how it ended is known, or somebody has resolved it before.',
    remedy: 'Read the message: it says what is on record and by whom.',
  },
  'confirmation.unknown': {
    means: 'There is no such question in this ledger.',
    remedy:
      "List those that wait with `runtime.confirmations.list({ status: 'pending' })` or `quittance pending`.",
  },
  'confirmation.decided': {
    means: 'Somebody has decided this before. The first decision counts.',
    remedy: 'Read the message: it says who decided, what and when.',
  },
  'confirmation.mismatch': {
    means:
      'The decision is about another input, or another revision of a preview, than the one that is held.',
    remedy: 'Read the confirmation again, look at what it shows now, and decide about that.',
  },
  'confirmation.expired': {
    means: 'The time to decide, or to make use of a decision, is up.',
    remedy: 'Nothing ran. If the call is still wanted, it must be asked for again, under a new id.',
  },
  'confirmation.forbidden': {
    means:
      'Whoever decides has no right to decide about this call, or to give this grant; or the token that should give them the right is not one.',
    remedy:
      'Have somebody decide who has it; `mayDecide`, `mayGrant` and `separateDuties` of the runtime say who that is.',
  },
  'grant.unknown': {
    means: 'There is no such grant in this session.',
    remedy:
      'Check the session and the grant id; `runtime.grants.list({sessionId})` lists the grants of a session.',
  },
  'handoff.unknown': {
    means:
      'Nothing was handed over under this name: the call is not one another process runs, or the token is none of this ledger.',
    remedy: 'Take what waits with `runtime.handoffs.claim` and report with the token it gives, unchanged.',
  },
  'handoff.taken': {
    means: 'Another worker has the call in hand.',
    remedy: 'Read the message: it says who and until when. Take another call meanwhile.',
  },
  'handoff.expired': {
    means: 'The time of the worker was up before it reported, and the call waits for another one.',
    remedy: 'Claim the call again. The tool may be run again, so doing it twice does no harm.',
  },
  'undo.unavailable': {
    means: 'The call cannot be undone: it did not succeed, or its tool has no way to take it back.',
    remedy: 'Read the message: it says which. A tool that gives `undo` says so in the outcomes of its calls.',
  },
  'undo.spent': {
    means: 'The call was undone before, or somebody is undoing it. A call is undone once.',
    remedy: 'Read the message: it says who, and names the call that undoes it.',
  },
  'undo.expired': {
    means: 'The time in which the call could be undone is over.',
    remedy: 'Make it good by another call. `undoWithinMs` of the tool says how long undoing stays possible.',
  },
  'undo.conflict': {
    means: 'Later calls touched the same, and undoing this one would undo more than it did.',
    remedy: 'Undo the later calls first, or undo with `force: true` once you have looked.',
  },
  'runtime.closed': {
    means: 'The runtime was closed and takes no more calls.',
    remedy: 'Create a new runtime on the same ledger.',
  },
  'seal.broken': {
    means: 'A sealed payload could not be opened with the key at hand.',
    remedy: 'Give the runtime the key the payload was sealed with.',
  },
  'ledger.newer': {
    means: 'This ledger was written by a newer version than the one that reads it.',
    remedy: 'Update the package, everywhere the ledger is used.',
  },
  'ledger.damaged': {
    means: 'What stands in a ledger, an export or an anchor is not what was written there.',
    remedy: 'Verify the ledger: it names the first bad place. Restore from a copy that verifies.',
  },
  'ledger.in_use': {
    means: 'What was to be erased or removed belongs to a call that has no outcome yet.',
    remedy: 'Let the call end, or cancel or withdraw it, and ask again.',
  },
  'ledger.closed': {
    means: 'The ledger was closed and is of no more use.',
    remedy: 'Open it again, and close it only after the runtimes that use it.',
  },
  'ledger.unavailable': {
    means: 'The ledger could not be read or written, so what was asked for did not happen.',
    remedy: 'See to the disk or the store the message names, and ask again: nothing is lost by it.',
  },
  'ledger.altered': {
    means: 'Something the ledger stores was changed after it was written, so it is not used.',
    remedy:
      'Run `quittance verify` to list every place that was changed, and restore the ledger from a copy.',
  },
  'cassette.invalid': {
    means: 'A cassette is not one, or was changed after it was sealed.',
    remedy:
      'Read the message: it names the place. Where the change is meant, `quittance cassette seal FILE` seals it anew; else record again.',
  },
  'cassette.unused': {
    means: 'A replay did not do what was recorded: calls of the cassette were not made, or others were.',
    remedy:
      'Read the message: it lists them. Where the change is meant, record again; `report()` says the same without throwing.',
  },
};

const brand: unique symbol = Symbol.for('quittance.error');

/** A caller may leave the facts out if all of them are optional. */
type FactsAndCause<Code extends ErrorCode> = object extends ErrorFacts[Code]
  ? [facts?: ErrorFacts[Code], cause?: unknown]
  : [facts: ErrorFacts[Code], cause?: unknown];

/** The one class of error this package throws on its own account. */
export class QuittanceError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  /** What a program may want to read, e.g. `{callId, confirmationId}` of `call.pending`. */
  readonly facts: ErrorFacts[Code];
  /** What a developer can do about it. The message may reach a model; this is never meant for one. */
  readonly remedy: string;

  constructor(code: Code, message: string, ...[facts, cause]: FactsAndCause<Code>) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'QuittanceError';
    this.code = code;
    // The type lets a caller leave the facts out only if all of them are optional.
    this.facts = facts ?? ({} as ErrorFacts[Code]);
    this.remedy = errorTable[code].remedy;
    Object.defineProperty(this, brand, { value: true });
  }
}

/** One of our errors. A check of `code` narrows `facts`. */
export type AnyQuittanceError = { readonly [Code in ErrorCode]: QuittanceError<Code> }[ErrorCode];

/** Narrows to our error, also when two copies of the package are installed. A code narrows `facts` too. */
export function isQuittanceError(value: unknown): value is AnyQuittanceError;
export function isQuittanceError<Code extends ErrorCode>(
  value: unknown,
  code: Code,
): value is QuittanceError<Code>;
export function isQuittanceError(value: unknown, code?: ErrorCode): boolean {
  if (typeof value !== 'object' || value === null) return false;
  try {
    const { [brand]: ours, code: found } = value as { [brand]?: unknown; code?: unknown };
    return ours === true && (code === undefined || found === code);
  } catch {
    // A proxy that throws when it is looked at is none of ours.
    return false;
  }
}
