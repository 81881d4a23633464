/** The life of a call as time spans: each stage and its duration. */
import { describeDecider } from 'quittance/internal/call/describe-identity';
import type { CallEvent, ConfirmationDecision } from 'quittance/internal/call/event';
import { gateNames, gatesAfterApproval } from 'quittance/internal/runtime/gates';
import { outcomeLabel } from 'quittance/internal/view/outcome-words';

export type CallSpan = {
  readonly name: string;
  /** Milliseconds since the request. */
  readonly from: number;
  /** Undefined while it is running. */
  readonly ms: number | undefined;
  readonly note: string;
  /** Part of the previous span. */
  readonly nested?: boolean;
};

/** The spans of a call, from the request to its end and later events. */
export function callTimeline(events: readonly CallEvent[]): CallSpan[] {
  const startedAt = events[0]?.at ?? 0;
  const spans: CallSpan[] = [];
  let since = startedAt;
  let heldAt: number | undefined;
  let intentAt: number | undefined;
  let approved = false;
  for (const event of events) {
    if (isMoment(event)) {
      spans.push({ ...momentOf(event), from: event.at - startedAt });
      continue;
    }
    switch (event.type) {
      case 'tool.decided': {
        const waited = event.gates.reduce((sum, { elapsedUs }) => sum + elapsedUs, 0) / 1_000;
        const by = event.decidedBy === undefined ? '' : `, by ${describeDecider(event.decidedBy)}`;
        const under = event.grantId === undefined ? '' : `, under grant ${event.grantId}`;
        const ms = Math.max(event.at - since, waited);
        spans.push({
          name: approved ? 'gates again' : 'gates',
          from: since - startedAt,
          ms,
          note: `${event.decision}${by}${under}`,
        });
        spans.push(...gateSpans(event, approved, since - startedAt));
        break;
      }
      case 'tool.held':
        heldAt = event.at;
        break;
      case 'confirmation.decided': {
        approved = event.decision === 'approve' || event.decision === 'edit';
        const note = `${decisionWords[event.decision]} by ${describeDecider(event.by)}`;
        spans.push(endOf('held', heldAt, event.at, startedAt, note));
        heldAt = undefined;
        since = event.at;
        break;
      }
      case 'confirmation.withdrawn':
        spans.push(endOf('held', heldAt, event.at, startedAt, `withdrawn: ${event.reason}`));
        heldAt = undefined;
        break;
      case 'tool.started':
        intentAt = event.at;
        break;
      case 'tool.responded':
        if (event.attempt > 0 && intentAt !== undefined) {
          const elapsed = 'elapsedMs' in event.outcome ? event.outcome.elapsedMs : 0;
          const ms = Math.max(event.at - intentAt, elapsed);
          spans.push({
            name: `attempt ${event.attempt}`,
            from: intentAt - startedAt,
            ms,
            note: outcomeLabel(event.outcome),
          });
          intentAt = undefined;
        }
        since = event.at;
        break;
      case 'confirmation.expired':
        spans.push(endOf('held', heldAt, event.at, startedAt, `expired: ${event.effect}`));
        heldAt = undefined;
        break;
      case 'tool.requested':
        break;
      default:
        event satisfies never;
    }
  }
  if (heldAt !== undefined)
    spans.push({ name: 'held', from: heldAt - startedAt, ms: undefined, note: 'awaiting approval' });
  if (intentAt !== undefined)
    spans.push({ name: 'attempt', from: intentAt - startedAt, ms: undefined, note: 'no recorded end' });
  return spans;
}

/** Events that neither start nor end a span. */
const momentTypes = [
  'retry.requested',
  'tool.late',
  'tool.recalled',
  'tool.resolved',
  'persistence.failed',
  'runtime.budget_exhausted',
  'tool.previewed',
  'tool.taken_over',
  'tool.reported',
  'tool.undone',
  'confirmation.voted',
  'confirmation.reminded',
] as const;
type Moment = Extract<CallEvent, { readonly type: (typeof momentTypes)[number] }>;

const isMoment = (event: CallEvent): event is Moment => momentTypes.some((type) => type === event.type);

