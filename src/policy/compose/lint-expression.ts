/** Finds conditions that hold never, always, or not when their author thinks. */
import type { JsonValue } from '../../base/json.ts';
import { quote } from '../../base/nearest.ts';
import type { Expression, Leaf } from '../language/expression.ts';
import { whyRegexImpossible } from '../regex/impossible-regex.ts';
import { parseRegex } from '../regex/linear-regex.ts';
import type { LintFinding } from '../language/lint-warning.ts';

/** Selectors known to be there, because an `exists: true` beside them says so. */
type Present = ReadonlySet<string>;

export function lintExpression(
  expression: Expression,
  present: Present = new Set(),
  negated = false,
): readonly LintFinding[] {
  switch (expression.type) {
    case 'leaf':
      return lintLeaf(expression, present, negated);
    case 'not':
      return lintExpression(expression.of, present, !negated);
    case 'any':
      return expression.of.flatMap((each) => lintExpression(each, present, negated));
    case 'all': {
      const here = present.union(new Set(expression.of.flatMap(assuredBy)));
      return [
        ...findContradictions(expression.of),
        ...expression.of.flatMap((each) => lintExpression(each, here, negated)),
      ];
    }
  }
}

const assuredBy = (each: Expression): readonly string[] =>
  each.type === 'leaf' && each.operator === 'exists' && each.operand === true ? [each.selector.text] : [];

function lintLeaf(leaf: Leaf, present: Present, negated: boolean): readonly LintFinding[] {
  return [...lintOperand(leaf), ...lintAbsence(leaf, present, negated)];
}

function lintOperand({ operator, operand, selector }: Leaf): readonly LintFinding[] {
  switch (operator) {
    case 'matches':
    case 'matches_any':
      return textsOf(operand).flatMap((pattern) => lintPattern(operator, pattern));
    case 'contains':
    case 'contains_any':
    case 'starts_with':
    case 'ends_with':
      return textsOf(operand).flatMap((text) => lintLiteral(operator, text));
    case 'equals':
    case 'in':
      if (!listOf(operand).every((each) => each === null)) return [];
      return [
        never(
          `${operator} compares ${selector.text} with null, which no operator but exists ever holds for`,
          'Use exists: false.',
        ),
      ];
    default:
      return [];
  }
}

function lintPattern(operator: string, pattern: string): readonly LintFinding[] {
  const why = whyRegexImpossible(pattern);
  if (why !== undefined)
    return [never(`The pattern ${quote(pattern)} matches nothing: ${why}`, 'Correct the pattern.')];
  if (pattern === '') return [always(operator)];
  if (/[\\^$.|?*+()[\]{}]/.test(pattern)) return [];
  const plain = operator === 'matches' ? 'contains' : 'contains_any';
  return [
    {
      code: 'plain_regex',
      message: `${operator} looks for ${quote(pattern)}, which has nothing of a regular expression.`,
      advice: `Use ${plain}, or say with ^ and $ that the whole text is meant.`,
    },
  ];
}

function lintLiteral(operator: string, text: string): readonly LintFinding[] {
  if (text === '') return [always(operator)];
  if (!/\\[dDsSwWbB.]|\.[*+]|\(\?|\([^()]*\|[^()]*\)|\[[^\]]+\][*+?]|^\^.|[\w)]\$$/.test(text)) return [];
  return [
    {
      code: 'looks_like_regex',
      message: `${operator} looks for the characters ${quote(text)} as they stand; they look like a regular expression.`,
      advice: 'Use matches for a regular expression.',
    },
  ];
}

/** Limits: a call that leaves the number out, or names it otherwise, is under no limit. */
const comparing: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte']);

