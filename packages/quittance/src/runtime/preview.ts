/**
 * Previews of calls. The preview gate is the last one, so that a blocked call never runs its preview. Then policy judges the
 * call again with the snapshot, and that ruling counts. Without a preview, the arguments are compared with those of the
 * last call on the same resource.
 */
import type { CheckedCall, Gate, Stop, Verdict, ActiveCall } from './active-call.ts';
import { currentSnapshot, isStale, recallSnapshot, useSnapshot, exactSnapshot } from './recorded-input.ts';
import { policyGate } from './gate-checks.ts';
import { inputForTool, clean, cleanOutput, resourceKeysOf } from './call-input.ts';
import { describeThrown } from '../tool/describe-thrown.ts';
import type { PreviewContext } from '../tool/make-preview.ts';
import type { CancelledOperation, Preview, PreviewField } from '../tool/preview.ts';
import { logProblem } from './active-call.ts';
import { latestInstant } from '../base/deadlines.ts';
import type { JsonObject, JsonValue, JsonPath } from '../base/json.ts';
import { formatPath, freezeJson, isJsonObject, readJsonText, toJson } from '../base/json.ts';
import { cutForDisplay } from '../tool/cut-for-display.ts';
import { cutText } from '../base/cut-text.ts';
import { describeValue } from '../tool/describe-value.ts';
import type { KnownSecrets } from '../base/known-secrets.ts';
import { createKnownSecrets, shortestEchoed } from '../base/known-secrets.ts';
import type { ArgumentComparison } from '../call/events/gate-event.ts';
import { redacted } from '../base/secret-pattern.ts';
import type { Call } from '../call/call.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import { keysOfRecorded } from './undo-request.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import { findCalls } from '../ledger/reads.ts';

export const previewGate: Gate = {
  name: 'preview',
  check: async (active) => (active.tool.preview === undefined ? showComparison(active) : show(active)),
};

/** Compares the arguments of a safe write without a preview, even if no person is asked. */
async function showComparison(active: CheckedCall): Promise<Verdict> {
  const isWrite = active.tool.mode === 'safe_write' && active.tool.resourceKeys !== undefined;
  if (!isWrite || active.journal.call?.confirmation !== undefined) return undefined;
  return { type: 'found', found: { comparison: (await compareWithLast(active)) ?? 'none' } };
}

/** After an approval, restores the approved snapshot, which policy then judges. */
export const snapshotGate: Gate = {
  name: 'preview',
  check: async (active) => (active.journal.call?.preview === undefined ? undefined : recall(active)),
};

async function recall(active: CheckedCall): Promise<Verdict> {
  if (await recallSnapshot(active)) return undefined;
  return stale('The hidden content of the preview can no longer be read.');
}

async function show(active: CheckedCall): Promise<Verdict> {
  const { journal, signals } = active;
  if (currentSnapshot(active) !== undefined && journal.call?.preview?.ready === true) {
    if (!isStale(active)) return undefined;
    if (journal.call.status === 'approved') return stale('The approved preview has expired.');
  }
  let isOver = false;
  signals.abandon = () => {
    isOver = true;
  };
  if (journal.call?.preview !== undefined) await releasePreview(active, 'it is made anew');
  if (isOver) return stale('The call no longer waits for the preview.');
  const stop = await runPreview(active);
  if (stop !== undefined) return stop;
  if (isStale(active)) return stale('The preview was stale when it was ready.');
  // Asks of earlier gates stay. Hooks and rules are asked again, with the snapshot.
  const asks = active.asks.filter(({ by }) => by.type === 'gate');
  return (await policyGate.check({ ...active, asks })) ?? { type: 'found', found: { asks } };
}

const stale = (details: string): Stop => ({
  type: 'deny',
  reason: 'expired',
  code: 'confirmation.expired',
  details,
});

const msBetweenDrafts = 500;
const mostDrafts = 20;
const mostVersions = 10_000;

