/** The condition of a rule, as read from its document: selectors with operators, combined. */
import type { JsonValue } from '../../base/json.ts';

export type Expression =
  | { readonly type: 'all' | 'any'; readonly of: readonly Expression[] }
  | { readonly type: 'not'; readonly of: Expression }
  | Leaf;

export type Leaf = {
  readonly type: 'leaf';
  readonly selector: Selector;
  /** A word of the language, or one the host registered. */
  readonly operator: string;
  readonly operand: JsonValue;
  /** The operand is the value of this selector, and `operand` is `{from: …}` as written. An addition. */
  readonly operandFrom?: Selector;
  /** The document says that a text which looks like a selector is meant literally. */
  readonly saysLiteral?: true;
  /** The operator judges the items of a list, or what is below this path in each of them. An addition. */
  readonly items?: { readonly hold: 'any' | 'every'; readonly path: readonly string[] };
  /** The result for a field that is absent or null. `exists` ignores it. */
  readonly onMissing: 'fire' | 'skip';
  /** The document itself says `on_missing: skip`, so omitting the field is intended to be harmless. */
  readonly saysMissing?: true;
};

/** The source of a value: `args.path.to` has the source `args` and the path `['path', 'to']`. */
export type Selector = {
  /** As written, for messages. */
  readonly text: string;
  readonly source: SelectorSource | { readonly hostPrefix: string };
  /** Own keys to follow below the source. Empty if the source is itself a value. */
  readonly path: readonly string[];
};

export type SelectorSource =
  | 'args'
  | 'tool.name'
  /** How far the effects of the tool may reach, as recorded with the call. */
  | 'tool.mode'
  /** What a mistake with the tool could cost. Absent for most tools. */
  | 'tool.risk'
  | 'environment'
  | 'principal'
  | 'metadata'
  | 'env'
  | 'output.text'
  | 'result'
  | 'snapshot'
  /** Resources that the call names, found in all arguments. A list: one match is enough. */
  | 'found'
  /** Counters of the session: always present, always a number. */
  | 'session';

export type BuiltInOperator =
  | 'exists'
  | 'equals'
  | 'not_equals'
  | 'in'
  | 'not_in'
  | 'contains'
  | 'contains_any'
  | 'starts_with'
  | 'ends_with'
  | 'matches'
  | 'matches_any'
  | 'gt'
  | 'gte'
  | 'lt'
  | 'lte';
