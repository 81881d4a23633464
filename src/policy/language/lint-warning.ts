/** Something about contracts that is legal and probably not meant. Stops nothing. */
export type LintWarning = {
  readonly code: LintCode;
  /** Undefined where it is about the contracts as a whole. */
  readonly ruleId: string | undefined;
  readonly source: string | undefined;
  /** From 1; undefined where it is not known. */
  readonly line: number | undefined;
  /** What is so. */
  readonly message: string;
  /** What to do about it. */
  readonly advice: string;
};

export type LintCode =
  | 'never_matches'
  | 'always_matches'
  | 'absent_field'
  | 'looks_like_regex'
  | 'plain_regex'
  | 'shadowed'
  | 'timeout_allows'
  | 'timeout_unused'
  | 'observe_default'
  | 'unknown_tool'
  | 'uncovered_tool'
  | 'holds_own_files'
  | 'composition';

/** What one check found; whoever runs it knows the rule. */
export type LintFinding = Pick<LintWarning, 'code' | 'message' | 'advice'>;
