/** The risk of a held call as one of three levels, in the console and in the terminal. */
export type RiskLevel = 'high' | 'medium' | 'low';

/** Risks named by the runtime that mean irreversible or unknown harm. */
const grave: ReadonlySet<string> = new Set([
  'destructive',
  'irreversible',
  'hidden because the same value has a secret name elsewhere',
  'may have happened already',
  'unknown kind of tool',
]);

/** Every risk word raises the level: none of them means "safe". */
export const riskLevel = (risk: readonly string[]): RiskLevel =>
  risk.some((word) => grave.has(word.replace(/: .*$/s, ''))) ? 'high' : risk.length > 0 ? 'medium' : 'low';
