/** A rule written as a function. It is judged together with the rules of documents. */
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
      /** Receives the result, or the text of the error if the tool failed. */
      readonly check: (call: PolicyCall, output: JsonValue) => Awaitable<AfterAnswer>;
    }
);

/** Undefined lets the call continue. Throwing is a policy error: the rule blocks. */
export type BeforeAnswer =
  | undefined
  | {
      readonly action: 'block' | 'ask';
      readonly message: string;
      readonly timeoutSeconds?: number;
      readonly timeoutEffect?: 'block' | 'allow';
    };

/** `redact` returns the output to use instead. */
export type AfterAnswer =
  | undefined
  | { readonly action: 'warn' | 'block'; readonly message: string }
  | { readonly action: 'redact'; readonly message: string; readonly output: JsonValue };
