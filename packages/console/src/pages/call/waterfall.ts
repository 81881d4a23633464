/** The life of a call as bars on a time axis: gates, waits and attempts. */
import { describeDecider } from 'quittance/internal/call/describe-identity';
import type { CallEvent, DecidedBy } from 'quittance/internal/call/event';
import type { Tone } from '../../ui/outcome-badge.tsx';
import { describeOutcome } from '../../ui/outcome-badge.tsx';
import { formatDuration } from '../../ui/time.tsx';

export type Bar = {
  readonly name: string;
  /** `gate`: part of the preceding bar of gates. `wait`: the call is idle. `moment`: has no duration. */
  readonly kind: 'gates' | 'gate' | 'wait' | 'attempt' | 'moment';
  /** Milliseconds since the request. */
  readonly from: number;
  /** Undefined while it is running. */
  readonly ms: number | undefined;
  readonly note: string;
  readonly tone: Tone;
};

/** Order of the gates before an approval, and after it. A test compares it with the runtime's. */
export const gateOrder: readonly string[] = [
  'resolve',
  'deadline',
  'blocked',
  'validate',
  'undo',
  'duplicate',
  'policy',
  'own_files',
  'key',
  'limits',
  'preview',
];
export const gateOrderAfterApproval: readonly string[] = ['undo', 'preview', 'policy', 'own_files', 'limits'];

const by = (decider: DecidedBy): string =>
  decider.type === 'person' ? describeDecider(decider) : `the ${describeDecider(decider)}`;

/** Without `ms`: a moment. */
type Words = Pick<Bar, 'name' | 'note' | 'tone'> & Partial<Pick<Bar, 'ms'>>;

/** Needs the events of one call, in order. */
export function toWaterfall(events: readonly CallEvent[]): readonly Bar[] {
  const startedAt = events[0]?.at ?? 0;
  let since = startedAt;
  const bars: Bar[] = [];
  /** An open bar is added when it starts and completed when it ends. */
  let held: number | undefined;
  let running: number | undefined;
  let wasApproved = false;
  /** A gate makes the previews, and their events precede the gates' decision. */
  const previews: Bar[] = [];
  const toBar = (event: CallEvent, kind: Bar['kind'], words: Words): Bar => {
    return { ms: 0, ...words, kind, from: event.at - startedAt };
  };
  const end = (index: number | undefined, event: CallEvent, more: Partial<Bar>): void => {
    const bar = index === undefined ? undefined : bars[index];
    if (index !== undefined && bar !== undefined)
      bars[index] = { ...bar, ms: event.at - startedAt - bar.from, ...more };
  };
  const endHold = (event: CallEvent, note: string, tone: Tone): void => {
    end(held, event, { note, tone });
    held = undefined;
    since = event.at;
  };
  for (const event of events) {
    if (isMoment(event)) {
      (event.type === 'tool.previewed' ? previews : bars).push(toBar(event, 'moment', momentOf(event)));
      continue;
    }
    switch (event.type) {
      case 'tool.requested':
        break;
      case 'tool.decided':
        bars.push(...gateBars(event, wasApproved, since, startedAt), ...previews.splice(0));
        since = event.at;
        break;
      case 'tool.held':
        held = bars.length;
        bars.push(toBar(event, 'wait', heldWords));
        break;
      case 'confirmation.decided':
        wasApproved = event.decision === 'approve' || event.decision === 'edit';
        endHold(event, `${decisionWords[event.decision]} by ${by(event.by)}`, wasApproved ? 'good' : 'quiet');
        break;
      case 'confirmation.expired':
        wasApproved = event.effect === 'allow';
        endHold(event, wasApproved ? 'expired: allowed' : 'expired without an answer', 'attention');
        break;
      case 'confirmation.withdrawn':
        endHold(event, `withdrawn: ${event.reason}`, 'quiet');
        break;
      case 'tool.started':
        running = bars.length;
        bars.push(toBar(event, 'attempt', begunBy(event)));
        break;
      case 'tool.responded':
        if (running !== undefined) end(running, event, endedBy(event, elapsedOf(event)));
        // An attempt without an intent is known only from its end.
        else if (event.attempt > 0) bars.push(attemptBar(event, since, startedAt));
        running = undefined;
        since = event.at;
        break;
      case 'retry.requested':
        bars.push(toBar(event, 'wait', pauseOf(event)));
        break;
      default:
        event satisfies never;
    }
  }
  return [...bars, ...previews];
}

