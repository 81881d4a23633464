/**
 * The recorded input of a call: seals it, prepares it for the body after an approval, and restores hidden values in edited
 * arguments. If the stored form hides a value, the executed form is sealed and stored too, until the call is settled or can
 * no longer be undone.
 *
 * 1. First it checks the stored record, the input against its digest, and every artifact that the input
 *    names.
 * 2. An input in JSON form runs as recorded. No schema checks it again: a transform may not accept its own output.
 * 3. Any other input, or one whose tool has a new schema, is recomputed from the arguments that the schema accepted. If the
 *    result differs, it is not the approved one.
 */
import { findAlteration } from './ledger-trouble.ts';
import { isKeyedDigest } from '../base/canonical.ts';
import { formatPath, isJsonObject, ownValue, readJsonText, freezeJson } from '../base/json.ts';
import type { StoredCall } from '../ledger/journal.ts';
import { isSameSchema } from '../tool/define-tool.ts';
import { acceptInput, toolOf, fillRecordedArguments } from './accept-input.ts';
import type { Unfilled } from './accept-input.ts';
import type { ActiveCall, CheckedCall, Stop } from './active-call.ts';
import type { PreparedInput, RestoredInput, RecordedInput, Snapshot, CallerFacts } from './call-input.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import { formatIssues } from '../tool/format-issues.ts';
import {
  collectHidden,
  isInputDigest,
  keepInput,
  clean,
  inputForTool,
  resourceKeysOf,
} from './call-input.ts';
import type { Confirmation, Call } from '../call/call.ts';
import { withInput, alteredStop, editedNote } from './active-call.ts';
import { isSameJson } from '../base/same-json.ts';
import { renderTyped } from '../base/typed-rendering.ts';
import { QuittanceError } from '../base/error.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { redacted } from '../base/secret-pattern.ts';
import { acceptedInputOf } from '../call/call.ts';
import { hidesFacts, hidesInput } from '../call/hides-input.ts';
import type { Engine } from './engine.ts';
import type { PreviewedOperation } from '../tool/preview.ts';
import { readSealed } from '../ledger/reads.ts';

/** The exact facts that the caller added to the call. */
export type ExactFacts = Pick<CallerFacts, 'principal' | 'provenance' | 'attrs'>;

/** Seals the input, the snapshot and the caller's facts if part of them is hidden and not sealed yet. */
export function sealInput(active: CheckedCall): string | undefined {
  const { effective, effectiveInput, form, accepted } = active.input;
  const {
    journal: { call },
    preview: { snapshot },
  } = active;
  const withSnapshot = call?.preview !== undefined && call.preview.hidden.length > 0;
  const { principal, provenance, attrs, kept } = active.facts;
  const facts = hidesFacts(kept) ? { principal, provenance, attrs } : undefined;
  if (effective.hidden.length === 0 && !withSnapshot && facts === undefined) return undefined;
  const what = sealedName(effective.digest, withSnapshot ? call.preview?.revision : undefined);
  if (active.journal.sealedAs === what) return undefined;
  active.journal.sealing = what;
  const context = sealContext(active.sessionId, active.callId);
  const payload = toPayload(
    { form, effectiveInput, accepted },
    withSnapshot ? { revision: call.preview?.revision ?? 0, snapshot: snapshot?.snapshot ?? {} } : undefined,
    facts,
  );
  return active.engine.seal.seal(JSON.stringify(payload), context);
}

/** The sealed payload: the input alone, or a list with the other parts needed to run it. */
export function toPayload(
  { form, effectiveInput, accepted }: Pick<PreparedInput, 'form' | 'effectiveInput' | 'accepted'>,
  shown: { readonly revision: number; readonly snapshot: JsonObject } | undefined,
  facts: ExactFacts | undefined,
): JsonValue {
  const isSame = form === 'json' && isSameJson(accepted, effectiveInput);
  if (facts !== undefined)
    return [
      effectiveInput,
      shown?.revision ?? null,
      shown?.snapshot ?? null,
      isSame ? null : accepted,
      facts as JsonObject, // copied as JSON on arrival
    ];
  // An edit starts from the accepted arguments: a mask in it stands for one of their values.
  if (!isSame) return [effectiveInput, shown?.revision ?? null, shown?.snapshot ?? null, accepted];
  return shown === undefined ? effectiveInput : [effectiveInput, shown.revision, shown.snapshot];
}

