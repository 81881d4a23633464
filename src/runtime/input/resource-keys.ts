import type { AnyTool } from '../../tool/define-tool.ts';

/** What a call touches, by its tool. Undefined where the tool does not say: it may touch anything. */
export function resourceKeysOf(tool: AnyTool, input: () => unknown): readonly string[] | undefined {
  if (tool.resourceKeys === undefined) return undefined;
  try {
    const keys: unknown = tool.resourceKeys(input());
    return Array.isArray(keys) && keys.every((key) => typeof key === 'string') ? keys : undefined;
  } catch {
    return undefined;
  }
}
