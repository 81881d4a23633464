/**
 * A running runtime, built from its parts in order: the engine, the behaviors, then the code that makes calls. Also the
 * parts of its interface: `runtime.calls`, `confirmations`, `delegations`, `events`, `grants` and `handoffs`.
 */
import type { Call } from '../call/call.ts';
import type { Feed } from '../ledger/feed.ts';
import type { StoredCall } from '../ledger/journal.ts';
import {
  remindOf,
  decideConfirmation,
  listConfirmations,
  listQuestionsFor,
  tryEdit,
} from './decide-confirmation.ts';
import { endOrphan, isOrphan, sweep } from './recover.ts';
import { recoverCall } from './recover-call.ts';
import { WaitingRoom } from './orphans.ts';
import type { CallServices, OrphanEnd, Engine } from './engine.ts';
import type { CallsInProgress, CallRef, KeptCall } from './active-call.ts';
import type { RuntimeState, Recovery, RecoveryRun, WaitingCalls } from './runtime-state.ts';
import { callKey } from './turn-state.ts';
import type { CallReply } from './call-reply.ts';
import type { ToolAuditRecord } from '../call/audit.ts';
import { projectAudit } from '../call/audit-projection.ts';
import type { CallEvent, QuittanceEvent } from '../call/event.ts';
import type { CallNotAccepted } from '../call/events/refusal-event.ts';
import { foldCall } from '../call/evolve.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { StoredArtifact } from '../ledger/artifacts.ts';
import type { Page, ConfirmationQuery } from '../ledger/call-query.ts';
import { isAuditEvent, isCallEvent } from '../ledger/fold-stored.ts';
import { orUnavailable } from './ledger-trouble.ts';
import { readStoredArtifact } from './stored-artifact.ts';
import { readRefusals, withRefusals, lastPosition } from '../ledger/reads.ts';
import type { ErrorGroup, ErrorQuery } from '../ledger/summarize-errors.ts';
import type { UnresolvedCall, GrantView, ConfirmationView } from './views.ts';
import type { CallFilter, TailOptions, TailedEvent } from './tail.ts';
import { readEvents, tail } from './tail.ts';
import type { UnresolvedQuery, AskTool, FoundOut } from './reconcile.ts';
import { listUnresolved, reconcile } from './reconcile.ts';
import type { UndoRequest } from './undo.ts';
import { undo } from './undo.ts';
import type { JsonObject } from '../base/json.ts';
import type { PersonDecision } from './keep-decision.ts';
import type { LinkOptions, LinkUse, LinkView, StandsAtHost } from './decision-token.ts';
import { decideByToken, makeDecisionToken, readLink, whyNotByToken } from './decision-token.ts';
import type { Asked, EditTrial } from './decide-confirmation.ts';
import type { DelegationRef, DelegationRequest, DelegationView } from './delegations.ts';
import { giveDelegation, listDelegations, revokeDelegation } from './delegations.ts';
import type {
  BehaviorHandler,
  BehaviorSpec,
  EventName,
  RegisteredBehavior,
  Behaviors,
  Offer,
} from './behavior.ts';
import type { Behavior } from './call-options.ts';
import type { CallTool, Registration, AnyEvent, Delivery, Handled, HandlerHost } from './run-handler.ts';
import type { GrantQuery, GrantRef, GrantRequest } from './grants.ts';
import { giveGrant, listGrants, revokeGrant } from './grants.ts';
import type { DirectIdentity } from '../call/identity.ts';
import type {
  HandoffChoice,
  HandoffClaim,
  HandoffTerms,
  HandoffQuery,
  HandoffView,
} from './claim-handoff.ts';
import { claimHandoff, listHandoffs } from './claim-handoff.ts';
import type {
  HandoffNotes,
  HandoffReport,
  BatchAnswer,
  BatchReport,
  ReportedCall,
} from './report-handoff.ts';
import { reportAll, reportHandoff } from './report-handoff.ts';
import { QuittanceError } from '../base/error.ts';
import { summarizeErrors } from '../ledger/summarize-errors.ts';
import { checkKeys } from '../base/check-keys.ts';
import { checkPage } from '../call/limits.ts';
import { freezeJson } from '../base/json.ts';
import type { ToolResponded } from '../call/events/attempt-event.ts';
import { BehaviorReader, deepestCause } from './behavior-reader.ts';
import { readRegistration, failure, runHandler } from './run-handler.ts';