/**
 * Makes the tool preview the call. Stores the final version and sets `preview.snapshot`, or returns the stop.
 *
 * 1. The tool's timeout limits its time. Its size is limited, and so is the number of stored versions: the first, the last,
 *    at most two a second between them, and at most twenty before the last.
 * 2. Code that stops waiting calls `signals.abandon`. After that nothing more is recorded.
 */
async function runPreview(active: CheckedCall): Promise<Stop | undefined> {
  const run = new PreviewRun(active);
  active.signals.abandon = () => run.abandon();
  try {
    const problem = await run.run();
    return problem === undefined ? undefined : failed(active, problem);
  } finally {
    active.signals.abandon = undefined;
  }
}

const failed = (active: CheckedCall, problem: string): Stop => ({
  type: 'deny',
  reason: 'expired',
  code: 'preview.failed',
  details: clean(active, `The preview of "${active.tool.displayName}" ${problem}.`),
});

type Step = { readonly type: 'version'; readonly value: unknown } | { readonly type: 'done' };

class PreviewRun {
  readonly #active: CheckedCall;
  readonly #operationId: string;
  readonly #controller = new AbortController();
  readonly #stopped = Promise.withResolvers<PreviewProblem>();
  #problem: string | undefined;
  #iterator: AsyncIterator<unknown> | undefined;
  #drafts = 0;
  #lastDraftAtMs = Number.NEGATIVE_INFINITY;

  constructor(active: CheckedCall) {
    this.#active = active;
    this.#operationId = active.engine.ids.next('op');
  }

