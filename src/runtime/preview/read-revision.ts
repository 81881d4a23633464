/**
 * One version of a preview, prepared for storage and display: checked, redacted, cut for display. The
 * snapshot is never cut, since the body needs all of it.
 */
import { latestInstant } from '../../base/clock.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { formatPath, freezeJson, isJsonObject, readJsonText, toJson } from '../../base/json.ts';
import type { Preview, PreviewField } from '../../tool/preview.ts';
import { cutForDisplay } from '../../tool/cut-for-display.ts';
import { cutText } from '../../base/cut-text.ts';
import { describeValue } from '../../tool/describe-value.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import type { ReadyCall } from '../state/call-stages.ts';
import type { KnownSecrets } from '../../base/known-secrets.ts';
import { createKnownSecrets, shortestEchoed } from '../../base/known-secrets.ts';
import { clean } from '../input/clean.ts';

export type ReadRevision = {
  readonly preview: Preview;
  /** As the tool returned it, frozen. */
  readonly exact: JsonObject;
  /** The stored form, and the paths that it hides. */
  readonly kept: JsonObject;
  readonly hidden: readonly string[];
  readonly hiddenValues: readonly string[];
  readonly expiresAt: number | undefined;
};

export const longestPreview = 20_000;
const longestName = 500;
const mostFields = 200;
const longestSnapshot = 262_144;

/** Why a version cannot be used. The text continues "The preview of the tool …". */
export type PreviewProblem = { readonly type: 'problem'; readonly problem: string };

const problemOf = (problem: string): PreviewProblem => ({ type: 'problem', problem });

export function readRevision(
  live: ReadyCall,
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
  const expiresAt = readExpiry(own, live.engine.ledger.now());
  if (expiresAt.type === 'problem') return expiresAt;
  const snapshot = keepSnapshot(live, exact);
  const known = createKnownSecrets(snapshot.hiddenValues, shortestEchoed);
  const shown = readPreview(live, own, known);
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
  live: ReadyCall,
  exact: JsonObject,
): Pick<ReadRevision, 'kept' | 'hidden' | 'hiddenValues'> {
  const { redactor } = live.engine;
  const redacted = redactor.output(exact, live.tool.redact?.snapshot);
  const hidden = [...redacted.hidden];
  // Both steps return an object for an object.
  const kept = live.secrets.known.json(redacted.value, hidden) as JsonObject;
  return { kept: freezeJson(kept), hidden: [...new Set(hidden)], hiddenValues: redacted.secrets };
}

type ShownPreview = { readonly type: 'preview'; readonly preview: Preview };

const shownAs = (preview: Preview): ShownPreview => ({ type: 'preview', preview });

function readPreview(
  live: AcceptedCall,
  own: ReadonlyMap<string, JsonValue>,
  hiddenInSnapshot: KnownSecrets,
): ShownPreview | PreviewProblem {
  const cleanShown = (text: string): string => hiddenInSnapshot.text(clean(live, text));
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
      return readFields(live, fields, cleanShown);
    }
    default:
      return unknownKind;
  }
}

const unknownKind = problemOf('has a kind other than text, diff, fields or command');

function readFields(
  live: AcceptedCall,
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
      const { value: redacted } = live.engine.redactor.input({ [name]: value });
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
