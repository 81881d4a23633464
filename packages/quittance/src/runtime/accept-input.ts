/**
 * Passes arguments through the schema of a tool. Everything after it uses the schema's result: gates, people,
 * the record and the body.
 *
 * Before that, an argument `{"$artifact": "id"}` is filled with the content of an artifact of the same session. The schema,
 * the policy and the body get that content. The stored and digested form has the name with the content's digest, so an
 * approval covers exactly that content.
 */
import type { JsonObject, JsonValue, JsonPath } from '../base/json.ts';
import type { KnownSecrets } from '../base/known-secrets.ts';
import { createKnownSecrets, shortestEchoed } from '../base/known-secrets.ts';
import type { ArtifactArgument, InputChange, InputForm } from '../call/events/gate-event.ts';
import { coerce } from '../tool/coerce.ts';
import { cutText } from '../base/cut-text.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { SchemaCheck, SchemaIssue } from '../tool/schema-issue.ts';
import type { Engine } from './engine.ts';
import { copyOf, inputDigestOf, keepInput } from './call-input.ts';
import type { KeptInput, PreparedInput } from './call-input.ts';
import { within } from '../base/deadlines.ts';
import type { CompiledSchema } from '../tool/schema.ts';
import { answerLimitMs, noAnswer, answerInTime } from './engine.ts';
import { formatPath, isJsonObject, toJson, readJsonText } from '../base/json.ts';
import { describeThrown } from '../tool/describe-thrown.ts';
import type { ActiveCall } from './active-call.ts';
import { logProblem } from './active-call.ts';
import { formatIssues } from '../tool/format-issues.ts';
import { contentBytes, contentDigest } from '../base/content-digest.ts';
import { canonicalJson } from '../base/canonical.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { valueAt } from '../tool/json-edit.ts';
import { isAltered, readStoredArtifact } from './stored-artifact.ts';
import { isSameJson } from '../base/same-json.ts';
import { isPlainJson, renderTyped } from '../base/typed-rendering.ts';

/** The tool and the session that the arguments belong to. */
type InputContext = {
  readonly engine: Engine;
  readonly tool: AnyTool;
  readonly sessionId: string;
  /** Paths to hide in addition to those the tool names. */
  readonly hide?: readonly string[];
  /** Secrets known from other sources. */
  readonly known?: readonly string[];
};

/** The requested arguments: exact, and in their stored form. */
export type RequestedInput = { readonly input: JsonObject; readonly kept: KeptInput };

type Acceptance =
  | { readonly ok: true; readonly prepared: PreparedInput }
  | {
      readonly ok: false;
      readonly issues: readonly SchemaIssue[];
      /** Why a named artifact cannot be filled in. A repair cannot help with this. */
      readonly unfilled?: Unfilled['why'];
    };

/** `mayCoerce`: whether arguments that do not match are coerced by the listed rules. */
export async function acceptInput(
  place: InputContext,
  requested: RequestedInput,
  input: JsonObject,
  mayCoerce: boolean,
): Promise<Acceptance> {
  const { engine, tool, sessionId } = place;
  const filled = await fillArtifacts(input, { ledger: engine.ledger, sessionId });
  if (!filled.ok)
    return {
      ok: false,
      issues: [{ path: filled.path, message: filled.problem }],
      unfilled: filled.why,
    };
  const { value: checked, artifacts } = filled;
  const schema = timedSchema(engine, tool.input);
  const { keepsValue, isPlain } = tool.input;
  // Other validators may change their argument.
  const given = keepsValue === true || isPlain === true ? checked : copyOf(checked);
  const result: SchemaCheck = await schema.check(given);
  if (result.ok)
    return prepare(place, requested, { accepted: input, checked, output: result.value, artifacts }, []);
  if (!mayCoerce || !(tool.coerce ?? engine.coerce)) return result;
  const coerced = await coerce(checked, schema, { frozenPaths: artifacts.map(({ path }) => path) });
  if (!coerced.ok) return coerced;
  // Coercion leaves filled-in artifacts alone, so naming them again gives the stored form of the input.
  const accepted = nameArtifacts(coerced.input, artifacts).named;
  return prepare(
    place,
    requested,
    { accepted, checked: coerced.input, output: coerced.value, artifacts },
    coerced.changes,
  );
}