  async run(): Promise<string | undefined> {
    const { engine, tool } = this.#active;
    const toolMs = tool.timeoutMs ?? engine.defaultTimeoutMs;
    const watch = engine.deadlines.watch(toolMs, () => this.#stop(`took longer than ${toolMs} ms`));
    try {
      return await this.#follow();
    } finally {
      watch.stop();
    }
  }

  abandon(): void {
    this.#stop('was given up');
  }

  #stop(problem: string): void {
    if (this.#problem !== undefined) return;
    this.#problem = problem;
    this.#stopped.resolve({ type: 'problem', problem });
    this.#controller.abort(new DOMException('The call no longer waits for the preview.', 'AbortError'));
    try {
      void Promise.resolve(this.#iterator?.return?.()).catch(() => undefined);
    } catch {
      // A stream that cannot be closed is left alone.
    }
  }

  async #follow(): Promise<string | undefined> {
    let last: { readonly value: unknown } | undefined;
    for (let versions = 1; ; versions++) {
      const step = await this.#unlessStopped(versions === 1 ? this.#first() : this.#next());
      if (step.type === 'problem') return step.problem;
      if (step.type === 'done') break;
      last = step;
      if (this.#iterator === undefined) break;
      if (versions >= mostVersions) {
        this.#stop(`gave more than ${mostVersions} versions`);
        return this.#problem;
      }
      const problem = await this.#keepDraft(step.value);
      if (problem !== undefined) return problem;
    }
    return last === undefined ? 'gave no version' : this.#keep(last.value, true);
  }

  async #unlessStopped(step: Promise<Step>): Promise<Step | PreviewProblem> {
    try {
      const first = await Promise.race([step, this.#stopped.promise]);
      return this.#problem === undefined ? first : { type: 'problem', problem: this.#problem };
    } catch (error) {
      const problem = this.#problem ?? previewProblemOf(error) ?? `threw: ${describeThrown(error)}`;
      return { type: 'problem', problem };
    }
  }

  async #first(): Promise<Step> {
    const active = this.#active;
    const { tool } = active;
    if (tool.preview === undefined) return { type: 'done' };
    const given: unknown = tool.preview(inputForTool(active.tool.input, active.input), this.#context());
    if (!isAsyncIterable(given)) return { type: 'version', value: await given };
    this.#iterator = given[Symbol.asyncIterator]();
    return this.#next();
  }

  async #next(): Promise<Step> {
    const next = await this.#iterator?.next();
    return next === undefined || next.done === true
      ? { type: 'done' }
      : { type: 'version', value: next.value };
  }

  #context(): PreviewContext {
    const { callId, sessionId, turn, request, facts } = this.#active;
    return Object.freeze({
      callId,
      sessionId,
      turnId: turn.turnId,
      toolName: request.name,
      principal: facts.principal,
      operationId: this.#operationId,
      signal: this.#controller.signal,
    });
  }

  /** Limits the rate of stored drafts. */
  async #keepDraft(value: unknown): Promise<string | undefined> {
    const nowMs = this.#active.engine.clock.monotonicMs();
    if (this.#drafts >= mostDrafts || nowMs - this.#lastDraftAtMs < msBetweenDrafts) return undefined;
    this.#drafts++;
    this.#lastDraftAtMs = nowMs;
    const problem = this.#keep(value, false);
    if (problem !== undefined) {
      this.#stop(problem);
      return problem;
    }
    // Viewers of the call see the draft grow. If another process has changed the call, the next append
    // notices.
    await this.#active.journal.flush();
    return this.#problem;
  }

  #keep(value: unknown, ready: boolean): string | undefined {
    const active = this.#active;
    const read = readRevision(active, value);
    if (read.type === 'problem') return read.problem;
    const revision = (active.journal.call?.preview?.revision ?? 0) + 1;
    const inputDigest = active.input.effective.digest;
    active.journal.apply({
      type: 'preview',
      operationId: this.#operationId,
      revision,
      ready,
      preview: read.preview,
      snapshot: read.kept,
      hidden: read.hidden,
      inputDigest,
      expiresAt: read.expiresAt,
    });
    useSnapshot(active, {
      operationId: this.#operationId,
      revision,
      snapshot: read.exact,
      inputDigest,
      hiddenValues: read.hiddenValues,
    });
    return undefined;
  }
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' &&
  value !== null &&
  Symbol.asyncIterator in value &&
  typeof value[Symbol.asyncIterator] === 'function';

/**
 * Tells the tool that a preview will not be carried out, once for each operation. The release is recorded first, so that
 * the preview can no longer be approved. If the process dies in between, the process that ends the call tells the tool,
 * perhaps a second time. Returns false if another process has changed the call; that process then handles the preview.
 */
export async function releasePreview(active: ActiveCall, reason: string): Promise<boolean> {
  const { tool, engine, journal } = active;
  const preview = journal.call?.preview;
  if (preview === undefined || active.preview.cancelled === preview.operationId) return true;
  if (tool?.cancel === undefined) {
    if (tool === undefined)
      logProblem(
        active,
        `The preview ${preview.operationId} could not be released: this runtime does not have the tool.`,
      );
    return true;
  }
  while (journal.unwritten.length > 0) {
    const { status } = await journal.flush();
    if (status === 'appended') break;
    if (status !== 'moved') return false;
    // The release is for display. The call has stopped already.
    journal.dropMoves();
  }
  active.preview.cancelled = preview.operationId;
  const { snapshot } = active.preview;
  const { call } = journal;
  const exact =
    snapshot?.operationId === preview.operationId
      ? snapshot.snapshot
      : call && (await exactSnapshot(engine, call));
  const operation: CancelledOperation = Object.freeze({
    sessionId: active.sessionId,
    callId: active.callId,
    operationId: preview.operationId,
    revision: preview.revision,
    snapshot: exact,
    reason,
  });
  const tooLong = Promise.withResolvers<string>();
  const watch = engine.deadlines.watch(engine.cancelGraceMs, () =>
    tooLong.resolve(`took longer than ${engine.cancelGraceMs} ms`),
  );
  try {
    const problem = await Promise.race([notifyTool(tool.cancel, operation), tooLong.promise]);
    if (problem !== undefined) logProblem(active, `cancel of ${preview.operationId} ${problem}`);
  } finally {
    watch.stop();
  }
  return true;
}

async function notifyTool(
  cancel: (operation: CancelledOperation) => unknown,
  operation: CancelledOperation,
): Promise<string | undefined> {
  try {
    await cancel(operation);
    return undefined;
  } catch (error) {
    return `threw: ${describeThrown(error)}`;
  }
}

/**
 * One version of a preview, prepared for storage and display: checked, redacted, cut for display. The
 * snapshot is never cut, since the body needs all of it.
 */
type ReadRevision = {
  readonly preview: Preview;
  /** As the tool returned it, frozen. */
  readonly exact: JsonObject;
  /** The stored form, and the paths that it hides. */
  readonly kept: JsonObject;
  readonly hidden: readonly string[];
  readonly hiddenValues: readonly string[];
  readonly expiresAt: number | undefined;
};

const longestPreview = 20_000;
const longestName = 500;
const mostFields = 200;
const longestSnapshot = 262_144;

/** The reason why a version cannot be used. The text continues "The preview of the tool …". */
type PreviewProblem = { readonly type: 'problem'; readonly problem: string };

const problemOf = (problem: string): PreviewProblem => ({ type: 'problem', problem });

function readRevision(
  active: CheckedCall,
  given: unknown,
): ({ readonly type: 'revision' } & ReadRevision) | PreviewProblem {
  const read = toJson(given, { refuseUnsafeIntegers: true });
  if (!read.ok)
    return problemOf(`gave something JSON cannot hold at ${formatPath(read.path)}: ${read.problem}`);
  if (!isJsonObject(read.value)) return problemOf(`returned ${describeValue(given)} instead of a version`);
  const own = new Map(Object.entries(read.value));
  const exact = own.get('snapshot') ?? {};
  if (!isJsonObject(exact)) return problemOf('has a snapshot that is not an object');
  const size = JSON.stringify(exact).length;
  if (size > longestSnapshot)
    return problemOf(
      `has a snapshot of ${size} characters; the limit is ${longestSnapshot}. Store large data elsewhere and name it in the snapshot`,
    );
  const expiresAt = readExpiry(own, active.engine.ledger.now());
  if (expiresAt.type === 'problem') return expiresAt;
  const snapshot = keepSnapshot(active, exact);
  const known = createKnownSecrets(snapshot.hiddenValues, shortestEchoed);
  const shown = readPreview(active, own, known);
  if (shown.type === 'problem') return shown;
  const preview = freezeJson(shown.preview);
  return { type: 'revision', preview, exact: freezeJson(exact), ...snapshot, expiresAt: expiresAt.at };
}

function readExpiry(
  own: ReadonlyMap<string, JsonValue>,
  now: number,
): { readonly type: 'expiry'; readonly at: number | undefined } | PreviewProblem {
  const [at, inMs] = [own.get('expiresAt') ?? undefined, own.get('expiresInMs') ?? undefined];
  for (const value of [at, inMs])
    if (value !== undefined && (typeof value !== 'number' || value < 0))
      return problemOf('has an expiry that is not a number of milliseconds');
  const limits = [at, typeof inMs === 'number' ? now + inMs : undefined].filter(
    (value) => typeof value === 'number',
  );
  const first = limits.length === 0 ? undefined : Math.floor(Math.min(...limits, latestInstant));
  return { type: 'expiry', at: first };
}

/**
 * Hides values that look like secrets, the paths that the tool names, and repeats of values hidden in the
 * input.
 */
function keepSnapshot(
  active: CheckedCall,
  exact: JsonObject,
): Pick<ReadRevision, 'kept' | 'hidden' | 'hiddenValues'> {
  const { redactor } = active.engine;
  const redacted = redactor.output(exact, active.tool.redact?.snapshot);
  const hidden = [...redacted.hidden];
  // Both steps return an object for an object.
  const kept = active.secrets.known.json(redacted.value, hidden) as JsonObject;
  return { kept: freezeJson(kept), hidden: [...new Set(hidden)], hiddenValues: redacted.secrets };
}

type ShownPreview = { readonly type: 'preview'; readonly preview: Preview };

const shownAs = (preview: Preview): ShownPreview => ({ type: 'preview', preview });

function readPreview(
  active: ActiveCall,
  own: ReadonlyMap<string, JsonValue>,
  hiddenInSnapshot: KnownSecrets,
): ShownPreview | PreviewProblem {
  const cleanShown = (text: string): string => hiddenInSnapshot.text(clean(active, text));
  const shown = (name: string): string | undefined => {
    const value = own.get(name);
    return typeof value === 'string' ? cutForDisplay(cleanShown(value), longestPreview) : undefined;
  };
  const kind = own.get('kind') ?? null;
  if (typeof kind !== 'string') return unknownKind;
  switch (kind) {
    case 'text': {
      const text = shown('text');
      return text === undefined ? problemOf('is a text without "text"') : shownAs({ kind, text });
    }
    case 'diff': {
      const [path, diff] = [shown('path'), shown('diff')];
      return path === undefined || diff === undefined
        ? problemOf('is a diff without "path" and "diff"')
        : shownAs({ kind, path: cutText(path, longestName), diff });
    }
    case 'command': {
      const [command, directory] = [shown('command'), shown('directory')];
      if (command === undefined) return problemOf('is a command without "command"');
      return shownAs({
        kind,
        command,
        ...(directory !== undefined && { directory: cutText(directory, longestName) }),
      });
    }
    case 'fields': {
      const fields = own.get('fields');
      if (!Array.isArray(fields)) return problemOf('is a table without "fields"');
      return readFields(active, fields, cleanShown);
    }
    default:
      return unknownKind;
  }
}

const unknownKind = problemOf('has a kind other than text, diff, fields or command');

function readFields(
  active: ActiveCall,
  fields: readonly JsonValue[],
  cleanShown: (text: string) => string,
): ShownPreview | PreviewProblem {
  const kept: PreviewField[] = [];
  let left = longestPreview;
  for (const field of fields.slice(0, mostFields)) {
    const own = new Map(isJsonObject(field) ? Object.entries(field) : []);
    const name = own.get('name');
    if (typeof name !== 'string') return problemOf('has a field without a name');
    const show = (side: 'before' | 'after'): JsonValue | undefined => {
      const value = own.get(side);
      if (value === undefined) return undefined;
      // A field with the name of a secret holds one.
      const { value: redacted } = active.engine.redactor.input({ [name]: value });
      const text = JSON.stringify(isJsonObject(redacted) ? (Object.values(redacted)[0] ?? null) : null);
      const safe = cleanShown(text);
      left -= safe.length;
      if (left < 0) return cutForDisplay(safe, Math.max(longestName, left + safe.length));
      return safe === text ? readJsonText(text) : readOrText(safe);
    };
    const [before, after] = [show('before'), show('after')];
    kept.push({
      name: cutText(cleanShown(name), longestName),
      ...(before !== undefined && { before }),
      ...(after !== undefined && { after }),
    });
  }
  if (fields.length > mostFields)
    kept.push({ name: `… and ${fields.length - mostFields} more that are not shown` });
  return shownAs({ kind: 'fields', fields: kept });
}

function readOrText(text: string): JsonValue {
  try {
    return readJsonText(text);
  } catch {
    return text;
  }
}

/**
 * A fault of a preview. The message continues "The preview of the tool"; a recorded preview reports it the
 * same way.
 */
class PreviewFault extends Error {}

export const previewEndedWith = (problem: string): Error => new PreviewFault(problem);

const previewProblemOf = (thrown: unknown): string | undefined =>
  thrown instanceof PreviewFault ? thrown.message : undefined;

/** Maximum number of calls of the tool in the session that are compared, newest first. */
const mostCalls = 10;
const mostScanned = 1_000;
const mostComparedFields = 50;
const longestValue = 2_000;
/** Characters shown around a change in a long text. */
const around = 60;

/**
 * Compares the arguments with those of the last call on the same resource, for a person who decides about a call without a
 * preview. Undefined if the tool declares no resource keys, or no earlier call of the session used the same resource.
 */
export async function compareWithLast(active: CheckedCall): Promise<ArgumentComparison | undefined> {
  const keys = resourceKeysOf(active.tool, () => inputForTool(active.tool.input, active.input));
  if (keys === undefined || keys.length === 0) return undefined;
  try {
    const last = await findLast(active, keys);
    return last && compare(active, last);
  } catch (error) {
    // A person can decide without it. If the ledger fails, the hold reports it.
    if (error instanceof LedgerTrouble) return undefined;
    throw error;
  }
}

async function findLast(active: CheckedCall, keys: readonly string[]): Promise<Call | undefined> {
  const { engine, tool, sessionId } = active;
  const { rows } = await findCalls(engine.ledger, {
    sessionId,
    toolName: tool.name,
    limit: mostCalls,
    scan: mostScanned,
  });
  for (const { callId, outcome } of rows) {
    const succeeded = outcome === 'ToolExecutionResult' || outcome === 'ToolArtifactReference';
    if (!succeeded || callId === active.callId) continue;
    const stored = await engine.ledger.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    if (call === undefined) continue;
    const touched = await keysOfRecorded(engine, tool, call);
    if (touched?.some((key) => keys.includes(key)) === true) return call;
  }
  return undefined;
}

/** Compares the stored forms: hidden values stay hidden. */
function compare(active: CheckedCall, last: Call): ArgumentComparison {
  const found: PreviewField[] = [];
  collect(last.effectiveInput ?? last.requestedInput, active.input.effective.kept, [], found);
  const shown = cleanOutput(active, found.slice(0, mostComparedFields) as unknown as JsonValue); // JSON fields are JSON
  return {
    callId: last.callId,
    at: last.requestedAt,
    fields: shown as unknown as readonly PreviewField[], // cleaning changes texts, not shapes
    more: Math.max(0, found.length - mostComparedFields),
  };
}

function collect(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  path: JsonPath,
  found: PreviewField[],
): void {
  if (isJsonObject(before) && isJsonObject(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
      collect(own(before, key), own(after, key), [...path, key], found);
    return;
  }
  if (JSON.stringify(before) === JSON.stringify(after) && !isHidden(after)) return;
  found.push({ name: formatPath(path), ...shortened(before, after) });
}

/** True if a value is hidden: two hidden values look alike and may differ. */
const isHidden = (value: JsonValue | undefined): boolean =>
  value !== undefined && JSON.stringify(value).includes(redacted);

const own = (holder: JsonObject, key: string): JsonValue | undefined =>
  Object.hasOwn(holder, key) ? holder[key] : undefined;

/** The part in which two long texts differ. */
function shortened(before: JsonValue | undefined, after: JsonValue | undefined): Partial<PreviewField> {
  const one = textOf(before);
  const other = textOf(after);
  if (Math.max(one?.length ?? 0, other?.length ?? 0) <= longestValue)
    return { ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
  if (one === undefined || other === undefined)
    return {
      ...(one !== undefined && { before: cutText(one, longestValue) }),
      ...(other !== undefined && { after: cutText(other, longestValue) }),
    };
  let start = 0;
  while (start < one.length && one[start] === other[start]) start++;
  let end = 0;
  while (end < Math.min(one.length, other.length) - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  const cut = (text: string): string => {
    const [from, to] = [Math.max(0, start - around), Math.min(text.length, text.length - end + around)];
    const part = `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`;
    return cutText(part.toWellFormed(), longestValue);
  };
  return { before: cut(one), after: cut(other) };
}

const textOf = (value: JsonValue | undefined): string | undefined =>
  value === undefined || typeof value === 'string' ? value : JSON.stringify(value);
