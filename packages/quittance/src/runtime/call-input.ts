/**
 * The facts and the input of a call: as requested, as stored, as judged, and as functions of the tool get them. Also the
 * masking of its secrets in everything that repeats them.
 *
 * Facts are copied and frozen on arrival, so that later changes by the caller or a hook do not reach the record.
 */
import type { JsonObject, JsonValue, JsonPath } from '../base/json.ts';
import type { ArtifactArgument, InputChange, InputForm, Provenance } from '../call/events/gate-event.ts';
import { digestJson, isKeyedDigest, keyedDigestJson } from '../base/canonical.ts';
import { createKnownSecrets, shortestShared, shortestEchoed, noSecrets } from '../base/known-secrets.ts';
import type { Redacted, Redactor } from '../base/redaction.ts';
import { redacted } from '../base/secret-pattern.ts';
import type { ParsedArguments } from '../call/tool-call.ts';
import type { Seal } from '../ledger/seal.ts';
import { isJsonObject, formatPath, JsonCopying, copyJson, freezeJson, toJson } from '../base/json.ts';
import { looseJson } from '../base/loose-json.ts';
import type { CompiledSchema } from '../tool/schema.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { PreviewedOperation } from '../tool/preview.ts';
import type { KnownSecrets } from '../base/known-secrets.ts';
import { QuittanceError } from '../base/error.ts';
import type { DirectIdentity } from '../call/identity.ts';
import type { Principal } from '../tool/tool-context.ts';
import { readIdentity } from './rights.ts';
import type { Call } from '../call/call.ts';

type Facts = {
  /** On whose behalf the call is made. */
  readonly principal: Principal | undefined;
  /** Which model made the call. */
  readonly provenance: Provenance | undefined;
  readonly attrs: JsonObject | undefined;
};

export type CallerFacts = Facts & {
  /** How the calling program was identified, if the host says. */
  readonly askedBy: DirectIdentity | undefined;
  /** The stored form, after redaction. */
  readonly kept: Facts;
  /** The values hidden there. */
  readonly hidden: readonly string[];
};

/** The facts given for a turn or a call. */
type StatedFacts = { readonly [Name in keyof Facts]?: Facts[Name] } & {
  readonly askedBy?: DirectIdentity;
};

const missingFacts: Facts = { principal: undefined, provenance: undefined, attrs: undefined };
export const noFacts: CallerFacts = { ...missingFacts, askedBy: undefined, kept: missingFacts, hidden: [] };

/** Missing fields fall back to `before`. Returns the same object if all are missing. */
export function readCallerFacts(stated: StatedFacts, before: CallerFacts, redactor: Redactor): CallerFacts {
  const { principal, provenance, attrs, askedBy } = stated;
  return principal === undefined && provenance === undefined && attrs === undefined && askedBy === undefined
    ? before
    : addFacts(stated, before, redactor);
}

function addFacts(stated: StatedFacts, before: CallerFacts, redactor: Redactor): CallerFacts {
  const { askedBy } = stated;
  const hidden = new Set(before.hidden);
  const read = <Name extends keyof Facts>(name: Name): readonly [Facts[Name], Facts[Name]] => {
    const fact = stated[name];
    if (fact === undefined) return [before[name], before.kept[name]];
    const { given, kept, secrets } = readFact(name, fact, redactor);
    for (const secret of secrets) hidden.add(secret);
    // Copies keep the shape of the caller's types. Redacting an object gives an object.
    return [given as Facts[Name], kept as Facts[Name]];
  };
  const [principalGiven, principalKept] = read('principal');
  const [provenanceGiven, provenanceKept] = read('provenance');
  const [attrsGiven, attrsKept] = read('attrs');
  return {
    principal: principalGiven,
    provenance: provenanceGiven,
    attrs: attrsGiven,
    askedBy: readCaller(askedBy, before, redactor),
    kept: { principal: principalKept, provenance: provenanceKept, attrs: attrsKept },
    hidden: [...hidden],
  };
}

/** The calling program. Default: that of `before`. */
export const readCaller = (
  askedBy: DirectIdentity | undefined,
  before: CallerFacts,
  redactor: Redactor,
): DirectIdentity | undefined =>
  askedBy === undefined ? before.askedBy : readIdentity('askedBy', askedBy, redactor);

