/** Reads the value of `when`: all, any, not, or one selector with one operator. */
import type { JsonValue } from '../../base/json.ts';
import { nearestNames, quote } from '../../base/nearest.ts';
import { cutText } from '../../base/cut-text.ts';
import type { DocumentMember, DocumentReader } from './document-reader.ts';
import { listWords } from './describe-node.ts';
import type { Expression, Leaf, Selector } from '../language/expression.ts';
import { isBuiltInOperator, operandKinds, type OperandKind } from '../language/operand.ts';
import { parseSelector, postSources } from './parse-selector.ts';
import type { ReadSettings } from './read-options.ts';

export const deepestExpression = 50;

/** The type of rule around an expression, and the settings for reading it. */
export type ExpressionContext = { readonly ruleType: 'pre' | 'post'; readonly settings: ReadSettings };

/** Undefined if there are problems. */
export function readExpression(
  at: DocumentReader,
  place: ExpressionContext,
  depth = 1,
): Expression | undefined {
  if (depth > deepestExpression)
    return at.refuse(
      `${at.name} is nested too deep: an expression may be at most ${deepestExpression} levels deep.`,
    );
  const wanted = 'all, any, not or one selector such as args.path';
  const members = at.members(`an object with ${wanted}`);
  if (members === undefined) return undefined;
  const [only, second] = members;
  if (only === undefined) return at.expected(wanted);
  if (second !== undefined)
    return at.refuse(
      `${at.name} contains ${listWords(members.map(({ key }) => quote(key)))}; expected exactly one of ` +
        `${wanted}. Put several conditions in a list under all or any.`,
    );
  switch (only.key) {
    case 'all':
    case 'any': {
      const items = only.value.items(1, 'expressions');
      if (items === undefined) return undefined;
      const of = items.map((item) => readExpression(item, place, depth + 1));
      return of.every((each) => each !== undefined) ? { type: only.key, of } : undefined;
    }
    case 'not': {
      const of = readExpression(only.value, place, depth + 1);
      return of && { type: 'not', of };
    }
    default:
      return readLeaf(only, place);
  }
}

function readLeaf({ key, keyAt, value }: DocumentMember, place: ExpressionContext): Leaf | undefined {
  const selector = readSelector(key, keyAt, place);
  const members = value.members(`an object with one operator, e.g. {equals: …}`);
  if (members === undefined) return undefined;
  const words = members.filter((member) => member.key !== 'on_missing');
  const onMissing = members.find((member) => member.key === 'on_missing')?.value.oneOf(['fire', 'skip']);
  const [operator, second] = words;
  if (operator === undefined)
    return value.refuse(
      `${value.name} has no operator; expected one of ${Object.keys(operandKinds).join(', ')}.`,
    );
  if (second !== undefined)
    return value.refuse(
      `${value.name} contains ${listWords(words.map((word) => quote(word.key)))}; expected one ` +
        'operator. Put several conditions in a list under all or any.',
    );
  const operand = readOperand(operator, place.settings);
  if (selector === undefined || operand === undefined) return undefined;
  return {
    type: 'leaf',
    selector,
    operator: operator.key,
    operand,
    onMissing: onMissing ?? 'skip',
    ...(onMissing === 'skip' && { saysMissing: true }),
  };
}

function readSelector(
  text: string,
  at: DocumentReader,
  { ruleType, settings }: ExpressionContext,
): Selector | undefined {
  const reading = parseSelector(text, settings.selectors);
  if (!reading.ok) return at.refuse(reading.problem);
  const { source } = reading.selector;
  if (ruleType === 'pre' && typeof source === 'string' && postSources.has(source))
    return at.refuse(`${quote(text)} exists only after the tool has run; use it in rules of type post.`);
  if (ruleType === 'post' && source === 'session')
    return at.refuse(`${quote(text)} is counted before the call; use it in rules of type pre.`);
  return reading.selector;
}

function readOperand({ key, keyAt, value }: DocumentMember, settings: ReadSettings): JsonValue | undefined {
  if (isBuiltInOperator(key)) return operandReaders[operandKinds[key]](value, settings);
  if (settings.operators.has(key)) return value.json();
  const known = [...Object.keys(operandKinds), ...settings.operators];
  const [nearest] = nearestNames(key, known, 1);
  const meant = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
  return keyAt.refuse(`No operator named ${quote(key)}.${meant} Known operators: ${known.join(', ')}.`);
}

type OperandReader = (at: DocumentReader, settings: ReadSettings) => JsonValue | undefined;

const operandReaders: { readonly [Kind in OperandKind]: OperandReader } = {
  boolean: (at) => at.flag(),
  scalar: readScalar,
  scalars: (at) => readList(at, 'texts, numbers, true or false', readScalar),
  // Empty text occurs in every text: valid, but the lint reports it.
  text: (at) => at.text({ least: 0 }),
  texts: (at) => readList(at, 'texts', (item) => item.text({ least: 0 })),
  regex: readRegex,
  regexes: (at, settings) => readList(at, 'regular expressions', (item) => readRegex(item, settings)),
  number: (at) => at.number(),
};

function readScalar(at: DocumentReader): JsonValue | undefined {
  return at.node.type === 'scalar' ? at.node.value : at.expected('text, a number, true or false');
}

function readList(
  at: DocumentReader,
  what: string,
  read: (item: DocumentReader) => JsonValue | undefined,
): JsonValue | undefined {
  const values = at.items(1, what)?.map(read);
  return values?.every((item) => item !== undefined) === true ? values : undefined;
}

function readRegex(at: DocumentReader, settings: ReadSettings): string | undefined {
  const pattern = at.text({ least: 0 });
  if (pattern === undefined) return undefined;
  const reading = settings.parseRegex(pattern);
  if (reading.ok) return pattern;
  return at.refuse(`${at.name} is not a valid regular expression: ${cutText(reading.problem, 300)}`);
}