/** Prepares the input that a schema accepted. */
function prepare(
  place: InputContext,
  requested: RequestedInput,
  given: AcceptedArguments,
  changes: readonly InputChange[],
): Acceptance {
  const { engine, tool } = place;
  const read = readOutput(tool.input, given);
  if (!read.ok)
    return {
      ok: false,
      issues: [{ path: read.path, message: `the schema's output cannot be stored: ${read.problem}` }],
    };
  const { form, effectiveInput, value, rendering, inPlace } = read;
  const { accepted, checked, artifacts } = given;
  if (form === 'json' && effectiveInput === requested.input) {
    const { kept: effective } = requested;
    return {
      ok: true,
      prepared: {
        effective,
        effectiveInput,
        form,
        accepted,
        acceptedKept: undefined,
        checked,
        value,
        rendering,
        artifacts: none,
        changes,
      },
    };
  }
  const declared = tool.redact?.input;
  const paths = place.hide === undefined ? declared : [...(declared ?? []), ...place.hide];
  const known = [...requested.kept.secrets, ...(place.known ?? none)];
  const keep = (input: JsonObject): KeptInput => keepInput(input, paths, engine.redactor, engine.seal, known);
  const keptAccepted = accepted === requested.input ? requested.kept : keep(accepted);
  const keptOutput = accepted === effectiveInput ? keptAccepted : keep(effectiveInput);
  // A schema may move a hidden value to another path, where only the value identifies it.
  const secrets = createKnownSecrets([...known, ...keptAccepted.secrets], shortestEchoed);
  const moved: string[] = [];
  const kept = secrets.json(keptOutput.kept, moved);
  const hidden = [...keptOutput.hidden, ...(form === 'typed' ? keptAccepted.hidden : none), ...moved];
  const recorded = { form, effectiveInput, accepted, artifacts };
  const digest = inputDigestOf(recorded, hidden.length === 0 ? undefined : engine.seal.digestKey);
  const isNew = accepted !== requested.input && accepted !== effectiveInput;
  return {
    ok: true,
    prepared: {
      effective: {
        kept,
        hidden: [...new Set(hidden)],
        repeated: [...new Set([...keptOutput.repeated, ...moved])],
        digest,
        secrets: [...keptAccepted.secrets, ...keptOutput.secrets],
      },
      effectiveInput,
      form,
      accepted,
      acceptedKept: isNew ? (keptAccepted.kept as JsonObject) : undefined, // redacting an object gives an object
      checked,
      value,
      rendering,
      artifacts: artifacts.map((artifact, index) =>
        toArgument(engine, artifact, inPlace[index] ?? false, secrets),
      ),
      changes,
    },
  };
}

const none: readonly never[] = Object.freeze([]);

const longestPreview = 1_000;
const longestLook = 16_000;

/** Redacts more text than is shown, so that a secret cut in half is not missed. */
function toArgument(
  { redactor }: Engine,
  { path, artifactId, digest, sizeBytes, mimeType, text }: FoundArtifact,
  inPlace: boolean,
  secrets: KnownSecrets,
): ArtifactArgument {
  const clean = secrets.text(redactor.text(text.slice(0, longestLook)));
  const isWhole = text.length <= longestLook && clean.length <= longestPreview;
  const preview = isWhole
    ? clean
    : `${cutText(clean, longestPreview)}\n[the beginning of ${text.length} characters]`;
  return { path, artifactId, digest, sizeBytes, mimeType, preview, inPlace };
}

const tooLate: SchemaCheck = { ok: false, issues: [{ path: [], message: `The schema ${noAnswer}.` }] };

/**
 * The schema with a time limit for its asynchronous checks. After one timeout all later checks fail at once, because
 * coercion runs many checks.
 */
export function timedSchema(
  engine: Pick<Engine, 'deadlines'>,
  schema: CompiledSchema,
  limitMs: number = answerLimitMs,
): CompiledSchema {
  let isLate = false;
  return {
    ...schema,
    async check(value) {
      if (isLate) return tooLate;
      const result = await within(engine, Math.min(limitMs, answerLimitMs), schema.check(value), tooLate);
      isLate ||= result === tooLate;
      return result;
    },
  };
}

