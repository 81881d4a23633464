/** Reads the value of `when`: all, any, not, or one selector with one operator. */
import type { JsonValue } from '../../base/json.ts';
import { nearestNames, quote } from '../../base/nearest.ts';
import { cutText } from '../../base/cut-text.ts';
import type { DocumentMember, DocumentReader } from './document-reader.ts';
import { listWords } from './describe-node.ts';
import type { Expression, Leaf, Selector } from '../language/expression.ts';
import { isBuiltInOperator, operandKinds, type OperandKind } from '../language/operand.ts';
import {
  addedSources,
  listBefore,
  looksLikeItem,
  selectorMeantBy,
  parseSelector,
  postSources,
} from './parse-selector.ts';
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
  const missing = members.find((member) => member.key === 'on_missing');
  if (value.reading.isPublic === true) missing?.keyAt.refuseAddition('"on_missing"');
  const onMissing = missing?.value.oneOf(['fire', 'skip']);
  const operator = readOnly(words, value);
  if (operator === undefined) return undefined;
  const judged = readItems(operator, selector, place);
  const operand = judged && readOperand(judged.operator, place);
  if (selector === undefined || judged === undefined || operand === undefined) return undefined;
  return {
    type: 'leaf',
    selector,
    operator: judged.operator.key,
    ...operand,
    ...(judged.items !== undefined && { items: judged.items }),
    onMissing: onMissing ?? 'skip',
    ...(onMissing === 'skip' && { saysMissing: true }),
  };
}

/** The only operator among the words of an object. */
function readOnly(words: readonly DocumentMember[], at: DocumentReader): DocumentMember | undefined {
  const [operator, second] = words;
  if (operator === undefined)
    return at.refuse(`${at.name} has no operator; expected one of ${Object.keys(operandKinds).join(', ')}.`);
  if (second !== undefined)
    return at.refuse(
      `${at.name} contains ${listWords(words.map((word) => quote(word.key)))}; expected one ` +
        'operator. Put several conditions in a list under all or any.',
    );
  return operator;
}

const quantifiers = ['any', 'every'] as const;
const itemPrefix = 'item.';

/** `{any: {equals: 1}}`, or `{every: {item.email: {ends_with: …}}}` for a member of each item. */
function readItems(
  operator: DocumentMember,
  selector: Selector | undefined,
  { settings }: ExpressionContext,
): { readonly operator: DocumentMember; readonly items?: Leaf['items'] } | undefined {
  const hold = quantifiers.find((word) => word === operator.key && !settings.operators.has(word));
  if (hold === undefined) return { operator };
  const { keyAt, value } = operator;
  if (value.reading.isPublic === true) return keyAt.refuseAddition(`${quote(hold)} over the items of a list`);
  if (selector?.source === 'found')
    return keyAt.refuse(`${selector.text} already holds if it holds for one of them; leave out ${hold}.`);
  const members = value.members('an object with one operator, or with item.<name>');
  const only = members && readOnly(members, value);
  if (only === undefined) return undefined;
  if (!only.key.startsWith(itemPrefix)) return { operator: only, items: { hold, path: [] } };
  const path = only.key.slice(itemPrefix.length).split('.');
  if (path.includes('')) return only.keyAt.refuse(`${quote(only.key)} has an empty name between its dots.`);
  const below = only.value.members('an object with one operator, e.g. {equals: …}');
  const judged = below && readOnly(below, only.value);
  return judged && { operator: judged, items: { hold, path } };
}

function readSelector(
  text: string,
  at: DocumentReader,
  { ruleType, settings }: ExpressionContext,
): Selector | undefined {
  const reading = parseSelector(text, settings.selectors);
  if (!reading.ok) return at.refuse(reading.problem);
  const { source, path } = reading.selector;
  if (typeof source === 'object') return reading.selector;
  if (at.reading.isPublic === true && addedSources.has(source)) return at.refuseAddition(quote(text));
  if (ruleType === 'pre' && postSources.has(source))
    return at.refuse(`${quote(text)} exists only after the tool has run; use it in rules of type post.`);
  if (ruleType === 'post' && source === 'session')
    return at.refuse(`${quote(text)} is counted before the call; use it in rules of type pre.`);
  if (!mayHoldTraps(at, settings) && path.some(looksLikeItem))
    return at.refuse(
      `${quote(text)} selects a member with that very name, not the items of a list. Write any or every for ` +
        `items, e.g. {${listBefore(text)}: {any: {equals: …}}}, or a number for one item, e.g. ` +
        `${listBefore(text)}.0.`,
    );
  return reading.selector;
}

