import type { Awaitable } from '../../base/json.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { isTool } from '../../tool/define-tool.ts';
import { govern } from '../../tool/govern.ts';
import type { ToolOverrides } from '../../tool/govern.ts';
import type { ToolContext } from '../../tool/tool-context.ts';
import type { PreToolUse } from '../../runtime/host/tool-decision.ts';
import { ToolDecision } from '../../runtime/host/tool-decision.ts';
import type { ToolHints } from './tool-hints.ts';
import { hintedTraits } from './tool-hints.ts';

/** A tool of a framework, as its adapter reads it. */
export type AdoptedTool<Native> = {
  readonly name: string;
  readonly description?: string | undefined;
  /** A Standard Schema or a JSON Schema; any object where there is none. */
  readonly input?: unknown;
  readonly output?: unknown;
  /** MCP annotations that the framework hands over with it. */
  readonly hints?: ToolHints | undefined;
  /** Whether the framework's tool itself wants a person, as its author said there: true, or what the person is asked. */
  readonly asks?: ((args: unknown, native: Native | undefined) => Awaitable<boolean | string>) | undefined;
  /**
   * The framework's own body. `native` is what the framework passed with the call; undefined where this process never
   * saw the framework ask for it, as after a restart, when an approved call is made before the framework is back.
   */
  run(args: unknown, native: Native | undefined, context: ToolContext): unknown;
};

/** Finds what the framework passed with a call. */
export type NativeOf<Native> = (call: {
  readonly sessionId: string;
  readonly callId: string;
}) => Native | undefined;

/** Makes tools of ours of them; what is one already is taken as it is. */
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

/** A hook that asks a person about the calls of tools whose authors said so in the framework. */
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
        typeof asked === 'string' && asked !== '' ? asked : `The tool "${use.toolName}" wants approval.`,
      );
    },
  ];
}