export class RuntimeCore implements RuntimeState {
  readonly engine: Engine;
  readonly behaviors: RuntimeBehaviors;
  readonly callsInProgress: CallsInProgress = new Map();
  readonly pendingSettlements: Map<string, KeptCall> = new Map();
  readonly recovering: Map<string, Promise<Recovery>> = new Map();
  readonly room: WaitingCalls;
  readonly sweptOwners: Set<string> = new Set();
  settling: Promise<void> | undefined;
  recording: Promise<void> | undefined;
  run: RecoveryRun | undefined;
  swept = false;
  closed = false;

  constructor(engine: Engine, feed: Feed) {
    this.engine = engine;
    this.behaviors = new RuntimeBehaviors(engine, feed);
    engine.ledger.runtimes.add(this.callsInProgress);
    this.room = new WaitingRoom(this);
  }

  sweep(sessionId: string): Promise<void> {
    return sweep(this, sessionId);
  }

  endOrphan(...[stored, call, asker]: Parameters<CallServices['endOrphan']>): Promise<OrphanEnd> {
    return endOrphan(this, stored, call, asker === 'of the call' ? 1 : 0);
  }

  isOrphan(...[stored, call, asker]: Parameters<CallServices['isOrphan']>): Promise<boolean> {
    return isOrphan(this, stored, call, asker === 'of the call' ? 1 : 0);
  }

  replyTo(call: CallRef): Promise<CallReply> | undefined {
    return this.callsInProgress.get(callKey(call))?.reply;
  }

  /** True if a caller waits for the call here, or recovery works on it. */
  isActive(call: CallRef): boolean {
    return this.callsInProgress.has(callKey(call)) || this.recovering.has(callKey(call));
  }

  recover(stored: StoredCall, call: Call): Promise<Recovery> {
    return recoverCall(this, stored, call);
  }

  remind(confirmationId: string): Promise<unknown> {
    return remindOf(this.engine, confirmationId, []);
  }
}

/** The calls on record. */
export interface RuntimeCalls {
  /** Calls of a session in the order of their requests. */
  list(filter: CallFilter): Promise<readonly Call[]>;
  /** Audit records in the order they were written. */
  audit(filter: CallFilter): Promise<readonly ToolAuditRecord[]>;
  /** Calls that failed, timed out or were denied, grouped by who can fix the cause. */
  errors(query?: ErrorQuery): Promise<readonly ErrorGroup[]>;
  /** Calls whose effect is unknown, newest first, with the known facts. */
  unresolved(query?: UnresolvedQuery): Promise<Page<UnresolvedCall>>;
  /** Records the resolution of a call whose effect is unknown. The outcome of the call does not change. */
  reconcile(call: CallRef, found: FoundOut | AskTool): Promise<Call>;
  /**
   * Undoes a call whose outcome says that it can be undone. The undo is a separate call: rules, limits and people judge
   * it like any other. A call is undone at most once.
   */
  undo(call: CallRef, request: UndoRequest): Promise<ToolOutcome>;
  /**
   * A large output, or a file of an output, as it is stored. Undefined if the session has no such artifact. Throws
   * `ledger.altered` if it was changed since.
   */
  artifact(artifact: ArtifactRef): Promise<StoredArtifact | undefined>;
}

type ArtifactRef = { readonly sessionId: string; readonly artifactId: string };

