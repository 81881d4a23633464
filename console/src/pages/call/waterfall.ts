/** The life of a call as bars in time: every gate it came to, what it waited for, and what ran. */
import { describeDecider } from '../../../../src/call/describe-identity.ts';
import type { CallEvent, DecidedBy } from '../../../../src/call/event.ts';
import type { Tone } from '../../ui/outcome-badge.tsx';
import { describeOutcome } from '../../ui/outcome-badge.tsx';
import { formatDuration } from '../../ui/time.tsx';

export type Bar = {
  readonly name: string;
  /** `gate`: inside the bar of gates before it. `wait`: nobody was at it. `moment`: has no length. */
  readonly kind: 'gates' | 'gate' | 'wait' | 'attempt' | 'moment';
  /** Milliseconds after the request. */
  readonly from: number;
  /** Undefined while it lasts. */
  readonly ms: number | undefined;
  readonly note: string;
  readonly tone: Tone;
};

/** The order of the gates before a person is asked, and after one agreed. A test holds it against the runtime's. */
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

/** Needs the events of one call in their order. */
export function toWaterfall(events: readonly CallEvent[]): readonly Bar[] {
  const startedAt = events[0]?.at ?? 0;
  let since = startedAt;
  const bars: Bar[] = [];
  /** Bars that have begun stand where they began, and are filled in when they end. */
  let held: number | undefined;
  let running: number | undefined;
  let wasApproved = false;
  /** Previews are made by a gate, and told of before what the gates decided. */
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
        endHold(event, wasApproved ? 'nobody answered: allowed' : 'nobody answered', 'attention');
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
        // Where no intent was needed, the attempt is known by its end alone.
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

const heldWords: Words = { name: 'held', ms: undefined, note: 'waits for a person', tone: 'attention' };

const begunBy = ({ attempt }: CallEvent & { readonly type: 'tool.started' }): Words => ({
  name: `attempt ${attempt}`,
  ms: undefined,
  note: 'no end on record yet',
  tone: 'active',
});

const pauseOf = (event: CallEvent & { readonly type: 'retry.requested' }): Words => ({
  name: 'before trying again',
  ms: Math.max(0, (event.notBefore ?? event.at) - event.at),
  note: `attempt ${event.attempt}, as ${event.by} asked`,
  tone: 'quiet',
});

type Responded = CallEvent & { readonly type: 'tool.responded' };

const elapsedOf = ({ outcome }: Responded): number => ('elapsedMs' in outcome ? outcome.elapsedMs : 0);

/** `bodyMs`: the bar goes from the intent to the outcome, both on disk; the body is only a part of that. */
function endedBy({ outcome }: Responded, bodyMs: number): Pick<Bar, 'note' | 'tone'> {
  const code = 'code' in outcome ? outcome.code : undefined;
  const { word, tone } = describeOutcome({
    outcome: outcome.type,
    status: 'settled',
    code,
    unresolved: false,
  });
  const body = bodyMs > 0 ? `; the body took ${formatDuration(bodyMs)}` : '';
  return { note: (code === undefined ? word : `${word}, ${code}`) + body, tone };
}

/** An attempt without an intent on record. */
function attemptBar(event: Responded, since: number, startedAt: number): Bar {
  const from = Math.max(since, event.at - elapsedOf(event));
  const name = `attempt ${event.attempt}`;
  return { name, kind: 'attempt', from: from - startedAt, ms: event.at - from, ...endedBy(event, 0) };
}

/** Events that have no length. */
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
] as const;
type Moment = Extract<CallEvent, { readonly type: (typeof momentTypes)[number] }>;

const isMoment = (event: CallEvent): event is Moment => momentTypes.some((type) => type === event.type);

function momentOf(event: Moment): Words {
  const tone = 'quiet';
  switch (event.type) {
    case 'tool.previewed': {
      const more = event.ready ? '' : ', not the last';
      return { name: 'preview shown', note: `revision ${event.revision}${more}`, tone };
    }
    case 'tool.late':
      return {
        name: 'late result',
        note: `attempt ${event.attempt} ${event.result.type}`,
        tone: 'attention',
      };
    case 'tool.taken_over':
      return {
        name: 'taken over',
        note: `its process is gone, takeover ${event.takeover}`,
        tone: 'attention',
      };
    case 'tool.reported':
      return {
        name: event.what.type === 'claimed' ? 'handed over' : 'reported',
        note: reportNote(event),
        tone,
      };
    case 'tool.recalled':
      return event.how === 'conflict'
        ? { name: 'asked again', note: `conflict: ${event.details}`, tone: 'attention' }
        : { name: 'asked again', note: `answered from ${event.fromCallId}`, tone };
    case 'tool.resolved': {
      const what = event.resolution.replaceAll('_', ' ');
      return { name: 'resolved', note: `${what}, by ${by(event.by)}`, tone: 'good' };
    }
    case 'tool.undone':
      return { name: 'undone', note: `by ${by(event.by)}`, tone: 'attention' };
    case 'persistence.failed':
      return { name: 'not kept', note: `${event.boundary}: ${event.error}`, tone: 'bad' };
    case 'runtime.budget_exhausted': {
      const note = `${event.scope}: ${event.used} of ${event.limit} ${event.metric} used`;
      return { name: 'budget', note, tone: 'bad' };
    }
  }
}

const decisionWords = {
  approve: 'approved',
  deny: 'denied',
  edit: 'approved with other arguments',
  respond: 'answered',
} as const;

function reportNote({ what, worker }: CallEvent & { readonly type: 'tool.reported' }): string {
  switch (what.type) {
    case 'claimed':
      return `taken by ${worker}`;
    case 'given':
      return `${worker} said how it went`;
    case 'differs':
      return `${worker} said otherwise later`;
  }
}

/** Moments are whole milliseconds, so less than this is no time of its own. */
const leastRestMs = 1;
const restNote = 'writing to the ledger';

type Decided = CallEvent & { readonly type: 'tool.decided' };

/** Every gate the call came to, with how long it took there, and where it was stopped. */
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
      note: `${rulingWords[event.decision]}${who}${event.grantId === undefined ? '' : ', under a grant'}`,
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
    bars.push({ name: 'the rest', kind: 'gate', from: at, ms: rest, note: restNote, tone: 'quiet' });
  return bars;
}

const rulingWords = { allow: 'let through', deny: 'stopped', ask: 'a person is asked' } as const;

/** Hooks and rules speak at the policy gate. */
function stoppedAt({ decidedBy }: Decided, names: readonly string[]): string | undefined {
  const name = decidedBy?.type === 'hook' || decidedBy?.type === 'rule' ? 'policy' : decidedBy?.name;
  return name !== undefined && names.includes(name) ? name : undefined;
}
