/** The part of the document schema that covers `when`. */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { operandKinds, type OperandKind } from '../language/operand.ts';
import { foundKinds } from '../language/found-kinds.ts';
import { countSelectors } from '../language/session-metric.ts';

/** Words a host added to the language. */
export type HostWords = { readonly operators: readonly string[]; readonly selectors: readonly string[] };

const operandSchemas: { readonly [Kind in OperandKind]: JsonObject } = {
  boolean: { type: 'boolean' },
  scalar: { type: ['string', 'number', 'boolean', 'null'] },
  scalars: { type: 'array', minItems: 1, items: { type: ['string', 'number', 'boolean', 'null'] } },
  text: { type: 'string' },
  texts: { type: 'array', minItems: 1, items: { type: 'string' } },
  regex: { type: 'string', description: 'A regular expression in RE2 syntax.' },
  regexes: { type: 'array', minItems: 1, items: { type: 'string' } },
  number: { type: 'number' },
};

/** Definitions for the two places of an expression: before and after the run. */
export function expressionSchemaDefinitions({ operators, selectors }: HostWords): JsonObject {
  const operands: [string, JsonValue][] = [
    ...Object.entries(operandKinds).map(([word, kind]): [string, JsonValue] => [word, operandSchemas[kind]]),
    ...operators.map((word): [string, JsonValue] => [word, true]),
  ];
  const leaf: JsonObject = {
    type: 'object',
    properties: {
      ...Object.fromEntries(operands),
      on_missing: { enum: ['fire', 'skip'], description: 'The result for an absent field.' },
    },
    additionalProperties: false,
    oneOf: operands.map(([word]) => ({ required: [word] })),
  };
  return {
    leaf,
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
    String.raw`tool\.name`,
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
