/**
 * Compiles a condition to a function, once. It has three values: true, false, policy error.
 *
 * 1. Evaluation goes from left to right and stops as soon as the result is known. An error that is reached is the
 *    result.
 * 2. An absent or null value makes every operator but `exists` false, unless the leaf says `fire`.
 * 3. No input makes it throw: an exception from a host function becomes an error of the condition.
 * 4. A leaf about commands, paths or hosts that were found is an error if one of them cannot be read and none matches.
 */
import type { JsonValue } from '../../base/json.ts';
import type { Expression, Leaf } from '../language/expression.ts';
import { isBuiltInOperator } from '../language/operand.ts';
import type { ReadRegex, Test, Truth } from './operators.ts';
import { compileOperator } from './operators.ts';
import type { OutputView } from './output-view.ts';
import type { PolicyCall, PolicyWorld } from '../language/policy-call.ts';
import type { Select } from './compile-selector.ts';
import { compileIncomplete, compileSelector } from './compile-selector.ts';

export type Condition = (call: PolicyCall, output: OutputView | undefined) => Truth;

/** A condition and its leaves, for code that must find what in the output the condition matched. */
export type CompiledExpression = {
  readonly evaluate: Condition;
  /** Leaves that can make the condition true by being true, from left to right: none under an odd number of `not`. */
  readonly leaves: readonly CompiledLeaf[];
};

export type CompiledLeaf = {
  readonly leaf: Leaf;
  readonly evaluate: Condition;
  readonly select: Select;
  readonly test: Test;
};

export type ExpressionContext = {
  readonly world: PolicyWorld;
  readonly readRegex: ReadRegex;
  /** Called for every evaluated leaf, for explanations. */
  readonly traceLeaf?: TraceLeaf | undefined;
};

/** Receives the leaf, its value and its result. */
export type TraceLeaf = (leaf: Leaf, field: JsonValue | undefined, truth: Truth) => void;

export function compileExpression(expression: Expression, context: ExpressionContext): CompiledExpression {
  const leaves: CompiledLeaf[] = [];
  const compile = (at: Expression, affirmed: boolean): Condition => {
    switch (at.type) {
      case 'all':
        return every(
          at.of.map((each) => compile(each, affirmed)),
          true,
        );
      case 'any':
        return every(
          at.of.map((each) => compile(each, affirmed)),
          false,
        );
      case 'not':
        return negate(compile(at.of, !affirmed));
      case 'leaf': {
        const compiled = compileLeaf(at, context);
        if (affirmed) leaves.push(compiled);
        return compiled.evaluate;
      }
    }
  };
  return { evaluate: compile(expression, true), leaves };
}

/** Continues while the answer is `expected`: true for `all`, false for `any`. */
const every =
  (conditions: readonly Condition[], expected: boolean): Condition =>
  (call, output) => {
    for (const condition of conditions) {
      const truth = condition(call, output);
      if (truth !== expected) return truth;
    }
    return expected;
  };

const negate =
  (condition: Condition): Condition =>
  (call, output) => {
    const truth = condition(call, output);
    return truth === 'error' ? truth : !truth;
  };

function compileLeaf(leaf: Leaf, context: ExpressionContext): CompiledLeaf {
  const select = compileSelector(leaf.selector, context.world);
  const test = compileTest(leaf, context);
  const { holds } = test;
  const whenMissing = leaf.operator === 'exists' ? leaf.operand === false : leaf.onMissing === 'fire';
  // JSON escapes quotes and line breaks, so a text that contains them is searched in both spellings.
  const inText =
    leaf.selector.source === 'output.text' && test.locate?.inParts === true && test.sameInJson !== true;
  // A rule about commands must not miss one that cannot be read. With `on_missing: skip`, the document says so.
  const isIncomplete =
    leaf.saysMissing === true ? undefined : compileIncomplete(leaf.selector, context.world);
  const isList = leaf.selector.source === 'found' && leaf.operator !== 'exists';
  const evaluate: Condition = (call, output) => {
    try {
      const field = select(call, output);
      if (field === undefined) return isIncomplete?.(call) === true ? 'error' : whenMissing;
      const truth = isList ? holdsForOne(holds, field) : holds(field);
      if (truth === false && isList && isIncomplete?.(call) === true) return 'error';
      if (truth !== false || !inText || output === undefined) return truth;
      const plain = output.plainText();
      return plain === field ? truth : holds(plain);
    } catch {
      return 'error';
    }
  };
  const { traceLeaf } = context;
  return {
    leaf,
    evaluate: traceLeaf === undefined ? evaluate : traced(leaf, evaluate, select, traceLeaf),
    select,
    test,
  };
}

/** For values found in a call: one match is enough, and an error counts. */
function holdsForOne(holds: Test['holds'], field: JsonValue): Truth {
  for (const each of Array.isArray(field) ? (field as readonly JsonValue[]) : [field]) {
    const truth = holds(each);
    if (truth !== false) return truth;
  }
  return false;
}

const traced =
  (leaf: Leaf, evaluate: Condition, select: Select, trace: TraceLeaf): Condition =>
  (call, output) => {
    const truth = evaluate(call, output);
    let field: JsonValue | undefined;
    try {
      field = select(call, output);
    } catch {
      // A host's resolver threw; the result already says so.
    }
    trace(leaf, field, truth);
    return truth;
  };

function compileTest({ operator, operand }: Leaf, { world, readRegex }: ExpressionContext): Test {
  if (isBuiltInOperator(operator)) return compileOperator(operator, operand, readRegex);
  const host = Object.hasOwn(world.operators, operator) ? world.operators[operator] : undefined;
  return {
    holds: (field: JsonValue): Truth => {
      // Any answer other than true or false is an error; so is an operator that the host did not register.
      const answer: unknown = host?.(field, operand);
      return typeof answer === 'boolean' ? answer : 'error';
    },
    locate: undefined,
  };
}
