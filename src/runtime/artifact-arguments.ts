/**
 * An argument `{"$artifact": "id"}` stands for the content of an artifact of the same session. It is filled in for
 * the schema, the policy and the body; what is kept and digested is the name, since an artifact never changes.
 */
import type { Awaitable, JsonObject, JsonPath, JsonValue } from '../base/json.ts';
import { isJsonObject, readJsonText } from '../base/json.ts';
import type { StoredArtifact } from '../ledger/ledger.ts';

export type FilledArguments =
  | {
      readonly ok: true;
      readonly value: JsonObject;
      /** Where something was filled in. */
      readonly paths: readonly JsonPath[];
      /** Puts the names back in. */
      readonly nameAgain: (filled: JsonObject) => JsonObject;
    }
  | { readonly ok: false; readonly path: JsonPath; readonly problem: string };

/** Whether anything in here stands for an artifact. */
export function namesArtifact(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(namesArtifact);
  if (Object.hasOwn(value, '$artifact')) return true;
  for (const key of Object.keys(value)) if (namesArtifact((value as JsonObject)[key] ?? null)) return true;
  return false;
}

type Place = { readonly path: JsonPath; readonly name: JsonObject };

export async function fillArtifacts(
  input: JsonObject,
  read: (artifactId: string) => Awaitable<StoredArtifact | undefined>,
): Promise<FilledArguments> {
  const places: Place[] = [];
  find(input, [], places);
  let value: JsonValue = input;
  for (const { path, name } of places) {
    const content = await contentOf(name, read);
    if (!content.ok) return { ok: false, path, problem: content.problem };
    value = replaceAt(value, path, content.value);
  }
  return {
    ok: true,
    value: value as JsonObject, // the root is never replaced: `find` starts below it
    paths: places.map(({ path }) => path),
    nameAgain: (filled) =>
      places.reduce<JsonValue>((named, { path, name }) => replaceAt(named, path, name), filled) as JsonObject,
  };
}

function find(value: JsonValue, path: JsonPath, places: Place[]): void {
  if (Array.isArray(value)) for (const [index, item] of value.entries()) find(item, [...path, index], places);
  else if (isJsonObject(value)) {
    if (path.length > 0 && Object.hasOwn(value, '$artifact')) places.push({ path, name: value });
    else for (const key of Object.keys(value)) find(value[key] ?? null, [...path, key], places);
  }
}

async function contentOf(
  name: JsonObject,
  read: (artifactId: string) => Awaitable<StoredArtifact | undefined>,
): Promise<
  { readonly ok: true; readonly value: JsonValue } | { readonly ok: false; readonly problem: string }
> {
  const artifactId = name['$artifact'];
  const form = name['as'];
  const strange = Object.keys(name).find((key) => key !== '$artifact' && key !== 'as');
  if (typeof artifactId !== 'string' || strange !== undefined || (form !== undefined && form !== 'text'))
    return {
      ok: false,
      problem:
        'write {"$artifact": "<id>"}, or {"$artifact": "<id>", "as": "text"} for its text, and nothing else',
    };
  const artifact = await read(artifactId);
  if (artifact === undefined)
    return { ok: false, problem: `this session has no artifact ${JSON.stringify(artifactId)}` };
  if (typeof artifact.content !== 'string')
    return {
      ok: false,
      problem: `the artifact ${JSON.stringify(artifactId)} is a ${artifact.mimeType} file, not text`,
    };
  if (form === 'text' || artifact.mimeType !== 'application/json')
    return { ok: true, value: artifact.content };
  // An output of ours, or a file a tool calls JSON: our own text is read as it was written.
  try {
    return { ok: true, value: readJsonText(artifact.content) };
  } catch {
    return { ok: true, value: artifact.content };
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
