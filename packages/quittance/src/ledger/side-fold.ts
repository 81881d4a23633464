/**
 * Computes from the entries the state that must be stored outside them: claims, counters, states, unresolved effects,
 * calls that need a sealed input, named artifacts. Entries are added in order of position, over all sessions.
 *
 * The entries of a dropped session are gone. So no entry records its use of shared counters, or a claim that passed to it:
 * with `hasDropped`, both are known only in part.
 */
import { hidesFacts } from '../call/hides-input.ts';
import { isKeyedDigest } from '../base/canonical.ts';
import type { JsonObject } from '../base/json.ts';
import type { QuittanceEvent, ArtifactArgument, InputForm } from '../call/event.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { isKnownEvent } from './formats/v1/event-table.ts';
import { ERASED } from './formats/v1/field.ts';
import type { ReadEntry } from './formats/v1/read-entry.ts';
import type { Claim, ClaimHolder, Counter, CounterTotal, Settlement } from './claims.ts';
import { sessionCounterPrefixes } from './claims.ts';
import { ledgerSessionId } from './ledger.ts';
import { stateIn } from './last-state.ts';
import { clearsUnsettledEffect, leavesUnsettledEffect } from './prepare-entry.ts';

export class SideFold {
  readonly claims: Map<string, FoldedClaim> = new Map();
  readonly counters: Map<string, FoldedCounter> = new Map();
  /** Position of each session's first entry. */
  readonly sessions: Map<string, number> = new Map();
  /** By `foldKey`. */
  readonly open: Map<string, OpenInput> = new Map();
  /** By `foldKey`. Includes those that have expired. */
  readonly undoable: Map<string, UndoableInput> = new Map();
  readonly unsettled: Map<string, UnsettledEffect> = new Map();
  /** By session and subject. */
  readonly states: Map<string, FoldedState> = new Map();
  /** By session and artifact. */
  readonly artifacts: Map<string, NamedArtifact> = new Map();
  readonly #erased = new Set<string>();
  /** Calls that left an unresolved effect, by session, tool and input; some of them may be resolved since. */
  readonly #byInput = new Map<string, Set<string>>();
  readonly #doubtful = new Set<string>();
  readonly #report: (finding: FoldFinding) => void;
  #hasDropped = false;
  #position = 0;

  /**
   * `report` is called for entries that no append could have accepted after the previous ones. `hasDropped`: a later entry
   * records that a session was removed, and the totals before it include its usage.
   */
  constructor(
    report: (finding: FoldFinding) => void = () => undefined,
    { hasDropped = false }: { readonly hasDropped?: boolean } = {},
  ) {
    this.#report = report;
    this.#hasDropped = hasDropped;
  }

  /** Position of the last added entry. */
  get position(): number {
    return this.#position;
  }

  get hasDropped(): boolean {
    return this.#hasDropped;
  }

  add(entry: ReadEntry, position: number): void {
    this.#position = position;
    const { sessionId, callId, claim, releaseClaim } = entry;
    if (!this.sessions.has(sessionId)) this.sessions.set(sessionId, position);
    for (const { counter, amount, limit } of entry.reserve ?? []) this.#reserve(counter, amount, limit);
    for (const settlement of entry.settle ?? []) this.#settle(settlement);
    for (const { subject, expectedVersion } of entry.moves ?? [])
      this.states.set(foldKey(sessionId, subject), {
        sessionId,
        subject,
        version: expectedVersion + 1,
        position,
        state: entry.erased ? undefined : findState(entry, subject),
      });
    if (releaseClaim !== undefined) this.claims.delete(releaseClaim);
    if (callId === undefined) {
      for (const event of entry.events)
        if (isKnownEvent(event) && event.type === 'session.dropped' && sessionId === ledgerSessionId)
          this.#drop(event.droppedSessionId);
      // After a removal, an entry may state counters that the session had used.
      this.#compareTotals(entry.totals ?? []);
      return;
    }
    this.#compareTotals(entry.totals ?? []);
    if (claim !== undefined) this.#claim(claim, sessionId, callId);
    if (entry.erased) this.#erased.add(foldKey(sessionId, callId));
    for (const event of entry.events)
      if (isKnownEvent(event) && 'callId' in event && event.callId === callId)
        this.#note(event, sessionId, callId);
  }

