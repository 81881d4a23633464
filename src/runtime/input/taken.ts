/** Result of reading the recorded input. */
import type { PreparedInput } from './prepared-input.ts';

export type Taken =
  | { readonly type: 'ready'; readonly prepared: PreparedInput }
  /** The schema returns another value than the recorded one. */
  | { readonly type: 'differs'; readonly prepared: PreparedInput }
  | {
      readonly type: 'unusable';
      readonly problem: string;
      readonly why: 'altered' | 'gone' | 'refused';
    };
