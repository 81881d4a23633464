/** Finds valid but probably unintended parts of contracts, for people who check them before use. */
import { canonicalJson } from '../../base/canonical.ts';
import type { JsonValue } from '../../base/json.ts';
import { isJsonObject } from '../../base/json.ts';
import type { Steps } from '../../base/steps.ts';
import { finishSteps } from '../../base/steps.ts';
import { nearestNames, quote } from '../../base/nearest.ts';
import type { CodeRule } from '../language/code-rule.ts';
import type { ComposedRule, ComposedRules } from '../language/composed-rules.ts';
import type { Expression, Leaf } from '../language/expression.ts';
import { compileGlob } from '../regex/glob.ts';
import type { KnownTool, LintFinding, LintWarning } from '../language/lint-warning.ts';
import { defaultTimeout } from '../language/rule-shape.ts';
import { isInterpreter, isLauncher, isPlainProgram } from '../sandbox/programs.ts';
import { toolsOfRule } from '../language/rule-tools.ts';
import type { Rule } from '../language/ruleset.ts';
import { listBefore, looksLikeItem, selectorMeantBy } from '../read/parse-selector.ts';
import { whyRegexImpossible } from '../regex/impossible-regex.ts';
import { parseRegex } from '../regex/linear-regex.ts';

/** If `known` lists the existing tools, tool names are checked too, and conditions by the schemas of their arguments. */
export const lintRules = (
  composed: ComposedRules,
  known?: readonly (string | KnownTool)[],
): readonly LintWarning[] => finishSteps(lintInSteps(composed, known));

/** Like `lintRules`, but yields after each rule so that the process can do other work. */
export function* lintInSteps(
  composed: ComposedRules,
  known?: readonly (string | KnownTool)[],
): Steps<readonly LintWarning[]> {
  const tools = known?.map((tool) => (typeof tool === 'string' ? { name: tool } : tool));
  const knownTools = tools?.map(({ name }) => name);
  const blocking = new Map<string, ComposedRule>();
  const ofRules: LintWarning[] = [];
  for (const each of composed.rules) {
    const findings = [
      ...lintCondition(each.rule, tools ?? []),
      ...lintTimeout(each.rule),
      ...lintCommands(each.rule),
      ...lintShadow(each, blocking),
      ...(knownTools === undefined ? [] : lintToolNames(each.rule, knownTools)),
    ];
    for (const finding of findings)
      ofRules.push({ ...finding, ruleId: each.id, source: each.source, line: each.line });
    yield;
  }
  const ofAll = [
    ...lintDefault(composed),
    ...(knownTools === undefined ? [] : lintCoverage(composed, knownTools)),
    ...composed.report.warnings.map((message): LintFinding => ({
      code: 'composition',
      message,
      advice: 'Keep it if it is intended.',
    })),
  ];
  return [
    ...ofRules,
    ...ofAll.map((finding) => ({ ...finding, ruleId: undefined, source: undefined, line: undefined })),
  ];
}

function lintCondition(rule: Rule | CodeRule, tools: readonly KnownTool[]): readonly LintFinding[] {
  if (rule.type !== 'pre' && rule.type !== 'post') return [];
  const { matches } = compileGlob(rule.tool);
  return [
    ...lintExpression(rule.when),
    ...lintArguments(
      rule.when,
      tools.filter(({ name }) => matches(name)),
    ),
  ];
}

/**
 * Operators on arguments whose type they cannot judge, and arguments that no tool takes: by the schemas of the tools. An
 * argument without a schema is a list if its name says so.
 */
function lintArguments(at: Expression, tools: readonly KnownTool[]): readonly LintFinding[] {
  if (at.type === 'not') return lintArguments(at.of, tools);
  if (at.type !== 'leaf') return at.of.flatMap((each) => lintArguments(each, tools));
  const { selector, items } = at;
  if (selector.source !== 'args' || selector.path.some(looksLikeItem)) return [];
  const places = tools.map(({ name, inputSchema }) => ({ name, place: placeAt(inputSchema, selector.path) }));
  const [absent] = places.flatMap(({ name, place }) => (place.type === 'absent' ? [{ name, place }] : []));
  if (absent !== undefined && places.every(({ place }) => place.type === 'absent'))
    return [unknownArgument(selector.text, absent.name, absent.place)];
  for (const { name, place } of places) {
    const effect = place.type === 'stated' ? effectOn(place.stated, at) : undefined;
    if (place.type === 'stated' && effect !== undefined)
      return [unsuitable(at, place.stated, `${selector.text} of ${quote(name)} is`, effect)];
  }
  const isLikely =
    items === undefined &&
    places.every(({ place }) => place.type === 'open') &&
    listNames.has(selector.path.at(-1) ?? '');
  const effect = isLikely ? effectOn('array', at) : undefined;
  return effect === undefined ? [] : [unsuitable(at, 'array', `${selector.text} is probably`, effect)];
}