const sealedName = (inputDigest: string, revision: number | undefined): string =>
  `${inputDigest}/${revision ?? ''}`;

/** The name of a call's sealed payload, from its record. Undefined if nothing was sealed. */
export function sealedNameOf(call: Call): string | undefined {
  const { inputDigest, preview } = call;
  const withSnapshot = preview !== undefined && preview.hidden.length > 0;
  if (inputDigest === undefined || !(isKeyedDigest(inputDigest) || withSnapshot || hidesFacts(call)))
    return undefined;
  return sealedName(inputDigest, withSnapshot ? preview.revision : undefined);
}

/** Binds a seal to its call: it does not open for another one. */
export const sealContext = (sessionId: string, callId: string): string => JSON.stringify([sessionId, callId]);

type Opened =
  | {
      readonly ok: true;
      readonly input: JsonObject;
      /** The arguments that the schema accepted, if the input is only a rendering of its result. */
      readonly accepted: JsonObject | undefined;
      readonly revision: number | undefined;
      readonly snapshot: JsonObject | undefined;
      readonly facts: ExactFacts | undefined;
    }
  | { readonly ok: false; readonly problem: string };

/** The hidden facts of a call. Undefined if none are hidden, or if an earlier version did not seal them. */
export async function openFacts(engine: Engine, call: Call): Promise<ExactFacts | undefined> {
  if (!hidesFacts(call)) return undefined;
  const opened = await openSealed(engine, call);
  return opened.ok ? opened.facts : undefined;
}

/** The unsealed payload of a call. */
async function openSealed(engine: Engine, { sessionId, callId }: Call): Promise<Opened> {
  const refuse = (problem: string): Opened => ({ ok: false, problem });
  const sealed = await readSealed(engine.ledger, sessionId, callId);
  if (sealed === undefined) return refuse('the hidden part of the input is no longer stored');
  try {
    return readSealedText(engine.seal.open(sealed, sealContext(sessionId, callId)));
  } catch {
    return refuse(
      'the hidden part of the input cannot be unsealed with this key: it was sealed with another key, for another call, or was changed since',
    );
  }
}

/**
 * An input alone is an object. With a snapshot, or with a value that JSON cannot hold, it is the first
 * element of a list.
 */
export function readSealedText(text: string): Opened {
  const payload = readJsonText(text);
  const [input, revision, snapshot, accepted, facts] = Array.isArray(payload) ? payload : [payload];
  if (!isJsonObject(input)) return { ok: false, problem: 'the sealed value is not an object' };
  return {
    ok: true,
    input,
    accepted: isJsonObject(accepted) ? accepted : undefined,
    revision: typeof revision === 'number' ? revision : undefined,
    snapshot: isJsonObject(snapshot) ? snapshot : undefined,
    facts: isJsonObject(facts) ? (facts as ExactFacts) : undefined, // sealed by this program
  };
}

type PreviewedCall = Pick<CheckedCall, 'engine' | 'journal' | 'preview' | 'secrets' | 'input'>;

/** The exact snapshot of the preview for the current input, whether or not it has expired. */
export function currentSnapshot({
  preview: { snapshot },
  journal: { call },
  input,
}: PreviewedCall): Snapshot | undefined {
  return snapshot !== undefined &&
    snapshot.inputDigest === input.effective.digest &&
    snapshot.revision === call?.preview?.revision &&
    snapshot.operationId === call.preview.operationId
    ? snapshot
    : undefined;
}