/** How often the arguments of one call were sent to repair. */
export type RepairTries = { count: number };

/**
 * Asks the host's repair callback for better arguments. Tries are limited per tool and failing path for the
 * whole turn, so a model gets no more tries by repeating its mistake with a new call id.
 */
export async function repairInput(
  active: ActiveCall & { readonly tool: AnyTool },
  repairs: RepairTries,
  failed: { readonly input: JsonValue; readonly issues: readonly SchemaIssue[] },
): Promise<JsonObject | undefined> {
  const { engine, turn, tool, request } = active;
  if (engine.repair === undefined) return undefined;
  const keys = failed.issues.map(({ path }) => `${tool.name}\n${formatPath(path)}`);
  const tries = Math.max(0, ...keys.map((key) => turn.repairs?.get(key) ?? 0));
  // A repair that breaks a different path each time is limited too.
  if (tries >= engine.repair.attempts || repairs.count >= engine.repair.attempts) return undefined;
  repairs.count++;
  for (const key of keys) (turn.repairs ??= new Map()).set(key, tries + 1);
  let answer: unknown;
  try {
    const repairing = engine.repair.repair({
      callId: request.id,
      toolName: tool.name,
      arguments: failed.input,
      issues: failed.issues,
      schema: tool.input.jsonSchema,
      attempt: tries + 1,
    });
    answer = await answerInTime(engine, repairing, late);
  } catch (error) {
    // After a failed repair the call is denied for its original arguments.
    noteTry(active, repairs, failed.issues, `it threw: ${describeThrown(error)}`);
    return undefined;
  }
  if (answer === late) {
    noteTry(active, repairs, failed.issues, `it ${noAnswer}`);
    return undefined;
  }
  const repaired = toJson(answer, { refuseUnsafeIntegers: true });
  if (repaired.ok && isJsonObject(repaired.value)) {
    const { kept } = keepInput(repaired.value, tool.redact?.input, engine.redactor, engine.seal);
    noteTry(active, repairs, failed.issues, 'it gave arguments', kept);
    return repaired.value;
  }
  noteTry(active, repairs, failed.issues, 'it gave no JSON object');
  return undefined;
}

const late = Symbol('late');

/** Records one repair try: the problems and the result of the callback. */
function noteTry(
  active: ActiveCall,
  { count }: RepairTries,
  issues: readonly SchemaIssue[],
  result: string,
  kept?: JsonValue,
): void {
  logProblem(active, `Repair, try ${count}: ${result}.`, {
    repair_try: count,
    issues: formatIssues(issues),
    ...(kept !== undefined && { arguments: kept }),
  });
}

/** Records whether the arguments from the last try match the schema. */
export function noteRepaired(
  active: ActiveCall,
  { count }: RepairTries,
  issues: readonly SchemaIssue[],
): void {
  logProblem(
    active,
    issues.length === 0
      ? `Repair, try ${count}: the arguments fit.`
      : `Repair, try ${count}: the arguments still do not fit.`,
    {
      repair_try: count,
      accepted: issues.length === 0,
      ...(issues.length > 0 && { issues: formatIssues(issues) }),
    },
  );
}

/** The tool of a call, required from here on. */
export function toolOf({ tool, callId }: Pick<ActiveCall, 'tool' | 'callId'>): AnyTool {
  if (tool === undefined) throw new TypeError(`Call ${callId} names no known tool.`);
  return tool;
}

/** The session whose artifacts may be named, and its ledger. */
type ArtifactSource = { readonly ledger: Ledger; readonly sessionId: string };

/** An artifact named in the arguments, with its content. */
export type FoundArtifact = Omit<ArtifactArgument, 'inPlace' | 'preview'> & {
  readonly name: JsonObject;
  readonly content: JsonValue;
  readonly text: string;
};

type FilledArguments =
  | {
      readonly ok: true;
      readonly value: JsonObject;
      readonly artifacts: readonly FoundArtifact[];
    }
  | ({ readonly ok: false; readonly path: JsonPath } & Unfilled);