function unknownArgument(text: string, tool: string, { key, known }: AbsentPlace): LintFinding {
  const [nearest] = nearestNames(key, known, 1);
  return {
    code: 'unknown_argument',
    message: `${quote(tool)} takes no argument ${text}, so the condition never sees one.`,
    advice: nearest === undefined ? 'Correct the name.' : `Correct the name, perhaps to ${quote(nearest)}.`,
  };
}

function unsuitable(
  { selector, operator, items }: Leaf,
  type: string,
  what: string,
  effect: string,
): LintFinding {
  if (type === 'array')
    return {
      code: 'list_argument',
      message: `${what} a list: ${operator} ${effect}.`,
      advice: `Write apiVersion: quittance/v1 and {${selector.text}: {any: {${operator}: …}}} or every.`,
    };
  return {
    code: 'argument_type',
    message: `${what} ${type === 'integer' || type === 'object' ? 'an' : 'a'} ${type}: ${items?.hold ?? operator} ${effect}.`,
    advice: 'Use an operator and an operand for that type.',
  };
}

/** Names that tools give to lists. */
const listNames: ReadonlySet<string> = new Set(
  (
    'recipients attendees participants members users emails addresses cc bcc tags labels files paths urls ids items ' +
    'lines channels roles permissions attachments hosts domains rows records contacts accounts keys args argv'
  ).split(' '),
);

const cannotJudge = 'cannot judge it, so the rule fires on every call';

/** What an operator says about every value of a type that it cannot judge. Undefined if it can. */
function effectOn(stated: string, { operator, operand, operandFrom, items }: Leaf): string | undefined {
  if (items !== undefined) return stated === 'array' ? undefined : cannotJudge;
  const type = stated === 'integer' ? 'number' : stated;
  const judged = textOperators.has(operator) ? 'string' : comparing.has(operator) ? 'number' : undefined;
  if (judged !== undefined) return type === judged ? undefined : cannotJudge;
  if (operandFrom !== undefined || listOfTexts(operand).some((each) => typeof each === type))
    return undefined;
  if (operator === 'equals' || operator === 'in') return 'never holds';
  return operator === 'not_equals' || operator === 'not_in' ? 'always holds' : undefined;
}

const textOperators: ReadonlySet<string> = new Set([
  'contains',
  'contains_any',
  'starts_with',
  'ends_with',
  'matches',
  'matches_any',
]);

type AbsentPlace = { readonly type: 'absent'; readonly key: string; readonly known: readonly string[] };
type SchemaPlace =
  | AbsentPlace
  | { readonly type: 'stated'; readonly stated: string }
  | { readonly type: 'open' };

/** What a schema plainly states for a path: one type, or that there is no such member. Else it is open. */
function placeAt(schema: JsonValue | undefined, path: readonly string[]): SchemaPlace {
  let at = schema;
  for (const key of path) {
    if (!isJsonObject(at)) return { type: 'open' };
    const properties: JsonValue | undefined = at['properties'];
    if (!isJsonObject(properties)) return { type: 'open' };
    if (!Object.hasOwn(properties, key)) {
      const isClosed = at['additionalProperties'] === false && !Object.hasOwn(at, 'patternProperties');
      return isClosed ? { type: 'absent', key, known: Object.keys(properties) } : { type: 'open' };
    }
    at = properties[key];
  }
  const stated = isJsonObject(at) ? at['type'] : undefined;
  return typeof stated === 'string' && stated !== 'null' ? { type: 'stated', stated } : { type: 'open' };
}

function lintTimeout(rule: Rule | CodeRule): readonly LintFinding[] {
  if (rule.type !== 'pre' && rule.type !== 'sandbox') return [];
  const asks = (rule.type === 'pre' ? rule.action : rule.outside) === 'ask';
  if (asks && rule.timeoutEffect === 'allow')
    return [
      {
        code: 'timeout_allows',
        message: `If no person answers within ${rule.timeoutSeconds} s, the call runs without approval.`,
        advice: 'Remove timeout_effect, or set it to block.',
      },
    ];
  if (asks || (rule.timeoutEffect === 'block' && rule.timeoutSeconds === defaultTimeout)) return [];
  return [
    {
      code: 'timeout_unused',
      message: 'The rule has a timeout but never asks, so the timeout has no effect.',
      advice:
        rule.type === 'pre' ? 'Remove the timeout, or use action: ask.' : 'Remove it, or use outside: ask.',
    },
  ];
}

