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
import { isBuiltInOperator, operandKinds, type OperandKind } from '../language/operand.ts';
import type { ReadRegex, Test, Truth } from './operators.ts';
import { compileOperator } from './operators.ts';
import type { OutputView } from './output-view.ts';
import type { PolicyCall, PolicyWorld } from '../language/policy-call.ts';
import type { Select } from './compile-selector.ts';
import { compileIncomplete, compileSelector, followPath } from './compile-selector.ts';

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
  readonly testFor: TestFor;
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
  const testFor = compileTestFor(leaf, context);
  const { items, operator, operand } = leaf;
  const fires = leaf.onMissing === 'fire';
  // For items, `exists` asks about what is in them; a missing list has none.
  const whenMissing = operator === 'exists' && items === undefined ? operand === false : fires;
  // A rule about commands must not miss one that cannot be read. With `on_missing: skip`, the document says so.
  const isIncomplete =
    leaf.saysMissing === true ? undefined : compileIncomplete(leaf.selector, context.world);
  const isFound = leaf.selector.source === 'found' && operator !== 'exists';
  const evaluate: Condition = (call, output) => {
    try {
      const field = select(call, output);
      if (field === undefined) return isIncomplete?.(call) === true ? 'error' : whenMissing;
      const test = testFor(call, output);
      if (test === undefined) return 'error';
      if (items !== undefined) return holdsForItems(test, field, leaf);
      const truth = isFound ? holdsForOne(test.holds, field) : test.holds(field);
      if (truth === false && isFound && isIncomplete?.(call) === true) return 'error';
      // JSON escapes quotes and line breaks, so a text that contains them is searched in both spellings.
      const inText =
        leaf.selector.source === 'output.text' && test.locate?.inParts === true && test.sameInJson !== true;
      if (truth !== false || !inText || output === undefined) return truth;
      const plain = output.plainText();
      return plain === field ? truth : test.holds(plain);
    } catch {
      return 'error';
    }
  };
  const { traceLeaf } = context;
  return {
    leaf,
    evaluate: traceLeaf === undefined ? evaluate : traced(leaf, evaluate, select, traceLeaf),
    select,
    testFor,
  };
}

/** For values found in a call: one match is enough, and an error counts. */
const holdsForOne = (holds: Test['holds'], field: JsonValue): Truth =>
  judgeUntil(true, Array.isArray(field) ? (field as readonly JsonValue[]) : [field], holds);

/** `any` and `every` over the items of a list. A value of another type is an error, as for other operators. */
function holdsForItems(test: Test, field: JsonValue, { items, operator, operand, onMissing }: Leaf): Truth {
  if (!Array.isArray(field) || items === undefined) return 'error';
  return judgeUntil(items.hold === 'any', field as readonly JsonValue[], (item) => {
    const value = followPath(item, items.path);
    if (value !== undefined) return test.holds(value);
    return operator === 'exists' ? operand === false : onMissing === 'fire';
  });
}

/** From left to right, up to the first answer that decides or is an error. */
function judgeUntil(decisive: boolean, list: readonly JsonValue[], judge: (item: JsonValue) => Truth): Truth {
  for (const item of list) {
    const truth = judge(item);
    if (truth !== !decisive) return truth;
  }
  return !decisive;
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

/** Undefined: the operand comes from a selector, and what it gives is missing or of the wrong type. */
type TestFor = (call: PolicyCall, output: OutputView | undefined) => Test | undefined;

function compileTestFor(leaf: Leaf, { world, readRegex }: ExpressionContext): TestFor {
  const { operator, operand, operandFrom } = leaf;
  if (!isBuiltInOperator(operator)) {
    const host = Object.hasOwn(world.operators, operator) ? world.operators[operator] : undefined;
    const test: Test = {
      holds: (field: JsonValue): Truth => {
        // Any answer other than true or false is an error; so is an operator that the host did not register.
        const answer: unknown = host?.(field, operand);
        return typeof answer === 'boolean' ? answer : 'error';
      },
      locate: undefined,
    };
    return () => test;
  }
  if (operandFrom === undefined) {
    const test = compileOperator(operator, operand, readRegex);
    return () => test;
  }
  const select = compileSelector(operandFrom, world);
  const fits = isOperand[operandKinds[operator]];
  return (call, output) => {
    const value = select(call, output);
    return value !== undefined && fits(value) ? compileOperator(operator, value, readRegex) : undefined;
  };
}

const isScalar = (value: JsonValue): boolean => typeof value !== 'object';
const isText = (value: JsonValue): boolean => typeof value === 'string';
const isListOf =
  (fits: (value: JsonValue) => boolean) =>
  (value: JsonValue): boolean =>
    // The guard does not narrow read-only arrays by itself.
    Array.isArray(value) && (value as readonly JsonValue[]).every(fits);

/** May a value that a selector gave be an operand of this kind? Patterns are written in the document. */
const isOperand: { readonly [Kind in OperandKind]: (value: JsonValue) => boolean } = {
  boolean: () => false,
  scalar: isScalar,
  scalars: isListOf(isScalar),
  text: isText,
  texts: isListOf(isText),
  regex: () => false,
  regexes: () => false,
  number: (value) => typeof value === 'number',
};
