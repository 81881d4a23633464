/** What a rule asks of a call, as read from its document: one selector with one operator, combined. */
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
  /** What the leaf says about a field that is absent or null. `exists` never asks. */
  readonly onMissing: 'fire' | 'skip';
  /** The document says `on_missing: skip` itself: that leaving the field out is harmless is meant. */
  readonly saysMissing?: true;
};

/** Where a value comes from: `args.path.to` is source `args`, path `['path', 'to']`. */
export type Selector = {
  /** As written, for messages. */
  readonly text: string;
  readonly source: SelectorSource | { readonly hostPrefix: string };
  /** Own keys to follow below the source. Empty where the source is a value itself. */
  readonly path: readonly string[];
};

export type SelectorSource =
  | 'args'
  | 'tool.name'
  | 'environment'
  | 'principal'
  | 'metadata'
  | 'env'
  | 'output.text'
  | 'result'
  | 'snapshot'
  /** What the call names, found in all arguments: a list, of which one has to fit. */
  | 'found'
  /** What is counted for the session: always there, and a number. */
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