  /** Calls whose effect is unresolved, oldest first: the expected result of `findUnsettledEffects`. */
  unsettledOf(sessionId: string, toolName: string, inputDigest: string): readonly string[] {
    return [...(this.#byInput.get(JSON.stringify([sessionId, toolName, inputDigest])) ?? [])]
      .flatMap((key) => this.unsettled.get(key) ?? [])
      .sort((left, right) => left.position - right.position)
      .map(({ callId }) => callId);
  }

  /** True if a claim may have been passed to, or released by, a session that is gone. */
  mayHaveLost({ sessionId, callId }: ClaimHolder): boolean {
    return this.#hasDropped && this.#doubtful.has(foldKey(sessionId, callId));
  }

  /** True if bodies were erased of a call that named the artifact. The artifact is erased with them. */
  mayBeErased({ sessionId, callIds }: NamedArtifact): boolean {
    return [...callIds].some((callId) => this.#erased.has(foldKey(sessionId, callId)));
  }

  counterOf(name: string): Counter {
    return this.counters.get(name) ?? { used: 0, reserved: 0 };
  }

  #claim({ key, inputDigest, supersedes }: Claim, sessionId: string, callId: string): void {
    const holder = this.claims.get(key);
    const passesOn = holder?.sessionId === supersedes?.sessionId && holder?.callId === supersedes?.callId;
    if (holder !== undefined && !passesOn && !this.mayHaveLost(holder))
      this.#report({
        kind: 'claim',
        message:
          'Two calls began under one idempotency key, and the first had not released it: call ' +
          `${JSON.stringify(holder.callId)} of session ${JSON.stringify(holder.sessionId)} and this ` +
          'one.',
      });
    this.claims.set(key, { sessionId, callId, inputDigest, position: this.#position });
  }

  #reserve(name: string, amount: number, limit: number): void {
    const { used, reserved } = this.counterOf(name);
    if (used + reserved + amount > limit)
      this.#report({
        kind: 'limit',
        message:
          `The entry takes ${amount} of ${JSON.stringify(name)}, whose limit is ${limit}, when ` +
          `${used + reserved} were already taken.`,
      });
    this.#count(name, 0, amount);
  }

  #settle({ counter, reserved, used, reset }: Settlement): void {
    const before = reset === true ? this.counterOf(counter).used : 0;
    this.#count(counter, used - before, -reserved);
  }

  #count(name: string, used: number, reserved: number): void {
    const counter = this.counters.get(name);
    if (counter === undefined) this.counters.set(name, { used, reserved, stated: undefined });
    else {
      counter.used += used;
      counter.reserved += reserved;
      counter.stated = undefined;
    }
  }

  /** Applies the counter totals that the entry states. They include the usage of sessions that are gone. */
  #compareTotals(totals: readonly CounterTotal[]): void {
    for (const { counter: name, used, reserved } of totals) {
      const folded = this.counters.get(name) ?? { used: 0, reserved: 0, stated: undefined };
      const isSame = used === folded.used && reserved === folded.reserved;
      if (!isSame && !(this.#hasDropped && used >= folded.used))
        this.#report({
          kind: 'limit',
          message:
            `The entry states a total of ${used} used and ${reserved} reserved for ` +
            `${JSON.stringify(name)}; the entries add up to ${folded.used} and ${folded.reserved}.`,
        });
      if (isSame || this.#hasDropped)
        this.counters.set(name, { used, reserved, stated: { used, reserved, position: this.#position } });
    }
  }

  #note(event: QuittanceEvent, sessionId: string, callId: string): void {
    const key = foldKey(sessionId, callId);
    const call = this.open.get(key);
    if (event.type === 'tool.requested')
      this.open.set(key, {
        sessionId,
        callId,
        inputDigest: undefined,
        inputForm: undefined,
        artifacts: [],
        hidesSnapshot: false,
        hidesFacts: hidesFacts(event),
        needsSealed: false,
      });
    else if (event.type === 'tool.undone') this.undoable.delete(key);
    else if (clearsUnsettledEffect(event)) {
      this.unsettled.delete(key);
      this.undoable.delete(key);
    } else if (call === undefined) return;
    else if (event.type === 'tool.decided') {
      if (event.inputDigest === undefined) return;
      call.inputDigest = event.inputDigest;
      call.inputForm = event.inputForm;
      call.artifacts = event.artifacts;
    } else if (
      (event.type === 'confirmation.decided' || event.type === 'confirmation.voted') &&
      event.editedDigest !== undefined
    ) {
      call.inputDigest = event.editedDigest;
      call.inputForm = event.editedForm;
      call.artifacts = event.editedArtifacts;
      call.hidesSnapshot = false;
      call.needsSealed = isKeyedDigest(event.editedDigest);
    } else if (event.type === 'tool.held' || event.type === 'tool.started')
      call.needsSealed ||=
        call.hidesSnapshot || (call.inputDigest !== undefined && isKeyedDigest(call.inputDigest));
    else if (event.type === 'tool.previewed') call.hidesSnapshot = event.hidden.length > 0;
    else if (event.type === 'tool.responded' && event.final) {
      this.open.delete(key);
      const { outcome } = event;
      const undo = 'undo' in outcome ? outcome.undo : undefined;
      if ((undo !== undefined || leavesUnsettledEffect(event)) && (call.needsSealed || call.hidesFacts))
        this.undoable.set(key, {
          sessionId,
          callId,
          inputDigest: call.inputDigest,
          inputForm: call.inputForm,
          artifacts: call.artifacts,
          until: undo?.until,
        });
      this.#name(event.outcome, sessionId, callId);
      if (leavesUnsettledEffect(event)) this.#leaveDoubt(key, call, event.outcome.toolName);
    }
  }

  #leaveDoubt(key: string, { sessionId, callId, inputDigest }: OpenInput, toolName: string): void {
    this.#doubtful.add(key);
    if (inputDigest === undefined) return;
    this.unsettled.set(key, { sessionId, callId, toolName, inputDigest, position: this.#position });
    const input = JSON.stringify([sessionId, toolName, inputDigest]);
    const others = this.#byInput.get(input);
    if (others === undefined) this.#byInput.set(input, new Set([key]));
    else others.add(key);
  }

  #name(outcome: ToolOutcome, sessionId: string, callId: string): void {
    const name = (named: Omit<NamedArtifact, 'sessionId' | 'callIds'>): void => {
      const key = foldKey(sessionId, named.artifactId);
      const known = this.artifacts.get(key);
      if (known === undefined) this.artifacts.set(key, { ...named, sessionId, callIds: new Set([callId]) });
      else known.callIds.add(callId);
    };
    if ('files' in outcome)
      for (const { artifactId, mimeType, sizeBytes, digest } of outcome.files ?? [])
        name({ artifactId, mimeType, sizeBytes, digest, isText: false });
    // A copy of an already erased outcome names an artifact that was already gone.
    if (outcome.type === 'ToolArtifactReference' && outcome.summary !== ERASED) {
      const { artifactId, sizeBytes, digest } = outcome;
      name({ artifactId, mimeType: 'application/json', sizeBytes, digest, isText: true });
    }
  }

  /** Drops everything the session left; its usage of shared counters stays. */
  #drop(sessionId: string): void {
    this.#hasDropped = true;
    // Usually the entries of the session were gone before they were read, so nothing of it is here.
    if (!this.sessions.delete(sessionId)) return;
    for (const map of [this.claims, this.open, this.undoable, this.unsettled, this.states, this.artifacts])
      for (const [key, row] of map) if (row.sessionId === sessionId) map.delete(key);
    const prefixes = sessionCounterPrefixes(sessionId);
    for (const name of this.counters.keys())
      if (prefixes.some((prefix) => name.startsWith(prefix))) this.counters.delete(name);
  }
}

