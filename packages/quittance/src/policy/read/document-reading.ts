/** The document being read, its limits and its problems. */
import type { ContractsProblem } from '../language/contracts-problem.ts';

/** The document being read, and the problems found so far. */
export type DocumentReading = {
  readonly source: string;
  /** Line and column, from 1, of a position in the text. */
  readonly locate: (offset: number) => { readonly line: number; readonly column: number };
  readonly problems: ContractsProblem[];
  /** True for `edictum/v1`, whose documents may not use our additions. */
  readonly isPublic?: boolean;
};

export type TextLimits = {
  readonly least?: number;
  /** In characters, not UTF-16 units. */
  readonly most?: number;
  readonly pattern?: RegExp;
  /** Description of the pattern, e.g. `lower-case letters, digits, "-" and "_"`. */
  readonly patternWords?: string;
};

/** Older spelling → word of the language. */
export type OlderWords = Readonly<Record<string, string>>;
