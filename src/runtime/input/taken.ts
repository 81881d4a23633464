/** What came of taking up the input that is on record. */
import type { PreparedInput } from './prepared-input.ts';

export type Taken =
  | { readonly type: 'ready'; readonly prepared: PreparedInput }
  /** The schema gives another value than the one on record. */
  | { readonly type: 'differs'; readonly prepared: PreparedInput }
  | {
      readonly type: 'unusable';
      readonly problem: string;
      readonly why: 'altered' | 'gone' | 'refused';
    };