type ReadFact = {
  readonly given: JsonObject;
  readonly kept: JsonValue;
  readonly secrets: readonly string[];
};

/** Cache of facts shared by many calls, for each redactor. */
const lasting = new WeakMap<object, WeakMap<Redactor, ReadFact>>();

/**
 * A copy of a fact that many calls share, e.g. the principal of a connection. It cannot change, so it is read once
 * instead of with each call.
 */
export function toLastingFact<Fact extends object>(fact: Fact): Fact {
  const copy = copyObject('fact', fact);
  lasting.set(copy, new WeakMap());
  return copy as Fact; // a copy keeps the shape
}

function readFact(name: keyof Facts, fact: object, redactor: Redactor): ReadFact {
  const known = lasting.get(fact);
  const found = known?.get(redactor);
  if (found !== undefined) return found;
  const given = copyObject(name, fact);
  checkTexts(name, given);
  const { value, secrets } = redactor.input(given);
  const read = { given, kept: freezeJson(value), secrets };
  known?.set(redactor, read);
  return read;
}

/**
 * The facts without secrets known from other sources, such as the arguments. The identifying fields of a
 * principal stay: they are names, and the record must say who asked.
 */
export function hideInFacts(facts: CallerFacts, known: KnownSecrets): CallerFacts {
  if (known.isEmpty) return facts;
  const { principal, provenance, attrs } = facts.kept;
  // Hiding part of an object gives an object.
  const hide = <Value extends object | undefined>(value: Value): Value =>
    value === undefined ? value : (freezeJson(known.json(value as JsonObject)) as Value);
  return {
    ...facts,
    kept: {
      principal:
        principal?.claims === undefined ? principal : { ...principal, claims: hide(principal.claims) },
      provenance: hide(provenance),
      attrs: hide(attrs),
    },
  };
}

const texts: { readonly [Name in keyof Facts]: readonly string[] } = {
  principal: ['userId', 'serviceId', 'orgId', 'role', 'ticketRef'] satisfies (keyof Principal)[],
  provenance: ['provider', 'model'] satisfies (keyof Provenance)[],
  attrs: [],
};

/**
 * Requires text in fields that are searched and compared as text. They are stored for ever, and callers may be untyped.
 */
function checkTexts(name: keyof Facts, given: JsonObject): void {
  for (const field of texts[name]) {
    const value = Object.hasOwn(given, field) ? given[field] : undefined;
    if (value === undefined || typeof value === 'string') continue;
    throw new QuittanceError(
      'config.invalid',
      `${name}.${field} must be a text, found ${JSON.stringify(value).slice(0, 40)}. Leave it out if there is none.`,
    );
  }
}

function copyObject(name: string, value: unknown): JsonObject {
  const copy = toJson(value);
  if (copy.ok && isJsonObject(copy.value)) return freezeJson(copy.value);
  throw new QuittanceError('config.invalid', `${name} must be an object that JSON can hold.`);
}

/** Beyond this number, secrets are hidden in the output itself but not in later texts. */
const mostGiven = 200;

const noTexts: readonly string[] = Object.freeze([]);

/** The secrets of one call, hidden in everything that is stored or returned about it. All steps of the call share it. */
export class CallSecrets {
  readonly #ofFacts: readonly string[];
  readonly #ofRequest: readonly string[];
  /** Secrets of the input that the schema accepted. */
  ofInput: readonly string[] = noTexts;
  /** Secrets of the snapshot of the last preview. */
  ofSnapshot: readonly string[] = noTexts;
  /** Secrets that the tool returned. From then on they are hidden everywhere. */
  private given: readonly string[] = noTexts;
  private last: { readonly of: readonly (readonly string[])[]; readonly known: KnownSecrets } | undefined;

  constructor(ofFacts: readonly string[], ofRequest: readonly string[]) {
    this.#ofFacts = ofFacts;
    this.#ofRequest = ofRequest;
  }