export function createRuntimeCalls(state: RuntimeCore): RuntimeCalls {
  const { engine } = state;
  return {
    list: async (filter) =>
      (await orUnavailable(readCalls(engine, filter))).flatMap((events) => foldCall(events) ?? []),
    audit: async (filter) => projectAudit(await orUnavailable(readAudited(engine, filter))),
    errors: async (query = {}) => orUnavailable(listErrors(engine, query)),
    unresolved: (query = {}) => orUnavailable(listUnresolved(engine, query)),
    reconcile: (call, found) => orUnavailable(reconcile(state, call, found)),
    undo: (call, request) => orUnavailable(undo(state, call, request)),
    artifact: ({ sessionId, artifactId }) =>
      orUnavailable(readStoredArtifact(engine.ledger, sessionId, artifactId)),
  };
}

async function readCalls(engine: Engine, filter: CallFilter): Promise<readonly (readonly CallEvent[])[]> {
  const calls = new Map<string, CallEvent[]>();
  for (const event of await readEvents(engine.ledger, filter)) {
    if (!isCallEvent(event)) continue;
    const known = calls.get(event.callId);
    if (known === undefined) calls.set(event.callId, [event]);
    else known.push(event);
  }
  return [...calls.values()];
}

async function readAudited(
  { ledger }: Engine,
  filter: CallFilter,
): Promise<readonly (CallEvent | CallNotAccepted)[]> {
  const events = await readEvents(ledger, filter);
  const { sessionId, callId } = filter;
  if (callId === undefined) return events.filter(isAuditEvent);
  return withRefusals(events.filter(isCallEvent), await readRefusals(ledger, { sessionId, callId }));
}

/** The questions of held calls. */
export interface RuntimeConfirmations {
  /** Questions to people, newest first, a page at a time. */
  list(query?: ConfirmationQuery): Promise<Page<ConfirmationView>>;
  /** Open questions that wait for this person: rules and rights let them answer, and they have not answered yet. */
  listFor(
    person: Asked,
    query?: Pick<ConfirmationQuery, 'limit' | 'cursor'>,
  ): Promise<Page<ConfirmationView>>;
  /** Decides about a held call. The first decision counts; a second one is refused with the name of the first person. */
  decide(confirmationId: string, decision: PersonDecision): Promise<ConfirmationView>;
  /**
   * Checks edited arguments against the schema and the rules without a decision. `decide` refuses an edit that fails these
   * checks, and the question stays open.
   */
  tryEdit(confirmationId: string, edited: JsonObject): Promise<EditTrial>;
  /**
   * Makes the token of a decision link: signed text that decides one question, for a link or a message. It is bound to
   * the input and the preview as they are shown now. It ends at its time, or when the question is decided.
   */
  link(confirmationId: string, options: LinkOptions): Promise<string>;
  /**
   * What a link is about, for the page that shows it. Throws if the link has expired, or if its maker or named person has
   * lost the right.
   */
  readLink(token: string, stands?: StandsAtHost): Promise<LinkView>;
  /** Decides with the token of a link. The checks are those of `decide`. */
  decideByLink(token: string, use: LinkUse): Promise<ConfirmationView>;
  /** The reason why `decideByLink` would refuse this now, or undefined. For a page that shows it before a person decides. */
  whyNotByLink(token: string, use: LinkUse): Promise<string | undefined>;
  /**
   * Records that the question still waits, as `confirmation.reminded`: for the last of these times that has come, and for
   * times that rules set. Each is recorded once, whatever process asks for it. Times are in milliseconds since 1970, by
   * the ledger's clock. Returns the next time, or undefined if nothing is left to record.
   */
  remind(confirmationId: string, times: readonly number[]): Promise<number | undefined>;
  /**
   * Announces a decision that is arriving, for example when the head of its request is read. Name the question if it is
   * known already. Questions that this runtime holds do not expire meanwhile, for 10 seconds at most, so that a denial
   * with this `receivedAt` still counts. Call the returned function once the decision was made, refused or given up.
   */
  expect(confirmationId?: string, receivedAt?: number): () => void;
}