const heldWords: Words = { name: 'held', ms: undefined, note: 'waiting for approval', tone: 'attention' };

const begunBy = ({ attempt }: CallEvent & { readonly type: 'tool.started' }): Words => ({
  name: `attempt ${attempt}`,
  ms: undefined,
  note: 'no end recorded yet',
  tone: 'active',
});

const pauseOf = (event: CallEvent & { readonly type: 'retry.requested' }): Words => ({
  name: 'waiting to retry',
  ms: Math.max(0, (event.notBefore ?? event.at) - event.at),
  note: `attempt ${event.attempt}, requested by ${event.by}`,
  tone: 'quiet',
});

type Responded = CallEvent & { readonly type: 'tool.responded' };

const elapsedOf = ({ outcome }: Responded): number => ('elapsedMs' in outcome ? outcome.elapsedMs : 0);

/** `bodyMs`: the bar spans from the stored intent to the stored outcome; the body is only part of it. */
function endedBy({ outcome }: Responded, bodyMs: number): Pick<Bar, 'note' | 'tone'> {
  const code = 'code' in outcome ? outcome.code : undefined;
  const { word, tone } = describeOutcome({
    outcome: outcome.type,
    status: 'settled',
    code,
    unresolved: false,
  });
  const body = bodyMs > 0 ? `; execution took ${formatDuration(bodyMs)}` : '';
  return { note: (code === undefined ? word : `${word}, ${code}`) + body, tone };
}

/** An attempt without a recorded intent. */
function attemptBar(event: Responded, since: number, startedAt: number): Bar {
  const from = Math.max(since, event.at - elapsedOf(event));
  const name = `attempt ${event.attempt}`;
  return { name, kind: 'attempt', from: from - startedAt, ms: event.at - from, ...endedBy(event, 0) };
}

/** Events without a duration. */
const momentTypes = [
  'tool.previewed',
  'tool.late',
  'tool.taken_over',
  'tool.reported',
  'tool.recalled',
  'tool.resolved',
  'tool.undone',
  'persistence.failed',
  'runtime.budget_exhausted',
  'confirmation.voted',
  'confirmation.reminded',
] as const;
type Moment = Extract<CallEvent, { readonly type: (typeof momentTypes)[number] }>;

const isMoment = (event: CallEvent): event is Moment => momentTypes.some((type) => type === event.type);

function momentOf(event: Moment): Words {
  const tone = 'quiet';
  switch (event.type) {
    case 'tool.previewed': {
      const more = event.ready ? '' : ', not final';
      return { name: 'preview shown', note: `revision ${event.revision}${more}`, tone };
    }
    case 'confirmation.voted': {
      const note = `${decisionWords[event.decision]} by ${by(event.by)}; more people are needed`;
      return { name: 'vote', note, tone: event.decision === 'deny' ? 'quiet' : 'good' };
    }
    case 'confirmation.reminded':
      return { name: event.kind, note: `missing: ${event.missing.join('; ')}`, tone: 'attention' };
    case 'tool.late':
      return {
        name: 'late result',
        note: `attempt ${event.attempt} ${event.result.type}`,
        tone: 'attention',
      };
    case 'tool.taken_over':
      return {
        name: 'taken over',
        note: `its process ended; takeover ${event.takeover}`,
        tone: 'attention',
      };
    case 'tool.reported':
      return {
        name: event.what.type === 'claimed' ? 'claimed' : 'reported',
        note: reportNote(event),
        tone,
      };
    case 'tool.recalled':
      return event.how === 'conflict'
        ? { name: 'requested again', note: `conflict: ${event.details}`, tone: 'attention' }
        : { name: 'requested again', note: `answered from ${event.fromCallId}`, tone };
    case 'tool.resolved': {
      const what = event.resolution.replaceAll('_', ' ');
      return { name: 'resolved', note: `${what}, by ${by(event.by)}`, tone: 'good' };
    }
    case 'tool.undone':
      return { name: 'undone', note: `by ${by(event.by)}`, tone: 'attention' };
    case 'persistence.failed':
      return { name: 'not stored', note: `${event.boundary}: ${event.error}`, tone: 'bad' };
    case 'runtime.budget_exhausted': {
      const note = `${event.scope}: ${event.used} of ${event.limit} ${event.metric} used`;
      return { name: 'budget', note, tone: 'bad' };
    }
  }
}