  /** Adds secrets that were found in the tool's output. */
  learn(secrets: readonly string[]): void {
    if (secrets.length === 0 || this.given.length >= mostGiven) return;
    const known = new Set(this.given);
    const added = secrets.filter((secret) => !known.has(secret) && secret.length >= shortestEchoed);
    if (added.length > 0) this.given = [...this.given, ...added].slice(0, mostGiven);
  }

  get #isEmpty(): boolean {
    return (
      this.#ofFacts.length === 0 &&
      this.#ofRequest.length === 0 &&
      this.ofInput.length === 0 &&
      this.ofSnapshot.length === 0 &&
      this.given.length === 0
    );
  }

  /** All secrets, prepared for searching. Rebuilt only when one of the lists has changed. */
  get known(): KnownSecrets {
    return this.#isEmpty ? noSecrets : this.#find();
  }

  #find(): KnownSecrets {
    const of = [this.#ofFacts, this.#ofRequest, this.ofInput, this.ofSnapshot, this.given];
    const last = this.last;
    if (last !== undefined && of.every((values, index) => values === last.of[index])) return last.known;
    const known = createKnownSecrets(of.flat(), shortestEchoed);
    this.last = { of, known };
    return known;
  }
}

/** A longer input is only on the record of the call. */
const longestInput = 12_000;

/** The stored form of a failed call's input, for the extras of its failure. */
export function inputExtra(
  { call }: { readonly call: Call | undefined },
  keyOf: (key: string) => string = (key) => key,
): JsonObject {
  const input = call?.effectiveInput ?? call?.requestedInput;
  if (input === undefined || input === null) return {};
  const { length } = JSON.stringify(input);
  return length > longestInput
    ? { [keyOf('input_omitted')]: `The input has ${length} characters and is on the record of the call.` }
    : { [keyOf('input')]: input };
}

/** The input after the schema accepted it. */
export type PreparedInput = {
  /** The schema's result, as it is shown, digested and stored. */
  readonly effective: KeptInput;
  /** The exact input behind `effective`, before redaction. Artifacts are named in it, with their digests. */
  readonly effectiveInput: JsonObject;
  /**
   * `json`: the body gets `effectiveInput` with artifacts filled in. `typed`: `effectiveInput` is a rendering
   * of what the body gets.
   */
  readonly form: InputForm;
  /** The arguments that the schema accepted: after coercion or repair, artifacts still named. */
  readonly accepted: JsonObject;
  /** Their stored form, if it differs from both the requested and the effective input. */
  readonly acceptedKept: JsonObject | undefined;
  /** The accepted arguments with artifacts filled in. Never passed to other code. */
  readonly checked: JsonObject;
  /** The schema's result. Functions of the tool get copies if it is JSON: see `inputForTool`. */
  readonly value: unknown;
  /** A rendering of the value when the schema returned it, if JSON cannot hold it. */
  readonly rendering: JsonValue | undefined;
  readonly artifacts: readonly ArtifactArgument[];
  readonly changes: readonly InputChange[];
};

/** An input in its stored form, with the digest of its exact form. */
export type KeptInput = {
  /** The stored form, without values that the redactor hides. */
  readonly kept: JsonValue;
  readonly hidden: readonly string[];
  /** Those of `hidden` whose value is a secret only because it repeats another one. */
  readonly repeated: readonly string[];
  /** Digest of the executed form. Keyed if a plain digest could reveal a hidden value. */
  readonly digest: string;
  /** The hidden values in plain text. Never stored. */
  readonly secrets: readonly string[];
};

const none: readonly never[] = Object.freeze([]);

/** True if `digest` is the digest of this input. Its kind depends on what was hidden when it was made. */
export const isDigestOf = (digest: string, input: JsonValue, seal: Seal): boolean =>
  digest === (isKeyedDigest(digest) ? keyedDigestJson(seal.digestKey, input) : digestJson(input));

export function keepInput(
  input: JsonValue,
  paths: readonly string[] | undefined,
  redactor: Redactor,
  seal: Seal,
  known: readonly string[] = none,
): KeptInput {
  const found =
    typeof input === 'string'
      ? keepText(input, paths, redactor, known)
      : redactor.hideInInput(input, paths, known);
  if (found === undefined)
    return { kept: input, hidden: none, repeated: none, digest: digestJson(input), secrets: none };
  const { value, hidden, repeated, secrets } = found;
  const digest = hidden.length === 0 ? digestJson(input) : keyedDigestJson(seal.digestKey, input);
  return { kept: value, hidden, repeated, digest, secrets };
}