/** Entries that allow less than their author may think. */
function lintCommands(rule: Rule | CodeRule): readonly LintFinding[] {
  if (rule.type !== 'sandbox') return [];
  const entries = rule.allowedCommands ?? [];
  return entries.flatMap((entry): readonly LintFinding[] => {
    const words = entry.split(/\s+/).filter((word) => word !== '');
    const [program = ''] = words;
    const finding = (message: string, advice: string): readonly LintFinding[] => [
      { code: 'narrow_command', message, advice },
    ];
    if (words.at(-1) === '*' && (words.length === 1 || isLauncher(program)))
      return finding(
        `The entry ${quote(entry)} allows nothing: ${words.length === 1 ? 'it names no program' : `${program} may run others, or is plain and needs no *`}.`,
        'List the exact words of each command you accept.',
      );
    // Next to longer entries of the same program, the short one is intended.
    const hasLonger = entries.some((other) => other.startsWith(`${program} `));
    if (words.length > 1 || isPlainProgram(program) || hasLonger) return [];
    return isInterpreter(program)
      ? finding(
          `The entry ${quote(entry)} allows nothing: ${program} alone would run whatever it reads.`,
          `List the exact words of each command you accept, e.g. ${quote(`${entry} --version`)}.`,
        )
      : finding(
          `The entry ${quote(entry)} allows this command only without arguments, because ${program} is not known to be plain.`,
          `List the exact words, or ${quote(`${entry} *`)} to accept any arguments.`,
        );
  });
}

/** If an enforced rule blocks on the same condition, only that block is ever reported. */
function lintShadow(each: ComposedRule, blocking: Map<string, ComposedRule>): readonly LintFinding[] {
  const { rule, mode, candidate } = each;
  if (rule.type !== 'pre' || candidate) return [];
  const condition = canonicalJson(toJson(rule.when));
  const earlier = blocking.get(`${rule.tool} ${condition}`) ?? blocking.get(`* ${condition}`);
  if (earlier === undefined) {
    if (rule.action === 'block' && mode === 'enforce') blocking.set(`${rule.tool} ${condition}`, each);
    return [];
  }
  return [
    {
      code: 'shadowed',
      message: `Rule ${earlier.id} blocks the same calls on the same condition, so this rule never decides.`,
      advice: 'Remove one of them.',
    },
  ];
}

/** Two conditions are the same if this JSON is the same. */
function toJson(expression: Expression): Parameters<typeof canonicalJson>[0] {
  switch (expression.type) {
    case 'leaf': {
      const { selector, operator, operand, onMissing, items, operandFrom } = expression;
      const from = operandFrom === undefined ? null : operandFrom.text;
      return [selector.text, operator, operand, onMissing, items === undefined ? null : { ...items }, from];
    }
    case 'not':
      return { not: toJson(expression.of) };
    case 'all':
    case 'any':
      return { [expression.type]: expression.of.map(toJson) };
  }
}

function lintDefault({ rules }: ComposedRules): readonly LintFinding[] {
  const byDefault = rules.filter(
    ({ rule, mode, candidate }) => mode === 'observe' && rule.mode === undefined && !candidate,
  );
  if (byDefault.length === 0) return [];
  return [
    {
      code: 'observe_default',
      message:
        `defaults.mode is observe: ${byDefault.length} of ${rules.length} rules only observe and block ` +
        'nothing.',
      advice: 'Set defaults.mode to enforce once you have observed the rules long enough.',
    },
  ];
}

function lintToolNames(rule: Rule | CodeRule, knownTools: readonly string[]): readonly LintFinding[] {
  return toolsOfRule(rule).flatMap((pattern): readonly LintFinding[] => {
    const glob = compileGlob(pattern);
    if (pattern === '*' || knownTools.some(glob.matches)) return [];
    const [nearest] = glob.exact === undefined ? [] : nearestNames(pattern, knownTools, 1);
    return [
      {
        code: 'unknown_tool',
        message:
          glob.exact === undefined
            ? `No tool name matches ${quote(pattern)}, so the rule applies to no tool.`
            : `There is no tool named ${quote(pattern)}, so the rule applies to no tool.`,
        advice: nearest === undefined ? 'Correct the name, or remove it.' : `Did you mean ${nearest}?`,
      },
    ];
  });
}