/** True if the preview has expired. */
export const isStale = ({ journal: { call }, engine }: Pick<ActiveCall, 'journal' | 'engine'>): boolean =>
  call?.preview?.expiresAt !== undefined && engine.ledger.now() >= call.preview.expiresAt;

/**
 * Reads the recorded snapshot, unsealed if part of it is hidden. Returns false if it is unavailable: the body
 * never runs with a masked one.
 */
export async function recallSnapshot(active: PreviewedCall): Promise<boolean> {
  const {
    journal: { call },
    engine,
    input,
  } = active;
  const preview = call?.preview;
  if (call === undefined || preview === undefined || !preview.ready) return true;
  if (preview.inputDigest !== input.effective.digest || currentSnapshot(active) !== undefined) return true;
  const exact = await exactSnapshot(engine, call);
  if (exact === undefined) return false;
  useSnapshot(active, {
    operationId: preview.operationId,
    revision: preview.revision,
    snapshot: freezeJson(exact),
    inputDigest: preview.inputDigest,
    hiddenValues: preview.hidden.length === 0 ? [] : collectHidden(exact, preview.snapshot),
  });
  return true;
}

/** Sets the exact snapshot for the body, and hides its secrets from now on. */
export function useSnapshot({ preview, secrets }: PreviewedCall, snapshot: Snapshot): void {
  preview.snapshot = snapshot;
  secrets.ofSnapshot = snapshot.hiddenValues;
}

/** The snapshot as the tool made it, from the record. Undefined if it is hidden and unavailable. */
export async function exactSnapshot(engine: Engine, call: Call): Promise<JsonObject | undefined> {
  const { preview } = call;
  if (preview === undefined || preview.hidden.length === 0) return preview?.snapshot;
  const opened = await openSealed(engine, call);
  return opened.ok && opened.revision === preview.revision ? opened.snapshot : undefined;
}

/** The previewed operation for the body. If `approved`, only one that a person approved. */
export function operationFor(active: PreviewedCall, approved: boolean): PreviewedOperation | undefined {
  const snapshot = currentSnapshot(active);
  if (snapshot === undefined) return undefined;
  const confirmation = active.journal.call?.confirmation;
  const agreed = confirmation?.status === 'approved' && confirmation.revision === snapshot.revision;
  if (approved && !agreed) return undefined;
  return Object.freeze({
    operationId: snapshot.operationId,
    revision: snapshot.revision,
    snapshot: snapshot.snapshot,
  });
}

/**
 * The recorded input of a call, unsealed if part of it is hidden. It is compared with its digest each time,
 * so that an altered input is never mistaken for the approved one.
 */
type ReadRecorded =
  | ({ readonly ok: true } & RecordedInput)
  | {
      readonly ok: false;
      readonly problem: string;
      /** The stored form, for code that can use it. */
      readonly raw: JsonValue;
      /** True if it was changed in the store. */
      readonly altered: boolean;
    };

export async function readRecorded(engine: Engine, call: Call): Promise<ReadRecorded> {
  const { inputForm: form, artifacts } = call;
  const kept = call.effectiveInput ?? call.requestedInput;
  const digest = call.inputDigest ?? call.requestDigest;
  const refuse = (problem: string, altered = false): ReadRecorded => ({
    ok: false,
    problem,
    raw: kept,
    altered,
  });
  const found = isKeyedDigest(digest)
    ? await unseal(engine, call)
    : { input: kept, accepted: acceptedInputOf(call) };
  if ('problem' in found) return refuse(found.problem);
  const { input: effectiveInput, accepted = effectiveInput } = found;
  if (!isJsonObject(effectiveInput) || !isJsonObject(accepted))
    return refuse('the arguments are not an object');
  const recorded = { form, effectiveInput, accepted, artifacts };
  if (!isInputDigest(digest, recorded, engine.seal.digestKey))
    return refuse('its stored input is not the one that was recorded', true);
  return { ok: true, ...recorded };
}

