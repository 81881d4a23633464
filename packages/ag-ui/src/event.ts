/**
 * The events of the AG-UI protocol that this adapter writes. Declared here, so that the package does not depend on
 * it. test/frameworks checks them against the schemas of `@ag-ui/core`.
 */
import type { AgUiInterrupt } from './interrupt.ts';

export type AgUiEvent =
  | { readonly type: 'RUN_STARTED'; readonly threadId: string; readonly runId: string }
  | { readonly type: 'MESSAGES_SNAPSHOT'; readonly messages: readonly unknown[] }
  | {
      readonly type: 'TOOL_CALL_START';
      readonly toolCallId: string;
      readonly toolCallName: string;
      readonly parentMessageId?: string;
    }
  | { readonly type: 'TOOL_CALL_ARGS'; readonly toolCallId: string; readonly delta: string }
  | { readonly type: 'TOOL_CALL_END'; readonly toolCallId: string }
  | {
      readonly type: 'TOOL_CALL_RESULT';
      readonly messageId: string;
      readonly toolCallId: string;
      readonly role: 'tool';
      /** The tabled content: the text for the model. */
      readonly content: string;
    }
  | {
      readonly type: 'RUN_FINISHED';
      readonly threadId: string;
      readonly runId: string;
      readonly outcome:
        | { readonly type: 'success' }
        | { readonly type: 'interrupt'; readonly interrupts: readonly AgUiInterrupt[] };
    }
  | { readonly type: 'RUN_ERROR'; readonly message: string; readonly code?: string };
