/**
 * The fields of a form for a JSON Schema. A schema that fits no kind of field becomes a field for JSON text, so every
 * value can be entered. The server checks the whole schema; the form checks only what helps while typing.
 */
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';

export type FormField = {
  readonly description: string | undefined;
  /** Is `null` a value of it? */
  readonly isNullable: boolean;
} & (
  | { readonly kind: 'text'; readonly minLength: number; readonly maxLength: number }
  | {
      readonly kind: 'number';
      readonly isInteger: boolean;
      readonly minimum: number;
      readonly maximum: number;
    }
  | { readonly kind: 'flag' }
  | { readonly kind: 'choice'; readonly choices: readonly JsonValue[] }
  | { readonly kind: 'object'; readonly members: readonly FormMember[]; readonly isOpen: boolean }
  | { readonly kind: 'list'; readonly item: FormField }
  | { readonly kind: 'json' }
);

export type FormMember = {
  readonly name: string;
  readonly label: string;
  readonly isRequired: boolean;
  readonly field: FormField;
};

/** Deeper values are entered as JSON: nested boxes are hard to read. */
const deepest = 4;
const mostMembers = 60;
const mostChoices = 200;

export function toFormField(schema: JsonObject, root: JsonObject = schema, depth = 0): FormField {
  const about = { description: textOf(schema['description']), isNullable: false };
  const json: FormField = { ...about, kind: 'json' };
  if (depth > deepest) return json;
  const { $ref } = schema;
  if (typeof $ref === 'string') {
    const target = findDefinition(root, $ref);
    return target === undefined ? json : { ...toFormField(target, root, depth + 1), ...given(about) };
  }
  const choices = choicesOf(schema);
  if (choices !== undefined) return { ...about, kind: 'choice', choices };
  const only = withoutNull(schema);
  if (only !== undefined)
    return { ...toFormField(only, root, depth), ...given(about), isNullable: true } as FormField;
  // Several schemas at once: their fields cannot be told apart here.
  if (['anyOf', 'oneOf', 'allOf', 'not', 'if', 'enum', 'const'].some((word) => Object.hasOwn(schema, word)))
    return json;
  switch (textOf(schema['type']) ?? '') {
    case 'string':
      return {
        ...about,
        kind: 'text',
        minLength: numberOf(schema['minLength'], 0),
        maxLength: numberOf(schema['maxLength'], Number.POSITIVE_INFINITY),
      };
    case 'number':
    case 'integer':
      return {
        ...about,
        kind: 'number',
        isInteger: schema['type'] === 'integer',
        minimum: numberOf(schema['minimum'], Number.NEGATIVE_INFINITY),
        maximum: numberOf(schema['maximum'], Number.POSITIVE_INFINITY),
      };
    case 'boolean':
      return { ...about, kind: 'flag' };
    case 'array': {
      const { items } = schema;
      return isJsonObject(items) && !Object.hasOwn(schema, 'prefixItems')
        ? { ...about, kind: 'list', item: toFormField(items, root, depth + 1) }
        : json;
    }
    case 'object':
      return toObjectField(schema, root, depth, about) ?? json;
    default:
      return json;
  }
}

function toObjectField(
  schema: JsonObject,
  root: JsonObject,
  depth: number,
  about: Pick<FormField, 'description' | 'isNullable'>,
): FormField | undefined {
  const properties = schema['properties'] ?? {};
  if (!isJsonObject(properties) || Object.hasOwn(schema, 'patternProperties')) return undefined;
  const entries = Object.entries(properties);
  const isOpen = schema['additionalProperties'] !== false;
  if (entries.length > mostMembers || (entries.length === 0 && isOpen && depth > 0)) return undefined;
  const required = new Set(listOf(schema['required']));
  return {
    ...about,
    kind: 'object',
    isOpen,
    members: entries.map(([name, member]) => {
      const title = isJsonObject(member) ? textOf(member['title']) : undefined;
      return {
        name,
        label: title ?? name,
        isRequired: required.has(name),
        field: isJsonObject(member)
          ? toFormField(member, root, depth + 1)
          : { description: undefined, isNullable: false, kind: 'json' },
      };
    }),
  };
}

/** The values of an enumeration, also if each value has its own schema. */
function choicesOf(schema: JsonObject): readonly JsonValue[] | undefined {
  if (Object.hasOwn(schema, 'const')) return [schema['const'] ?? null];
  const listed = listOf(schema['enum']);
  if (listed.length > 0) return listed.length <= mostChoices ? listed : undefined;
  const ways = waysOf(schema);
  return ways.length > 0 && ways.length <= mostChoices && ways.every((way) => Object.hasOwn(way, 'const'))
    ? ways.map((way) => way['const'] ?? null)
    : undefined;
}

/** The schema of the values other than null; undefined if null is not allowed or there are several other schemas. */
function withoutNull(schema: JsonObject): JsonObject | undefined {
  const { type } = schema;
  if (Array.isArray(type)) {
    const others = listOf(type).filter((word) => word !== 'null');
    const [other] = others;
    return others.length === 1 && other !== undefined && others.length < type.length
      ? { ...schema, type: other }
      : undefined;
  }
  const ways = waysOf(schema);
  const others = ways.filter((way) => way['type'] !== 'null');
  return ways.length === 2 && others.length === 1 ? others[0] : undefined;
}

const waysOf = (schema: JsonObject): readonly JsonObject[] =>
  [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])].filter(isJsonObject);

/** Follows a reference inside the same schema: `#/$defs/address`. */
function findDefinition(root: JsonObject, reference: string): JsonObject | undefined {
  if (!reference.startsWith('#/')) return undefined;
  let found: JsonValue | undefined = root;
  for (const step of reference.slice(2).split('/')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    found = isJsonObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return isJsonObject(found) ? found : undefined;
}

const given = ({ description }: Pick<FormField, 'description'>): { readonly description?: string } =>
  description === undefined ? {} : { description };

const textOf = (value: JsonValue | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const numberOf = (value: JsonValue | undefined, otherwise: number): number =>
  typeof value === 'number' ? value : otherwise;

const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : []);
