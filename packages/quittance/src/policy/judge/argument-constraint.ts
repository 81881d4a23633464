/**
 * A condition on the arguments of calls, written like a contract condition, but read as a permission.
 *
 * 1. It looks only at `args.*`, with the operators of the language.
 * 2. A value that is missing, null or of the wrong type satisfies nothing, even under `not`. A rule that cannot tell
 *    fires; a permission that cannot tell does not hold. `exists: false` asks for a missing value.
 */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { defineMember } from '../../base/json.ts';
import { quote } from '../../base/nearest.ts';
import { compileExpression } from './compile-expression.ts';
import type { ContractsProblem } from '../language/contracts-problem.ts';
import { nodeFromJson } from '../read/document-node.ts';
import { DocumentReader } from '../read/document-reader.ts';
import type { Expression, Leaf } from '../language/expression.ts';
import { parseRegex } from '../regex/linear-regex.ts';
import type { PolicyWorld } from '../language/policy-call.ts';
import { readExpression } from '../read/read-expression.ts';
import { createReadSettings } from '../read/read-options.ts';

export type ArgumentConstraint = {
  readonly holds: (input: JsonObject) => boolean;
  /** The operands, each placed where its argument would be, so that a caller can check them for secrets. */
  readonly samples: readonly JsonObject[];
};

export type ConstraintReading =
  | { readonly ok: true; readonly constraint: ArgumentConstraint }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads a condition given as JSON, or reports everything that is wrong with it. */
export function parseArgumentConstraint(where: JsonObject): ConstraintReading {
  const problems: ContractsProblem[] = [];
  const reading = { source: 'where', locate: () => ({ line: 1, column: 1 }), problems };
  // Grants on record keep their meaning, whatever their texts look like.
  const settings = createReadSettings({ recorded: true });
  const expression = readExpression(new DocumentReader(nodeFromJson(where), reading), {
    ruleType: 'pre',
    settings,
  });
  if (expression === undefined || problems.length > 0)
    return { ok: false, problems: problems.map(({ field, message }) => inWords(field, message)) };
  const strict = toStrict(expression, true);
  const leaves = leavesOf(strict);
  const strange = leavesOf(expression).flatMap(refuseLeaf);
  if (strange.length > 0) return { ok: false, problems: strange };
  const { evaluate } = compileExpression(strict, {
    world: nowhere,
    readRegex: (pattern) => {
      const found = parseRegex(pattern);
      if (!found.ok) throw new TypeError(`${pattern} cannot be used as a pattern: ${found.problem}`);
      return found.regex;
    },
  });
  return {
    ok: true,
    constraint: {
      holds: (input) =>
        evaluate(
          {
            toolName: '',
            input,
            principal: undefined,
            metadata: undefined,
            snapshot: undefined,
            resources: undefined,
          },
          undefined,
        ) === true,
      samples: leaves
        .filter(({ operator, operandFrom }) => operator !== 'exists' && operandFrom === undefined)
        .map(toSample),
    },
  };
}

const inWords = (field: string, message: string): string =>
  field === '' ? message.replace(/^document\b/, 'where') : `where.${field}: ${message}`;

function refuseLeaf({ selector, operandFrom, onMissing }: Leaf): string[] {
  const foreign = [selector, operandFrom ?? selector].find(({ source }) => source !== 'args');
  if (foreign !== undefined)
    return [`${quote(foreign.text)} is not an argument; only args.<name> can be used here.`];
  return onMissing === 'fire'
    ? [
        `${quote(selector.text)} has on_missing: fire, but a missing value never satisfies a ` +
          'permission. Use exists: false.',
      ]
    : [];
}

/** A leaf about a missing value takes the truth that keeps the whole condition from holding. */
function toStrict(at: Expression, affirmed: boolean): Expression {
  switch (at.type) {
    case 'all':
    case 'any':
      return { type: at.type, of: at.of.map((each) => toStrict(each, affirmed)) };
    case 'not':
      return { type: 'not', of: toStrict(at.of, !affirmed) };
    case 'leaf':
      return { ...at, onMissing: affirmed ? 'skip' : 'fire' };
  }
}

function leavesOf(at: Expression): readonly Leaf[] {
  switch (at.type) {
    case 'all':
    case 'any':
      return at.of.flatMap(leavesOf);
    case 'not':
      return leavesOf(at.of);
    case 'leaf':
      return [at];
  }
}

function toSample({ selector, operand, items }: Leaf): JsonObject {
  let value: JsonValue = operand;
  for (const key of items?.path.toReversed() ?? []) value = memberOf(key, value);
  if (items !== undefined) value = [value];
  for (const key of selector.path.toReversed()) value = memberOf(key, value);
  return value as JsonObject; // a selector of arguments has at least one step
}

function memberOf(key: string, value: JsonValue): JsonObject {
  const holder: { [key: string]: JsonValue } = {};
  defineMember(holder, key, value);
  return holder;
}

/** Only arguments can be looked at. */
const nowhere: PolicyWorld = Object.freeze({
  environment: '',
  env: () => undefined,
  realPath: (path: string) => path,
  workingDirectory: undefined,
  homeDirectory: undefined,
  selectors: {},
  operators: {},
});