/** The request of a recorded call, with its exact input. */
export async function readRequest(
  engine: Engine,
  call: Call,
): Promise<Pick<ActiveCall, 'request' | 'requested'>> {
  const input = await readExecuted(engine, call);
  return {
    request: { id: call.callId, name: call.toolName, input },
    requested: {
      kept: call.requestedInput,
      hidden: [],
      repeated: [],
      digest: call.requestDigest,
      secrets: secretsOf(engine, call, input),
    },
  };
}

/** True if the stored form hides part of the input. Its digest is then keyed. */
export const isPartlyHidden = ({ inputDigest, requestDigest }: Call): boolean =>
  isKeyedDigest(inputDigest ?? requestDigest);

/** The values hidden in the record, found by comparing it with the exact request. */
export const secretsOf = (engine: Engine, call: Call, executed: Executed): readonly string[] =>
  executed.ok && isPartlyHidden(call)
    ? [
        ...collectHidden(executed.arguments, call.effectiveInput ?? call.requestedInput),
        ...engine.redactor.input(executed.arguments).secrets,
      ]
    : [];

type Executed =
  | { readonly ok: true; readonly arguments: JsonObject }
  | { readonly ok: false; readonly problem: string; readonly raw: JsonValue };

/** The recorded effective input, unsealed if part of it is hidden. */
export async function readExecuted(engine: Engine, call: Call): Promise<Executed> {
  const recorded = await readRecorded(engine, call);
  return recorded.ok ? { ok: true, arguments: recorded.effectiveInput } : recorded;
}

type Unsealed =
  | { readonly input: JsonObject; readonly accepted: JsonObject | undefined }
  | { readonly problem: string };

async function unseal(engine: Engine, call: Call): Promise<Unsealed> {
  const opened = await openSealed(engine, call);
  return opened.ok ? { input: opened.input, accepted: opened.accepted } : { problem: opened.problem };
}

type RecordedCall = ActiveCall & {
  readonly tool: AnyTool;
  readonly input?: PreparedInput | undefined;
};

/** `read`: the stored call, if it was just read. */
export async function restoreInput(active: RecordedCall, read?: StoredCall): Promise<RestoredInput> {
  const {
    engine,
    journal: { call },
    tool,
  } = active;
  const { sessionId, callId } = active;
  const stored = read ?? (await engine.ledger.readCall(sessionId, callId));
  const alteration = await findAlteration(stored);
  if (alteration !== undefined) return { type: 'unusable', problem: alteration, why: 'altered' };
  if (call?.inputDigest === undefined) return gone('it has no input that was let through');
  const recorded = await readRecorded(engine, call);
  if (!recorded.ok)
    return recorded.altered
      ? { type: 'unusable', problem: recorded.problem, why: 'altered' }
      : gone(recorded.problem);
  const { form, effectiveInput, accepted } = recorded;
  const known = active.input?.effective.digest === call.inputDigest ? active.input : undefined;
  const hide = call.wasEdited ? call.hidden : [];
  const paths = hide.length === 0 ? tool.redact?.input : [...(tool.redact?.input ?? []), ...hide];
  const found = keepInput(effectiveInput, paths, engine.redactor, engine.seal);
  const kept = call.effectiveInput ?? call.requestedInput;
  const effective = known?.effective ?? {
    kept,
    // The caller's facts may have hidden more, and they are no longer available.
    hidden: isKeyedDigest(call.inputDigest) && found.hidden.length === 0 ? ['$'] : found.hidden,
    repeated: found.repeated,
    digest: call.inputDigest,
    secrets: [...found.secrets, ...(found.hidden.length === 0 ? [] : collectHidden(effectiveInput, kept))],
  };
  if (form === 'json' && isSameSchema(tool, requestedSchema(stored))) {
    const { ledger } = engine;
    const filled = await fillRecordedArguments(effectiveInput, call.artifacts, { ledger, sessionId });
    if (!filled.ok)
      return {
        type: 'unusable',
        problem: `${formatPath(filled.path)}: ${filled.problem}`,
        why: isOtherContent(filled.why) ? 'altered' : 'gone',
      };
    return {
      type: 'ready',
      prepared: {
        effective,
        effectiveInput,
        form,
        accepted,
        acceptedKept: undefined,
        checked: known?.checked ?? filled.value,
        value: filled.value,
        rendering: undefined,
        artifacts: call.artifacts,
        changes: [],
      },
    };
  }
  const asAccepted = { input: accepted, kept: keepInput(accepted, paths, engine.redactor, engine.seal) };
  const place = { engine, tool, sessionId, hide };
  // An input without a form has passed no schema yet, so it may still need coercion.
  const again = await acceptInput(place, asAccepted, accepted, form === undefined);
  if (!again.ok)
    return {
      type: 'unusable',
      problem: formatIssues(again.issues),
      why: isOtherContent(again.unfilled) ? 'altered' : 'refused',
    };
  const { prepared } = again;
  const other = call.artifacts.find(({ digest }, index) => prepared.artifacts[index]?.digest !== digest);
  if (other !== undefined)
    return {
      type: 'unusable',
      problem: `the artifact ${JSON.stringify(other.artifactId)} has another content than the one that was recorded`,
      why: 'altered',
    };
  return isInputDigest(call.inputDigest, prepared, engine.seal.digestKey)
    ? { type: 'ready', prepared: { ...prepared, effective } }
    : { type: 'differs', prepared };
}

