/** Suggestions for the word that is being typed: from the schema of rule documents and from the tools of the server. */
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';
import { scalarText, schemasAt } from './schema-at.ts';
import type { YamlPlace } from './yaml-place.ts';
import { yamlPlace } from './yaml-place.ts';

export type Suggestion = {
  readonly label: string;
  /** The text that replaces the typed word. */
  readonly insert: string;
  readonly detail: string | undefined;
};

export type Completions = {
  /** Offset at which the replaced word starts. */
  readonly from: number;
  readonly suggestions: readonly Suggestion[];
};

/** Names that are not in the schema. */
export type KnownNames = {
  readonly tools: readonly string[];
  /** Paths of arguments of a tool, e.g. `address.city`. */
  readonly argumentsOf: (toolName: string) => readonly string[];
};

export const noNames: KnownNames = { tools: [], argumentsOf: () => [] };

const mostSuggestions = 50;

export function completionsAt(
  text: string,
  offset: number,
  schema: JsonObject,
  names: KnownNames,
): Completions | undefined {
  const place = yamlPlace(text, offset);
  if (place === undefined) return undefined;
  const schemas = schemasAt(schema, place.levels);
  const all = [
    ...(place.at === 'value' ? [] : keySuggestions(place, schemas, names)),
    ...(place.at === 'key' ? [] : valueSuggestions(place, schemas, names)),
  ];
  const typed = place.typed.toLowerCase();
  const unique = new Map(all.map((suggestion) => [suggestion.label, suggestion]));
  // Nothing is left to complete.
  unique.delete(place.typed);
  const suggestions = [...unique.values()]
    .filter(({ label }) => matches(label.toLowerCase(), typed))
    .toSorted((one, other) => rank(one.label, typed) - rank(other.label, typed))
    .slice(0, mostSuggestions);
  return suggestions.length === 0 ? undefined : { from: place.from, suggestions };
}

/** `role` finds `principal.role`: every word of a name may be typed first. */
const matches = (label: string, typed: string): boolean =>
  label.startsWith(typed) || ['.', '_'].some((separator) => label.includes(separator + typed));

const rank = (label: string, typed: string): number => (label.toLowerCase().startsWith(typed) ? 0 : 1);

function keySuggestions(
  { levels }: YamlPlace,
  schemas: readonly JsonObject[],
  names: KnownNames,
): readonly Suggestion[] {
  const present = levels.at(-1)?.keys ?? new Map<string, string>();
  const required = new Set(schemas.flatMap(({ required: list }) => (Array.isArray(list) ? list : [])));
  const found = new Map<string, Suggestion>();
  for (const { properties } of schemas)
    for (const [name, schema] of isJsonObject(properties) ? Object.entries(properties) : []) {
      if (present.has(name) || !isJsonObject(schema)) continue;
      const before = found.get(name);
      found.set(name, {
        label: name,
        insert: `${name}:${opensBlock(schema) ? '' : ' '}`,
        detail: before?.detail ?? describe(schema),
      });
    }
  // A mapping whose keys are selectors: what the rule can look at.
  if (schemas.some(({ patternProperties }) => isSelectorMap(patternProperties)))
    for (const selector of selectorsFor(levels, names))
      if (!present.has(selector))
        found.set(selector, { label: selector, insert: `${selector}: `, detail: undefined });
  return [...found.values()].toSorted(
    (one, other) => Number(required.has(other.label)) - Number(required.has(one.label)),
  );
}

function valueSuggestions(
  { levels }: YamlPlace,
  schemas: readonly JsonObject[],
  names: KnownNames,
): readonly Suggestion[] {
  const values = schemas.flatMap((schema): readonly JsonValue[] => [
    ...(Array.isArray(schema['enum']) ? schema['enum'] : []),
    ...(schema['const'] === undefined ? [] : [schema['const']]),
    ...(schema['type'] === 'boolean' ? [true, false] : []),
  ]);
  const [list, last] = levels.slice(-2);
  const key = last?.step === 'item' ? keyOf(list) : keyOf(last);
  const tools = key === 'tool' || key === 'tools' ? names.tools : [];
  return [...values.map(scalarText), ...tools].map((value) => ({
    label: value,
    insert: value,
    detail: undefined,
  }));
}

const keyOf = (level: YamlPlace['levels'][number] | undefined): string | undefined =>
  typeof level?.step === 'object' ? level.step.key : undefined;

/** The keys of an expression are selectors, described by one pattern. */
const isSelectorMap = (patterns: JsonValue | undefined): boolean =>
  isJsonObject(patterns) && Object.keys(patterns).some((pattern) => pattern.includes('principal'));

const selectors = [
  'tool.name',
  'tool.mode',
  'tool.risk',
  'environment',
  'principal.user_id',
  'principal.service_id',
  'principal.org_id',
  'principal.role',
  'principal.ticket_ref',
  'found.paths',
  'found.hosts',
  'found.commands',
  'found.urls',
  'session.failures',
  'session.consecutive_failures',
];

/** Arguments of the rule's tool come first. */
function selectorsFor(levels: YamlPlace['levels'], names: KnownNames): readonly string[] {
  const isPost = levels.some(({ keys }) => keys.get('type') === 'post');
  const tool = levels.map(({ keys }) => keys.get('tool')).findLast((name) => name !== undefined);
  const paths = tool === undefined ? [] : names.argumentsOf(tool.replaceAll(/^["']|["']$/g, ''));
  return [...paths.map((path) => `args.${path}`), ...(isPost ? ['output.text'] : []), ...selectors];
}

const opensBlock = ({ type, $ref, properties, items }: JsonObject): boolean =>
  type === 'object' ||
  type === 'array' ||
  $ref !== undefined ||
  properties !== undefined ||
  items !== undefined;

function describe(schema: JsonObject): string | undefined {
  const { description, enum: choices, type } = schema;
  if (typeof description === 'string') return description;
  if (Array.isArray(choices)) return choices.slice(0, 4).map(scalarText).join(' | ');
  if (schema['const'] !== undefined) return scalarText(schema['const']);
  return typeof type === 'string' ? type : undefined;
}