/** The same input without secrets known from other sources. */
export function hideKnown(
  requested: KeptInput,
  input: ParsedArguments,
  known: readonly string[],
  seal: Seal,
): KeptInput {
  if (known.length === 0) return requested;
  const found: string[] = [];
  const kept = createKnownSecrets(known, shortestShared).json(requested.kept, found);
  if (kept === requested.kept) return requested;
  const digest = keyedDigestJson(seal.digestKey, input.ok ? input.arguments : input.raw);
  return {
    kept,
    hidden: [...new Set([...requested.hidden, ...found])],
    repeated: [...new Set([...requested.repeated, ...found])],
    digest,
    secrets: requested.secrets,
  };
}

/** Arguments are an object. Text that could not be parsed stays text. */
function keepText(
  text: string,
  paths: readonly string[] | undefined,
  redactor: Redactor,
  known: readonly string[],
): Redacted {
  // The text is not parsed, so the named paths cannot be located: all of it is hidden.
  if (paths !== undefined && paths.length > 0)
    return { value: redacted, hidden: ['$'], repeated: [], secrets: [text] };
  const isSecretName = (name: string): boolean => redactor.input({ [name]: true }).hidden.length > 0;
  const found = new Set<string>();
  const masked = maskUnreadable(text, isSecretName, found);
  const { value, secrets } = redactor.input(masked, undefined, [...known, ...found]);
  return { value, hidden: value === text ? [] : ['$'], repeated: [], secrets: [...found, ...secrets] };
}

/**
 * The input that hooks, rules and grants judge: the effective input with artifacts filled in. If the schema's result is
 * not an object, the arguments that it accepted.
 */
export function judgedInput({
  form,
  value,
  checked,
}: Pick<PreparedInput, 'form' | 'value' | 'checked'>): JsonObject {
  const read = form === 'json' ? value : looseJson(value, checked);
  return isJsonObject(read) ? read : checked;
}

type Given = Pick<PreparedInput, 'form' | 'value' | 'checked'>;

/**
 * The input for functions of a tool. If it is JSON, each function gets its own copy, so changes by one are invisible to
 * the next. A value that JSON cannot hold is passed unchanged and compared with the record before a body gets it.
 */
export function inputForTool(schema: CompiledSchema, { form, value, checked }: Given): unknown {
  const given = form === 'json' ? copyOf(value as JsonValue) : value; // the form says so
  return schema.wrap === undefined ? given : schema.wrap(checked, given);
}

export function copyOf(input: JsonValue): JsonValue {
  const copy = copyJson(input, false);
  if (!(copy instanceof JsonCopying)) return copy ?? null;
  const { path = [], problem } = copy;
  throw new TypeError(`Arguments stopped being JSON at ${formatPath(path.reverse())}: ${problem}`);
}

/** A recorded input before redaction. */
export type RecordedInput = {
  /** Undefined in ledgers of earlier versions: the input is then the one that the schema accepted. */
  readonly form: InputForm | undefined;
  readonly effectiveInput: JsonObject;
  readonly accepted: JsonObject;
  readonly artifacts: readonly Pick<ArtifactArgument, 'digest'>[];
};

/**
 * The digest that a decision is bound to. A rendering does not describe a value completely, so it also covers
 * the arguments and the contents they name. `key`: set if part of the input is hidden.
 */
export function inputDigestOf(input: RecordedInput, key: Uint8Array | undefined): string {
  const { form, effectiveInput, accepted, artifacts } = input;
  const digested: JsonValue =
    form === 'typed'
      ? { accepted, artifacts: artifacts.map(({ digest }) => digest), rendering: effectiveInput }
      : effectiveInput;
  return key === undefined ? digestJson(digested) : keyedDigestJson(key, digested);
}

/** True if the digest matches this input. */
export const isInputDigest = (digest: string, input: RecordedInput, key: Uint8Array): boolean =>
  digest === inputDigestOf(input, isKeyedDigest(digest) ? key : undefined);

