/**
 * The events of one session or of several as a tree of causes. A call is below the call whose event
 * caused it, else in its turn. A turn is in its session, and a session is below the one it works for.
 *
 * It accepts any input: a cause that is missing, comes later or is circular is reported and not followed.
 */
import { isEmittedEvent } from '../call/emitted-event.ts';
import type { CallEvent, Identity } from '../call/event.ts';
import { isKnownEvent } from './formats/v1/event-table.ts';
import type { ReadEvent } from './unknown-event.ts';
import type { FallenVote } from '../call/vote.ts';
import { describeDecider, describePerson } from '../call/describe-identity.ts';
import type { ToolOutcome } from '../call/outcome.ts';

/** The sessions of the events, each with everything below it. The events must be in append order. */
export function buildTrace(events: Iterable<ReadEvent>): readonly TraceNode[] {
  const tracing = new Tracing();
  for (const event of events) tracing.take(event);
  return tracing.roots();
}

class Tracing {
  /** The node of each event, for the events it causes. */
  readonly #places = new Map<string, AnyDraft>();
  readonly #sessions = new Map<string, TraceDraft<SessionNode>>();
  readonly #turns = new Map<string, TraceDraft<TurnNode>>();
  readonly #calls = new Map<string, TraceDraft<CallNode>>();
  readonly #attempts = new Map<string, TraceDraft<AttemptNode>>();