export function createRuntimeConfirmations(state: RuntimeCore): RuntimeConfirmations {
  const { engine } = state;
  return {
    list: (query = {}) => orUnavailable(listConfirmations(engine, query)),
    listFor: (person, query = {}) => orUnavailable(listQuestionsFor(engine, person, query)),
    decide: (confirmationId, decision) => orUnavailable(decideConfirmation(state, confirmationId, decision)),
    tryEdit: (confirmationId, edited) => orUnavailable(tryEdit(engine, confirmationId, edited)),
    link: (confirmationId, options) => orUnavailable(makeDecisionToken(engine, confirmationId, options)),
    readLink: (token, stands) => orUnavailable(readLink(engine, token, stands)),
    decideByLink: (token, use) => orUnavailable(decideByToken(state, token, use)),
    whyNotByLink: (token, use) => orUnavailable(whyNotByToken(engine, token, use)),
    remind: (confirmationId, times) => orUnavailable(remindOf(engine, confirmationId, times)),
    expect: (confirmationId, receivedAt = engine.ledger.now()) =>
      engine.arriving.note(confirmationId, receivedAt),
  };
}

/** The delegations of approvals in this ledger. */
export interface RuntimeDelegations {
  /** Lets another person approve for a verified one. It passes on that person's groups and roles. */
  give(request: DelegationRequest): Promise<DelegationView>;
  /** Oldest first. The oldest ended ones are left out. */
  list(): Promise<readonly DelegationView[]>;
  /**
   * Ends a delegation. The delegator, the delegate and admins may, with a verified identity. A vote given under it no longer
   * counts.
   */
  revoke(ref: DelegationRef): Promise<DelegationView>;
}

export function createRuntimeDelegations(engine: Engine): RuntimeDelegations {
  return {
    give: (request) => orUnavailable(giveDelegation(engine, request)),
    list: () => orUnavailable(listDelegations(engine)),
    revoke: (ref) => orUnavailable(revokeDelegation(engine, ref)),
  };
}

/** The events of the ledger, and the behaviors that handle them. */
export interface RuntimeEvents {
  /** The events of a session, or of one call, that are on record now. */
  list(filter: CallFilter): Promise<readonly QuittanceEvent[]>;
  /**
   * Follows the events of the ledger, or of one session, in the order they were written. It starts at any position and
   * ends when the signal aborts.
   */
  tail(options?: TailOptions): AsyncIterable<TailedEvent>;
  /**
   * Registers a behavior: named code that receives events after they are written. An error that it throws becomes the
   * event `behavior.failed` and affects no call.
   */
  on<const Name extends EventName>(
    spec: BehaviorSpec<Name>,
    handler: BehaviorHandler<Name>,
  ): RegisteredBehavior;
  /** Registers a ready-made behavior, such as `retry()`. */
  on(behavior: Behavior): RegisteredBehavior;
}

export function createRuntimeEvents(
  state: RuntimeCore,
  feed: Feed,
  call: CallTool,
  closing: AbortSignal,
): RuntimeEvents {
  const { engine, behaviors } = state;
  return {
    list: (filter) => orUnavailable(readEvents(engine.ledger, filter)),
    tail: (options = {}) => tail(engine, feed, options, closing),
    on: (first: BehaviorSpec | Behavior, handler?: BehaviorHandler) =>
      handler === undefined && isBehavior(first)
        ? behaviors.on(first.spec, first.handler, call)
        : // The registration checks both and names what is missing.
          behaviors.on(first as BehaviorSpec, handler as BehaviorHandler, call),
  };
}

const isBehavior = (given: unknown): given is Behavior =>
  typeof given === 'object' && given !== null && 'spec' in given && 'handler' in given;