/** The resources that a call touches, as its tool declares them. Undefined means any. */
export function resourceKeysOf(tool: AnyTool, input: () => unknown): readonly string[] | undefined {
  if (tool.resourceKeys === undefined) return undefined;
  try {
    const keys: unknown = tool.resourceKeys(input());
    return Array.isArray(keys) && keys.every((key) => typeof key === 'string') ? keys : undefined;
  } catch {
    return undefined;
  }
}

/** The snapshot of a preview for the body, exactly as the tool made it. */
export type Snapshot = PreviewedOperation & {
  /** Digest of the input that the preview was made for. */
  readonly inputDigest: string;
  /** Values in it that its stored form hides. */
  readonly hiddenValues: readonly string[];
};

/** The part of a call that determines what must be hidden. */
export type CallWithSecrets = {
  readonly engine: { readonly redactor: Redactor };
  readonly tool: AnyTool | undefined;
  readonly secrets: CallSecrets;
};

/**
 * Removes secrets from text before it is stored or returned: values that the redactor finds, and values hidden in the input
 * that a tool, a rule or a person repeats.
 */
export const clean = ({ engine, secrets }: CallWithSecrets, text: string): string =>
  secrets.known.text(engine.redactor.text(text));

export function cleanObject({ engine, secrets }: CallWithSecrets, value: JsonObject): JsonObject {
  const { value: kept, secrets: found } = engine.redactor.input(value);
  secrets.learn(found);
  return secrets.known.json(kept) as JsonObject; // neither step turns an object into anything else
}

export function cleanOutput({ engine, secrets, tool }: CallWithSecrets, output: JsonValue): JsonValue {
  const redacted = engine.redactor.hideInOutput(output, tool?.redact?.output);
  if (redacted === undefined) return secrets.known.json(output);
  secrets.learn(redacted.secrets);
  return secrets.known.json(redacted.value);
}

/** The state of a workflow without secrets. Its keys are names of stages and tools, not secrets. */
export function cleanState({ engine, secrets }: CallWithSecrets, state: JsonObject): JsonObject {
  const { value: kept } = engine.redactor.output(state);
  return secrets.known.json(kept) as JsonObject; // neither step turns an object into anything else
}

/** Bytes without hidden values. Returns the same bytes if nothing was found. */
export function cleanBytes(
  bytes: Uint8Array,
  cleanText: (text: string) => string,
  known: KnownSecrets,
): Uint8Array {
  const text = readUtf8(bytes);
  if (text === undefined) return overwriteSecrets(bytes, known);
  const clean = cleanText(text);
  return clean === text ? bytes : new TextEncoder().encode(clean);
}

function readUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const asterisk = 0x2a;

/**
 * A binary file keeps its length; only the value itself is overwritten. One character stands for each byte.
 */
function overwriteSecrets(bytes: Uint8Array, known: KnownSecrets): Uint8Array {
  if (known.isEmpty) return bytes;
  const written = known.values.flatMap((value) => [
    Buffer.from(value, 'utf8').toString('latin1'),
    Buffer.from(value, 'utf16le').toString('latin1'),
  ]);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const spans = createKnownSecrets(written, shortestEchoed).spans(text);
  if (spans.length === 0) return bytes;
  const copy = new Uint8Array(bytes);
  for (const [start, end] of spans) copy.fill(asterisk, start, end);
  return copy;
}

/** The values of `input` that are hidden in `kept`, found by comparing the two. */
export function collectHidden(input: JsonValue, kept: JsonValue): readonly string[] {
  const found = new Set<string>();
  compare(input, kept, found);
  return [...found];
}

function compare(input: JsonValue, kept: JsonValue, found: Set<string>): void {
  if (input === kept) return;
  if (kept === redacted) collectLeaves(input, found);
  else if (typeof kept === 'string') collectMasked(`${input as string | number}`, kept, found); // only these are masked in part
  else if (Array.isArray(input) && Array.isArray(kept))
    for (const [index, item] of input.entries()) compare(item, kept[index] ?? null, found);
  else if (isJsonObject(input) && isJsonObject(kept)) compareMembers(input, kept, found);
}