  take(event: ReadEvent): void {
    const place = this.#put(event);
    // An id that occurs twice belongs to the first event.
    if (!this.#places.has(event.id)) this.#places.set(event.id, place);
    // A session lasts as long as anything happens in it.
    const session = this.#sessionOf(event);
    session.endedAt = Math.max(session.endedAt ?? event.at, event.at);
  }

  /** Sessions that are below no other. In a cycle of sessions, the first is a root. */
  roots(): readonly TraceNode[] {
    const below = new Set<string>();
    for (const [sessionId, session] of this.#sessions) {
      const parent = this.#parentOf(session);
      if (parent === undefined || this.#leadsTo(parent, sessionId, below)) continue;
      parent.children.push(session);
      below.add(sessionId);
    }
    return [...this.#sessions.values()].filter(({ sessionId }) => !below.has(sessionId));
  }

  #parentOf({ parentSessionId }: SessionNode): TraceDraft<SessionNode> | undefined {
    return parentSessionId === undefined ? undefined : this.#sessions.get(parentSessionId);
  }

  #leadsTo(from: SessionNode, sessionId: string, below: ReadonlySet<string>): boolean {
    let at: SessionNode | undefined = from;
    while (at !== undefined) {
      if (at.sessionId === sessionId) return true;
      at = below.has(at.sessionId) ? this.#parentOf(at) : undefined;
    }
    return false;
  }

  #put(event: ReadEvent): AnyDraft {
    if (isEmittedEvent(event)) return this.#note(event, `by ${event.by}`);
    if (!isKnownEvent(event)) return this.#note(event, '', false);
    if ('callId' in event) return this.#putInCall(event);
    switch (event.type) {
      case 'session.forked':
        this.#sessionOf(event).parentSessionId ??= event.fromSessionId;
        return this.#note(
          event,
          `from ${event.fromSessionId} at ${event.atCallId ?? 'its end'}, then ${event.after}`,
        );
      case 'turn.opened': {
        const turn = this.#turnOf(event);
        this.#sessionOf(event).parentSessionId ??= event.parentSessionId;
        return turn;
      }
      case 'turn.ended': {
        const turn = this.#turnOf(event);
        turn.why = event.why;
        turn.endedAt = event.at;
        return turn;
      }
      case 'workflow.advanced':
        return this.#note(event, `${event.workflow}: ${event.stageId} → ${event.toStageId}`);
      case 'workflow.updated':
        return this.#note(
          event,
          `${event.workflow}: ${event.why}${event.by === undefined ? '' : `, by ${whoOf(event.by, event.identity)}`}`,
        );
      case 'workflow.completed':
        return this.#note(event, `${event.workflow}: complete with ${event.stageId}`);
      case 'behavior.failed':
        return this.#note(event, `${event.behavior}: ${event.reason}, attempt ${event.attempt}`);
      case 'retry.requested':
        return this.#note(event, `attempt ${event.attempt} of ${event.behavior}, as ${event.by} asked`);
      case 'grant.given':
      case 'grant.revoked':
        return this.#note(event, `${event.grantId}, by ${whoOf(event.by, event.identity)}`);
      case 'delegation.given':
        return this.#note(event, `to ${event.to}, by ${whoOf(event.by, event.identity)}`);
      case 'delegation.revoked':
        return this.#note(event, `${event.delegationId}, by ${whoOf(event.by, event.identity)}`);
      case 'contracts.loaded':
        return this.#note(event, event.documents.map(({ name }) => name).join(', '));
      case 'call.not_accepted':
        return this.#note(
          event,
          `${event.toolName} ${event.refusedCallId}: not accepted, nothing ran (${event.boundary}: ${event.error})`,
        );
      case 'persistence.unlisted':
        return this.#note(event, `${event.count} more failed writes, the first: ${event.error}`);
      case 'body.erased':
        return this.#note(
          event,
          `${event.entryIds.length} entries, by ${whoOf(event.by, event.identity)}: ${event.reason}`,
        );
      case 'session.dropped':
        return this.#note(
          event,
          `${event.droppedSessionId}, by ${whoOf(event.by, event.identity)}: ${event.reason}`,
        );
      default:
        event satisfies never;
        return this.#note(event, '');
    }
  }

  #putInCall(event: CallEvent): AnyDraft {
    if (event.type === 'tool.requested') return this.#request(event);
    const call = this.#calls.get(callKey(event));
    // The request of the call is not among these events.
    if (call === undefined) return this.#note(event, traceNoteOf(event));
    if (event.type === 'tool.started') {
      const attempt = newAttempt(event.attempt, event.at);
      call.children.push(attempt);
      this.#attempts.set(`${callKey(event)} ${event.attempt}`, attempt);
      return attempt;
    }
    if (event.type === 'tool.responded') return this.#respond(call, event);
    return this.#note(event, traceNoteOf(event), true, call);
  }

  #request(event: Extract<CallEvent, { type: 'tool.requested' }>): AnyDraft {
    const key = callKey(event);
    const known = this.#calls.get(key);
    if (known !== undefined) return known;
    const cause = event.cause === undefined ? undefined : this.#places.get(event.cause);
    const call: TraceDraft<CallNode> = {
      kind: 'call',
      at: event.at,
      endedAt: undefined,
      sessionId: event.sessionId,
      turnId: event.turnId,
      callId: event.callId,
      toolName: event.toolName,
      outcome: undefined,
      code: undefined,
      cause: event.cause === undefined ? undefined : { eventId: event.cause, known: cause !== undefined },
      children: [],
    };
    this.#calls.set(key, call);
    const turn = this.#turnOf(event);
    // If the start of a turn caused it, it is a call of its own turn.
    const holder = cause === undefined || cause.kind === 'turn' || cause.kind === 'session' ? turn : cause;
    holder.children.push(call);
    return call;
  }

  #respond(call: TraceDraft<CallNode>, event: Extract<CallEvent, { type: 'tool.responded' }>): AnyDraft {
    const { outcome, attempt, final, at } = event;
    const code = 'code' in outcome ? outcome.code : undefined;
    const end = { outcome: outcome.type, code, endedAt: at };
    if (final) Object.assign(call, end);
    if (attempt === 0) return call;
    let run = this.#attempts.get(`${callKey(event)} ${attempt}`);
    if (run === undefined) {
      // A read without limits records no intent: its start is its end minus its duration.
      const elapsedMs = 'elapsedMs' in outcome ? outcome.elapsedMs : 0;
      run = newAttempt(attempt, Math.max(call.at, at - elapsedMs));
      call.children.push(run);
    }
    return Object.assign(run, end, { final });
  }

  /** An event without its own node: below its cause, in its call or its turn. */
  #note(event: ReadEvent, note: string, known = true, call?: AnyDraft): AnyDraft {
    const { id: eventId, type, at } = event;
    const place: TraceDraft<EventNode> = {
      kind: 'event',
      at,
      endedAt: undefined,
      eventId,
      type,
      note,
      known,
      children: [],
    };
    const cause = event.cause === undefined ? undefined : this.#places.get(event.cause);
    const holder =
      call ??
      (cause?.kind === 'event' && !isSetOff(event) ? undefined : cause) ??
      ('callId' in event && event.callId !== undefined ? this.#calls.get(callKey(event)) : undefined) ??
      (event.turnId === '' ? this.#sessionOf(event) : this.#turnOf(event));
    holder.children.push(place);
    return place;
  }

  #sessionOf({ sessionId, at }: ReadEvent): TraceDraft<SessionNode> {
    let session = this.#sessions.get(sessionId);
    if (session === undefined) {
      session = {
        kind: 'session',
        at,
        endedAt: undefined,
        sessionId,
        parentSessionId: undefined,
        children: [],
      };
      this.#sessions.set(sessionId, session);
    }
    return session;
  }

  #turnOf(event: ReadEvent): TraceDraft<TurnNode> {
    const { sessionId, turnId, at } = event;
    const key = JSON.stringify([sessionId, turnId]);
    let turn = this.#turns.get(key);
    if (turn === undefined) {
      turn = { kind: 'turn', at, endedAt: undefined, turnId, sessionId, why: undefined, children: [] };
      this.#turns.set(key, turn);
      this.#sessionOf(event).children.push(turn);
    }
    return turn;
  }
}

/** A behavior is below the event that triggered it; any other event is below its call or turn. */
const isSetOff = (event: ReadEvent): boolean =>
  event.type === 'behavior.failed' || event.type === 'retry.requested' || isEmittedEvent(event);