/** Why an artifact cannot be filled in. */
export type Unfilled = {
  readonly problem: string;
  /** `other`: its content does not match the digest in its name. `altered`: it was changed in the store. */
  readonly why: 'misnamed' | 'unknown' | 'other' | 'altered';
};

/** True if the value names an artifact at any depth. */
export function namesArtifact(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(namesArtifact);
  if (Object.hasOwn(value, '$artifact')) return true;
  const members = value as JsonObject;
  for (const key in members)
    if (Object.hasOwn(members, key) && namesArtifact(members[key] ?? null)) return true;
  return false;
}

type Place = { readonly path: JsonPath; readonly name: JsonObject };

/** Fills in every artifact that the arguments name. */
export async function fillArtifacts(input: JsonObject, from: ArtifactSource): Promise<FilledArguments> {
  const places: Place[] = [];
  find(input, [], places);
  return fill(input, places, from);
}

/** Fills in only the artifacts of a recorded input: other data may look like a name. */
export function fillRecordedArguments(
  input: JsonObject,
  recorded: readonly ArtifactArgument[],
  from: ArtifactSource,
): Promise<FilledArguments> {
  const places = recorded
    .filter(({ inPlace }) => inPlace)
    .map(({ path, artifactId, digest }) => {
      const name = valueAt(input, path);
      return { path, name: { ...(isJsonObject(name) ? name : {}), $artifact: artifactId, digest } };
    });
  return fill(input, places, from);
}

async function fill(
  input: JsonObject,
  places: readonly Place[],
  from: ArtifactSource,
): Promise<FilledArguments> {
  let value: JsonValue = input;
  const artifacts: FoundArtifact[] = [];
  for (const place of places) {
    const found = await contentOf(place, from);
    if ('why' in found) return { ok: false, path: place.path, ...found };
    artifacts.push(found);
    value = replaceAt(value, place.path, found.content);
  }
  return { ok: true, value: value as JsonObject, artifacts }; // the root is never replaced: `find` starts below it
}

/** The input with the name and digest of each artifact instead of its content, wherever that is unchanged. */
export function nameArtifacts(
  filled: JsonObject,
  artifacts: readonly FoundArtifact[],
): { readonly named: JsonObject; readonly inPlace: readonly boolean[] } {
  let named: JsonValue = filled;
  const inPlace = artifacts.map(({ path, name, content, digest }) => {
    const there = valueAt(filled, path) as JsonValue | undefined; // a part of JSON is JSON
    if (there === undefined || canonicalJson(there) !== canonicalJson(content)) return false;
    named = replaceAt(named, path, pinned(name, digest));
    return true;
  });
  return { named: named as JsonObject, inPlace };
}

const pinned = (name: JsonObject, digest: string): JsonObject => ({
  $artifact: name['$artifact'] ?? null,
  ...(name['as'] !== undefined && { as: name['as'] }),
  digest,
});

function find(value: JsonValue, path: JsonPath, places: Place[]): void {
  if (Array.isArray(value)) for (const [index, item] of value.entries()) find(item, [...path, index], places);
  else if (isJsonObject(value)) {
    if (path.length > 0 && Object.hasOwn(value, '$artifact')) places.push({ path, name: value });
    else for (const key of Object.keys(value)) find(value[key] ?? null, [...path, key], places);
  }
}

