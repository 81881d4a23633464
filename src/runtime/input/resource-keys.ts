import type { AnyTool } from '../../tool/define-tool.ts';

/** The resources that a call touches, as its tool declares them. Undefined means any. */
export function resourceKeysOf(tool: AnyTool, input: () => unknown): readonly string[] | undefined {
  if (tool.resourceKeys === undefined) return undefined;
  try {
    const keys: unknown = tool.resourceKeys(input());
    return Array.isArray(keys) && keys.every((key) => typeof key === 'string') ? keys : undefined;
  } catch {
    return undefined;
  }
}