/** Documents of the public language load with traps, and get a warning from the lint. So do those on record. */
const mayHoldTraps = (at: DocumentReader, settings: ReadSettings): boolean =>
  at.reading.isPublic === true || settings.recorded;

/** The operand, or the selector that it comes from. */
type Operand = Pick<Leaf, 'operand' | 'operandFrom' | 'saysLiteral'>;

function readOperand({ key, keyAt, value }: DocumentMember, place: ExpressionContext): Operand | undefined {
  const { settings } = place;
  if (isBuiltInOperator(key)) {
    const kind = operandKinds[key];
    const [only, second] = value.node.type === 'map' ? (value.members() ?? []) : [];
    if (only?.key === 'from' && second === undefined) {
      if (value.reading.isPublic === true) return value.refuseAddition('an operand with "from"');
      if (kind === 'boolean' || kind === 'regex' || kind === 'regexes')
        return value.refuse(`${key} cannot take its operand from a selector; write the operand itself.`);
      const text = only.value.text();
      const operandFrom = text === undefined ? undefined : readSelector(text, only.value, place);
      return operandFrom && { operand: { from: operandFrom.text }, operandFrom };
    }
    const operand = operandReaders[kind](value, settings);
    if (operand === undefined) return undefined;
    return { operand, ...(hasLiteral(value) && { saysLiteral: true }) };
  }
  if (settings.operators.has(key)) return { operand: value.json() };
  const known = [...Object.keys(operandKinds), ...settings.operators];
  const [nearest] = nearestNames(key, known, 1);
  const meant = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
  return keyAt.refuse(`No operator named ${quote(key)}.${meant} Known operators: ${known.join(', ')}.`);
}

const hasLiteral = ({ node }: DocumentReader): boolean =>
  node.type === 'map' || (node.type === 'list' && node.items.some(({ type }) => type === 'map'));

/** `{literal: …}` says that a text is meant as it is, although it looks like a selector. */
function readLiteral(at: DocumentReader, settings: ReadSettings): DocumentReader | undefined {
  if (at.node.type === 'map' && at.node.entries.some(({ key }) => key === 'literal')) {
    if (at.reading.isPublic === true) return at.refuseAddition('an operand with "literal"');
    return at.closed(['literal'])?.required('literal');
  }
  const { node } = at;
  const text = node.type === 'scalar' && typeof node.value === 'string' ? node.value : undefined;
  if (text === undefined || mayHoldTraps(at, settings)) return at;
  const selector = selectorMeantBy(text, settings.selectors);
  if (selector === undefined) return at;
  return at.refuse(
    `${at.name} compares with the text ${quote(text)}, which looks like a selector. Write {from: ${selector}} to ` +
      `compare with its value, or {literal: ${selector === text ? text : quote(text)}} for the text.`,
  );
}

type OperandReader = (at: DocumentReader, settings: ReadSettings) => JsonValue | undefined;

const operandReaders: { readonly [Kind in OperandKind]: OperandReader } = {
  boolean: (at) => at.flag(),
  scalar: readScalar,
  scalars: (at, settings) =>
    readList(at, 'texts, numbers, true or false', (item) => readScalar(item, settings)),
  // Empty text occurs in every text: valid, but the lint reports it.
  text: readWord,
  texts: (at, settings) => readList(at, 'texts', (item) => readWord(item, settings)),
  regex: readRegex,
  regexes: (at, settings) => readList(at, 'regular expressions', (item) => readRegex(item, settings)),
  number: (at) => at.number(),
};

function readScalar(given: DocumentReader, settings: ReadSettings): JsonValue | undefined {
  const at = readLiteral(given, settings);
  if (at === undefined) return undefined;
  return at.node.type === 'scalar' ? at.node.value : at.expected('text, a number, true or false');
}

function readWord(at: DocumentReader, settings: ReadSettings): string | undefined {
  return readLiteral(at, settings)?.text({ least: 0 });
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
  const pattern = at.text({ least: at.reading.isPublic === true ? 1 : 0 });
  if (pattern === undefined) return undefined;
  const reading = settings.parseRegex(pattern);
  if (reading.ok) return pattern;
  return at.refuse(`${at.name} is not a valid regular expression: ${cutText(reading.problem, 300)}`);
}
