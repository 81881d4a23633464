import type { JsonObject } from '../../base/json.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { RuntimeOptions } from '../../runtime/runtime-options.ts';
import type { TurnOptions } from '../../runtime/host/turn-options.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import type { ToolOverrides } from '../../tool/govern.ts';
import type { Principal } from '../../tool/tool-context.ts';

/**
 * What an adapter is made with: everything `createRuntime` takes but the tools, which are the framework's.
 * `Native` is what the framework gives a tool beside its arguments.
 */
export type AdapterOptions<Native = unknown> = Omit<
  RuntimeOptions<readonly AnyTool[]>,
  'tools' | 'ledger'
> & {
  /** Where calls are kept. In memory where none is given, which ends with the process. */
  readonly ledger?: Ledger;
  /** What the framework's tools do not say about themselves, by name: a mode, a timeout, a cost. */
  readonly overrides?: Readonly<Record<string, ToolOverrides>>;
  /** What every run has, where the run itself says nothing: a deadline, budgets, the session it works for. */
  readonly turn?: Omit<TurnOptions, 'sessionId' | 'turnId'>;
  /** On whose behalf a call is made, from what the framework gives the tool. The run's own principal where it says nothing. */
  readonly principal?: (native: Native) => Principal | undefined;
  /** Metadata of a call, from what the framework gives the tool: on its record, and there for policy. */
  readonly attrs?: (native: Native) => JsonObject | undefined;
  /**
   * Whether MCP annotations of tools are believed where they make a tool safer (`readOnlyHint`, `idempotentHint`): for
   * all tools, or by name. Not by default: they are the words of the server. `destructiveHint` counts in any case.
   */
  readonly trustAnnotations?: boolean | ((toolName: string) => boolean);
  /**
   * Who answers in the framework's own approvals: a name, or a function that gives one. With it, a call that needs a
   * person stops the run the framework's way, and an approval that comes back through the framework counts as the
   * decision of the person named; undefined counts as none. Without it, the tool waits until somebody decides.
   */
  readonly approver?: string | ((native: Native) => string | undefined | Promise<string | undefined>);
};