const findState = ({ events }: ReadEntry, subject: string): JsonObject | undefined =>
  events
    .map(stateIn)
    .filter((stated) => stated?.subject === subject)
    .at(-1)?.state;

/** The key of a call in the maps of a fold. */
export const foldKey = (sessionId: string, callId: string): string => JSON.stringify([sessionId, callId]);

/** The state outside entries, computed from the entries. */

/** A call that has no outcome. */
export type OpenInput = {
  readonly sessionId: string;
  readonly callId: string;
  inputDigest: string | undefined;
  /** What else the digest covers, if the input is a rendering. */
  inputForm: InputForm | undefined;
  artifacts: readonly Pick<ArtifactArgument, 'digest'>[];
  /** Part of its preview's snapshot is hidden. */
  hidesSnapshot: boolean;
  /** Part of the caller's facts is hidden, so the call may have a sealed input. Earlier versions did not seal facts. */
  hidesFacts: boolean;
  /** The call was held or started, and part of its input or snapshot is hidden. */
  needsSealed: boolean;
};

/** A call that still needs its input: for an undo, or to ask its tool how it ended. */
export type UndoableInput = {
  readonly sessionId: string;
  readonly callId: string;
  readonly inputDigest: string | undefined;
  readonly inputForm: InputForm | undefined;
  readonly artifacts: readonly Pick<ArtifactArgument, 'digest'>[];
  /** By the ledger's clock; undefined means forever. */
  readonly until: number | undefined;
};

export type UnsettledEffect = {
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly inputDigest: string;
  /** Position of the entry that left the effect unresolved. */
  readonly position: number;
};

export type FoldedState = {
  readonly sessionId: string;
  readonly subject: string;
  readonly version: number;
  /** Position of the entry that last changed it. */
  readonly position: number;
  /** Undefined if it was erased, or recorded in a form this version does not know. */
  readonly state: JsonObject | undefined;
};

export type NamedArtifact = {
  readonly sessionId: string;
  readonly artifactId: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly digest: string | undefined;
  /** A large output is always text. A file may be either. */
  readonly isText: boolean;
  /** Calls that named it: the one it was made for, and those that were answered with its outcome. */
  readonly callIds: Set<string>;
};

/** The holder of a key, and the position of the entry that gave it to them. */
export type FoldedClaim = ClaimHolder & { readonly position: number };

export type FoldedCounter = {
  used: number;
  reserved: number;
  /** The counter's total according to the last entry about it, and that entry's position. */
  stated: (Counter & { readonly position: number }) | undefined;
};

/** An entry that no append could have accepted after the previous ones. */
export type FoldFinding = {
  readonly kind: 'claim' | 'limit';
  readonly message: string;
};