const decisionWords = {
  approve: 'approved',
  deny: 'denied',
  edit: 'approved with edited arguments',
  respond: 'answered',
} as const;

function reportNote({ what, worker }: CallEvent & { readonly type: 'tool.reported' }): string {
  switch (what.type) {
    case 'claimed':
      return `claimed by ${worker}`;
    case 'given':
      return `result reported by ${worker}`;
    case 'differs':
      return `different result reported later by ${worker}`;
  }
}

/** Timestamps are whole milliseconds, so a shorter rest is not meaningful. */
const leastRestMs = 1;
const restNote = 'writing to the ledger';

type Decided = CallEvent & { readonly type: 'tool.decided' };

/** Every gate the call reached, its duration, and the gate that stopped the call. */
function gateBars(event: Decided, again: boolean, since: number, startedAt: number): readonly Bar[] {
  const took = new Map(event.gates.map(({ gate, elapsedUs }) => [gate, elapsedUs / 1_000]));
  const sum = [...took.values()].reduce((total, ms) => total + ms, 0);
  const names = [...new Set([...(again ? gateOrderAfterApproval : gateOrder), ...took.keys()])];
  const stop = event.decision === 'deny' ? stoppedAt(event, names) : undefined;
  const reached = stop === undefined ? names : names.slice(0, names.indexOf(stop) + 1);
  const who = event.decidedBy === undefined ? '' : ` by ${by(event.decidedBy)}`;
  const bars: Bar[] = [
    {
      name: again ? 'gates again' : 'gates',
      kind: 'gates',
      from: since - startedAt,
      ms: Math.max(event.at - since, sum),
      note: `${rulingWords[event.decision]}${who}${event.grantId === undefined ? '' : ', by a grant'}`,
      tone: event.decision === 'deny' ? 'bad' : event.decision === 'ask' ? 'attention' : 'active',
    },
  ];
  let at = since - startedAt;
  for (const name of reached) {
    const ms = took.get(name) ?? 0;
    const isStop = name === stop;
    bars.push({
      name,
      kind: 'gate',
      from: at,
      ms,
      note: isStop ? 'stopped here' : '',
      tone: isStop ? 'bad' : 'active',
    });
    at += ms;
  }
  const rest = (bars[0]?.ms ?? 0) - sum;
  if (rest >= leastRestMs)
    bars.push({ name: 'overhead', kind: 'gate', from: at, ms: rest, note: restNote, tone: 'quiet' });
  return bars;
}

const rulingWords = { allow: 'allowed', deny: 'denied', ask: 'approval required' } as const;

/** Hooks and rules decide at the policy gate. */
function stoppedAt({ decidedBy }: Decided, names: readonly string[]): string | undefined {
  const name = decidedBy?.type === 'hook' || decidedBy?.type === 'rule' ? 'policy' : decidedBy?.name;
  return name !== undefined && names.includes(name) ? name : undefined;
}