/** What `not_equals`, `not_in` and `not` say about a field that is not there surprises people. */
function lintAbsence(
  { selector, operator, operand, onMissing, saysMissing }: Leaf,
  present: Present,
  negated: boolean,
): readonly LintFinding[] {
  if (operator === 'exists' || onMissing === 'fire' || saysMissing === true || present.has(selector.text))
    return [];
  if (['tool.name', 'environment', 'output.text'].includes(selector.text) || selector.source === 'session')
    return [];
  const negative = operator === 'not_equals' || operator === 'not_in';
  if (negative && !negated)
    return [
      {
        code: 'absent_field',
        message: `${operator} does not hold when ${selector.text} is absent, so leaving it out passes the rule by.`,
        advice: `Add on_missing: fire, or {${selector.text}: {exists: true}} beside it if that is meant.`,
      },
    ];
  if (comparing.has(operator) && !negated && selector.text.includes('.') && !selector.text.startsWith('env.'))
    return [
      {
        code: 'absent_field',
        message: `The rule is blind where ${selector.text} is absent: ${operator} does not hold then.`,
        advice: `Add on_missing: fire, or on_missing: skip if leaving ${selector.text} out is harmless.`,
      },
    ];
  const blind = negated ? undefined : whyBlind({ selector, operator, operand });
  if (blind !== undefined)
    return [
      {
        code: 'absent_field',
        message: `The rule is blind where ${selector.text} is absent: ${blind}.`,
        advice: `Add on_missing: fire, or on_missing: skip if leaving ${selector.text} out is harmless.`,
      },
    ];
  if (!negative && negated)
    return [
      {
        code: 'absent_field',
        message: `not over ${operator} holds when ${selector.text} is absent.`,
        advice: `Put {${selector.text}: {exists: true}} beside it in an all if only a present field is meant.`,
      },
    ];
  return [];
}

/**
 * Other comparisons that a call gets past by leaving the field out. Looking for a text that must not be there is not
 * one of them: where nothing is, it is not there.
 */
function whyBlind({
  selector,
  operator,
  operand,
}: Pick<Leaf, 'selector' | 'operator' | 'operand'>): string | undefined {
  const compares = operator === 'equals' || operator === 'in';
  if (compares && listOf(operand).some(isEmptyLike))
    return `${operator} ${JSON.stringify(operand)} does not hold then, although absent often means the same`;
  if (compares && selector.source === 'principal') return `${operator} does not hold for a caller without it`;
  if ((operator === 'matches' || operator === 'matches_any') && textsOf(operand).some(takesNothing))
    return `${operator} would hold for an empty text, and does not hold for none`;
  return undefined;
}

const isEmptyLike = (value: JsonValue): boolean => value === false || value === 0 || value === '';

/** Says that a text has nothing in it, or nothing but what is allowed. */
const takesNothing = (pattern: string): boolean => {
  if (!pattern.includes('^') || !pattern.includes('$')) return false;
  const reading = parseRegex(pattern);
  return reading.ok && reading.regex.test('') === true;
};

/** Two conditions on one field that cannot both hold. */
function findContradictions(conditions: readonly Expression[]): readonly LintFinding[] {
  const byField = Map.groupBy(
    conditions.filter((each) => each.type === 'leaf').filter(({ onMissing }) => onMissing === 'skip'),
    ({ selector }) => selector.text,
  );
  return [...byField].flatMap(([field, leaves]) => {
    const why = contradict(leaves);
    return why === undefined
      ? []
      : [
          never(
            `The conditions on ${field} in one all exclude each other: ${why}`,
            'Correct them, or use any.',
          ),
        ];
  });
}

function contradict(leaves: readonly Leaf[]): string | undefined {
  const absent = leaves.some(({ operator, operand }) => operator === 'exists' && operand === false);
  const other = leaves.find(({ operator, operand }) => !(operator === 'exists' && operand === false));
  if (absent && other !== undefined) return `exists: false and ${other.operator}`;
  const equals = new Set(
    leaves.filter(({ operator }) => operator === 'equals').map(({ operand }) => operand),
  );
  if (equals.size > 1) return 'it cannot equal two values';
  const bounds = (words: readonly string[]): readonly [number, boolean][] =>
    leaves.flatMap(({ operator, operand }) =>
      words.includes(operator) && typeof operand === 'number' ? [[operand, !operator.endsWith('e')]] : [],
    );
  for (const [low, openBelow] of bounds(['gt', 'gte']))
    for (const [high, openAbove] of bounds(['lt', 'lte']))
      if (low > high || (low === high && (openBelow || openAbove)))
        return `nothing is above ${low} and below ${high}`;
  return undefined;
}

// An operand that is a list was read as one; the guard does not narrow read-only arrays.
const listOf = (operand: JsonValue): readonly JsonValue[] =>
  Array.isArray(operand) ? (operand as readonly JsonValue[]) : [operand];

const textsOf = (operand: JsonValue): readonly string[] =>
  listOf(operand).filter((each) => typeof each === 'string');

const never = (message: string, advice: string): LintFinding => ({
  code: 'never_matches',
  message: `${message}.`,
  advice,
});

const always = (operator: string): LintFinding => ({
  code: 'always_matches',
  message: `${operator} looks for empty text, which every text contains.`,
  advice: 'Say what is looked for, or use exists: true.',
});