const requestedSchema = (stored: StoredCall | undefined): string | undefined =>
  stored?.events.find((event) => event.type === 'tool.requested')?.schemaDigest;

const gone = (problem: string): RestoredInput => ({ type: 'unusable', problem, why: 'gone' });

/** True if the content of an artifact was changed: the record has the digest of the approved one. */
const isOtherContent = (why: Unfilled['why'] | undefined): boolean => why === 'other' || why === 'altered';

/** The call with exactly the approved input, or its stop. */
type Approved =
  | { readonly type: 'stop'; readonly stop: Stop }
  | {
      readonly type: 'taken';
      readonly active: CheckedCall;
      /** True if the gates have not judged this input yet. */
      readonly isNew: boolean;
      /** True if the schema now returns another value than the approved one. */
      readonly differs: boolean;
    };

/** Prepares the approved input. `just`: the recorded input, if it was just prepared. */
export async function restoreApprovedInput(
  active: ActiveCall,
  { decision, inputDigest, judgedDigest }: Confirmation,
  just: RestoredInput | undefined,
): Promise<Approved> {
  const tool = toolOf(active);
  const restored = just ?? (await restoreInput({ ...active, tool }));
  if (restored.type === 'unusable')
    switch (restored.why) {
      case 'altered':
        return { type: 'stop', stop: alteredStop };
      case 'gone':
        return stopped(active, {
          type: 'deny',
          reason: 'expired',
          code: 'confirmation.expired',
          details: `The call cannot run as it was approved: ${restored.problem}.`,
        });
      case 'refused':
        return stopped(active, {
          type: 'deny',
          reason: 'validation',
          code: 'tool.invalid_input',
          details: restored.problem,
        });
    }
  const wasEdited = decision === 'edit' || inputDigest !== judgedDigest;
  const isNoted = !wasEdited || active.notes.includes(editedNote);
  const notes = isNoted ? active.notes : [...active.notes, editedNote];
  return {
    type: 'taken',
    active: withInput(active, tool, restored.prepared, notes),
    isNew: restored.prepared.effective.digest !== judgedDigest,
    differs: restored.type === 'differs',
  };
}

const stopped = (active: ActiveCall, stop: Stop & { type: 'deny' }): Approved => ({
  type: 'stop',
  stop: { ...stop, details: clean(active, stop.details) },
});

type KeptTyped =
  /** The input matches the record. If a function of the tool changed it, it was recomputed. */
  { readonly type: 'kept'; readonly active: CheckedCall } | { readonly type: 'stopped'; readonly stop: Stop };