/** The standing permissions of sessions. */
export interface RuntimeGrants {
  /** Permits calls of a tool in advance. The grant answers their questions in the name of the person who gives it. */
  give(request: GrantRequest): Promise<GrantView>;
  /** The grants of a session, oldest first. */
  list(query: GrantQuery): Promise<readonly GrantView[]>;
  /** Revokes a grant. Calls whose body has not started are asked about again. */
  revoke(ref: GrantRef): Promise<GrantView>;
}

export function createRuntimeGrants(engine: Engine): RuntimeGrants {
  return {
    give: (request) => orUnavailable(giveGrant(engine, request)),
    list: (query) => orUnavailable(listGrants(engine, query)),
    revoke: (ref) => orUnavailable(revokeGrant(engine, ref)),
  };
}

/** Calls whose body runs in a worker, which claims them and reports their end. */
export interface RuntimeHandoffs {
  /** Calls that a worker is to run, or is running, oldest first. */
  list(query?: HandoffQuery): Promise<readonly HandoffView[]>;
  /** Claims a call for a worker: the call that is named, or the one that waits longest for a tool. */
  claim(choice: CallRef, terms: HandoffTerms): Promise<HandoffClaim>;
  claim(choice: { readonly toolName: string }, terms: HandoffTerms): Promise<HandoffClaim | undefined>;
  /** Reports the end of a claimed call. The first report counts; a repeat gets the recorded outcome. */
  report(
    token: string,
    report: HandoffReport,
    notes?: HandoffNotes,
    identity?: DirectIdentity,
  ): Promise<ReportedCall>;
  /** Reports several calls. Each report has its own answer: one that is refused does not affect the others. */
  reportAll(reports: readonly BatchReport[]): Promise<readonly BatchAnswer[]>;
}

export function createRuntimeHandoffs(state: RuntimeCore): RuntimeHandoffs {
  return {
    list: (query = {}) => orUnavailable(listHandoffs(state, query)),
    // A call named by its id is given or refused. Only a search by tool can end with nothing.
    claim: ((choice: HandoffChoice, terms: HandoffTerms) =>
      orUnavailable(claimHandoff(state, choice, terms))) as RuntimeHandoffs['claim'],
    report: (token, report, notes, identity) =>
      orUnavailable(reportHandoff(state, token, report, notes, identity)),
    reportAll: (reports) => reportAll(state, reports),
  };
}

/** Calls that did not succeed, grouped by who can fix the cause. */
function listErrors({ ledger }: Engine, query: ErrorQuery): Promise<readonly ErrorGroup[]> {
  checkKeys('runtime.calls.errors', query, [
    'sessionId',
    'toolName',
    'mode',
    'code',
    'since',
    'until',
    'limit',
    'signal',
  ]);
  checkPage('runtime.calls.errors', query);
  const { since, until } = query;
  for (const [name, value] of Object.entries({ since, until }))
    if (value !== undefined && !Number.isFinite(value))
      throw new QuittanceError(
        'config.invalid',
        `runtime.calls.errors: ${name} must be a time in milliseconds since 1970.`,
      );
  return summarizeErrors(ledger, query);
}

/** A behavior that may request a retry, and the runtime for its tool calls. */
type Retrier = { readonly registration: Registration; readonly host: HandlerHost };

/**
 * The behaviors of a runtime. Behaviors that may request a retry run within the call, before it ends. All
 * others read the ledger, each at its own pace.
 */
class RuntimeBehaviors implements Behaviors {
  readonly #engine: Engine;
  readonly #feed: Feed;
  readonly #registered = new Map<string, Registration>();
  readonly #readers = new Map<string, BehaviorReader>();
  /** Removed behaviors that may still work on an event, by name. */
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #closing = new AbortController();
  #retriers: readonly Retrier[] = [];

  constructor(engine: Engine, feed: Feed) {
    this.#engine = engine;
    this.#feed = feed;
  }

  get anyRetries(): boolean {
    return this.#retriers.length > 0;
  }

