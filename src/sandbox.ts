/** Shell and file tools whose processes the kernel confines, configured by the sandbox rules of a contract. */
export { createSandbox } from './sandbox/create-sandbox.ts';
export type {
  FileToolNames,
  Sandbox,
  SandboxOptions,
  ShellInput,
  ShellOutput,
  ShellToolOptions,
} from './sandbox/create-sandbox.ts';
export { checkSandbox } from './sandbox/check-sandbox.ts';
export type { SandboxCheck } from './sandbox/check-sandbox.ts';
export type { SandboxRun, SandboxStop } from './sandbox/bubblewrap.ts';
export type { HostRule, SandboxCover, SandboxLimits, SandboxPlan } from './sandbox/plan.ts';
export { isSandboxedTool } from './tool/sandboxed-tool.ts';
