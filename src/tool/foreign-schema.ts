/**
 * JSON Schemas that another program wrote. Their authors are not here to correct them. So a keyword that cannot be
 * checked is left out, and the rest is checked. A schema with a broken or an endless reference is still refused.
 */
import type { JsonObject } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import { compileJsonSchema } from './json-schema.ts';
import { ownValue } from './own-value.ts';
import { UnclearKeyword, walkSchema } from './refuse-unclear-schema.ts';

export type ForeignSchema = {
  readonly schema: JsonObject;
  /** Could a check take very long? The schema and the value may come from the same stranger. */
  readonly isSlow: boolean;
};

/** More problems than this are not worth the time: the schema is refused. */
const mostProblems = 500;
const slowKeywords = ['pattern', 'uniqueItems', '$ref', '$recursiveRef'];

/** The part of the schema that can be checked. Throws an error whose message names the problem. */
export function readForeignSchema(given: JsonObject): ForeignSchema {
  const schema = structuredClone(given);
  for (const { node } of walkSchema(schema, '#')) dropUnusablePatterns(node);
  for (let left = mostProblems; ; left--) {
    try {
      compileJsonSchema(schema);
      break;
    } catch (error) {
      if (!(error instanceof UnclearKeyword) || left === 0) throw error;
      remove(error.node, error.key);
    }
  }
  const nodes = [...walkSchema(schema, '#')];
  return { schema, isSlow: nodes.some(({ node }) => slowKeywords.some((key) => Object.hasOwn(node, key))) };
}

/** Our own copy, so it may change. */
const remove = (node: JsonObject, key: string): void => void Reflect.deleteProperty(node, key);

function dropUnusablePatterns(node: JsonObject): void {
  const pattern = ownValue(node, 'pattern');
  if (typeof pattern === 'string' && !isPattern(pattern)) remove(node, 'pattern');
  const byName = ownValue(node, 'patternProperties');
  if (!isJsonObject(byName) || Object.keys(byName).every(isQuick)) return;
  // Without the patterns it is unknown which properties are additional.
  for (const key of ['patternProperties', 'additionalProperties', 'unevaluatedProperties']) remove(node, key);
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern) instanceof RegExp;
  } catch {
    return false;
  }
}

/** Names are compared without a limit of time, so a pattern for names repeats at most one thing. */
const isQuick = (pattern: string): boolean =>
  isPattern(pattern) && (pattern.match(/[*+{]/g) ?? []).length <= 1;
