import type { PlainTool } from '../suite/harness.ts';
import { toJsonSchema } from '../suite/harness.ts';

/** Tools for loops without a framework, as `govern` takes them. */
export const plainTools = (tools: readonly PlainTool[]) =>
  tools.map((tool) => ({
    name: tool.name,
    description: `The tool ${tool.name}.`,
    inputSchema: toJsonSchema(tool),
    execute: (args: Readonly<Record<string, unknown>>, context: { readonly signal: AbortSignal }) =>
      tool.run(args, context.signal),
  }));