async function contentOf(
  { path, name }: Place,
  { ledger, sessionId }: ArtifactSource,
): Promise<FoundArtifact | Unfilled> {
  const artifactId = name['$artifact'];
  const form = name['as'];
  const wanted = name['digest'];
  const strange = Object.keys(name).find((key) => !['$artifact', 'as', 'digest'].includes(key));
  if (
    typeof artifactId !== 'string' ||
    strange !== undefined ||
    (form !== undefined && form !== 'text') ||
    (wanted !== undefined && typeof wanted !== 'string')
  )
    return {
      problem:
        'write {"$artifact": "<id>"}, or {"$artifact": "<id>", "as": "text"} for its text, and nothing else but the "digest" of its content',
      why: 'misnamed',
    };
  const quoted = JSON.stringify(artifactId);
  const artifact = await readStoredArtifact(ledger, sessionId, artifactId).catch((error: unknown) => {
    if (isAltered(error)) return 'altered' as const;
    throw error;
  });
  if (artifact === 'altered')
    return { problem: `the stored content of the artifact ${quoted} was changed`, why: 'altered' };
  if (artifact === undefined) return { problem: `this session has no artifact ${quoted}`, why: 'unknown' };
  const { content, mimeType } = artifact;
  if (typeof content !== 'string')
    return { problem: `the artifact ${quoted} is a ${mimeType} file, not text`, why: 'misnamed' };
  const digest = contentDigest(content);
  if (wanted !== undefined && wanted !== digest)
    return {
      problem: `the artifact ${quoted} does not have the content with this digest`,
      why: 'other',
    };
  return {
    path,
    name,
    artifactId,
    digest,
    sizeBytes: contentBytes(content).byteLength,
    mimeType,
    text: content,
    content: form === 'text' || mimeType !== 'application/json' ? content : readOrText(content),
  };
}

/** An output of the runtime, or a file that a tool declares to be JSON, is parsed. */
function readOrText(content: string): JsonValue {
  try {
    return readJsonText(content);
  } catch {
    return content;
  }
}

function replaceAt(value: JsonValue, path: JsonPath, replacement: JsonValue): JsonValue {
  const [step, ...rest] = path;
  if (step === undefined) return replacement;
  if (Array.isArray(value))
    return value.map((item, index) => (index === step ? replaceAt(item, rest, replacement) : item));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === step ? replaceAt(item, rest, replacement) : item,
    ]),
  );
}

/** Arguments that a schema accepted, and its result. */
export type AcceptedArguments = {
  readonly accepted: JsonObject;
  readonly checked: JsonObject;
  readonly output: unknown;
  readonly artifacts: readonly FoundArtifact[];
};

/** The schema's result, in the form that is stored, shown and approved, and in the form that the body gets. */
type ReadOutput =
  | {
      readonly ok: true;
      readonly form: InputForm;
      readonly effectiveInput: JsonObject;
      readonly value: unknown;
      readonly rendering: JsonValue | undefined;
      /** For each artifact, true if the effective input still names it. */
      readonly inPlace: readonly boolean[];
    }
  | { readonly ok: false; readonly path: JsonPath; readonly problem: string };

const nowhere: readonly boolean[] = Object.freeze([]);

/** True if the schema's result equals the arguments that it checked. */
const isUnchanged = (schema: CompiledSchema, checked: JsonObject, output: unknown): boolean =>
  schema.keepsValue === true ||
  (isJsonObject(output) && (schema.isPlain === true || isPlainJson(output)) && isSameJson(checked, output));

export function readOutput(schema: CompiledSchema, given: AcceptedArguments): ReadOutput {
  const { checked, output } = given;
  if (isUnchanged(schema, checked, output)) return asJson(given, checked);
  if (!isJsonObject(output) || !isPlainJson(output)) return asTyped(given);
  // The validator may hold on to its result and change it later.
  const copy = toJson(output);
  if (!copy.ok) return copy;
  return asJson(given, copy.value as JsonObject); // a copy of an object is an object
}

function asJson({ accepted, checked, artifacts }: AcceptedArguments, value: JsonObject): ReadOutput {
  if (artifacts.length === 0)
    return {
      ok: true,
      form: 'json',
      effectiveInput: value === checked ? accepted : value,
      value,
      rendering: undefined,
      inPlace: nowhere,
    };
  const { named, inPlace } = nameArtifacts(value, artifacts);
  return { ok: true, form: 'json', effectiveInput: named, value, rendering: undefined, inPlace };
}

function asTyped({ output, artifacts }: AcceptedArguments): ReadOutput {
  const rendering = renderTyped(output);
  if (!rendering.ok) return rendering;
  const shown = isJsonObject(rendering.value)
    ? rendering.value
    : {
        $type: Array.isArray(output) ? 'Array' : output === null ? 'null' : typeof output,
        value: rendering.value,
      };
  const { named, inPlace } = nameArtifacts(shown, artifacts);
  return {
    ok: true,
    form: 'typed',
    effectiveInput: named,
    value: output,
    rendering: rendering.value,
    inPlace,
  };
}
