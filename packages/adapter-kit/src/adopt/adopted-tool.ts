import type { Awaitable } from 'quittance/internal/base/json';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import { isTool } from 'quittance/internal/tool/define-tool';
import { govern } from 'quittance/internal/tool/govern';
import type { ToolOverrides } from 'quittance/internal/tool/govern';
import type { ToolContext } from 'quittance/internal/tool/tool-context';
import type { PreToolUse } from 'quittance/internal/runtime/call-options';
import { ToolDecision } from 'quittance/internal/runtime/call-options';
import type { ToolHints } from 'quittance/internal/tool/tool-hints';
import { hintedTraits } from 'quittance/internal/tool/tool-hints';

/** A tool of a framework, as its adapter reads it. */
export type AdoptedTool<Native> = {
  readonly name: string;
  readonly description?: string | undefined;
  /** A Standard Schema or a JSON Schema. Default: any object. */
  readonly input?: unknown;
  readonly output?: unknown;
  /** MCP annotations from the framework. */
  readonly hints?: ToolHints | undefined;
  /** Does the author of the tool require approval in the framework? True, or the question for the person. */
  readonly asks?: ((args: unknown, native: Native | undefined) => Awaitable<boolean | string>) | undefined;
  /**
   * The framework's own function. `native` is the framework's context of the call. It is undefined if this process
   * has not seen the framework request the call, for example when an approved call runs after a restart.
   */
  run(args: unknown, native: Native | undefined, context: ToolContext): unknown;
};

/** Finds the framework's context of a call. */
export type NativeOf<Native> = (call: {
  readonly sessionId: string;
  readonly callId: string;
}) => Native | undefined;

/** Converts them to our tools; a tool of ours is used unchanged. */
export function adoptTools<Native>(
  tools: readonly (AdoptedTool<Native> | AnyTool)[],
  overrides: Readonly<Record<string, ToolOverrides>>,
  nativeOf: NativeOf<Native>,
  trusts: (toolName: string) => boolean = () => false,
): readonly AnyTool[] {
  const hinted = tools.flatMap((tool) => {
    const traits = isTool(tool) ? {} : hintedTraits(tool.name, tool.hints, trusts(tool.name));
    const said = Object.hasOwn(overrides, tool.name) ? overrides[tool.name] : undefined;
    return Object.keys(traits).length === 0 ? [] : [[tool.name, { ...traits, ...said }] as const];
  });
  return govern(
    tools.map((tool) =>
      isTool(tool)
        ? tool
        : {
            name: tool.name,
            description: tool.description,
            inputSchema: tool.input,
            outputSchema: tool.output,
            execute: (args: unknown, context: ToolContext) => tool.run(args, nativeOf(context), context),
          },
    ),
    { ...overrides, ...Object.fromEntries(hinted) },
  );
}

/** A hook that asks for approval if the author of a tool required it in the framework. */
export function askAsAuthorsSay<Native>(
  tools: readonly (AdoptedTool<Native> | AnyTool)[],
  nativeOf: NativeOf<Native>,
): readonly PreToolUse[] {
  const asking = new Map(
    tools.flatMap((tool) => (!isTool(tool) && tool.asks !== undefined ? [[tool.name, tool.asks]] : [])),
  );
  if (asking.size === 0) return [];
  return [
    async function needsApproval(use) {
      const asked = await asking.get(use.toolName)?.(use.arguments, nativeOf(use));
      if (asked === undefined || asked === false) return ToolDecision.allow;
      return ToolDecision.requiresConfirmation(
        typeof asked === 'string' && asked !== '' ? asked : `The tool "${use.toolName}" requires approval.`,
      );
    },
  ];
}
