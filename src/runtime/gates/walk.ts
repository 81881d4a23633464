/**
 * Passes a call through the gates in order until one stops it. If a gate had to wait, the record says how
 * long.
 */
import type { Awaitable } from '../../base/json.ts';
import type { GatePassage } from '../../call/event.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import type { Findings, JudgedCall, Passage, ReadyCall, StoppedCall } from '../state/call-stages.ts';
import { nothingFound, toJudged, withInput } from '../state/call-stages.ts';
import { judgedInput } from '../input/judged-input.ts';
import type { Gate, Stop, Verdict, Walked } from '../state/gate.ts';
import { entryGates } from './gates.ts';
import { cancelStop, waitUnlessEnded } from './wait-unless-ended.ts';
import type { ResolvedCall, Validated } from './validate.ts';
import { validate } from './validate.ts';

/** Result of the entry: a call with a tool and an accepted input, or the reason why it stops. */
export type Entered =
  | (Extract<Validated, { type: 'ready' }> & { readonly passages?: readonly GatePassage[] })
  | { readonly type: 'stopped'; readonly stop: Stop; readonly live: StoppedCall };

const none: readonly never[] = Object.freeze([]);

/** The gates before the input is known, then the validation of the input. */
export function enter(live: AcceptedCall): Awaitable<Entered> {
  for (const { name, check } of entryGates) {
    const stop = stopOf(live, check(live));
    if (stop !== undefined) return stoppedAt(live, stop, name, none);
  }
  const answer = validate(live as ResolvedCall); // the first entry gate resolves the tool
  return isPromiseLike(answer) ? enterSlowly(live, answer) : entered(live, answer, none);
}

async function enterSlowly(live: AcceptedCall, answer: PromiseLike<Validated>): Promise<Entered> {
  const waited = await timed(live, 'validate', answer, false);
  const passages = [waited.passage];
  return waited.type === 'over'
    ? stoppedAt(live, waited.stop, 'validate', passages)
    : entered(live, waited.value, passages);
}

function entered(live: AcceptedCall, answer: Validated, passages: readonly GatePassage[]): Entered {
  if (answer.type !== 'ready') return stoppedAt(live, answer, 'validate', passages);
  const { cancelled } = live.signals;
  if (cancelled === undefined) return passages.length === 0 ? answer : { ...answer, passages };
  const { tool } = live as ResolvedCall; // see `enter`
  return stoppedAt(
    withInput(live, tool, answer.input, answer.notes),
    cancelStop(cancelled),
    'validate',
    passages,
  );
}

const stoppedAt = (
  live: StoppedCall | AcceptedCall,
  stop: Stop,
  lastGate: string,
  passages: readonly GatePassage[],
): Entered => ({ type: 'stopped', stop, live: { ...live, lastGate, passages } });

/** Result of all gates. */
export type WalkedAll = Walked | Extract<Entered, { type: 'stopped' }>;

/** Runs the entry, then the gates. Stays synchronous while every gate does. */
export function walkAll(live: AcceptedCall, gates: readonly Gate[]): Awaitable<WalkedAll> {
  const found = enter(live);
  return isPromiseLike(found)
    ? found.then((entry) => walkEntered(live, entry, gates))
    : walkEntered(live, found, gates);
}

function walkEntered(live: AcceptedCall, found: Entered, gates: readonly Gate[]): Awaitable<WalkedAll> {
  if (found.type === 'stopped') return found;
  const { input, notes, passages = none } = found;
  const { tool } = live as ResolvedCall; // see `enter`
  const { secrets } = input.effective;
  if (secrets.length > 0 || live.secrets.ofInput.length > 0) live.secrets.ofInput = secrets;
  const draft = toJudged(live, tool, input, judgedInput(input), notes, nothingFound, passages);
  return pass(draft, gates, false);
}

/** Changed only inside `walk`. Gates return what they found. */
type Draft = { -readonly [Name in keyof JudgedCall]: JudgedCall[Name] };

/** `deadlineLifted`: a person was asked, so the turn's deadline no longer applies. */
export function walk(
  live: ReadyCall,
  gates: readonly Gate[],
  known: Findings,
  { passages = none, deadlineLifted = false }: Partial<Pick<Passage, 'passages'>> & WalkTerms = {},
): Awaitable<Walked> {
  const { tool, input, judged, notes } = live;
  return pass(toJudged(live, tool, input, judged, notes, known, passages), gates, deadlineLifted);
}

/** `draft`: a new object, which no other code has yet. */
function pass(draft: Draft, gates: readonly Gate[], deadlineLifted: boolean): Awaitable<Walked> {
  for (let at = 0; at < gates.length; at++) {
    const gate = gates[at] as Gate;
    const answer = gate.check(draft);
    if (isPromiseLike(answer)) return walkSlowly(draft, gates, at, answer, deadlineLifted);
    const stop = take(draft, gate, answer);
    if (stop !== undefined) return { type: 'stopped', stop, live: draft };
  }
  return { type: 'passed', live: draft };
}

type WalkTerms = { readonly deadlineLifted?: boolean };

/** The remaining gates, from the first one that has to wait. Most calls never get here. */
async function walkSlowly(
  draft: Draft,
  gates: readonly Gate[],
  from: number,
  waiting: PromiseLike<Verdict>,
  deadlineLifted: boolean,
): Promise<Walked> {
  let answer: Awaitable<Verdict> = waiting;
  for (let at = from; at < gates.length; at++) {
    const gate = gates[at] as Gate;
    if (at > from) answer = gate.check(draft);
    if (isPromiseLike(answer)) {
      const waited = await timed(draft, gate.name, answer, deadlineLifted);
      draft.passages = [...draft.passages, waited.passage];
      answer = waited.type === 'over' ? waited.stop : waited.value;
    }
    const stop = take(draft, gate, answer);
    if (stop !== undefined) return { type: 'stopped', stop, live: draft };
  }
  return { type: 'passed', live: draft };
}

/** Adds a gate's findings. Returns the reason if the call must stop. */
function take(draft: Draft, { name }: Gate, verdict: Verdict): Stop | undefined {
  draft.lastGate = name;
  if (verdict === undefined) return stopOf(draft, undefined);
  switch (verdict.type) {
    case 'found':
      Object.assign(draft, verdict.found);
      return stopOf(draft, undefined);
    case 'stopped':
      Object.assign(draft, verdict.found);
      return verdict.stop;
    case 'deny':
    case 'fail':
    case 'copy':
      return verdict;
  }
}

const stopOf = ({ signals: { cancelled } }: AcceptedCall, stop: Stop | undefined): Stop | undefined =>
  stop ?? (cancelled === undefined ? undefined : cancelStop(cancelled));

type Timed<Value> = { readonly passage: GatePassage } & (
  | { readonly type: 'came'; readonly value: Value }
  | { readonly type: 'over'; readonly stop: Stop }
);

async function timed<Value>(
  live: AcceptedCall,
  gate: string,
  answer: PromiseLike<Value>,
  deadlineLifted: boolean,
): Promise<Timed<Value>> {
  const { clock } = live.engine;
  const startedAtMs = clock.monotonicMs();
  const waited = await waitUnlessEnded(live, answer, deadlineLifted);
  const passage = { gate, elapsedUs: Math.round((clock.monotonicMs() - startedAtMs) * 1_000) };
  // An abandoned preview must not write while the call ends.
  if (waited.type === 'over') live.signals.abandon?.();
  return { ...waited, passage };
}
