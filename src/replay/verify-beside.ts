/**
 * Whether what is kept beside the entries is what they say: claims, counters, states, effects in doubt, sealed
 * inputs, artifacts. Each is asked for as a later call would ask for it, whether the entries or a row name it.
 */
import { canonicalJson, digestJson, keyedDigestJson } from '../base/canonical.ts';
import { isQuittanceError } from '../base/error.ts';
import type { JsonObject } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import type { BesideRow } from '../ledger/beside.ts';
import type { BesideFold, NamedArtifact } from '../ledger/beside-fold.ts';
import { callKey } from '../ledger/beside-fold.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Seal } from '../ledger/seal.ts';
import { createSeal } from '../ledger/seal.ts';
import { readSealedText, sealContext } from '../runtime/seal-input.ts';
import { checkArtifact } from './verify-artifact.ts';

export type BesideProblem = {
  readonly sessionId?: string | undefined;
  readonly callId?: string | undefined;
  readonly message: string;
};

/** Something to look at: `look` says what is wrong with it as things stand now. */
type Subject = {
  readonly sessionId?: string | undefined;
  readonly callId?: string | undefined;
  readonly look: () => Promise<string | undefined>;
};

/** Others may append between the entries that were read and what is looked at: then it is looked at again. */
const mostLooks = 5;

/** `catchUp` adds to the fold what was appended since it was last called. */
export async function* checkBeside(
  ledger: Ledger,
  fold: BesideFold,
  catchUp: () => Promise<void>,
  signal: AbortSignal,
): AsyncGenerator<BesideProblem, void, undefined> {
  await catchUp();
  const orphans = new Set<string>();
  for await (const { look, ...place } of subjectsOf(ledger, fold, orphans)) {
    if (signal.aborted) return;
    let message = await lookSafely(look);
    for (let looks = 1; message !== undefined && looks < mostLooks; looks++) {
      await catchUp();
      message = await lookSafely(look);
    }
    if (message !== undefined) yield { ...place, message };
  }
  yield* findOrphans(ledger, orphans, signal);
}

/** What cannot be read was not written by us. */
async function lookSafely(look: Subject['look']): Promise<string | undefined> {
  try {
    return await look();
  } catch (error) {
    if (isQuittanceError(error, 'ledger.damaged')) return error.message;
    if (error instanceof SyntaxError) return 'What is kept beside the entries is not what was written.';
    throw error;
  }
}

/** Rows of sessions that are not there are added to `orphans`. */
async function* subjectsOf(
  ledger: Ledger,
  fold: BesideFold,
  orphans: Set<string>,
): AsyncGenerator<Subject, void, undefined> {
  const seal = createSealOnce(ledger);
  const seen = new Set<string>();
  const isNew = (...words: readonly string[]): boolean => {
    const key = JSON.stringify(words);
    const isFirst = !seen.has(key);
    seen.add(key);
    return isFirst;
  };
  for await (const row of ledger.readBeside()) {
    if ('sessionId' in row && row.sessionId === undefined) {
      orphans.add(JSON.stringify(row));
      continue;
    }
    switch (row.kind) {
      case 'claim':
        if (isNew('claim', row.key)) yield claimOf(ledger, fold, row.key);
        break;
      case 'counter':
        if (isNew('counter', row.name)) yield counterOf(ledger, fold, row.name);
        break;
      case 'unsettled':
        if (isNew('unsettled', row.sessionId ?? '', row.toolName, row.inputDigest))
          yield effectOf(ledger, fold, { ...row, sessionId: row.sessionId ?? '' });
        break;
      case 'state':
        if (isNew('state', row.sessionId ?? '', row.subject))
          yield stateOf(ledger, fold, row.sessionId ?? '', row.subject);
        break;
      case 'sealed':
        if (isNew('sealed', row.sessionId ?? '', row.callId))
          yield sealedOf(ledger, fold, seal, row.sessionId ?? '', row.callId);
        break;
      case 'artifact':
        if (isNew('artifact', row.sessionId ?? '', row.artifactId)) yield artifactOf(ledger, fold, row);
        break;
    }
  }
  for (const key of fold.claims.keys()) if (isNew('claim', key)) yield claimOf(ledger, fold, key);
  for (const name of fold.counters.keys()) if (isNew('counter', name)) yield counterOf(ledger, fold, name);
  for (const effect of fold.unsettled.values())
    if (isNew('unsettled', effect.sessionId, effect.toolName, effect.inputDigest))
      yield effectOf(ledger, fold, effect);
  for (const { sessionId, subject } of fold.states.values())
    if (isNew('state', sessionId, subject)) yield stateOf(ledger, fold, sessionId, subject);
  for (const { sessionId, callId } of fold.open.values())
    if (isNew('sealed', sessionId, callId)) yield sealedOf(ledger, fold, seal, sessionId, callId);
  for (const named of fold.artifacts.values())
    if (isNew('artifact', named.sessionId, named.artifactId)) yield missingArtifact(ledger, fold, named);
}

function claimOf(ledger: Ledger, fold: BesideFold, key: string): Subject {
  const { sessionId, callId } = fold.claims.get(key) ?? {};
  return {
    sessionId,
    callId,
    async look() {
      const found = await ledger.readClaim(key);
      const due = fold.claims.get(key);
      if (due === undefined)
        return found && `Call ${quote(found.callId)} holds an idempotency key that no entry gives to it.`;
      if (found === undefined)
        return fold.mayHaveLost(due)
          ? undefined
          : 'The call holds an idempotency key, and its claim is gone.';
      return found.sessionId === due.sessionId &&
        found.callId === due.callId &&
        found.inputDigest === due.inputDigest
        ? undefined
        : 'The claim on the idempotency key of the call names another call or another input.';
    },
  };
}