/** Only a retry has a duration: its delay. */
function momentOf(event: Moment): Omit<CallSpan, 'from'> {
  const ms = 0;
  switch (event.type) {
    case 'retry.requested':
      return {
        name: 'retry',
        ms: Math.max(0, (event.notBefore ?? event.at) - event.at),
        note: `attempt ${event.attempt}, requested by ${event.by}`,
      };
    case 'confirmation.voted':
      return { name: 'vote', ms, note: `${decisionWords[event.decision]} by ${describeDecider(event.by)}` };
    case 'confirmation.reminded':
      return { name: event.kind, ms, note: `missing ${event.missing.join('; ')}` };
    case 'tool.late':
      return { name: 'late', ms, note: `attempt ${event.attempt} ${event.result.type} after its deadline` };
    case 'tool.recalled':
      return {
        name: event.how,
        ms,
        note: event.how === 'conflict' ? event.details : `from ${event.fromCallId}`,
      };
    case 'tool.resolved':
      return { name: 'resolved', ms, note: `${event.resolution}, by ${describeDecider(event.by)}` };
    case 'persistence.failed':
      return { name: 'not stored', ms, note: `${event.boundary}: ${event.error}` };
    case 'runtime.budget_exhausted':
      return {
        name: 'budget',
        ms,
        note: `${event.scope}: ${event.used} of ${event.limit} ${event.metric} used`,
      };
    case 'tool.previewed':
      return { name: 'preview', ms, note: `revision ${event.revision}${event.ready ? ', ready' : ''}` };
    case 'tool.taken_over':
      return { name: 'taken over', ms, note: `its process ended, takeover ${event.takeover}` };
    case 'tool.reported':
      return {
        name: event.what.type === 'claimed' ? 'handed off' : 'reported',
        ms,
        note: reportNote(event),
      };
    case 'tool.undone':
      return { name: 'undone', ms, note: `by ${describeDecider(event.by)}, call ${event.undoCallId}` };
  }
}

export const decisionWords: { readonly [Decision in ConfirmationDecision]: string } = {
  approve: 'approved',
  deny: 'denied',
  edit: 'approved with edited arguments',
  respond: 'answered',
};

function reportNote({ what, worker }: CallEvent & { type: 'tool.reported' }): string {
  switch (what.type) {
    case 'claimed':
      return `claimed by ${worker}`;
    case 'given':
      return `${worker} reported`;
    case 'differs':
      return `${worker} reported differently later`;
  }
}

const endOf = (
  name: string,
  from: number | undefined,
  to: number,
  startedAt: number,
  note: string,
): CallSpan => ({
  name,
  from: (from ?? to) - startedAt,
  ms: to - (from ?? to),
  note,
});

/** Every gate the call reached: the time spent there, and the gate that stopped it. */
function gateSpans(event: CallEvent & { type: 'tool.decided' }, approved: boolean, from: number): CallSpan[] {
  const waits = new Map(event.gates.map(({ gate, elapsedUs }) => [gate, elapsedUs / 1_000]));
  const names = [
    ...new Set([...(approved ? gatesAfterApproval.map(({ name }) => name) : gateNames), ...waits.keys()]),
  ];
  const stop = event.decision === 'deny' ? stoppedAt(event, names) : undefined;
  const reached = stop === undefined ? names : names.slice(0, names.indexOf(stop) + 1);
  let at = from;
  return reached.map((name) => {
    const ms = waits.get(name) ?? 0;
    const span = {
      name,
      from: at,
      ms,
      note: name === stop ? 'stopped here' : ms === 0 ? 'at once' : '',
      nested: true,
    };
    at += ms;
    return span;
  });
}

/** Hooks and rules decide at the policy gate. */
function stoppedAt(
  { decidedBy }: CallEvent & { type: 'tool.decided' },
  names: readonly string[],
): string | undefined {
  const name = decidedBy?.type === 'hook' || decidedBy?.type === 'rule' ? 'policy' : decidedBy?.name;
  return name !== undefined && names.includes(name) ? name : undefined;
}
