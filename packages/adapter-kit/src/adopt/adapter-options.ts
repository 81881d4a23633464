import type { JsonObject } from 'quittance/internal/base/json';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { RuntimeOptions } from 'quittance/internal/runtime/create-runtime';
import type { TurnOptions } from 'quittance/internal/runtime/call-options';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import type { ToolOverrides } from 'quittance/internal/tool/govern';
import type { Principal } from 'quittance/internal/tool/tool-context';
import type { ShowConversation } from './shown-conversation.ts';

/**
 * Options of an adapter: those of `createRuntime` except the tools, which come from the framework. `Native` is the
 * framework's own context of a tool call.
 */
export type AdapterOptions<Native = unknown> = Omit<
  RuntimeOptions<readonly AnyTool[]>,
  'tools' | 'ledger'
> & {
  /** Stores the calls. Default: in memory, which ends with the process. */
  readonly ledger?: OpenLedger;
  /** Properties that the framework's tools lack, by tool name: a mode, a timeout, a cost. */
  readonly overrides?: Readonly<Record<string, ToolOverrides>>;
  /** Defaults for every run: a deadline, budgets, the parent session. */
  readonly turn?: Omit<TurnOptions, 'sessionId' | 'turnId'>;
  /** Principal of a call, from the framework's context. Default: the principal of the run. */
  readonly principal?: (native: Native) => Principal | undefined;
  /** Metadata of a call, from the framework's context. It is recorded and visible to policy. */
  readonly attrs?: (native: Native) => JsonObject | undefined;
  /**
   * Records the last messages before a call with it, as `attrs.conversation`, so that approvers see why it was made.
   * Needs messages from the framework or the host. They are redacted like arguments, and cut. Default: false.
   */
  readonly showConversation?: ShowConversation;
  /**
   * Trust MCP annotations that lower the risk of a tool (`readOnlyHint`, `idempotentHint`), for all tools or by name.
   * Default: false, because the server writes them. `destructiveHint` always counts.
   */
  readonly trustAnnotations?: boolean | ((toolName: string) => boolean);
  /**
   * Name of the person who answers the framework's own approvals, or a function that returns it. With it, a call that
   * needs approval stops the run in the framework's way. An approval that comes back through the framework is
   * recorded as that person's decision. Undefined approves nothing. Without it, the tool waits for a decision.
   */
  readonly approver?: string | ((native: Native) => string | undefined | Promise<string | undefined>);
};
