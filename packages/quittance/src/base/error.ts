/**
 * An error is our refusal to continue: thrown, local, about how Quittance is used. A problem of a call is a failure:
 * data in the ledger, never one of these.
 */
import type { ErrorFacts } from './error-facts.ts';

/** The stable code of an error. */
export type ErrorCode = keyof ErrorFacts;

/** Every code that our errors may carry, with its meaning and its remedy. */
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
    means: 'A contract document is invalid or contradicts itself. None of it is in force.',
    remedy:
      'Read the message: it lists every problem with its line. `quittance contracts check FILE` does the same.',
  },
  'call.malformed': {
    means: 'The envelope of a tool call is invalid: it must be exactly {id, name, arguments}.',
    remedy:
      'Pass id and name as non-empty strings and nothing else but arguments; per-call metadata goes in the options of turn.call.',
  },
  'call.pending': {
    means:
      'The call is held for a person, or another process is running it, and the turn is over. This is ' +
      'not an outcome.',
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
    means: 'The call cannot be resolved: its end is known, or a person has already resolved it.',
    remedy: 'Read the message: it says what is recorded and who recorded it.',
  },
  'confirmation.unknown': {
    means: 'There is no such confirmation in this ledger.',
    remedy:
      "List those that wait with `runtime.confirmations.list({ status: 'pending' })` or `quittance pending`.",
  },
  'confirmation.decided': {
    means: 'A decision was already made. The first decision counts.',
    remedy: 'Read the message: it says who decided, what and when.',
  },
  'confirmation.mismatch': {
    means:
      'The decision is about a different input, or a different revision of a preview, than the held ' +
      'call.',
    remedy: 'Read the confirmation again, check what it shows now, and decide about that.',
  },
  'confirmation.expired': {
    means: 'The time to decide, or to use a decision, is over.',
    remedy: 'Nothing ran. If the call is still wanted, it must be requested again under a new id.',
  },
  'confirmation.forbidden': {
    means: 'The person may not decide about this call or give this grant, or their token is invalid.',
    remedy:
      'Ask a person who may decide; `mayDecide`, `mayGrant` and `separateDuties` of the runtime say ' +
      'who may.',
  },
  'grant.unknown': {
    means: 'There is no such grant in this session.',
    remedy:
      'Check the session and the grant id; `runtime.grants.list({sessionId})` lists the grants of a session.',
  },
  'review.unknown': {
    means: 'No gateway of this ledger listed such a tool.',
    remedy: '`quittance mcp review` lists the tools of every server.',
  },
  'review.mismatch': {
    means: 'The answer is about another description or schema than the server lists now.',
    remedy: 'Review the current version of the tool, and answer about that.',
  },
  'delegation.unknown': {
    means: 'There is no such delegation in this ledger.',
    remedy: 'Check the id; `runtime.delegations.list()` lists the delegations.',
  },
  'handoff.unknown': {
    means:
      'There is no such hand-off: no other process runs the call, or the token does not belong to this ledger.',
    remedy: 'Take what waits with `runtime.handoffs.claim` and report with the token it gives, unchanged.',
  },
  'handoff.taken': {
    means: 'Another worker is running the call.',
    remedy: 'Read the message: it says who and until when. Claim another call meanwhile.',
  },
  'handoff.expired': {
    means: "The worker's time was over before it reported, and the call waits for another worker.",
    remedy: 'Claim the call again. The tool may be rerun, so running it twice does no harm.',
  },
  'undo.unavailable': {
    means: 'The call cannot be undone: it did not succeed, or its tool has no `undo`.',
    remedy: 'Read the message: it says which. If a tool has `undo`, the outcomes of its calls say so.',
  },
  'undo.spent': {
    means: 'The call was already undone, or is being undone. A call is undone once.',
    remedy: 'Read the message: it says who, and names the call that undoes it.',
  },
  'undo.expired': {
    means: 'The time in which the call could be undone is over.',
    remedy:
      'Correct the effect with another call. `undoWithinMs` of the tool says how long undo stays ' +
      'possible.',
  },
  'undo.conflict': {
    means: 'Later calls changed the same resource, so undoing this one would undo more than it did.',
    remedy: 'Undo the later calls first, or undo with `force: true` after a check.',
  },
  'runtime.closed': {
    means: 'The runtime was closed and accepts no more calls.',
    remedy: 'Create a new runtime on the same ledger.',
  },
  'seal.broken': {
    means: 'A sealed payload could not be opened with the available key.',
    remedy: 'Give the runtime the key that sealed the payload.',
  },
  'ledger.newer': {
    means: 'A newer version wrote this ledger.',
    remedy: 'Update the package everywhere the ledger is used.',
  },
  'ledger.damaged': {
    means: 'The content of a ledger, an export or an anchor is not what was written.',
    remedy: 'Verify the ledger to find the first bad entry. Restore a backup that verifies.',
  },
  'ledger.in_use': {
    means: 'The data to erase or remove belongs to a call that has no outcome yet.',
    remedy: 'Let the call end, or cancel or withdraw it, then retry.',
  },
  'ledger.closed': {
    means: 'The ledger was closed and cannot be used any more.',
    remedy: 'Open it again, and close it only after the runtimes that use it.',
  },
  'ledger.unavailable': {
    means: 'The ledger could not be read or written, so the request had no effect.',
    remedy: 'Check the disk or the store that the message names, then retry: nothing was lost.',
  },
  'ledger.altered': {
    means: 'Stored data was changed after it was written, so it is not used.',
    remedy: 'Run `quittance verify` to list every change, and restore a backup of the ledger.',
  },
  'cassette.invalid': {
    means: 'A cassette is invalid, or was changed after it was sealed.',
    remedy:
      'Read the message: it names the place. If the change is intended, seal it again with `quittance ' +
      'cassette seal FILE`; else record again.',
  },
  'cassette.unused': {
    means: 'A replay differs from the recording: calls of the cassette were not made, or other calls were.',
    remedy:
      'Read the message: it lists them. If the change is intended, record again; `report()` returns ' +
      'the same without throwing.',
  },
};

const brand: unique symbol = Symbol.for('quittance.error');

/** A caller may leave the facts out if all of them are optional. */
type FactsAndCause<Code extends ErrorCode> = object extends ErrorFacts[Code]
  ? [facts?: ErrorFacts[Code], cause?: unknown]
  : [facts: ErrorFacts[Code], cause?: unknown];

/** The only class of error that this package throws by itself. */
export class QuittanceError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  /** Facts for programs, e.g. `{callId, confirmationId}` of `call.pending`. */
  readonly facts: ErrorFacts[Code];
  /** Advice for a developer. The message may reach a model; this never does. */
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

/** Gives an error advice of its own instead of that of its code. */
export const withRemedy = <Given extends QuittanceError>(error: Given, remedy: string): Given =>
  Object.defineProperty(error, 'remedy', { value: remedy, enumerable: true });

/** Advice that an error has of its own; undefined for that of its code. */
export const ownRemedy = ({ code, remedy }: AnyQuittanceError): string | undefined =>
  remedy === errorTable[code].remedy ? undefined : remedy;

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
    // A proxy that throws when it is read is not one of our errors.
    return false;
  }
}
