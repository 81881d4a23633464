/** Finds conditions that never hold, always hold, or hold at times the author did not expect. */
import type { JsonValue } from '../../base/json.ts';
import { quote } from '../../base/nearest.ts';
import type { Expression, Leaf } from '../language/expression.ts';
import { whyRegexImpossible } from '../regex/impossible-regex.ts';
import { parseRegex } from '../regex/linear-regex.ts';
import type { LintFinding } from '../language/lint-warning.ts';

/** Selectors known to be present because an `exists: true` next to them says so. */
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
          `${operator} compares ${selector.text} with null; only exists can hold for null`,
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
      message: `${operator} looks for ${quote(pattern)}, which contains no regular expression syntax.`,
      advice: `Use ${plain}, or add ^ and $ to match the whole text.`,
    },
  ];
}

function lintLiteral(operator: string, text: string): readonly LintFinding[] {
  if (text === '') return [always(operator)];
  if (!/\\[dDsSwWbB.]|\.[*+]|\(\?|\([^()]*\|[^()]*\)|\[[^\]]+\][*+?]|^\^.|[\w)]\$$/.test(text)) return [];
  return [
    {
      code: 'looks_like_regex',
      message:
        `${operator} looks for the literal characters ${quote(text)}, which look like a regular ` +
        'expression.',
      advice: 'Use matches for a regular expression.',
    },
  ];
}

/** Limits: a call that omits the number, or names it differently, escapes the limit. */
const comparing: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte']);

/** The results of `not_equals`, `not_in` and `not` for an absent field surprise people. */
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
        message:
          `${operator} does not hold when ${selector.text} is absent, so a call that omits it bypasses ` +
          'the rule.',
        advice:
          `Add on_missing: fire, or combine it with {${selector.text}: {exists: true}} if that is ` +
          'intended.',
      },
    ];
  if (comparing.has(operator) && !negated && selector.text.includes('.') && !selector.text.startsWith('env.'))
    return [
      {
        code: 'absent_field',
        message: `The rule does not see calls without ${selector.text}: ${operator} does not hold for them.`,
        advice: `Add on_missing: fire, or on_missing: skip if omitting ${selector.text} is harmless.`,
      },
    ];
  const blind = negated ? undefined : whyBlind({ selector, operator, operand });
  if (blind !== undefined)
    return [
      {
        code: 'absent_field',
        message: `The rule does not see calls without ${selector.text}: ${blind}.`,
        advice: `Add on_missing: fire, or on_missing: skip if omitting ${selector.text} is harmless.`,
      },
    ];
  if (!negative && negated)
    return [
      {
        code: 'absent_field',
        message: `not over ${operator} holds when ${selector.text} is absent.`,
        advice: `Combine it with {${selector.text}: {exists: true}} in an all if only a present field is meant.`,
      },
    ];
  return [];
}

/**
 * Other comparisons that a call bypasses by omitting the field. A search for forbidden text is not one of them: an
 * absent field cannot contain it.
 */
function whyBlind({
  selector,
  operator,
  operand,
}: Pick<Leaf, 'selector' | 'operator' | 'operand'>): string | undefined {
  const compares = operator === 'equals' || operator === 'in';
  if (compares && listOf(operand).some(isEmptyLike))
    return (
      `${operator} ${JSON.stringify(operand)} does not hold for an absent field, which often means the ` +
      'same'
    );
  if (compares && selector.source === 'principal') return `${operator} does not hold for a caller without it`;
  if ((operator === 'matches' || operator === 'matches_any') && textsOf(operand).some(takesNothing))
    return `${operator} holds for an empty text but not for an absent one`;
  return undefined;
}

const isEmptyLike = (value: JsonValue): boolean => value === false || value === 0 || value === '';

/** Does the pattern accept an empty text, or only allowed characters? */
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
            `The conditions on ${field} in one all contradict each other: ${why}`,
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
        return `no number is above ${low} and below ${high}`;
  return undefined;
}

// The loader checked that the operand is a list; the guard does not narrow read-only arrays.
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
  advice: 'Say what to look for, or use exists: true.',
});
