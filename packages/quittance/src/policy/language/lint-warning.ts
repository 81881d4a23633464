import type { JsonObject } from '../../base/json.ts';

/** A valid but probably unintended part of contracts. It stops nothing. */
export type LintWarning = {
  readonly code: LintCode;
  /** Undefined if the warning is about the contracts as a whole. */
  readonly ruleId: string | undefined;
  readonly source: string | undefined;
  /** From 1; undefined if unknown. */
  readonly line: number | undefined;
  /** A sentence about the finding. */
  readonly message: string;
  /** What to do about it. */
  readonly advice: string;
};

export type LintCode =
  | 'never_matches'
  | 'always_matches'
  | 'absent_field'
  | 'item_selector'
  | 'selector_as_text'
  | 'list_argument'
  | 'argument_type'
  | 'unknown_argument'
  | 'looks_like_glob'
  | 'looks_like_regex'
  | 'plain_regex'
  | 'shadowed'
  | 'timeout_allows'
  | 'timeout_unused'
  | 'observe_default'
  | 'unknown_tool'
  | 'uncovered_tool'
  | 'holds_own_files'
  | 'narrow_command'
  | 'composition';

/** A tool that exists: its name, and the JSON Schema of its arguments if it is known. */
export type KnownTool = { readonly name: string; readonly inputSchema?: JsonObject | undefined };

/** The finding of one check. The caller adds the rule and its line. */
export type LintFinding = Pick<LintWarning, 'code' | 'message' | 'advice'>;