  /** Registers a behavior. `callTool` makes the calls that its handler requests. */
  on(spec: BehaviorSpec, handler: BehaviorHandler, callTool: CallTool): RegisteredBehavior {
    if (this.#closing.signal.aborted)
      throw new QuittanceError(
        'runtime.closed',
        'This runtime is closed; create a new one on the same ledger.',
      );
    const registration = readRegistration(spec, handler);
    const { name } = registration;
    if (this.#registered.has(name))
      throw new QuittanceError(
        'config.invalid',
        `A behavior named "${name}" is registered already. Give this one another name, or take the other off first.`,
      );
    this.#registered.set(name, registration);
    const host: HandlerHost = {
      engine: this.#engine,
      callTool,
      isAskedByCalls: (other) => this.#registered.get(other)?.kind === 'retries',
    };
    if (registration.kind === 'retries') {
      this.#retriers = [...this.#retriers, { registration, host }];
      return { name, off: async () => this.#forget(registration), caughtUp: async () => undefined };
    }
    const reader = new BehaviorReader(host, this.#feed, registration);
    this.#readers.set(name, reader);
    const before = this.#leaving.get(name);
    reader.start(before);
    // A reader that replaces another one continues from a stored position.
    if (registration.kind === 'durable' && before === undefined)
      this.#engine.appendGate.closeUntil(reader.opened);
    return {
      name,
      off: () => this.#remove(registration, reader),
      caughtUp: () => orUnavailable(catchUp(this.#engine, reader)),
    };
  }

  wantRetry(event: ToolResponded): boolean {
    // Predicates of the host will read the event that is stored. Events are JSON except for undefined.
    freezeJson(event as unknown as JsonObject);
    return this.#retriers.some(({ registration }) => matchOf(registration, event) !== false);
  }

  async offerRetry(event: ToolResponded, depth: number, signal: AbortSignal): Promise<Offer> {
    if (depth >= deepestCause) return { retry: undefined, events: [] };
    const delivery: Delivery = { event, depth, attempt: 1, mayRepeat: false };
    const answers = await Promise.all(
      this.#retriers.map(async (retrier) => ({
        by: retrier.registration.name,
        ...(await answerOf(retrier, delivery, signal)),
      })),
    );
    const asking = answers.find(({ retry }) => retry !== undefined);
    return {
      retry: asking && { by: asking.by, notBefore: asking.retry?.notBefore },
      events: answers.flatMap(({ events }) => events),
    };
  }

  async close(): Promise<void> {
    this.#closing.abort(new DOMException('The runtime is closing.', 'AbortError'));
    await Promise.all([...this.#readers.values()].map((reader) => reader.stop()));
  }

  #forget(registration: Registration): void {
    const { name } = registration;
    if (this.#registered.get(name) !== registration) return;
    this.#registered.delete(name);
    this.#readers.delete(name);
    this.#retriers = this.#retriers.filter((other) => other.registration !== registration);
  }

  async #remove(registration: Registration, reader: BehaviorReader): Promise<void> {
    const { name } = registration;
    this.#forget(registration);
    const left = reader.stop().finally(() => {
      if (this.#leaving.get(name) === left) this.#leaving.delete(name);
    });
    this.#leaving.set(name, left);
    await left;
  }
}

async function answerOf(
  { registration, host }: Retrier,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<Handled> {
  const match = matchOf(registration, delivery.event);
  if (match === true) return runHandler(host, registration, delivery, signal);
  return {
    retry: undefined,
    events: match === false ? [] : [failure(host.engine, registration, delivery, match.thrown, false)],
  };
}

/** Returns whether the event matches, or the error that its predicate threw. */
function matchOf({ matches }: Registration, event: AnyEvent): boolean | { readonly thrown: unknown } {
  try {
    return matches(event);
  } catch (thrown) {
    return { thrown };
  }
}

const catchUp = async ({ ledger }: Engine, reader: BehaviorReader): Promise<void> =>
  reader.reached(await lastPosition(ledger));
