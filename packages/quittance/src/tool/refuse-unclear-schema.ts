/**
 * Finds parts of a JSON Schema that would silently be ignored or misjudged. These are misspelt keywords, unknown
 * formats, keywords that Ajv judges wrongly, and endless references. Each is rejected when the tool is defined.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject, ownValue } from '../base/json.ts';
import { isSlipOf, nearestNames, quote } from '../base/nearest.ts';

const schemaFields = [
  'items additionalItems unevaluatedItems contains additionalProperties unevaluatedProperties propertyNames',
  'not if then else contentSchema',
]
  .join(' ')
  .split(' ');
const listFields = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];
const mapFields = [
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
];

/** Keywords that change a verdict. A typo in one of them would change it silently. */
const judging = new Set([
  ...schemaFields,
  ...listFields,
  ...mapFields,
  ...[
    'type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern',
    'maxItems minItems uniqueItems maxContains minContains maxProperties minProperties required dependentRequired',
    'format $ref $dynamicRef $recursiveRef $anchor $dynamicAnchor $recursiveAnchor $id $schema nullable',
  ]
    .join(' ')
    .split(' '),
]);

/** Annotations for people, and other keywords known to be harmless. */
const harmless = new Set(
  [
    'title description default examples example deprecated readOnly writeOnly $comment $vocabulary $async id',
    'contentEncoding contentMediaType discriminator xml externalDocs enumNames enumDescriptions',
    'markdownDescription defaultSnippets errorMessage propertyOrder propertyOrdering tsType',
  ]
    .join(' ')
    .split(' '),
);

/** A problem with one keyword of a schema. Without the keyword, the rest can be checked. */
export class UnclearKeyword extends Error {
  readonly node: JsonObject;
  readonly key: string;

  constructor(message: string, node: JsonObject, key: string) {
    super(message);
    this.node = node;
    this.key = key;
  }
}

/**
 * Throws an error whose message names the problem. `formats` are the supported ones. `isEvaluated`: does the evaluator
 * check what Ajv misjudges?
 */
export function refuseUnclearSchema(
  schema: JsonObject | boolean,
  formats: ReadonlySet<string>,
  isEvaluated: boolean,
): void {
  for (const problem of findUnclearKeywords(schema, formats, isEvaluated)) throw problem;
  const nodes = [...walkSchema(schema, '#')];
  const byPath = new Map(nodes.map(({ node, at }) => [at, node]));
  refuseEndless(nodes, (node) => {
    const reference = ownValue(node, '$ref');
    const target =
      typeof reference !== 'string'
        ? undefined
        : reference === '#'
          ? schema
          : byPath.get(decodePointer(reference));
    return target === undefined ? [] : [target];
  });
}

/** Every keyword with a problem. The caller may remove one before it asks for the next. */
export function* findUnclearKeywords(
  schema: JsonObject | boolean,
  formats: ReadonlySet<string>,
  isEvaluated: boolean,
): Generator<UnclearKeyword> {
  const nodes = [...walkSchema(schema, '#')];
  for (const { node, at } of nodes) {
    for (const key of Object.keys(node)) {
      const problem = findMisspelt(node, key, at);
      if (problem !== undefined) yield problem;
    }
    const format = ownValue(node, 'format');
    if (typeof format === 'string' && !formats.has(format))
      yield new UnclearKeyword(unknownFormat(format, at, formats), node, 'format');
    const misjudged = isEvaluated ? undefined : findMisjudged(node, at);
    if (misjudged !== undefined) yield misjudged;
  }
}

type Placed = { readonly node: JsonObject; readonly at: string };

/**
 * Every schema inside a schema. Names of properties and values of enum, const, default and the like are not schemas.
 */
export function* walkSchema(schema: JsonValue, at: string): Generator<Placed> {
  if (!isJsonObject(schema)) return;
  yield { node: schema, at };
  for (const { schema: inner, step } of childSchemas(schema)) yield* walkSchema(inner, `${at}/${step}`);
}

/** The schemas directly inside a schema. */
export function* childSchemas(
  schema: JsonObject,
): Generator<{ readonly schema: JsonValue; readonly step: string }> {
  for (const [key, value] of Object.entries(schema)) {
    if (listFields.includes(key) && Array.isArray(value))
      for (const [index, inner] of (value as readonly JsonValue[]).entries())
        yield { schema: inner, step: `${key}/${index}` };
    else if (mapFields.includes(key) && isJsonObject(value))
      for (const [name, inner] of Object.entries(value)) yield { schema: inner, step: `${key}/${name}` };
    else if (schemaFields.includes(key)) yield { schema: value, step: key };
  }
}

export const isKnownKeyword = (key: string): boolean =>
  judging.has(key) || harmless.has(key) || /^(?:x-|\$comment|~)/.test(key);

function findMisspelt(node: JsonObject, key: string, at: string): UnclearKeyword | undefined {
  if (isKnownKeyword(key)) return undefined;
  // No misspelt keyword is that long.
  if (key.length > 40) return undefined;
  const plain = key.replaceAll(/[_-]/g, '');
  const near = [...judging].filter((known) => isSlipOf(plain, known, known.length > 5 ? 2 : 1));
  const [meant] = nearestNames(plain, near, 1);
  if (meant === undefined) return undefined;
  return new UnclearKeyword(
    `It has the keyword ${quote(key)} at ${at}, which does not exist. Did you mean ${quote(meant)}? ` +
      'Start your own annotations with "x-".',
    node,
    key,
  );
}

