/** The arguments at every stage: requested by the model, coerced, approved by a person, executed. */
import { describeDecider } from 'quittance/internal/call/describe-identity';
import type { JsonValue } from 'quittance/internal/base/json';
import type { CallEvent, InputChange } from 'quittance/internal/call/event';

export type InputStage = {
  readonly name: 'requested' | 'coerced' | 'approved' | 'executed';
  readonly status: 'there' | 'same' | 'none';
  /** Redacted, as stored. Undefined if this stage does not exist. */
  readonly value: JsonValue | undefined;
  readonly digest: string | undefined;
  readonly note: string;
};

export type InputPath = {
  readonly stages: readonly [InputStage, InputStage, InputStage, InputStage];
  readonly changes: readonly InputChange[];
  /** Paths of redacted values. */
  readonly hidden: readonly string[];
  /** Did the approved arguments run? Undefined without an approval or an execution. */
  readonly isAsApproved: boolean | undefined;
  /** Did the requested arguments run? Undefined without an execution. */
  readonly isAsRequested: boolean | undefined;
};

export function toInputPath(events: readonly CallEvent[]): InputPath {
  let requested: InputStage = none('requested', 'not recorded');
  let coerced: InputStage = none('coerced', 'not checked');
  let approved: InputStage = none('approved', 'no approval needed');
  let executed: InputStage = none('executed', 'not executed');
  /** The arguments that the body would receive at this point. */
  let value: JsonValue | undefined;
  let digest: string | undefined;
  const changes: InputChange[] = [];
  const hidden = new Set<string>();
  for (const event of events)
    switch (event.type) {
      case 'tool.requested':
        value = event.requestedInput;
        digest = event.requestDigest;
        event.hidden.forEach((path) => hidden.add(path));
        requested = { name: 'requested', status: 'there', value, digest, note: 'from the model' };
        break;
      case 'tool.decided': {
        if (event.inputDigest === undefined) break;
        const isFirst = coerced.status === 'none';
        if (event.effectiveInput !== undefined) value = event.effectiveInput;
        digest = event.inputDigest;
        if (!isFirst) break;
        changes.push(...event.changes);
        const status = event.effectiveInput === undefined ? 'same' : 'there';
        coerced = { name: 'coerced', status, value, digest, note: noteOf(event) };
        break;
      }
      case 'tool.held':
        approved = none('approved', 'waiting for approval');
        break;
      case 'confirmation.decided':
      case 'confirmation.voted':
        if (event.editedInput !== undefined) {
          value = event.editedInput;
          digest = event.editedDigest;
          event.editedHidden.forEach((path) => hidden.add(path));
        }
        if (event.type === 'confirmation.decided') approved = approvedBy(event, value);
        break;
      case 'confirmation.expired':
        approved = none('approved', expiryNotes[event.effect]);
        break;
      case 'confirmation.withdrawn':
        approved = none('approved', 'question withdrawn');
        break;
      case 'tool.started':
        executed = executedAs(value, digest, event.attempt === 1 ? '' : `, ${event.attempt} times`);
        break;
      case 'tool.responded':
        // A read without limits stores no intent: its end proves that it ran.
        if (event.attempt > 0 && executed.status === 'none') executed = executedAs(value, digest, '');
        break;
      // These events do not change the arguments.
      case 'confirmation.reminded':
      case 'tool.previewed':
      case 'tool.recalled':
      case 'tool.late':
      case 'tool.taken_over':
      case 'tool.reported':
      case 'tool.resolved':
      case 'tool.undone':
      case 'persistence.failed':
      case 'retry.requested':
      case 'runtime.budget_exhausted':
        break;
      default:
        event satisfies never;
    }
  return {
    stages: [requested, coerced, approved, executed],
    changes,
    hidden: [...hidden],
    isAsApproved: approved.status === 'none' ? undefined : isAs(approved, executed),
    isAsRequested: isAs(requested, executed),
  };
}

const expiryNotes = { allow: 'expired: allowed', block: 'expired without an answer' } as const;

/** Undefined if the tool was not executed. */
const isAs = (earlier: InputStage, executed: InputStage): boolean | undefined =>
  executed.status === 'none' ? undefined : earlier.digest === executed.digest;

const executedAs = (
  value: JsonValue | undefined,
  digest: string | undefined,
  howOften: string,
): InputStage => ({ name: 'executed', status: 'same', value, digest, note: `passed to the tool${howOften}` });

/** `value`: the arguments after this decision. */
function approvedBy(
  event: CallEvent & { type: 'confirmation.decided' },
  value: JsonValue | undefined,
): InputStage {
  const by = describeDecider(event.by);
  const name = 'approved';
  if (event.decision === 'edit' && event.editedInput !== undefined)
    return { name, status: 'there', value, digest: event.editedDigest, note: `edited by ${by}` };
  if (event.decision === 'approve')
    return { name, status: 'same', value, digest: event.inputDigest, note: `by ${by}` };
  return none(name, `${event.decision === 'deny' ? 'denied' : 'answered'} by ${by}`);
}

function noteOf({ effectiveInput, changes, inputForm }: CallEvent & { type: 'tool.decided' }): string {
  // Earlier versions recorded the schema's input, not its output.
  if (inputForm === undefined && changes.length === 0) return 'valid; defaults were not recorded';
  if (effectiveInput === undefined) return 'valid without changes';
  if (changes.length > 0) return 'coerced to fit the schema';
  return inputForm === 'typed' ? 'transformed by the schema, shown as JSON' : 'transformed by the schema';
}

const none = (name: InputStage['name'], note: string): InputStage => ({
  name,
  status: 'none',
  value: undefined,
  digest: undefined,
  note,
});
