/** The operand type of each operator. One table, used by the loader and by the schema of documents. */
import type { BuiltInOperator } from './expression.ts';

export type OperandKind =
  | 'boolean'
  | 'scalar'
  | 'scalars'
  | 'text'
  | 'texts'
  | 'regex'
  | 'regexes'
  | 'number';

export const operandKinds: { readonly [Operator in BuiltInOperator]: OperandKind } = {
  exists: 'boolean',
  equals: 'scalar',
  not_equals: 'scalar',
  in: 'scalars',
  not_in: 'scalars',
  contains: 'text',
  contains_any: 'texts',
  starts_with: 'text',
  ends_with: 'text',
  matches: 'regex',
  matches_any: 'regexes',
  gt: 'number',
  gte: 'number',
  lt: 'number',
  lte: 'number',
};

export const isBuiltInOperator = (word: string): word is BuiltInOperator => Object.hasOwn(operandKinds, word);
