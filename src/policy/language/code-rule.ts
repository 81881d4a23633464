/** A rule written as a function. Stands beside rules of documents and is judged like them. */
import type { Awaitable, JsonObject, JsonValue } from '../../base/json.ts';
import type { PolicyCall } from './policy-call.ts';
import type { RuleMode } from './ruleset.ts';

export type CodeRule = {
  readonly type: 'code';
  readonly id: string;
  /** Exact name or glob. */
  readonly tool: string;
  readonly mode: RuleMode | undefined;
  readonly tags: readonly string[];
  readonly metadata: JsonObject | undefined;
} & (
  | { readonly when: 'before'; readonly check: (call: PolicyCall) => Awaitable<BeforeAnswer> }
  | {
      readonly when: 'after';
      /** Given the result, or the text of the error where the tool failed. */
      readonly check: (call: PolicyCall, output: JsonValue) => Awaitable<AfterAnswer>;
    }
);

/** Undefined lets the call go on. Throwing is a policy error: the rule blocks. */
export type BeforeAnswer =
  | undefined
  | {
      readonly action: 'block' | 'ask';
      readonly message: string;
      readonly timeoutSeconds?: number;
      readonly timeoutEffect?: 'block' | 'allow';
    };

/** `redact` gives the output to use instead. */
export type AfterAnswer =
  | undefined
  | { readonly action: 'warn' | 'block'; readonly message: string }
  | { readonly action: 'redact'; readonly message: string; readonly output: JsonValue };
