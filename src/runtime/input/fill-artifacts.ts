/**
 * An argument `{"$artifact": "id"}` stands for the content of an artifact of the same session. The schema,
 * the policy and the body get that content. The stored and digested form has the name with the content's
 * digest, so an approval covers exactly that content.
 */
import { contentBytes, contentDigest } from '../../base/content-digest.ts';
import type { JsonObject, JsonPath, JsonValue } from '../../base/json.ts';
import { isJsonObject, readJsonText } from '../../base/json.ts';
import { canonicalJson } from '../../base/canonical.ts';
import type { ArtifactArgument } from '../../call/event.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { valueAt } from '../../tool/json-edit.ts';
import { isAltered, readStoredArtifact } from '../host/read-stored-artifact.ts';

/** Access to the artifacts of a session. */
export type ArtifactSource = { readonly ledger: Ledger; readonly sessionId: string };

/** An artifact named in the arguments, with its content. */
export type FoundArtifact = Omit<ArtifactArgument, 'inPlace' | 'preview'> & {
  readonly name: JsonObject;
  readonly content: JsonValue;
  readonly text: string;
};

export type FilledArguments =
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

/** Does this value name an artifact anywhere? */
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
