/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language, and of JSON Schema */
/**
 * A JSON Schema (draft 2020-12) of both kinds of documents, for editors. Built from the tables that the loader uses.
 *
 * Every document that loads is valid under it, and an invalid document does not load. It cannot express everything
 * that the loader rejects. Examples: two rules with one id, an invalid regular expression, a deep expression.
 */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { expressionSchemaDefinitions } from './expression-schema.ts';
import type { ReadOptions } from './read-options.ts';
import {
  actionsOf,
  allowsShape,
  apiVersion,
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
import { approvalDefinitions } from './approval-fields.ts';
import { workflowDefinitions, workflowSchema } from './workflow-schema.ts';

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
    not_within: texts,
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
      apiVersion: { const: apiVersion },
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
