/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language, and of JSON Schema */
/**
 * A JSON Schema (draft 2020-12) of both kinds of documents, for editors. Built from the tables that the loader uses.
 *
 * Every document that loads is valid under it, and an invalid document does not load. It cannot express everything
 * that the loader rejects. Examples: two rules with one id, an invalid regular expression, an addition of
 * `quittance/v1` in a document that says `edictum/v1`.
 */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { ReadOptions } from './read-options.ts';
import {
  actionsOf,
  allowsShape,
  apiVersions,
  chainWords,
  defaultsShape,
  keysOf,
  limitsShape,
  longestMessage,
  longestTimeout,
  metadataShape,
  namePattern,
  notAllowsShape,
  type ObjectShape,
  olderActions,
  olderKeys,
  olderTimeoutEffects,
  ruleIdPattern,
  ruleModes,
  rulesetShape,
  ruleShapes,
  ruleTypes,
  sideEffects,
  thenShapes,
  timeoutEffects,
  toolFactsShape,
  unlistedEffects,
} from '../language/rule-shape.ts';
import { approvalDefinitions, approvalFields } from './approval-fields.ts';
import { operandKinds, type OperandKind } from '../language/operand.ts';
import { foundKinds } from '../language/found-kinds.ts';
import { countSelectors } from '../language/session-metric.ts';

const text: JsonObject = { type: 'string', minLength: 1 };
const texts: JsonObject = { type: 'array', minItems: 1, items: text };
const count: JsonObject = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER };
const flag: JsonObject = { type: 'boolean' };
const tool: JsonObject = { ...text, description: 'A tool name, or a glob of names with *, ? and [...].' };
const message: JsonObject = {
  type: 'string',
  minLength: 1,
  maxLength: longestMessage,
  description: 'The message when the rule fires. {selector} is replaced by its value.',
};
const words = (known: readonly string[], older: Readonly<Record<string, string>> = {}): JsonObject => ({
  enum: [...known, ...Object.keys(older).filter((word) => known.includes(older[word] ?? ''))],
});
const mode = words(ruleModes);

type Fields = { readonly [field: string]: JsonValue };

/** A closed object. An older spelling of a field may replace it, but not accompany it. */
function closed(shape: ObjectShape, fields: Fields, more: JsonObject = {}): JsonObject {
  const keys = keysOf(shape);
  const properties: [string, JsonValue][] = keys.map((key) => [key, fields[key] ?? true]);
  const required = new Set(shape.required);
  const together: JsonValue[] = [];
  for (const [older, key] of Object.entries(olderKeys)) {
    if (!keys.includes(key) || older === key) continue;
    properties.push([older, fields[key] ?? true]);
    if (required.delete(key)) together.push({ oneOf: [{ required: [key] }, { required: [older] }] });
    else together.push({ not: { required: [key, older] } });
  }
  const { allOf, ...rest } = more;
  const all = [...together, ...(Array.isArray(allOf) ? (allOf as readonly JsonValue[]) : [])];
  return {
    type: 'object',
    required: [...required],
    properties: Object.fromEntries(properties),
    additionalProperties: false,
    ...(all.length === 0 ? {} : { allOf: all }),
    ...rest,
  };
}

const ref = (name: string): JsonObject => ({ $ref: `#/$defs/${name}` });

const eitherOf = (...keys: readonly string[]): JsonObject => ({
  anyOf: keys.map((key) => ({ required: [key] })),
});

const timeouts: Fields = {
  timeout: {
    type: 'integer',
    minimum: 1,
    maximum: longestTimeout,
    description: 'Seconds that a person has to answer.',
  },
  timeout_effect: words(timeoutEffects, olderTimeoutEffects),
  approval: {
    ...ref('approval'),
    description: 'Who must approve before the call may run. Only on a rule that asks.',
  },
};

const then = (type: keyof typeof thenShapes): JsonObject =>
  closed(thenShapes[type], {
    action: words(actionsOf[type], olderActions),
    message,
    tags: { type: 'array', items: text },
    metadata: { type: 'object' },
    ...timeouts,
  });

const perTool: JsonObject = {
  type: 'object',
  minProperties: 1,
  propertyNames: { minLength: 1 },
  additionalProperties: count,
};

const limits: JsonObject = closed(
  limitsShape,
  {
    max_tool_calls: count,
    max_attempts: count,
    max_calls_per_tool: perTool,
    max_failures: { ...count, description: 'Calls that ran and did not succeed.' },
    max_consecutive_failures: { ...count, description: 'Failures since the last success of the session.' },
    max_failures_per_tool: perTool,
    max_consecutive_failures_per_tool: perTool,
  },
  { minProperties: 1 },
);