const callKey = ({
  sessionId,
  callId,
}: {
  readonly sessionId: string;
  readonly callId?: string | undefined;
}): string => JSON.stringify([sessionId, callId]);

/** A node of a trace while it is built. */
type TraceDraft<Node extends TraceNode> = { -readonly [Name in keyof Node]: Node[Name] } & {
  children: TraceNode[];
};

type AnyDraft =
  | TraceDraft<SessionNode>
  | TraceDraft<TurnNode>
  | TraceDraft<CallNode>
  | TraceDraft<AttemptNode>
  | TraceDraft<EventNode>;

const newAttempt = (attempt: number, at: number): TraceDraft<AttemptNode> => ({
  kind: 'attempt',
  at,
  endedAt: undefined,
  attempt,
  outcome: undefined,
  code: undefined,
  final: false,
  children: [],
});

const by: typeof describeDecider = describeDecider;

const whoOf = (name: string, identity: Identity | undefined): string => describePerson({ name, identity });

/** A short description of an event in a trace. */
function traceNoteOf(event: CallEvent): string {
  switch (event.type) {
    case 'tool.decided':
      return `${event.decision}${event.decidedBy === undefined ? '' : `, by ${by(event.decidedBy)}`}`;
    case 'tool.held':
      return event.description;
    case 'confirmation.decided':
      return `${event.decision}, by ${by(event.by)}${event.reason === undefined ? '' : `: ${event.reason}`}${fallenNote(event.fallen)}`;
    case 'confirmation.voted':
      return `${event.decision}, by ${by(event.by)}; more people are needed${fallenNote(event.fallen)}`;
    case 'confirmation.reminded':
      return `${event.kind}; missing: ${event.missing.join('; ')}`;
    case 'confirmation.withdrawn':
      return event.reason;
    case 'confirmation.expired':
      return `${event.effect}${event.by === undefined ? '' : `, by ${by(event.by)}`}`;
    case 'tool.previewed':
      return `revision ${event.revision}${event.ready ? ', ready' : ''}`;
    case 'tool.taken_over':
      return `takeover ${event.takeover}, from ${event.previousOwner}`;
    case 'tool.reported':
      return `${event.what.type}, by ${whoOf(event.worker, event.identity)}`;
    case 'tool.undone':
      return `by ${by(event.by)}, with call ${event.undoCallId}`;
    case 'tool.recalled':
      return `${event.how}${event.how === 'conflict' ? `: ${event.details}` : `, from ${event.fromCallId}`}`;
    case 'tool.late':
      return `attempt ${event.attempt} ${event.result.type} after its deadline`;
    case 'tool.resolved':
      return `${event.resolution}, by ${by(event.by)}`;
    case 'retry.requested':
      return `attempt ${event.attempt}, as ${event.by} asked`;
    case 'persistence.failed':
      return `${event.boundary}: ${event.error}`;
    case 'runtime.budget_exhausted':
      return `${event.scope}: ${event.used} of ${event.limit} ${event.metric} used`;
    case 'tool.started':
    case 'tool.responded':
    case 'tool.requested':
      return '';
    default:
      event satisfies never;
      return '';
  }
}

const fallenNote = (fallen: readonly FallenVote[] = []): string =>
  fallen.map((each) => `; the vote of ${by(each.by)} is void: ${each.why}`).join('');

/** The nodes of a trace. */

/** Start and end in milliseconds since 1970, and the nodes it caused. */
interface Spanning {
  readonly at: number;
  /** Undefined if it has not ended, or is a moment. */
  readonly endedAt: number | undefined;
  readonly children: readonly TraceNode[];
}

export interface SessionNode extends Spanning {
  readonly kind: 'session';
  readonly sessionId: string;
  readonly parentSessionId: string | undefined;
}

export interface TurnNode extends Spanning {
  readonly kind: 'turn';
  readonly turnId: string;
  readonly sessionId: string;
  /** The reason for its end. */
  readonly why: string | undefined;
}

export interface CallNode extends Spanning {
  readonly kind: 'call';
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly outcome: ToolOutcome['type'] | undefined;
  readonly code: string | undefined;
  /** The event that caused it; `known` is false if there is no such event before it. */
  readonly cause: { readonly eventId: string; readonly known: boolean } | undefined;
}

export interface AttemptNode extends Spanning {
  readonly kind: 'attempt';
  readonly attempt: number;
  readonly outcome: ToolOutcome['type'] | undefined;
  readonly code: string | undefined;
  /** False if another attempt followed, or the call has no end. */
  readonly final: boolean;
}

/** A short description of one event. */
export interface EventNode extends Spanning {
  readonly kind: 'event';
  readonly eventId: string;
  readonly type: string;
  readonly note: string;
  /** True if this version knows the type. */
  readonly known: boolean;
}

export type TraceNode = SessionNode | TurnNode | CallNode | AttemptNode | EventNode;