function lintCoverage(
  { rules, unlistedTools, tools }: ComposedRules,
  knownTools: readonly string[],
): readonly LintFinding[] {
  const isDenied = unlistedTools?.mode === 'enforce';
  // A limit on the number of calls does not say what a call may do.
  const patterns = rules
    .filter(({ candidate }) => !candidate)
    .flatMap(({ rule }) => (rule.type === 'session' ? [] : toolsOfRule(rule)))
    .concat(isDenied ? tools.map(({ tool }) => tool) : [])
    .map((pattern) => compileGlob(pattern));
  const names = knownTools.filter((name) => !patterns.some((glob) => glob.matches(name)));
  if (names.length === 0) return [];
  const [which, them] =
    names.length === 1 ? [`the tool ${listOf(names)}`, 'it'] : [`the tools ${listOf(names)}`, 'them'];
  return [
    {
      code: 'uncovered_tool',
      message: isDenied
        ? `No rule or tools entry names ${which}: every call of ${them} is blocked.`
        : `No rule applies to ${which}: every call of ${them} is allowed.`,
      advice: isDenied
        ? `List ${them} under tools if calls may be made.`
        : `Add a rule for ${them} or for all tools (tool: "*"), or set defaults.unlisted_tools to block.`,
    },
  ];
}

const mostNamed = 20;

const listOf = (names: readonly string[]): string => {
  const more = names.length - mostNamed;
  return names.slice(0, mostNamed).map(quote).join(', ') + (more > 0 ? ` and ${more} more` : '');
};

/** Finds conditions that never hold, always hold, or hold at times the author did not expect. */

/** Selectors known to be present because an `exists: true` next to them says so. */
type Present = ReadonlySet<string>;

function lintExpression(
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
  each.type === 'leaf' && each.items === undefined && each.operator === 'exists' && each.operand === true
    ? [each.selector.text]
    : [];

function lintLeaf(leaf: Leaf, present: Present, negated: boolean): readonly LintFinding[] {
  return [...lintTraps(leaf), ...lintOperand(leaf), ...lintAbsence(leaf, present, negated)];
}

/** Spellings that mean something else in other languages. `quittance/v1` refuses them when it loads. */
function lintTraps({ selector, operator, operand, operandFrom, saysLiteral }: Leaf): readonly LintFinding[] {
  const findings: LintFinding[] = [];
  if (typeof selector.source === 'string' && selector.path.some(looksLikeItem))
    findings.push({
      code: 'item_selector',
      message:
        `${selector.text} selects a member with that very name, not the items of a list, so the condition ` +
        'never sees them.',
      advice: `Write apiVersion: quittance/v1 and {${listBefore(selector.text)}: {any: {${operator}: …}}}.`,
    });
  if (operandFrom !== undefined || saysLiteral === true || !comparesTexts.has(operator)) return findings;
  for (const text of textsOf(operand)) {
    const meant = selectorMeantBy(text);
    if (meant === undefined) continue;
    findings.push({
      code: 'selector_as_text',
      message: `${operator} compares with the letters ${quote(text)}, not with the value of that selector.`,
      advice: `To compare with the value, write apiVersion: quittance/v1 and {${operator}: {from: ${meant}}}.`,
    });
  }
  return findings;
}

const comparesTexts: ReadonlySet<string> = new Set([
  'equals',
  'not_equals',
  'in',
  'not_in',
  'contains',
  'contains_any',
  'starts_with',
  'ends_with',
]);

function lintOperand({ operator, operand, selector }: Leaf): readonly LintFinding[] {
  switch (operator) {
    case 'matches':
    case 'matches_any':
      return textsOf(operand).flatMap((pattern) => lintPattern(operator, pattern));
    case 'contains':
    case 'contains_any':
    case 'starts_with':
    case 'ends_with':
      return textsOf(operand).flatMap((text) => [
        ...lintGlob(operator, text),
        ...lintLiteral(operator, text),
      ]);
    case 'not_equals':
    case 'not_in':
      return textsOf(operand).flatMap((text) => lintGlob(operator, text));
    case 'equals':
    case 'in':
      if (textsOf(operand).length > 0) return textsOf(operand).flatMap((text) => lintGlob(operator, text));
      if (!listOfTexts(operand).every((each) => each === null)) return [];
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

/** `*.env` and `/etc/*` mean a group of names elsewhere. Here no operator knows globs. */
const lintGlob = (operator: string, text: string): readonly LintFinding[] =>
  /^\*[\w./@-]+$|^[\w./@-]+\*$/.test(text)
    ? [
        {
          code: 'looks_like_glob',
          message: `${operator} looks for the literal characters ${quote(text)}, with the asterisk.`,
          advice: 'Use starts_with or ends_with without the asterisk, or matches with a regular expression.',
        },
      ]
    : [];

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
  if (compares && listOfTexts(operand).some(isEmptyLike))
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
    conditions
      .filter((each) => each.type === 'leaf')
      .filter(
        ({ onMissing, items, operandFrom }) =>
          onMissing === 'skip' && items === undefined && operandFrom === undefined,
      ),
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
const listOfTexts = (operand: JsonValue): readonly JsonValue[] =>
  Array.isArray(operand) ? (operand as readonly JsonValue[]) : [operand];

const textsOf = (operand: JsonValue): readonly string[] =>
  listOfTexts(operand).filter((each) => typeof each === 'string');

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