const counterOf = (ledger: Ledger, fold: BesideFold, name: string): Subject => ({
  async look() {
    const [found] = await ledger.readCounters([name]);
    const due = fold.counterOf(name);
    // What a session that is gone had used is in no entry any more.
    const isUsed = fold.hasDropped ? Number(found?.used) >= due.used : found?.used === due.used;
    if (isUsed && found?.reserved === due.reserved) return undefined;
    return (
      `The counter ${quote(name)} says ${String(found?.used)} used and ${String(found?.reserved)} reserved; ` +
      `by the entries it is ${due.used} and ${due.reserved}.`
    );
  },
});

const effectOf = (
  ledger: Ledger,
  fold: BesideFold,
  effect: Pick<BesideRow & { kind: 'unsettled' }, 'callId' | 'toolName' | 'inputDigest'> & {
    readonly sessionId: string;
  },
): Subject => ({
  sessionId: effect.sessionId,
  callId: effect.callId,
  async look() {
    const { sessionId, toolName, inputDigest } = effect;
    const found = await ledger.findUnsettledEffects(sessionId, toolName, inputDigest);
    const due = fold.unsettledOf(sessionId, toolName, inputDigest);
    if (found.length === due.length && due.every((callId, index) => callId === found[index]))
      return undefined;
    return found.length < due.length
      ? 'The effect of the call is in doubt, and it is not listed so.'
      : 'The calls that are listed with their effect in doubt are not those the entries tell of.';
  },
});

const stateOf = (ledger: Ledger, fold: BesideFold, sessionId: string, subject: string): Subject => ({
  sessionId,
  async look() {
    const found = await ledger.readState(sessionId, subject);
    const due = fold.states.get(callKey(sessionId, subject));
    if (found?.version !== due?.version)
      return `The state of ${quote(subject)} is not of the version the entries have moved it to.`;
    if (found === undefined || due?.state === undefined) return undefined;
    return isJsonObject(found.state) && canonicalJson(found.state) === canonicalJson(due.state)
      ? undefined
      : `The state of ${quote(subject)} is not the one the entries tell.`;
  },
});

const sealedOf = (
  ledger: Ledger,
  fold: BesideFold,
  seal: () => Seal | undefined,
  sessionId: string,
  callId: string,
): Subject => ({
  sessionId,
  callId,
  async look() {
    const sealed = await ledger.readSealed(sessionId, callId);
    const key = callKey(sessionId, callId);
    const open = fold.open.get(key);
    // One whose time is up may stand there until somebody clears up, or may be gone.
    const undoable = fold.undoable.get(key);
    const call = open?.needsSealed === true ? open : undoable;
    if (sealed === undefined)
      return open?.needsSealed === true ? 'The call needs its sealed input, which is gone.' : undefined;
    if (call === undefined) return 'An input is sealed that no open call needs.';
    const opener = seal();
    if (opener === undefined) return undefined;
    try {
      const opened = readSealedText(opener.open(sealed, sealContext(sessionId, callId)));
      return opened.ok && isDigestOf(opener, opened.input, call.inputDigest)
        ? undefined
        : 'The sealed input is not the one the call was let through with.';
    } catch (error) {
      if (isQuittanceError(error, 'seal.broken'))
        return 'The sealed input of the call does not open: it was changed, or sealed with another key.';
      throw error;
    }
  },
});

/** Keyed where something of the input is hidden; an input may be sealed for what is hidden in its snapshot alone. */
const isDigestOf = ({ digestKey }: Seal, input: JsonObject, digest: string | undefined): boolean =>
  digest === keyedDigestJson(digestKey, input) || digest === digestJson(input);

const artifactOf = (ledger: Ledger, fold: BesideFold, row: BesideRow & { kind: 'artifact' }): Subject => ({
  sessionId: row.sessionId,
  callId: row.callId,
  look: () => checkArtifact(ledger, row, fold.artifacts.get(callKey(row.sessionId ?? '', row.artifactId))),
});

const missingArtifact = (ledger: Ledger, fold: BesideFold, named: NamedArtifact): Subject => ({
  sessionId: named.sessionId,
  callId: [...named.callIds][0],
  async look() {
    const { sessionId, artifactId } = named;
    if (fold.mayBeErased(named) || !fold.artifacts.has(callKey(sessionId, artifactId))) return undefined;
    return (await ledger.readArtifact(sessionId, artifactId)) === undefined
      ? `The artifact ${quote(artifactId)}, which the outcome names, is gone.`
      : undefined;
  },
});

/** A session may have been dropped while its rows were listed: what is still there in a second list was not. */
async function* findOrphans(
  ledger: Ledger,
  orphans: ReadonlySet<string>,
  signal: AbortSignal,
): AsyncGenerator<BesideProblem, void, undefined> {
  if (orphans.size === 0) return;
  for await (const row of ledger.readBeside()) {
    if (signal.aborted) return;
    if (orphans.has(JSON.stringify(row)))
      yield { message: `Something of kind "${row.kind}" belongs to a session that is not there.` };
  }
}

/** Where there is no key to be had, what is sealed can be counted and not opened. */
function createSealOnce(ledger: Ledger): () => Seal | undefined {
  let seal: Seal | 'none' | undefined;
  return () => {
    try {
      seal ??= createSeal(ledger.sealKey);
    } catch (error) {
      if (!isQuittanceError(error, 'config.invalid')) throw error;
      seal = 'none';
    }
    return seal === 'none' ? undefined : seal;
  };
}

const quote = (name: string): string => JSON.stringify(name);
