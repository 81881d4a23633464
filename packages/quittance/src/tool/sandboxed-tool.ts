/**
 * Marks tools whose body runs in the sandboxed executor. The runtime tells them from tools that run with the rights of
 * the host. The mark belongs to the body: a copy of the tool keeps it, a copy with another `run` loses it.
 */
import type { AnyTool } from './define-tool.ts';

/** A file that calls must not touch. See own-file.ts. */
type ProtectedFile = {
  readonly path: string;
  readonly access: 'sealed' | 'read_only';
  readonly withCompanions: boolean;
};

/** How the executor confines a tool. */
export type SandboxMark = {
  readonly engine: 'bubblewrap';
  /** The contracts whose sandbox rules the executor enforces. */
  readonly contracts: object;
  /**
   * Do calls under this name, under the rules in force now, neither see the sealed ones of these files nor write the
   * others?
   */
  readonly protects: (files: readonly ProtectedFile[], toolName: string) => boolean;
};

const marks = new WeakMap<AnyTool['run'], SandboxMark>();

export function markSandboxed<Marked extends AnyTool>(tool: Marked, mark: SandboxMark): Marked {
  marks.set(tool.run, mark);
  return tool;
}

/** The mark of a tool of `createSandbox`. Undefined for every other tool. */
export const sandboxMarkOf = (tool: AnyTool): SandboxMark | undefined => marks.get(tool.run);

/** Does the body of this tool run in the sandboxed executor? */
export const isSandboxedTool = (tool: AnyTool): boolean => marks.has(tool.run);