function unknownFormat(format: string, at: string, formats: ReadonlySet<string>): string {
  const [near] = nearestNames(format, formats, 1);
  const meant = near === undefined ? '' : ` Did you mean ${quote(near)}?`;
  return (
    `It has the unknown format ${quote(format)} at ${at}, which would check nothing.${meant} Use a ` +
    'pattern, or remove it.'
  );
}

/** Next to these, Ajv does not know which items or properties were evaluated. */
const inPlace = ['allOf', 'anyOf', 'oneOf', 'not', 'if', '$ref', 'dependentSchemas', 'contains'];

/** Ajv's code for these judges some values wrongly and throws for others. */
const evaluatedKeywords = ['unevaluatedItems', 'unevaluatedProperties'];

/** Does Ajv judge values by this schema wrongly, or fail to compile it? */
export const isMisjudged = (schema: JsonObject): boolean =>
  [...walkSchema(schema, '#')].some(({ node, at }) => {
    const reference = ownValue(node, '$ref');
    return (
      evaluatedKeywords.some((key) => Object.hasOwn(node, key)) ||
      findMisjudged(node, at) !== undefined ||
      (Object.hasOwn(node, '$id') && node !== schema) ||
      (typeof reference === 'string' && !reference.startsWith('#'))
    );
  });

function findMisjudged(node: JsonObject, at: string): UnclearKeyword | undefined {
  const refuse = (key: string, message: string): UnclearKeyword => new UnclearKeyword(message, node, key);
  if (Object.hasOwn(node, '$dynamicRef'))
    return refuse('$dynamicRef', `It has "$dynamicRef" at ${at}, which is not supported. Use "$ref".`);
  if (Object.hasOwn(node, '$recursiveRef') && node['$recursiveAnchor'] !== undefined)
    return refuse('$recursiveRef', `It has "$recursiveRef" at ${at}, which is not supported. Use "$ref".`);
  const unevaluated = evaluatedKeywords.filter((key) => Object.hasOwn(node, key));
  if (unevaluated.length === 0) return undefined;
  const siblings = inPlace.filter((key) => Object.hasOwn(node, key));
  if (unevaluated.includes('unevaluatedItems') && siblings.length > 0)
    return refuse(
      'unevaluatedItems',
      `It has "unevaluatedItems" next to ${quote(siblings[0] ?? '')} at ${at}, which is not supported. ` +
        'Use "items" and "prefixItems".',
    );
  for (const inner of walkSchema(node, at))
    if (
      Object.hasOwn(inner.node, 'if') &&
      !(Object.hasOwn(inner.node, 'then') && Object.hasOwn(inner.node, 'else'))
    )
      return refuse(
        'unevaluatedProperties',
        `It has "unevaluatedProperties" at ${at} and an "if" without both "then" and "else" at ` +
          `${inner.at}, which is not supported. Add the missing one.`,
      );
  return undefined;
}

/** A reference that leads back to itself at the same value never ends. */
export function refuseEndless(
  nodes: readonly Placed[],
  targetsOf: (node: JsonObject) => readonly JsonValue[],
): void {
  const done = new Set<JsonObject>();
  const trail = new Set<JsonObject>();
  const visit = (node: JsonValue | undefined, at: string): void => {
    if (!isJsonObject(node) || done.has(node)) return;
    if (trail.has(node))
      throw new Error(`It refers to itself endlessly at ${at}: no value could ever be checked against it.`);
    trail.add(node);
    for (const target of targetsOf(node)) visit(target, at);
    for (const key of ['allOf', 'anyOf', 'oneOf']) {
      const list = ownValue(node, key);
      if (Array.isArray(list)) for (const inner of list as readonly JsonValue[]) visit(inner, `${at}/${key}`);
    }
    for (const key of ['not', 'if', 'then', 'else']) visit(ownValue(node, key) as JsonValue, `${at}/${key}`);
    trail.delete(node);
    done.add(node);
  };
  for (const { node, at } of nodes) visit(node, at);
}

const decodePointer = (reference: string): string => {
  try {
    return decodeURIComponent(reference).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return reference;
  }
};

/** `enum: []` accepts no value, and Ajv does not compile it. Returns the same schema if there is none. */
export function withoutEmptyEnums(schema: JsonObject | boolean): JsonObject | boolean {
  const isEmpty = (node: JsonObject): boolean => {
    const values = ownValue(node, 'enum');
    return Array.isArray(values) && values.length === 0;
  };
  if (![...walkSchema(schema, '#')].some(({ node }) => isEmpty(node))) return schema;
  const copy = structuredClone(schema);
  for (const { node } of [...walkSchema(copy, '#')].filter((placed) => isEmpty(placed.node))) {
    const open = node as Record<string, JsonValue>; // our own copy
    delete open['enum'];
    open['allOf'] = [
      ...(Array.isArray(open['allOf']) ? (open['allOf'] as readonly JsonValue[]) : []),
      { not: {} },
    ];
  }
  return copy;
}

/**
 * Formats that are accepted but not checked. Some of the specification need tables of other alphabets; others are
 * written by schema generators next to a pattern.
 */
export const uncheckedFormats: readonly string[] = [
  'idn-email idn-hostname iri iri-reference',
  'cuid cuid2 ulid xid ksuid nanoid jwt emoji base64 base64url hex e164 mac cidrv4 cidrv6 json-string lowercase uppercase',
  'int8 int16 uint8 uint16 uint32 uint64 decimal decimal128 single-char char html commonmark media-range sf-string',
]
  .join(' ')
  .split(' ');