/** Compares a value that JSON cannot represent with the record before the body gets it. Functions of the tool may have changed it. */
export async function keepTyped(active: CheckedCall): Promise<KeptTyped> {
  const { engine, tool, sessionId } = active;
  // The last function of the tool that sees the value before its body.
  resourceKeysOf(tool, () => inputForTool(active.tool.input, active.input));
  if (isAsRecorded(active.input)) return { type: 'kept', active };
  const { accepted, effective, artifacts, changes, acceptedKept } = active.input;
  const kept = keepInput(accepted, tool.redact?.input, engine.redactor, engine.seal);
  const again = await acceptInput({ engine, tool, sessionId }, { input: accepted, kept }, accepted, false);
  if (again.ok && isInputDigest(effective.digest, again.prepared, engine.seal.digestKey)) {
    const input = { ...again.prepared, effective, artifacts, changes, acceptedKept };
    return { type: 'kept', active: withInput(active, tool, input, active.notes) };
  }
  return {
    type: 'stopped',
    stop: {
      type: 'deny',
      reason: 'validation',
      code: 'tool.invalid_input',
      details: `The arguments of "${tool.displayName}" were changed while they were checked, and cannot be made again.`,
    },
  };
}

function isAsRecorded({ value, rendering }: PreparedInput): boolean {
  const read = renderTyped(value);
  return read.ok && rendering !== undefined && isSameJson(read.value, rendering);
}

/**
 * The edited arguments with hidden values restored. A person who edits sees masks for hidden values; a mask left in its
 * place stands for the hidden value. Throws if a mask would remain, so that no mask reaches a body.
 */
export async function unmaskEdit(engine: Engine, call: Call, edited: JsonObject): Promise<JsonObject> {
  if (!hidesInput(call) || !holdsMask(edited)) return edited;
  const executed = await readRecorded(engine, call);
  const restored = executed.ok ? restore(edited, call, executed) : edited;
  if (isJsonObject(restored) && !holdsMask(restored)) return restored;
  throw new QuittanceError(
    'confirmation.mismatch',
    `The edited arguments hold "${redacted}" where a value should be${executed.ok ? '' : `, and ${executed.problem}`}. Give the value itself, or leave the member in its place.`,
    { callId: call.callId },
  );
}

/**
 * An edit starts from the arguments that the schema accepted, and passes the schema again. Masks of those
 * arguments are therefore restored first, then masks of the effective input, which may have other members.
 */
function restore(edited: JsonObject, call: Call, { effectiveInput, accepted }: RecordedInput): JsonValue {
  const restored = putBack(edited, acceptedInputOf(call), accepted);
  return holdsMask(restored)
    ? putBack(restored, call.effectiveInput ?? call.requestedInput, effectiveInput)
    : restored;
}

const holdsMask = (value: JsonValue): boolean => JSON.stringify(value).includes(redacted);

/** Walks the three values together: they have the same shape wherever nothing was edited. */
function putBack(edited: JsonValue, kept: JsonValue | undefined, executed: JsonValue | undefined): JsonValue {
  if (kept === undefined || executed === undefined) return edited;
  if (typeof edited === 'string') return edited === kept ? executed : edited;
  if (Array.isArray(edited))
    return edited.map((item: JsonValue, index) =>
      putBack(item, itemOf(kept, index), itemOf(executed, index)),
    );
  if (!isJsonObject(edited) || !isJsonObject(kept) || !isJsonObject(executed)) return edited;
  return Object.fromEntries(
    Object.entries(edited).map(([key, value]) => [
      key,
      putBack(value, memberOf(kept, key), memberOf(executed, key)),
    ]),
  );
}

const memberOf = (holder: JsonObject, key: string): JsonValue | undefined =>
  ownValue(holder, key) as JsonValue | undefined;

// a member of JSON is JSON

const itemOf = (value: JsonValue, index: number): JsonValue | undefined =>
  Array.isArray(value) ? (value as readonly JsonValue[])[index] : undefined;
