import { QuittanceError } from './error.ts';
import type { JsonObject, JsonValue } from './json.ts';
import { defineMember, formatPath } from './json.ts';

/** One step of a declared path: an own key or index, every member, or every item of an array. */
type Step = { readonly to: 'key'; readonly key: string } | { readonly to: 'any' } | { readonly to: 'items' };
export type RedactionPath = readonly Step[];

/**
 * Reads a declared path: `a.b`, `a.*.b`, `a[].b`, `a.0.b`, `a[0].b`, `["x y"].b`, and `$` for all of it.
 * Throws `config.invalid` on anything else.
 */
export function parseRedactionPath(path: string): RedactionPath {
  const steps: Step[] = [];
  const text = path.startsWith('$') ? path.slice(1) : path.startsWith('[') ? path : `.${path}`;
  const stepPattern = /\.([^.[\]]+)|\[(\d*|\*)\]|\[("(?:[^"\\]|\\.)*")\]/y;
  while (stepPattern.lastIndex < text.length) {
    const [, name, index, quoted] = stepPattern.exec(text) ?? refusePath(path);
    if (name === '*' || index === '*') steps.push({ to: 'any' });
    else if (index === '') steps.push({ to: 'items' });
    else steps.push({ to: 'key', key: name ?? index ?? unquote(quoted ?? '', path) });
  }
  return steps;
}

/** Puts `mask` wherever the path leads and records those paths. Returns `value` itself if it leads nowhere. */
export function maskPath(value: JsonValue, steps: RedactionPath, mask: string, hidden: string[]): JsonValue {
  const trail: (string | number)[] = [];
  const visit = (at: JsonValue, depth: number): JsonValue => {
    const step = steps[depth];
    if (step === undefined) {
      if (at !== mask) hidden.push(formatPath(trail));
      return mask;
    }
    if (typeof at !== 'object' || at === null) return at;
    const isArray = Array.isArray(at);
    let copy: { [key: string]: JsonValue } | undefined;
    for (const key of keysOf(at, step)) {
      const before = (at as { readonly [key: string]: JsonValue })[key] as JsonValue;
      trail.push(isArray ? Number(key) : key);
      const after = visit(before, depth + 1);
      trail.pop();
      if (after === before) continue;
      copy ??= copyHolder(at);
      defineMember(copy, key, after);
    }
    return copy ?? at;
  };
  return visit(value, 0);
}

/** Everything the path leads to. */
export function valuesAt(value: JsonValue, steps: RedactionPath): readonly JsonValue[] {
  let found: JsonValue[] = [value];
  for (const step of steps)
    found = found.flatMap((at) =>
      typeof at === 'object' && at !== null
        ? keysOf(at, step).map((key) => (at as { readonly [key: string]: JsonValue })[key] as JsonValue)
        : [],
    );
  return found;
}

/** One level deep; an array stays an array, with its indexes as keys. */
const copyHolder = (holder: readonly JsonValue[] | JsonObject): { [key: string]: JsonValue } =>
  (Array.isArray(holder) ? [...(holder as readonly JsonValue[])] : { ...(holder as JsonObject) }) as {
    [key: string]: JsonValue;
  };

function keysOf(holder: object, step: Step): readonly string[] {
  switch (step.to) {
    case 'any':
      return Object.keys(holder);
    case 'items':
      return Array.isArray(holder) ? Object.keys(holder) : [];
    case 'key':
      // `length` is an own property of an array, but not one of its items.
      return Object.prototype.propertyIsEnumerable.call(holder, step.key) ? [step.key] : [];
  }
}

function unquote(quoted: string, path: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return refusePath(path);
  }
}

function refusePath(path: string): never {
  throw new QuittanceError(
    'config.invalid',
    `${JSON.stringify(path)} is not a path to redact. Write it like a.b, a.*.b, a[].b, a.0.b or ["x y"].b.`,
  );
}