function ruleDefinitions(): JsonObject {
  const head: Fields = {
    id: { type: 'string', pattern: ruleIdPattern.source },
    enabled: flag,
    mode,
    tool,
    message,
    limits,
    tools: { ...texts, items: tool },
    within: texts,
    not_within: { type: 'array', items: text },
    allows: closed(allowsShape, { commands: texts, domains: texts }, { minProperties: 1 }),
    not_allows: closed(notAllowsShape, { domains: texts }),
    chains: words(chainWords),
    outside: words(actionsOf.sandbox, olderActions),
    ...timeouts,
  };
  return {
    pre: closed(ruleShapes.pre, {
      ...head,
      type: { const: 'pre' },
      when: ref('preExpression'),
      then: then('pre'),
    }),
    post: closed(ruleShapes.post, {
      ...head,
      type: { const: 'post' },
      when: ref('postExpression'),
      then: then('post'),
    }),
    session: closed(ruleShapes.session, { ...head, type: { const: 'session' }, then: then('session') }),
    sandbox: closed(
      ruleShapes.sandbox,
      { ...head, type: { const: 'sandbox' } },
      {
        dependentRequired: { not_within: ['within'], not_allows: ['allows'] },
        allOf: [
          { oneOf: [{ required: ['tool'] }, { required: ['tools'] }] },
          eitherOf('within', 'allows'),
          {
            if: { required: ['not_allows'] },
            then: { properties: { allows: { required: ['domains'] } } },
          },
        ],
      },
    ),
  };
}

function rulesetSchema(): JsonObject {
  const rules: JsonObject = { type: 'array', items: ref('rule') };
  const filled = (key: string): JsonObject => ({
    required: [key],
    properties: { [key]: { minItems: 1 } },
  });
  return closed(
    rulesetShape,
    {
      apiVersion: { enum: apiVersions },
      kind: { enum: ['Ruleset', 'ContractBundle'] },
      metadata: closed(metadataShape, {
        name: { type: 'string', pattern: namePattern.source },
        description: { type: 'string' },
      }),
      defaults: closed(defaultsShape, {
        mode,
        unlisted_tools: {
          ...words(unlistedEffects),
          description: 'The effect on calls of tools that neither a rule nor an entry under tools names.',
        },
      }),
      rules,
      tools: {
        type: 'object',
        propertyNames: { minLength: 1 },
        additionalProperties: closed(toolFactsShape, { side_effect: words(sideEffects), idempotent: flag }),
      },
      observability: { type: 'object' },
      observe_alongside: flag,
      extends: text,
    },
    { anyOf: [{ required: ['extends'] }, filled('rules'), filled('contracts')] },
  );
}

/** The schema, including the words that a host added to the language. */
export function createDocumentSchema({ operators = [], selectors = [] }: ReadOptions = {}): JsonObject {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Quittance contracts',
    description: 'A document of rules about single calls (Ruleset) or about the order of calls (Workflow).',
    type: 'object',
    required: ['kind'],
    if: { properties: { kind: { const: 'Workflow' } } },
    then: ref('workflow'),
    else: ref('ruleset'),
    $defs: {
      ruleset: rulesetSchema(),
      // By type, so that an editor reports only the fields of that type.
      rule: {
        type: 'object',
        required: ['type'],
        properties: { type: { enum: ruleTypes } },
        allOf: ruleTypes.map((type) => ({
          if: { properties: { type: { const: type } }, required: ['type'] },
          then: ref(type),
        })),
      },
      ...ruleDefinitions(),
      ...approvalDefinitions,
      ...expressionSchemaDefinitions({ operators, selectors }),
      workflow: workflowSchema,
      ...workflowDefinitions,
    },
  };
}

/** The part of the document schema that covers `when`. */

/** Words a host added to the language. */
type HostWords = { readonly operators: readonly string[]; readonly selectors: readonly string[] };

const closedExpressionSchema = (key: string, value: JsonObject, description: string): JsonObject => ({
  type: 'object',
  required: [key],
  properties: { [key]: value },
  additionalProperties: false,
  description,
});
const anyScalar: JsonObject = { type: ['string', 'number', 'boolean', 'null'] };
const anyText: JsonObject = { type: 'string' };
const literal = (value: JsonObject): JsonObject =>
  closedExpressionSchema(
    'literal',
    value,
    'This text, although it looks like a selector. Needs quittance/v1.',
  );
const from = ref('from');

const operandDefinitions: JsonObject = {
  from: closedExpressionSchema(
    'from',
    { type: 'string', minLength: 1 },
    'The value of a selector. Needs quittance/v1.',
  ),
  scalar: { anyOf: [anyScalar, literal(anyScalar)] },
  text: { anyOf: [anyText, literal(anyText)] },
};
const listOf = (name: string): JsonObject => ({
  anyOf: [{ type: 'array', minItems: 1, items: ref(name) }, from],
});

const operandSchemas: { readonly [Kind in OperandKind]: JsonObject } = {
  boolean: { type: 'boolean' },
  scalar: { anyOf: [ref('scalar'), from] },
  scalars: listOf('scalar'),
  text: { anyOf: [ref('text'), from] },
  texts: listOf('text'),
  regex: { type: 'string', description: 'A regular expression in RE2 syntax.' },
  regexes: { type: 'array', minItems: 1, items: { type: 'string' } },
  number: { anyOf: [{ type: 'number' }, from] },
};