/** Keys may be masked too. Such members are matched by their order. */
function compareMembers(input: JsonObject, kept: JsonObject, found: Set<string>): void {
  const masked = Object.keys(kept).filter((key) => !Object.hasOwn(input, key));
  for (const key of Object.keys(input)) {
    const keptKey = Object.hasOwn(kept, key) ? key : (masked.shift() ?? key);
    if (keptKey !== key) collectMasked(key, keptKey, found);
    compare(input[key] ?? null, kept[keptKey] ?? null, found);
  }
}

/** The text at the position of a mask; the rest of the two texts is equal. */
function collectMasked(input: string, kept: string, found: Set<string>): void {
  const [head = '', ...pieces] = kept.split(redacted);
  let start = head.length;
  for (const [index, piece] of pieces.entries()) {
    const isLast = index === pieces.length - 1;
    const end =
      isLast || piece === '' ? input.length - (isLast ? piece.length : 0) : input.indexOf(piece, start + 1);
    if (end < start) return;
    const value = input.slice(start, end);
    if (value.length >= shortestEchoed && value !== redacted) found.add(value);
    start = end + piece.length;
  }
}

function collectLeaves(value: JsonValue, found: Set<string>): void {
  if (typeof value === 'string' || typeof value === 'number') {
    if (String(value).length >= shortestEchoed) found.add(String(value));
  } else if (Array.isArray(value)) for (const item of value) collectLeaves(item, found);
  else if (isJsonObject(value)) for (const item of Object.values(value)) collectLeaves(item, found);
}

/** The paths whose whole value is hidden in a stored form. */
export function maskedPaths(kept: JsonValue | undefined, at: JsonPath = []): readonly string[] {
  if (kept === redacted) return [formatPath(at)];
  if (Array.isArray(kept)) return kept.flatMap((item: JsonValue, index) => maskedPaths(item, [...at, index]));
  if (!isJsonObject(kept)) return [];
  return Object.entries(kept).flatMap(([key, value]) => maskedPaths(value, [...at, key]));
}

const member =
  /\\{0,8}["'`]?([\p{L}\p{N}_$][\p{L}\p{N}_$.-]{0,119})\\{0,8}["'`]?[ \t\r\n]{0,80}(?::|=>?)[ \t\r\n]{0,80}/gu;
const opening = /\\{0,8}["'`]/y;
const bare = /[^\s,;}\])]*/y;

/**
 * Masks secrets in argument text that is not valid JSON, e.g. cut off or without a comma. Names are found without the
 * grammar. The value after a secret name is hidden up to its apparent end, or to the end of the text. Adds the hidden
 * values to `found`.
 */
export function maskUnreadable(
  text: string,
  isSecretName: (name: string) => boolean,
  found?: Set<string>,
): string {
  let masked = '';
  let done = 0;
  for (const match of text.matchAll(member)) {
    const start = match.index + match[0].length;
    if (match.index < done || start >= text.length || !isSecretName(match[1] ?? '')) continue;
    const [from, to] = spanOfValue(text, start);
    found?.add(text.slice(from, to));
    masked += `${text.slice(done, from)}${redacted}`;
    done = to;
  }
  return masked + text.slice(done);
}

/** From after the opening quote to the closing one, or to the end of the text if there is none. */
function spanOfValue(text: string, start: number): readonly [from: number, to: number] {
  opening.lastIndex = start;
  const quote = opening.exec(text)?.[0];
  if (quote !== undefined) {
    const from = start + quote.length;
    let end = text.indexOf(quote, from);
    // An escaped quote belongs to the value.
    while (end !== -1 && text[end - 1] === '\\') end = text.indexOf(quote, end + 1);
    return [from, end === -1 ? text.length : end];
  }
  if (text[start] === '{' || text[start] === '[') return [start, text.length];
  bare.lastIndex = start;
  return [start, start + (bare.exec(text)?.[0].length ?? 0)];
}

/** Result of reading the recorded input. */
export type RestoredInput =
  | { readonly type: 'ready'; readonly prepared: PreparedInput }
  /** The schema returns another value than the recorded one. */
  | { readonly type: 'differs'; readonly prepared: PreparedInput }
  | {
      readonly type: 'unusable';
      readonly problem: string;
      readonly why: 'altered' | 'gone' | 'refused';
    };