/** Definitions for the two places of an expression: before and after the run. */
function expressionSchemaDefinitions({ operators, selectors }: HostWords): JsonObject {
  const operands: [string, JsonValue][] = [
    ...Object.entries(operandKinds).map(([word, kind]): [string, JsonValue] => [word, operandSchemas[kind]]),
    ...operators.map((word): [string, JsonValue] => [word, true]),
  ];
  const oneOperator = (more: readonly [string, JsonValue][], extra: JsonObject = {}): JsonObject => {
    const choices = [...operands, ...more];
    return {
      type: 'object',
      properties: { ...Object.fromEntries(choices), ...extra },
      additionalProperties: false,
      oneOf: choices.map(([word]) => ({ required: [word] })),
    };
  };
  const items: JsonObject = {
    description: 'Judges the items of a list, or item.<name> of each. Needs quittance/v1.',
    oneOf: [
      { $ref: '#/$defs/test' },
      {
        type: 'object',
        minProperties: 1,
        maxProperties: 1,
        patternProperties: { [String.raw`^item(\.[^.]+)+$`]: { $ref: '#/$defs/test' } },
        additionalProperties: false,
      },
    ],
  };
  return {
    ...operandDefinitions,
    test: oneOperator([]),
    leaf: oneOperator(
      ['any', 'every'].filter((word) => !operators.includes(word)).map((word) => [word, items]),
      { on_missing: { enum: ['fire', 'skip'], description: 'The result for an absent field.' } },
    ),
    preExpression: expression('preExpression', selectorPattern(selectors, false)),
    postExpression: expression('postExpression', selectorPattern(selectors, true)),
  };
}

function expression(name: string, selector: string): JsonObject {
  const self: JsonObject = { $ref: `#/$defs/${name}` };
  const several: JsonObject = { type: 'array', minItems: 1, items: self };
  return {
    type: 'object',
    minProperties: 1,
    maxProperties: 1,
    properties: { all: several, any: several, not: self },
    patternProperties: { [selector]: { $ref: '#/$defs/leaf' } },
    additionalProperties: false,
  };
}

function selectorPattern(hostSelectors: readonly string[], afterRun: boolean): string {
  const path = String.raw`(\.[^.]+)`;
  const keyed = ['args', 'metadata', 'snapshot', ...(afterRun ? ['result'] : [])];
  const choices = [
    String.raw`tool\.(name|mode|risk)`,
    'environment',
    ...(afterRun ? [String.raw`output\.text`] : []),
    `(${keyed.join('|')})${path}+`,
    String.raw`env\.[\s\S]+`,
    String.raw`found\.(${foundKinds.join('|')})`,
    ...(afterRun
      ? []
      : [String.raw`session\.(${[...countSelectors.keys()].join('|').replaceAll('.', '\\.')})`]),
    String.raw`principal\.(user_id|service_id|org_id|role|ticket_ref)`,
    String.raw`principal\.claims${path}*`,
    ...(hostSelectors.length === 0 ? [] : [`(${hostSelectors.join('|')})${path}*`]),
  ];
  return `^(${choices.join('|')})$`;
}

/** The part of the document schema that covers workflows. Conditions are plain text here; the loader parses them. */

const name: JsonObject = { type: 'string', pattern: namePattern.source };
const stageMessage: JsonObject = { type: 'string', minLength: 1, maxLength: longestMessage };

const closedStage = (required: readonly string[], properties: JsonObject): JsonObject => ({
  type: 'object',
  required,
  properties,
  additionalProperties: false,
});

const workflowSchema: JsonObject = closedStage(['apiVersion', 'kind', 'metadata', 'stages'], {
  apiVersion: { enum: apiVersions },
  kind: { const: 'Workflow' },
  metadata: closedStage(['name'], { name, description: { type: 'string' }, version: text }),
  stages: { type: 'array', minItems: 1, items: { $ref: '#/$defs/stage' } },
});

const workflowDefinitions: JsonObject = {
  gate: closedStage(['condition'], { condition: text, message: stageMessage }),
  check: {
    ...closedStage(['message'], { command_matches: text, command_not_matches: text, message: stageMessage }),
    oneOf: [{ required: ['command_matches'] }, { required: ['command_not_matches'] }],
  },
  stage: closedStage(['id'], {
    id: name,
    description: { type: 'string' },
    entry: { type: 'array', items: { $ref: '#/$defs/gate' } },
    exit: { type: 'array', items: { $ref: '#/$defs/gate' } },
    tools: { type: 'array', items: text },
    checks: { type: 'array', items: { $ref: '#/$defs/check' } },
    approval: closedStage(['message'], { message: stageMessage, ...approvalFields }),
    terminal: { type: 'boolean' },
  }),
};
